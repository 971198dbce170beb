"""Lower bounds: below the optimum from any metric, over every set, and in every result."""

import math
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.certificate import Certificate
from gdaopt.errors import GdaoptError
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import (
    KINDS,
    OBJECTIVES,
    ROUND_OFF,
    SETS,
    Nearest,
    Solved,
    named_set,
    small_glr,
    solved,
)
from tests.helpers import random_metric, random_symmetric


@pytest.fixture(
    params=[(name, scale) for name in SETS for scale in (0.3, 10.0)],
    ids=lambda param: f"{param[0]}, {param[1]}",
)
def case(objective: str, request: pytest.FixtureRequest) -> Solved:
    return solved(objective, *request.param)


def least_linear(certificate: Certificate, problem: gda.MetricProblem, M: FloatArray) -> float:
    """Return ``Q(M) - ⟨∇Q, M⟩ + min ⟨∇Q, ·⟩``."""
    gradient = problem.objective.at(M).gradient()
    least = problem.feasible_set.minimize_linear(gradient).value
    return certificate.objective - float(np.vdot(gradient, M)) + least


def without_path(problem: gda.MetricProblem) -> gda.MetricProblem:
    """Return the problem over all metrics of the kind, with or without the path."""
    feasible_set = problem.feasible_set
    assert isinstance(feasible_set, gda.GraphMetrics | gda.SignedGraphMetrics)
    return replace(problem, feasible_set=replace(feasible_set, path_weight=0.0))


@pytest.mark.covering(1)
@pytest.mark.parametrize("objective", OBJECTIVES)
class TestBounds:
    def test_never_above_the_optimum(self, case: Solved) -> None:
        best = case.result.objective
        n_bounds = 0
        for kind in KINDS:
            for _ in range(12 if kind == "near the optimum" else 6):
                certificate = gda.certify(case.problem, case.any_metric(kind))
                assert certificate.lower_bound <= best, kind
                assert (certificate.bound == "none") is (certificate.lower_bound == -math.inf)
                n_bounds += certificate.bound != "none"
        assert n_bounds >= 18

    def test_members_have_the_better_of_two_bounds(self, case: Solved) -> None:
        best, bound = case.result.objective, case.result.lower_bound
        log_convex = case.problem.objective.log_convex
        assert bound is not None
        for _ in range(15):
            metric = case.member()
            assert not case.problem.feasible_set.violations(metric)
            certificate = gda.certify(case.problem, metric)
            value = certificate.objective
            assert certificate.gap >= 0
            assert certificate.lower_bound <= best
            assert value >= bound - ROUND_OFF * abs(best)
            assert certificate.relative_gap == certificate.gap / abs(value)
            linear = least_linear(certificate, case.problem, metric)
            if certificate.bound in ("scaled", "dual"):  # see TestScaledBounds, test_dual
                assert not log_convex
                assert certificate.lower_bound >= linear - ROUND_OFF * abs(value)
                continue
            assert certificate.bound == ("exponential" if log_convex else "linear")
            expected = value * math.exp((linear - value) / value) if log_convex else linear
            slack = certificate.round_off + ROUND_OFF * abs(value)
            assert certificate.round_off <= 1e-10 * (abs(value) + certificate.gap)
            assert certificate.lower_bound == pytest.approx(expected, abs=slack)
            assert certificate.lower_bound >= linear - slack


def perturbed(metric: FloatArray, trace_bound: float) -> dict[str, FloatArray]:
    """Return metrics that are members up to about the round-off that membership allows."""
    size, unit = len(metric), 5e-11 * trace_bound
    smallest = np.arange(size) == np.argmin(np.diagonal(metric))
    off = 0.01 * unit / size * (1 - np.eye(size))
    return {
        "eigenvalues": metric - unit * np.eye(size),
        "one eigenvalue": metric - 1.8 * unit * np.diag(smallest),
        "trace": metric * (1 + 5e-13),
        "signs": metric + off,
        "other signs": metric - off,
        "all": (metric - unit * np.eye(size)) * (1 + 5e-13) + off,
    }


@pytest.mark.parametrize("set_name", SETS)
@pytest.mark.parametrize("share", [0.0, 0.05])
def test_members_up_to_round_off_raise_no_false_alarm(set_name: str, share: float) -> None:
    rng = np.random.default_rng(5)
    n_cut = 0
    for _ in range(20):
        size = int(rng.integers(2, 8))
        feasible_set = named_set(set_name, size, 10 ** rng.uniform(-3, 3), share)
        linear = gda.Linear(random_symmetric(rng, size))
        problem = gda.MetricProblem(linear, feasible_set)
        vertex = feasible_set.minimize_linear(linear.gradient(np.eye(size))).vertex
        scale = feasible_set.trace_bound * size
        for name, metric in perturbed(vertex, feasible_set.trace_bound).items():
            if not feasible_set.violations(metric):
                certificate = gda.certify(problem, metric)
                assert certificate.gap >= 0, name
                above = certificate.objective - least_linear(certificate, problem, metric)
                assert above >= -1e-9 * scale, name
                n_cut += above < -1e-12 * scale
    assert n_cut >= 10  # the round-off shows


class TestNoBound:
    def check(self, certificate: Certificate, objective: float, reason: str) -> None:
        assert certificate.lower_bound == -math.inf
        assert certificate.bound == "none"
        assert certificate.gap == math.inf
        assert certificate.objective == objective
        assert reason in certificate.reason

    # Q is still positive in float64, its gradient is 0 or has lost its digits
    @pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-8, 1e-60])
    @pytest.mark.parametrize("log_value", [-700.0, -735.0, -742.0])
    def test_gradients_that_underflow(self, scale: float, log_value: float) -> None:
        objective = gda.GLR([[0.0], [scale]], [1, -1])  # Q = 8 exp(-scale² M)
        metric = np.array([[(math.log(8) - log_value) / scale**2]])
        assert objective.at(metric).value > 0
        for more in (1.0, 3.0, 500.0):
            bound = metric[0, 0] + more / scale**2
            problem = gda.MetricProblem(objective, gda.GraphMetrics(float(bound), 0.0))
            certificate = gda.certify(problem, metric)
            optimum = math.exp(max(log_value - more, -800.0))
            assert certificate.lower_bound <= optimum * (1 + 1e-9) + 5e-324
            assert certificate.lower_bound > -math.inf or certificate.reason

    def test_infinite_values(self) -> None:
        problem = gda.MetricProblem(small_glr(12, 5, "labels"), gda.GraphMetrics(5.0))
        self.check(gda.certify(problem, -1e5 * np.eye(5)), math.inf, "objective is inf")

    def test_values_that_overflow(self) -> None:
        problem = gda.MetricProblem(
            gda.GMML(np.eye(2), 1e200 * np.eye(2)), gda.PositiveDefiniteMetrics(5.0, 0.0)
        )
        certificate = gda.certify(problem, 1e-200 * np.eye(2))
        self.check(certificate, math.inf, "the objective is inf")

    def test_metrics_of_which_no_digits_are_left(self) -> None:
        metric = np.array([[1.0, 1 - 2.0**-53], [1 - 2.0**-53, 1.0]])
        problem = gda.MetricProblem(gda.LogDet(-np.eye(2)), gda.PositiveDefiniteMetrics(5.0, 0.0))
        certificate = gda.certify(problem, metric)
        assert math.isfinite(certificate.objective)
        self.check(certificate, certificate.objective, "round-off leaves no bound")
        assert certificate.round_off == math.inf

    @pytest.mark.parametrize("smallest", [-1.0, 0.0, 1e-320])
    def test_outside_of_the_cone(self, smallest: float) -> None:
        problem = gda.MetricProblem(gda.LogDet(np.eye(3)), gda.GraphMetrics(3.0))
        certificate = gda.certify(problem, np.diag([1.0, 1.0, smallest]))
        assert certificate.lower_bound == -math.inf
        assert certificate.reason

    @pytest.mark.parametrize("part", ["value", "gradient"])
    @pytest.mark.parametrize("wrong", [math.nan, math.inf])
    def test_users_objectives(self, part: str, wrong: float, monkeypatch: Any) -> None:
        answer = wrong if part == "value" else np.full((2, 2), wrong)
        monkeypatch.setattr(Nearest, part, lambda self, metric: answer)
        problem = gda.MetricProblem(Nearest(np.eye(2)), gda.GraphMetrics(2.0))
        certificate = gda.certify(problem, np.eye(2))
        assert certificate.lower_bound == -math.inf
        assert "not finite" in certificate.reason

    def test_a_gradient_of_zero_at_a_minimiser_is_a_bound(self) -> None:
        for objective in (Nearest(np.eye(3)), gda.LogDet(np.eye(3))):
            problem = gda.MetricProblem(objective, gda.GraphMetrics(9.0))
            certificate = gda.certify(problem, np.eye(3))
            assert 0 < certificate.gap == certificate.relative_gap * certificate.objective
            assert certificate.gap == pytest.approx(certificate.round_off, rel=0.1)
            assert certificate.gap < 1e-11


METHODS: dict[str, dict[str, Any]] = {
    "alternating": {"solver": "analytic", "max_iterations": 30},
    "joint": {"solver": "analytic", "max_iterations": 60},
    "certified": {},
}


def test_multipliers_are_not_attained_on_the_edge_of_the_base() -> None:
    """``V - ρI`` is definite, but ``V - B`` is not for any V that keeps the row."""
    rho, path_weight, bound = 0.1, 0.2, 2.0
    feasible_set = gda.GraphMetrics(bound, rho, path_weight=path_weight)
    gradient = np.array([[1.0, 1.0], [1.0, -1.0]])
    base = np.array([[rho + path_weight, -path_weight], [-path_weight, rho + path_weight]])
    optimum = base + np.diag([0.0, bound - np.trace(base)])
    assert np.linalg.eigvalsh(optimum - rho * np.eye(2))[0] > 0
    assert optimum in feasible_set
    row = np.diag([1.0, 0.0])
    least = float(np.vdot(gradient, optimum))
    short = []
    for multiplier in (1.0, 100.0, 1e6):  # "Proposition: certificate with linear constraints"
        lagrangian = feasible_set.minimize_linear(gradient + multiplier * row).value
        short.append(least - (lagrangian - multiplier * (rho + path_weight)))
    assert short[0] > 0.1
    assert short[0] > 10 * short[1] > 1e4 * short[2] > 0


def test_given_multipliers_are_those_of_the_bound() -> None:
    """``min tr M`` where a row asks for a trace of 1: λ proves a bound of λ."""
    problem = gda.MetricProblem(
        gda.Linear(np.eye(2)), gda.DiagonalMetrics(4.0, 0.0), lambda M: [M[0, 0] + M[1, 1] == 1]
    )
    for multiplier in (-1.0, -0.5, 0.0):
        certificate = gda.certify(problem, np.eye(2) / 2, np.array([multiplier]))
        assert certificate.lower_bound == pytest.approx(-multiplier, abs=1e-12)
        np.testing.assert_array_equal(certificate.multipliers, [multiplier])


def test_a_member_may_be_below_the_optimum_by_what_it_breaks_rows_by() -> None:
    """``min -tr M`` under ``tr M ≤ 1``: at a metric of a trace that is too large by round-off."""
    problem = gda.MetricProblem(
        gda.Linear(-np.eye(2)),
        gda.GraphMetrics(2.0, 0.0),
        constraints=lambda M: [M[0, 0] + M[1, 1] <= 1],
    )
    over = 4e-10
    metric = (1 + over) / 2 * np.eye(2)
    assert not problem.violations(metric)
    certificate = gda.certify(problem, metric, np.ones(1))
    assert certificate.objective == pytest.approx(-1 - over, abs=1e-15)
    assert over * (1 - 1e-5) <= certificate.membership <= over * (1 + 1e-5)
    assert over < certificate.allowance < 2 * over
    assert certificate.excesses == pytest.approx([over], rel=1e-5)  # not over the row's norm


@pytest.mark.parametrize("trace_bound", [1e-3, 1.0, 1e6])
def test_membership_allows_for_round_off_of_the_trace_bound_alone(trace_bound: float) -> None:
    """Two roundings of it at least, and not thousands of them."""
    problem = gda.MetricProblem(gda.Linear(-np.eye(3)), gda.GraphMetrics(trace_bound))
    allowed = gda.certify(problem, trace_bound / 3 * np.eye(3)).membership
    assert 2.0**-52 * trace_bound <= allowed <= 2.0**-45 * trace_bound


class SlightlyAsymmetric(Nearest):
    """The gradient's lower triangle, which no oracle reads, is too large by so much."""

    error = 0.0

    def gradient(self, metric: FloatArray) -> FloatArray:
        gradient = super().gradient(metric)
        return np.asarray(gradient + self.error * np.tril(np.ones_like(gradient), -1))


@pytest.mark.parametrize(("error", "is_wrong"), [(1e-17, False), (1e-11, True)])
def test_a_gap_below_zero_by_more_than_round_off_is_an_error(error: float, is_wrong: bool) -> None:
    """The minimum of 1 is inside of the set."""
    target = random_metric(np.random.default_rng(0), 4)
    objective = SlightlyAsymmetric(target)
    objective.error = error
    problem = gda.MetricProblem(objective, gda.GraphMetrics(8.0, 0.0))
    with pytest.raises(GdaoptError, match="not symmetric") if is_wrong else nullcontext():
        assert gda.certify(problem, target).gap >= 0


@pytest.mark.covering(2)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("objective", ["iris", "columns", "log det", "dense"])
@pytest.mark.parametrize("set_name", ["graph", "fixed path"])
@pytest.mark.parametrize("every", [0, 1, 7])
def test_bounds_of_a_run(method: str, objective: str, set_name: str, every: int) -> None:
    """They are the largest of those of the rows so far; rows left out add nothing."""
    problem, options = solved(objective, set_name, 10.0).problem, METHODS[method]
    assert isinstance(problem.feasible_set, gda.GraphMetrics)
    floor = problem.feasible_set.path_weight
    if floor and method != "certified":  # the edges that connect are theirs to choose
        problem, set_name = without_path(problem), "graph"
        options = {**options, "edge_floor": floor}
    result = gda.solve(problem, method, keep_iterates=True, trace_every=every, **options)
    optimum = solved(objective, set_name, 10.0).result.objective
    assert result.lower_bound is not None
    assert -math.inf < result.lower_bound <= optimum + ROUND_OFF * abs(optimum)
    assert result.gap == result.objective - result.lower_bound
    assert f"relative gap        {result.relative_gap:.3g}" in str(result)
    assert result.trace.iterates is not None
    starts_at_optimum = problem.objective.barrier and method == "certified"
    assert len(result.trace.iterates) == len(result.trace) > (not starts_at_optimum)
    found = [gda.certify(problem, metric).lower_bound for metric in result.trace.iterates]
    bounds = result.trace.column("lower_bound")
    assert (np.diff(bounds) >= 0).all()
    np.testing.assert_allclose(bounds, np.maximum.accumulate(found), rtol=1e-11)
    objectives, gaps = (result.trace.column(name) for name in ("objective", "relative_gap"))
    np.testing.assert_array_equal(gaps, (objectives - bounds) / np.abs(objectives))
    assert (result.lower_bound, result.relative_gap) == (bounds[-1], gaps[-1])
