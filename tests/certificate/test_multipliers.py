"""Multipliers of linear constraints: every one gives a lower bound, the tight ones a good one."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.certificate.certify import TightMultipliers
from gdaopt.support.validation import FloatArray
from tests.constraints.cases import RandomCase
from tests.helpers import scaled


def wine() -> gda.MetricProblem:
    X, z = scaled("wine", "class_1")
    return gda.MetricProblem(
        gda.GLR(X, z),
        gda.GraphMetrics(13.0),
        constraints=lambda M: [M[0, 1] == 0, M[2, 3] == -0.05, cp.sum(cp.diag(M)[:4]) <= 2],
    )


@pytest.mark.parametrize("seed", range(12))
def test_tight_multipliers_are_nearly_the_best(seed: int) -> None:
    """Against the duals of the linear problem at the same gradient, by CVXPY."""
    case = RandomCase(seed)
    problem, size = case.problem, case.free.n_features
    metric = problem.central_metric()
    point = problem.objective.at(metric)
    variable = cp.Variable((size, size), symmetric=True)
    rows = case.constraints(variable)
    constraints = [*problem.feasible_set.of(variable), *rows]
    linear = cp.trace(point.gradient() @ variable)
    value = float(cp.Problem(cp.Minimize(linear), constraints).solve("CLARABEL"))
    gap = float(np.vdot(point.gradient(), metric)) - value
    certificate = gda.certify(problem, metric)
    linear_bound = point.value - gap
    if problem.objective.log_convex:
        linear_bound = point.value * float(np.exp(-gap / point.value))
    allowed = 0.02 * abs(point.value - linear_bound) + 1e-6 * abs(point.value)
    assert certificate.lower_bound == pytest.approx(linear_bound, abs=allowed)


def test_the_next_search_starts_from_the_last_one() -> None:
    problem = wine()
    tight = TightMultipliers(problem)
    point = problem.objective.at(problem.central_metric())
    first, second = tight.at(point), tight.at(point)
    assert first is not None
    assert second is not None
    bounds = [gda.certify(problem, point.metric, found).lower_bound for found in (first, second)]
    assert bounds[1] >= bounds[0] - 0.01 * abs(bounds[0] - point.value)


def test_without_constraints_there_are_none() -> None:
    problem = gda.MetricProblem(gda.LogDet(np.eye(2)), gda.GraphMetrics(2.0))
    assert TightMultipliers(problem).at(problem.objective.at(np.eye(2))) is None
    with pytest.raises(gda.errors.InvalidInputError, match="has 1 entries, and the problem has 0"):
        gda.certify(problem, np.eye(2), np.ones(1))


def test_any_multipliers_give_a_lower_bound() -> None:
    problem = wine()
    assert problem.rows is not None
    optimum = gda.solve(problem, "certified", tolerance=1e-9).objective
    rng = np.random.default_rng(0)
    metric: FloatArray = problem.central_metric()
    tight = gda.certify(problem, metric).lower_bound
    for _ in range(20):
        multipliers = rng.standard_normal(3) * 10 ** rng.uniform(-3, 3)
        multipliers[~problem.rows.is_equality] = np.abs(multipliers[~problem.rows.is_equality])
        bound = gda.certify(problem, metric, multipliers).lower_bound
        assert bound <= optimum
        assert bound <= tight + 0.02 * abs(optimum - tight)


@pytest.mark.parametrize(
    ("multipliers", "message"),
    [([1.0], "has 1 entries"), ([0.0, 0.0, -1.0], "must be ≥ 0"), ([0, 0, np.nan], "multipliers")],
)
def test_bad_multipliers_are_refused(multipliers: list[float], message: str) -> None:
    problem = wine()
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        gda.certify(problem, problem.central_metric(), np.array(multipliers))
