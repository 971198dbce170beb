"""`MetricProblem`: what CVXPY is given, what it refuses, and metrics that are made feasible."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from tests.methods.certified_cases import (
    certified,
    set_of,
    synthetic,
)

M3 = cp.Variable((3, 3), symmetric=True)


def small(kind: str = "graph", floor: float = 0.0) -> gda.MetricProblem:
    X, z = synthetic(3, 10)
    return gda.MetricProblem(gda.GLR(2 * X, z), set_of(kind, 3, 3.0, 1e-2, floor))


def test_metrics_become_symmetric_or_turn_out_so() -> None:
    X: Any
    X, x, scaling = cp.Variable((3, 3)), cp.Variable(6), np.diag([1.0, 2.0, 3.0])
    lower = cp.vec_to_upper_tri(x[:3], strict=True).T
    turns_out = (X + X.T, lower + lower.T + cp.diag(x[3:]), scaling @ M3 @ scaling)
    optimum = certified(small()).objective
    for metric in (X, 2 * X, scaling @ X, *turns_out):
        x.value = np.arange(6.0)
        program = small().to_cvxpy(metric)
        assert x.value.tolist() == [0, 1, 2, 3, 4, 5]  # looked at, and put back
        assert program.solve("CLARABEL") == pytest.approx(optimum, rel=1e-5)
        np.testing.assert_allclose(metric.value, metric.value.T, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "metric", "options", "says"),
    [
        (
            "graph",
            cp.Variable((2, 2), symmetric=True),
            {},
            r"shape \(2, 2\), the objective takes 3",
        ),
        ("graph", cp.Variable(3), {}, r"shape \(3,\), the objective takes 3×3"),
        ("graph", M3, {"cone": "second order"}, "did you mean 'second-order'"),
        ("definite", M3, {"cone": "second-order"}, "no form in second-order cones"),
    ],
    ids=["small", "vector", "misspelt", "definite"],
)
def test_what_does_not_fit_is_refused(kind: str, metric: Any, options: Any, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        small(kind).to_cvxpy(metric, **options)
    log_det = gda.MetricProblem(gda.LogDet(np.eye(3)), gda.GraphMetrics(3.0))
    with pytest.raises(InvalidInputError, match=r"log=True.* is not known to be convex"):
        log_det.to_cvxpy(M3, log=True)


def test_corrections_alternate_between_rows_and_entries() -> None:
    """What the row takes back from one entry, the sign of the other gives to it: half each time."""
    problem = gda.MetricProblem(
        gda.LogDet(np.eye(3)),
        gda.GraphMetrics(3.0),
        constraints=lambda M: [M[0, 1] + M[0, 2] == -0.1],
    )
    metric = np.eye(3) / 2
    metric[0, 1] = metric[1, 0] = -0.1
    metric[0, 2] = metric[2, 0] = 1e-4
    feasible = problem.made_feasible(metric)
    assert not problem.violations(feasible)
    assert problem.rows is not None
    assert problem.rows.violation(feasible) <= 1e-9
    assert np.abs(feasible - metric).max() <= 2e-4


def test_a_metric_below_the_smallest_eigenvalue_goes_towards_the_one_inside() -> None:
    problem = gda.MetricProblem(
        gda.LogDet(np.eye(3)),
        gda.GraphMetrics(3.0, min_eigenvalue=0.1),
        constraints=lambda M: [M[0, 1] == 0],
    )
    feasible = problem.made_feasible(np.diag([1.0, 1.0, 0.1 - 1e-6]))
    assert not problem.violations(feasible)
    assert np.linalg.eigvalsh(feasible)[0] >= 0.1 - 1e-12
    assert np.abs(feasible - np.diag([1.0, 1.0, 0.1])).max() <= 2e-5
