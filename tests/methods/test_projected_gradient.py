"""Projected gradients: the optimum over all sets, step by step, and what the heuristic misses."""

from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.support.validation import FloatArray
from tests.helpers import random_symmetric
from tests.methods.certified_cases import (
    HULLS,
    KINDS,
    Nearest,
    Watch,
    assert_same_optimum,
    certified,
    set_of,
)
from tests.methods.run_cases import small

METHOD = "projected-gradient"


class Stretched(gda.DenseObjective):
    """Half a squared distance whose entries count more or less, in some unit, and a constant."""

    def __init__(
        self, target: FloatArray, stretch: FloatArray, unit: float = 1.0, least: float = 0.0
    ) -> None:
        super().__init__(n_features=len(target))
        self.target, self.stretch, self.least = target, unit * stretch, least

    def value(self, metric: FloatArray) -> float:
        return self.least + float((self.stretch * (metric - self.target) ** 2).sum()) / 2

    def gradient(self, metric: FloatArray) -> FloatArray:
        gradient: FloatArray = self.stretch * (metric - self.target)
        return gradient


@pytest.mark.parametrize("unit", [1e-18, 1e-10, 1e12])
def test_the_unit_of_the_objective_does_not_matter(unit: float) -> None:
    feasible_set, rng = gda.GraphMetrics(4.0, 1e-3), np.random.default_rng(0)
    target, stretch = 3 * random_symmetric(rng, 4), np.exp(3 * np.abs(random_symmetric(rng, 4)))
    problems = [
        gda.MetricProblem(Stretched(target, stretch, each), feasible_set) for each in (1.0, unit)
    ]
    first, second = (gda.solve(each, METHOD, callback=Watch(feasible_set)) for each in problems)
    assert second.status == first.status == "converged"
    assert second.iterations == first.iterations
    assert second.objective == pytest.approx(unit * first.objective, rel=1e-9)


# --- Small and odd -------------------------------------------------------------------------------


class Noting(gda.LogDet):
    """Counts the metrics at which it is infinite."""

    n_infinite = 0

    def at(self, metric: FloatArray) -> Any:
        point = super().at(metric)
        self.n_infinite += point.factor is None
        return point


@pytest.mark.parametrize("kind", KINDS)
def test_steps_out_of_the_domain_are_taken_back(kind: str) -> None:
    """ρ = 0: some steps leave the cone, where log det M is infinite; a run survives that."""
    log_det = Noting(np.diag([100.0, 1.0, 0.01]) + 0.05)
    problem = gda.MetricProblem(log_det, set_of(kind, 3, 100.0, 0.0))
    watch = Watch(problem.feasible_set)
    start = np.eye(3)
    result = gda.solve(problem, METHOD, initial=start, callback=watch, max_iterations=100)
    assert log_det.n_infinite > 0
    assert result.status == "iteration_limit"
    assert result.objective < 0.1 * result.trace[0].objective
    assert_same_optimum(certified(problem), result)


@pytest.mark.covering(1)
@pytest.mark.parametrize("scale", [1e2, 1e5, 1e8])
@pytest.mark.parametrize("kind", KINDS)
def test_momentum_that_leaves_floating_point_is_taken_back(kind: str, scale: float) -> None:
    """Ahead of a metric that is nearly singular, distances along the long feature are negative."""
    glr = gda.GLR([[0.0, 0.0], [0.0, 1.0], [scale, 0.0]], [1, -1, -1])
    problem = gda.MetricProblem(glr, set_of(kind, 2, 2.0, 0.0))
    result = gda.solve(problem, METHOD, max_iterations=200, tolerance=1e-4)
    assert result.metric in problem.feasible_set
    # All of the trace goes to the short feature, but for about 1 / scale².
    assert result.objective == pytest.approx(8 * np.exp(-2), rel=2e-3)


def test_a_gradient_of_zero_ends_the_run() -> None:
    problem = gda.MetricProblem(Nearest(np.eye(3)), gda.GraphMetrics(4.0, 0.1))
    result = gda.solve(problem, METHOD, initial=np.eye(3))
    assert (result.status, result.iterations, result.objective) == ("converged", 0, 0.0)


@pytest.mark.covering(1)
@pytest.mark.parametrize(("kind", "floor"), HULLS)
def test_clipping_is_no_projection_and_the_certificate_says_so(kind: str, floor: float) -> None:
    problem = small(kind, floor)
    optimum = certified(problem)
    watch = Watch(problem.feasible_set)
    result = gda.solve(problem, METHOD, projection="clip", callback=watch, max_iterations=150)
    assert result.status in ("slow_progress", "iteration_limit")
    assert_same_optimum(optimum, result)
    excess = result.objective / optimum.objective - 1
    assert excess > 1e-2  # it ends above the optimum
    assert result.relative_gap is not None
    assert result.relative_gap >= excess / (1 + excess)  # and does not claim anything else
    assert result.eigen_decompositions >= result.iterations
    exact = gda.solve(problem, METHOD)
    assert exact.objective < result.objective


def test_restarts_keep_the_momentum_from_swinging_across_a_valley() -> None:
    """Where one feature counts 1,000 times: without them 3,000 steps, with them 187."""
    valley = Stretched(np.eye(2), np.diag([1.0, 1000.0]), least=1.0)
    problem = gda.MetricProblem(valley, gda.DiagonalMetrics(20.0, 0.0))
    result = gda.solve(problem, METHOD, initial=3 * np.eye(2), tolerance=1e-3, max_iterations=600)
    assert result.status == "converged"
    assert result.objective == pytest.approx(1, abs=1e-6)
