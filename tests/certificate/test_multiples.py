"""Bounds at multiples of a metric: sharp ones where those at the metric itself are not."""

import math

import numpy as np
import pytest

import gdaopt as gda
from tests.certificate_cases import SETS, Nearest, named_set
from tests.helpers import random_metric, random_symmetric


@pytest.mark.parametrize("set_name", SETS)
class TestScaledBounds:
    """ "Proposition: scaled certificate"."""

    def problem(self, set_name: str, spread: float = 1.0) -> gda.MetricProblem:
        size = 4
        spreads = np.geomspace(1.0, spread, size)
        samples = np.random.default_rng(5).normal(size=(30, size)) * spreads
        log_det = gda.LogDet(np.cov(samples.T, bias=True))
        share = 0.1 if "path" in set_name else 0.0
        return gda.MetricProblem(log_det, named_set(set_name, size, 40.0, share))

    @pytest.mark.parametrize("error", [1e-12, 1e-6, 1e-2])
    def test_the_loss_is_that_of_the_inverse(self, set_name: str, error: float) -> None:
        problem = self.problem(set_name, spread=1e4)
        best = gda.solve(problem, "certified", tolerance=1e-11)
        rng = np.random.default_rng(6)
        size = problem.n_features
        for _ in range(5):
            root = np.linalg.cholesky(np.linalg.inv(best.metric))
            change = random_symmetric(rng, size)
            change *= error / np.linalg.norm(change, 2)
            inverse = root @ (np.eye(size) + change) @ root.T
            metric = np.linalg.inv((inverse + inverse.T) / 2)
            bound = gda.certify(problem, (metric + metric.T) / 2).lower_bound
            loss = size * math.log((1 + error) / (1 - error)) / 0.9  # near the best multiple
            round_off = 1e-10 * abs(best.objective)
            assert best.objective - loss - round_off <= bound <= best.objective + round_off

    def test_no_multiple_is_better_by_a_tenth_of_the_gap(self, set_name: str) -> None:
        problem = self.problem(set_name)
        rng = np.random.default_rng(7)
        for _ in range(5):
            size = problem.n_features
            metric = random_metric(rng, size) if set_name != "diagonal" else np.diag(rng.random(4))
            linear = [
                point.value
                - float(np.vdot(point.gradient(), metric / t))
                + problem.feasible_set.minimize_linear(point.gradient()).value
                for t in np.geomspace(0.3, 3, 100)
                for point in [problem.objective.at(metric / t)]
            ]
            certificate = gda.certify(problem, metric)
            allowed = 0.11 * abs(certificate.objective - max(linear))
            assert certificate.lower_bound >= max(linear) - allowed


def far_from_binding(seed: int, trace_bound: float) -> tuple[gda.MetricProblem, gda.MetricProblem]:
    """Return a problem with a trace bound that does not bind, and one with a bound that is near."""
    rng = np.random.default_rng(seed)
    target = random_metric(rng, 4)
    problems = [
        gda.MetricProblem(
            gda.FunctionObjective(
                lambda M: (float(np.sum((M - target) ** 2)) / 2 + 1.0, M - target), 4
            ),
            gda.GraphMetrics(bound, 0.0),
        )
        for bound in (trace_bound, 2 * float(np.trace(target)))
    ]
    return problems[0], problems[1]


@pytest.mark.parametrize("trace_bound", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("seed", range(3))
class TestInflatedBounds:
    """ "Proposition: inflated certificate"."""

    def test_a_loose_trace_bound_does_not_count(self, seed: int, trace_bound: float) -> None:
        """The metric of a run under a near bound is certified under a loose one as sharply."""
        loose, near = far_from_binding(seed, trace_bound)
        metric = gda.solve(near, "certified", tolerance=1e-12).metric
        change = random_symmetric(np.random.default_rng(seed), 4)
        for error in (0.0, 1e-10, 1e-8):  # in proportion, which keeps the signs
            moved = metric * (1 + error * change)
            certificate = gda.certify(loose, moved)
            # A price of -error costs about a trace of the metric, not the trace bound.
            allowed = 1e3 * (error + 1e-14) * float(np.abs(metric).sum())
            assert 0 <= certificate.gap <= allowed

    def test_runs_converge(self, seed: int, trace_bound: float) -> None:
        loose, near = far_from_binding(seed, trace_bound)
        found, expected = (gda.solve(p, "certified", tolerance=1e-9) for p in (loose, near))
        assert found.status == "converged"
        assert found.objective == pytest.approx(expected.objective, rel=1e-8)


@pytest.mark.parametrize("with_row", [False, True])
@pytest.mark.parametrize("off", [1e-8, 1e-6, 1e-4])
def test_metrics_near_the_optimum_where_the_trace_bound_is_loose(
    off: float, with_row: bool
) -> None:
    """A price of `off` would cost `off` times 1e8: a metric that is a little larger has no such."""
    optimum = np.array([[3.0, -1.0, 0.0], [-1.0, 3.0, -1.0], [0.0, -1.0, 3.0]])
    objective = Nearest(optimum.copy())
    if with_row:
        optimum[0, 0] = 2.0
    problem = gda.MetricProblem(
        objective,
        gda.GraphMetrics(1e8, 0.0),
        constraints=(lambda M: [M[0, 0] <= 2]) if with_row else None,
    )
    least = objective.at(optimum)
    multipliers = -least.gradient()[:1, 0] if with_row else None
    certificate = gda.certify(problem, optimum - off * np.eye(3), multipliers)
    assert certificate.bound == "scaled"
    assert least.value - 50 * off <= certificate.lower_bound <= least.value
