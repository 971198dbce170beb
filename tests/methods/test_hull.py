"""Methods over a hull of atoms: steps that go too far are shortened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.methods.steps import Step

METHODS: list[tuple[str, dict[str, Any]]] = [
    ("certified", {}),
    *(("frank-wolfe", {"variant": name}) for name in ("vanilla", "away", "pairwise")),
]


def clouds(distance: float) -> gda.GLR:
    """Return the regulariser of two classes that are some distance apart."""
    samples = np.random.default_rng(0).normal(size=(40, 3))
    samples[20:, 0] += distance
    return gda.GLR(samples, np.repeat([1.0, -1.0], 20))


@pytest.mark.parametrize(("method", "options"), METHODS)
@pytest.mark.parametrize(
    "feasible_set",
    [gda.GraphMetrics(3.0), gda.DiagonalMetrics(3.0), gda.PositiveDefiniteMetrics(3.0)],
    ids=lambda feasible_set: feasible_set.name,
)
def test_gets_as_far_as_the_objective_carries_information(
    feasible_set: gda.sets.FeasibleSet, method: str, options: dict[str, Any]
) -> None:
    """Q is 1e-191 at the start and would be 1e-570 at the optimum."""
    problem = gda.MetricProblem(clouds(25.0), feasible_set)
    result = gda.solve(problem, method, **options)
    assert result.status == "stalled"
    assert "multiply the features by" in result.message
    assert 1e-300 < result.objective < 1e-280
    assert feasible_set.contains(result.metric)
    assert gda.certify(problem, result.metric).reason == ""
    objectives = result.trace.column("objective")
    assert (np.diff(objectives) < 0).all()


class Whole(Step):
    """Always the whole step, also out of the objective's domain."""

    def size(self, line: Any, iteration: int) -> float:
        return 1.0


def test_a_step_out_of_the_domain_is_shortened() -> None:
    """The step towards a vertex is one to a singular matrix, where log det M is not finite."""
    problem = gda.MetricProblem(gda.LogDet(np.diag([1.0, 2.0])), gda.GraphMetrics(2.0, 0.0))
    result = gda.solve(problem, "frank-wolfe", step=Whole(), max_iterations=3, tolerance=1e-9)
    assert result.iterations == 3
    assert result.trace.column("step")[1] == 0.5
    assert np.isfinite(result.trace.column("objective")).all()
