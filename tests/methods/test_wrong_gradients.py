"""A run does not believe a gradient that values contradict, and has no doubts about honest ones."""

import re
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.status import ENDED_NORMALLY
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import named_set
from tests.fuzz.objectives import objective_of
from tests.helpers import random_symmetric
from tests.methods.run_cases import ALIGNED, WAYS, solve
from tests.methods.test_post_conditions import OBJECTIVES, objective

SETS = ["diagonal", "graph", "positive definite", "signed", "fixed path"]
METHODS = [
    *("certified", "frank-wolfe, pairwise", "projected-gradient", "sdp-frank-wolfe"),
    *("alternating", "joint, gradient"),
]
OPTIONS: dict[str, Any] = {"tolerance": 1e-5, "max_iterations": 200}
KINDS = ("Quadratic", "PairHinge", "LogDet", "LogisticPairs", "LMNN", "lasso")
Function = Callable[[FloatArray], tuple[float, FloatArray]]
Fault = Callable[[Function, np.random.Generator], Function]


def problem_of(
    method: str, set_name: str, seed: int, decades: float = 0.0, fault: str = "honest"
) -> gda.MetricProblem:
    """Return a convex function of one of six kinds, at some scale, over a set.

    That is a set of graph metrics where the method needs them.
    """
    rng, kind = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
    size = int(rng.integers(2, 7))
    unit, loud = 10.0 ** rng.uniform(-decades, decades, 2)
    over = "graph" if WAYS[method][0] in ALIGNED else set_name
    feasible_set = named_set(over, size, unit * size * 10 ** rng.uniform(-0.5, 0.5))
    if kind == "lasso":
        function = lasso(random_symmetric(rng, size) + np.eye(size), 0.1)
    else:
        objective = objective_of(kind, size, 1.0, rng)
        function = lambda metric: (objective.value(metric), objective.gradient(metric))  # noqa: E731

    def scaled(metric: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(metric / unit)
        return loud * value, loud / unit * gradient

    if fault == "unsymmetric":
        return gda.MetricProblem(Triangular(scaled, size), feasible_set)
    return gda.MetricProblem(gda.FunctionObjective(FAULTS[fault](scaled, rng), size), feasible_set)


def lasso(target: FloatArray, weight: float) -> Function:
    """Return a squared distance with a kink where edges are 0."""

    def found(metric: FloatArray) -> tuple[float, FloatArray]:
        off = metric - np.diag(np.diagonal(metric))
        value = ((metric - target) ** 2).sum() + weight * np.abs(off).sum()
        return float(value), 2 * (metric - target) + weight * np.sign(off)

    return found


# --- what students do to gradients ---------------------------------------------------------------


class Triangular(gda.DenseObjective):
    """The derivatives by the free entries: those of edges are doubled, in the upper triangle."""

    def __init__(self, function: Function, size: int) -> None:
        super().__init__(size)
        self.function = function

    def value(self, metric: FloatArray) -> float:
        return self.function(metric)[0]

    def gradient(self, metric: FloatArray) -> FloatArray:
        gradient = self.function(metric)[1]
        upper: FloatArray = 2 * np.triu(gradient, 1) + np.diag(np.diagonal(gradient))
        return upper


def changed(change: Callable[[FloatArray, np.random.Generator], FloatArray]) -> Fault:
    """Return the fault that changes a gradient, each time by the same random numbers."""

    def of(function: Function, rng: np.random.Generator) -> Function:
        seed = int(rng.integers(2**32))

        def found(metric: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = function(metric)
            return value, change(gradient, np.random.default_rng(seed))

        return found

    return of


def times(diagonal: float, edges: float) -> Fault:
    return changed(lambda g, _: edges * g + (diagonal - edges) * np.diag(np.diagonal(g)))


def one_entry(gradient: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return a gradient of which one entry (and its mirror image) is off by a tenth."""
    wrong = gradient.copy()
    i, j = rng.integers(len(gradient), size=2)
    wrong[i, j] = wrong[j, i] = gradient[i, j] + 0.1 * np.abs(gradient).max()
    return wrong


def remembered(which: Callable[[list[FloatArray]], FloatArray]) -> Fault:
    """Return the fault that returns the gradient of an earlier call."""

    def of(function: Function, _: np.random.Generator) -> Function:
        seen: list[FloatArray] = []

        def found(metric: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = function(metric)
            seen.append(gradient)
            return value, which(seen)

        return found

    return of


FAULTS: dict[str, Fault] = {
    "honest": times(1.0, 1.0),
    "sign": times(-1.0, -1.0),
    "factor": times(2.0, 2.0),
    "edges halved": times(1.0, 0.5),
    "edges doubled": times(1.0, 2.0),
    "edges forgotten": times(1.0, 0.0),
    "one entry": changed(one_entry),
    "stale": remembered(lambda seen: seen[-2:][0]),
    "of the start": remembered(lambda seen: seen[:2][-1]),  # the first is at the identity matrix
    "unsymmetric": times(1.0, 1.0),
}


# --- What runs say -------------------------------------------------------------------------------

T = np.array([[3.0, -1.0, 0.0], [-1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
GRAPHS = gda.GraphMetrics(4.0, 0.1)


def wrong_sign(metric: FloatArray) -> tuple[float, FloatArray]:
    return float(((metric - T) ** 2).sum()), -2 * (metric - T)


def concave(metric: FloatArray) -> tuple[float, FloatArray]:
    return -float((metric**2).sum()), -2 * metric


def problem(function: Any, tested: bool = False, **options: Any) -> gda.MetricProblem:
    made = gda.FunctionObjective(function, 3, **options)
    made.tested = tested
    return gda.MetricProblem(made, GRAPHS)


@pytest.mark.parametrize("method", METHODS)
def test_the_wrong_sign_is_found_at_the_start(method: str) -> None:
    with pytest.raises(
        gda.errors.InvalidInputError,
        match=r"the gradient of FunctionObjective\(wrong_sign\) is wrong: .* slope is -?\d.* to "
        r"-?\d.*gdaopt.check_objective",
    ):
        solve(problem(wrong_sign), method)
    name, options = WAYS[method]
    with pytest.raises(gda.errors.InvalidInputError, match="is wrong"):
        next(gda.iterate(problem(wrong_sign), name, **options))


@pytest.mark.parametrize("method", sorted({*METHODS} - {"projected-gradient"}))
def test_a_bound_above_an_earlier_value_is_an_error(method: str) -> None:
    """Nobody looks at the gradient of an objective that calls itself tested.

    Projected gradients find no step that lowers it, and stall at the start.
    """
    with pytest.raises(gda.errors.GdaoptError) as found:
        solve(problem(wrong_sign, tested=True), method)
    said = re.search(
        r"the objective is (\S+) at a member of the set, below the certified lower bound of "
        r"(\S+): .*gda.check_objective .* convex=False$",
        str(found.value),
    )
    assert said is not None, str(found.value)
    value, bound = map(float, said.groups())
    assert value < bound
    assert not isinstance(found.value, ValueError)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("trace_bound", [4.0, 9.0])
def test_a_vertex_below_the_bound_is_an_error(trace_bound: float, method: str) -> None:
    """The gradient of a concave function is right, and its tangents are above it."""
    made = gda.FunctionObjective(concave, 3)
    with pytest.raises(
        gda.errors.GdaoptError, match=r"the objective is -\d.* bound of -\d.*convex=False"
    ):
        solve(gda.MetricProblem(made, gda.GraphMetrics(trace_bound)), method)


def test_the_wrong_sign_is_found_in_a_sum_and_where_nothing_is_convex() -> None:
    total = gda.Ridge(3) + 0.5 * gda.FunctionObjective(wrong_sign, 3)
    for wrong in (gda.MetricProblem(total, GRAPHS), problem(wrong_sign, convex=False)):
        with pytest.raises(
            gda.errors.InvalidInputError, match=r"the gradient of .*FunctionObjective.* wrong"
        ):
            gda.solve(wrong, "projected-gradient")


def test_only_ones_own_objectives_pay() -> None:
    """Two values at the start; at the end a gradient, its two values, and that of a vertex."""
    calls = []

    def counted(metric: FloatArray) -> tuple[float, FloatArray]:
        calls.append(metric)
        return float(((metric - T) ** 2).sum()), 2 * (metric - T)

    counts = []
    for tested in (False, True):
        made = problem(counted, tested)
        calls.clear()
        assert gda.solve(made, "certified").status == "converged"
        counts.append(len(calls))
    assert counts[0] - counts[1] == 6
    for name in OBJECTIVES:
        own = name in ("function", "DenseObjective")
        assert getattr(objective(name), "tested", False) is not own, name
    assert not (gda.Ridge(3) + objective("function")).tested


@pytest.mark.parametrize(
    "method", ["certified", "frank-wolfe, pairwise", "projected-gradient", "joint, gradient"]
)
@pytest.mark.parametrize("share", [0.0, 1e-9, 1e-3])
def test_objectives_are_asked_inside_of_the_set(share: float, method: str) -> None:
    """A start on the boundary is no reason to leave the domain, where a function may raise."""

    def barrier(metric: FloatArray) -> tuple[float, FloatArray]:
        np.linalg.cholesky(metric - 0.99 * low * np.eye(3))  # raises outside
        assert np.trace(metric) < 9 * (1 + 1e-6)
        inverse = np.linalg.inv(metric)
        return float(np.trace(metric) - np.linalg.slogdet(metric)[1]), np.eye(3) - inverse

    low = 1e-3
    made = gda.FunctionObjective(barrier, 3)
    start = np.diag([9 - 2 * low - share, low + share, low])
    whole = gda.MetricProblem(made, gda.GraphMetrics(9.0, low))
    result = solve(whole, method, initial=start, max_iterations=5)
    assert result.status in ENDED_NORMALLY, result.message


@pytest.mark.parametrize("set_name", ["positive definite", "graph", "signed"])
def test_a_subgradient_at_a_kink_is_no_wrong_gradient(set_name: str) -> None:
    """At the start, the middle of the set, all edges are 0, and so is the sign of an edge."""
    whole = gda.MetricProblem(gda.FunctionObjective(lasso(T, 1.0), 3), named_set(set_name, 3, 7.0))
    result = gda.solve(whole, "frank-wolfe", max_iterations=200)
    exact = gda.CvxpyObjective(lambda M: cp.sum_squares(M - T) + cp.norm1(M) - cp.trace(M), 3)
    best = gda.solve(whole.with_objective(exact), "sdp").objective
    assert result.lower_bound is not None
    assert result.lower_bound <= best * (1 + 1e-6)


@pytest.mark.parametrize("method", ["frank-wolfe", "certified"])
@pytest.mark.parametrize("seed", [0, 15, 45])
def test_terms_that_cancel_at_the_start_are_no_contradiction(seed: int, method: str) -> None:
    """A start at an optimum of 0: value and gradient are what is left of terms of about 1."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((2, 2))
    P = root @ root.T + np.eye(2)

    def divergence(metric: FloatArray) -> tuple[float, FloatArray]:
        sign, log = np.linalg.slogdet(metric @ np.linalg.inv(P))
        if sign <= 0 or np.linalg.eigvalsh(metric)[0] <= 1e-13:
            return np.inf, np.full((2, 2), np.nan)
        value = float(np.trace(np.linalg.solve(P, metric)) - log - 2)
        return value, np.linalg.inv(P) - np.linalg.inv(metric)

    made = gda.FunctionObjective(divergence, 2)
    whole = gda.MetricProblem(made, gda.PositiveDefiniteMetrics(2 * float(np.trace(P)), 0.0))
    result = gda.solve(whole, method, initial=P, max_iterations=3)
    assert abs(result.objective) < 1e-14


@pytest.mark.covering(1, 2)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - {"honest"}))
@pytest.mark.parametrize("set_name", SETS)
@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_converged_that_is_not(
    method: str, set_name: str, fault: str, seed: int
) -> None:
    try:
        result = solve(problem_of(method, set_name, seed, fault=fault), method, **OPTIONS)
    except gda.errors.GdaoptError as error:
        said = str(error)
    else:
        assert fault not in ("sign", "factor")
        honest = problem_of(method, set_name, seed)
        value = honest.objective.at(result.metric).value
        best = gda.solve(honest, "certified", tolerance=1e-8).objective
        if result.status == "converged":
            assert value - best <= 2 * OPTIONS["tolerance"] * abs(value)
        return
    # A decomposition refuses a matrix that is not symmetric before anything is compared.
    assert "check_objective" in said or "is not symmetric" in said


@pytest.mark.covering(1, 2)
@pytest.mark.parametrize("decades", [0.0, 6.0])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("set_name", SETS)
@pytest.mark.parametrize("method", METHODS)
def test_honest_gradients_raise_no_alarm(
    method: str, set_name: str, seed: int, decades: float
) -> None:
    """Scales of metrics and of values are between 1e-6 and 1e6: gradients between 1e±12."""
    result = solve(problem_of(method, set_name, seed, decades), method, **OPTIONS)
    assert result.status in ENDED_NORMALLY, result.message
