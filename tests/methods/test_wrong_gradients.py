"""A run does not believe a gradient that values contradict, and has no doubts about honest ones."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import named_set
from tests.fuzz.objectives import objective_of
from tests.helpers import random_symmetric
from tests.methods.test_post_conditions import OBJECTIVES, objective

SETS = ["diagonal", "graph", "positive definite", "signed", "fixed path"]
METHODS: dict[str, dict[str, Any]] = {
    "certified": {},
    "frank-wolfe": {"variant": "pairwise", "max_iterations": 300},
    "projected-gradient": {"max_iterations": 300},
    "sdp-frank-wolfe": {"solver": "analytic", "max_iterations": 100},
    "alternating": {"solver": "analytic", "max_iterations": 100},
    "joint": {"solver": "analytic", "align": "gradient", "max_iterations": 100},
}
TOLERANCE = 1e-5
KINDS = ("Quadratic", "PairHinge", "LogDet", "LogisticPairs", "LMNN", "lasso")
Function = Callable[[FloatArray], tuple[float, FloatArray]]


@dataclass(frozen=True)
class Case:
    """A problem of a seed: a convex function of one of six kinds, at some scale, over a set."""

    seed: int
    set_name: str
    decades: float = 0.0

    @property
    def kind(self) -> str:
        return KINDS[self.seed % len(KINDS)]

    @cached_property
    def _made(self) -> tuple[int, Function, gda.sets.FeasibleSet]:
        rng = np.random.default_rng(self.seed)
        size = int(rng.integers(2, 7))
        unit = 10.0 ** rng.uniform(-self.decades, self.decades)
        loud = 10.0 ** rng.uniform(-self.decades, self.decades)
        feasible_set = named_set(self.set_name, size, unit * size * 10 ** rng.uniform(-0.5, 0.5))
        if self.kind == "lasso":
            function = lasso(random_symmetric(rng, size) + np.eye(size))
        else:
            function = of_the_package(self.kind, size, rng)
        return size, scaled(function, unit, loud), feasible_set

    def problem(self, fault: str = "honest") -> gda.MetricProblem:
        size, function, feasible_set = self._made
        if fault == "unsymmetric":
            return gda.MetricProblem(Triangular(function, size), feasible_set)
        wrong = FAULTS[fault](function, np.random.default_rng(self.seed))
        return gda.MetricProblem(gda.FunctionObjective(wrong, size), feasible_set)


def run(case: Case, method: str, fault: str = "honest") -> gda.Result | gda.errors.GdaoptError:
    """Return what a run returns or raises."""
    try:
        return gda.solve(case.problem(fault), method, tolerance=TOLERANCE, **METHODS[method])
    except gda.errors.GdaoptError as error:
        return error


# --- functions -----------------------------------------------------------------------------------


def scaled(function: Function, unit: float, loud: float) -> Function:
    """Return the function of metrics in another unit, times a number."""

    def found(metric: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(metric / unit)
        return loud * value, loud / unit * gradient

    return found


def of_the_package(kind: str, size: int, rng: np.random.Generator) -> Function:
    """Return a function that the package knows, as one of a user's own."""
    objective = objective_of(kind, size, 1.0, rng)
    return lambda metric: (objective.value(metric), objective.gradient(metric))


def lasso(target: FloatArray) -> Function:
    """Return a distance with a kink where edges are 0."""

    def found(metric: FloatArray) -> tuple[float, FloatArray]:
        off = metric - np.diag(np.diagonal(metric))
        value = ((metric - target) ** 2).sum() + 0.1 * np.abs(off).sum()
        return float(value), 2 * (metric - target) + 0.1 * np.sign(off)

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


def times(factor: float) -> Callable[[Function, np.random.Generator], Function]:
    def of(function: Function, rng: np.random.Generator) -> Function:
        def found(metric: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = function(metric)
            return value, factor * gradient

        return found

    return of


def edges_times(factor: float) -> Callable[[Function, np.random.Generator], Function]:
    def of(function: Function, rng: np.random.Generator) -> Function:
        def found(metric: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = function(metric)
            return value, factor * gradient + (1 - factor) * np.diag(np.diagonal(gradient))

        return found

    return of


def one_entry(function: Function, rng: np.random.Generator) -> Function:
    """Return the function with one entry of its gradient (and its mirror image) off by a tenth."""
    draw = rng.random(2)

    def found(metric: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(metric)
        i, j = (draw * len(metric)).astype(int)
        wrong = gradient.copy()
        wrong[i, j] += 0.1 * np.abs(gradient).max()
        wrong[j, i] = wrong[i, j]
        return value, wrong

    return found


def stale(function: Function, rng: np.random.Generator) -> Function:
    """Return the function with the gradient of the call before, once it has been called twice."""
    seen: list[FloatArray] = []

    def found(metric: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(metric)
        seen.append(gradient)
        return value, seen[-2] if len(seen) > 1 else gradient

    return found


def of_the_start(function: Function, rng: np.random.Generator) -> Function:
    """Return the function with the gradient that it has at the start, for ever."""
    seen: list[FloatArray] = []

    def found(metric: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(metric)
        seen.append(gradient)  # the first is that at the identity matrix
        return value, seen[min(len(seen) - 1, 1)]

    return found


def honest(function: Function, rng: np.random.Generator) -> Function:
    return function


FAULTS: dict[str, Callable[[Function, np.random.Generator], Function]] = {
    "honest": honest,
    "sign": times(-1.0),
    "factor": times(2.0),
    "edges halved": edges_times(0.5),
    "edges doubled": edges_times(2.0),
    "edges forgotten": edges_times(0.0),
    "one entry": one_entry,
    "stale": stale,
    "of the start": of_the_start,
    "unsymmetric": honest,
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
        gda.solve(problem(wrong_sign), method, **METHODS[method])
    with pytest.raises(gda.errors.InvalidInputError, match="is wrong"):
        next(gda.iterate(problem(wrong_sign), method, **METHODS[method]))


@pytest.mark.parametrize("method", sorted(METHODS.keys() - {"projected-gradient"}))
def test_a_bound_above_an_earlier_value_is_an_error(method: str) -> None:
    """Nobody looks at the gradient of an objective that calls itself tested.

    Projected gradients find no step that lowers it, and stall at the start.
    """
    with pytest.raises(gda.errors.GdaoptError) as found:
        gda.solve(problem(wrong_sign, tested=True), method, **METHODS[method])
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
        gda.solve(gda.MetricProblem(made, gda.GraphMetrics(trace_bound)), method, **METHODS[method])


def test_where_it_is_said_not_to_be_convex_nothing_is_claimed() -> None:
    result = gda.solve(problem(concave, convex=False), "projected-gradient")
    assert result.status == "stationary"
    assert result.lower_bound is None
    with pytest.raises(gda.errors.InvalidInputError, match="is wrong"):
        gda.solve(problem(wrong_sign, convex=False), "projected-gradient")


def test_the_sum_of_an_honest_objective_and_a_wrong_one() -> None:
    total = gda.Ridge(3) + 0.5 * gda.FunctionObjective(wrong_sign, 3)
    with pytest.raises(
        gda.errors.InvalidInputError, match=r"the gradient of .*FunctionObjective.* wrong"
    ):
        gda.solve(gda.MetricProblem(total, GRAPHS), "certified")


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


@pytest.mark.parametrize("method", ["certified", "frank-wolfe", "projected-gradient", "joint"])
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
    options = METHODS[method]
    result = gda.solve(whole, method, initial=start, **{**options, "max_iterations": 5})
    assert result.status in ("converged", "iteration_limit", "stalled"), result.message


@pytest.mark.parametrize("set_name", ["positive definite", "graph", "signed"])
def test_a_subgradient_at_a_kink_is_no_wrong_gradient(set_name: str) -> None:
    """At the start, the middle of the set, all edges are 0, and so is the sign of an edge."""

    def lasso(metric: FloatArray) -> tuple[float, FloatArray]:
        off = metric - np.diag(np.diagonal(metric))
        return float(((metric - T) ** 2).sum() + abs(off).sum()), 2 * (metric - T) + np.sign(off)

    whole = gda.MetricProblem(gda.FunctionObjective(lasso, 3), named_set(set_name, 3, 7.0))
    exact = gda.MetricProblem(
        gda.CvxpyObjective(
            lambda M: cp.sum_squares(M - T) + cp.sum(cp.abs(M)) - cp.trace(M),
            3,
        ),
        whole.feasible_set,
    )
    result = gda.solve(whole, "frank-wolfe", max_iterations=200)
    best = gda.solve(exact, "sdp").objective
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


def problem_of(method: str, set_name: str, seed: int, decades: float = 0.0) -> Case:
    """Return a case, over graph metrics where the method needs them."""
    return Case(seed, "graph" if method in ("alternating", "joint") else set_name, decades)


@pytest.mark.covering(2)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - {"honest"}))
@pytest.mark.parametrize("set_name", SETS)
@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_converged_that_is_not(
    method: str, set_name: str, fault: str, seed: int
) -> None:
    case = problem_of(method, set_name, seed)
    result = run(case, method, fault)
    if isinstance(result, gda.errors.GdaoptError):
        # A decomposition refuses a matrix that is not symmetric before anything is compared.
        assert "check_objective" in str(result) or "is not symmetric" in str(result)
        return
    assert fault not in ("sign", "factor")
    honest = case.problem()
    value = honest.objective.at(result.metric).value
    best = gda.solve(honest, "certified", tolerance=1e-8).objective
    if result.status == "converged":
        assert value - best <= 2 * TOLERANCE * abs(value)


@pytest.mark.covering(2)
@pytest.mark.parametrize("decades", [0.0, 6.0])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("set_name", SETS)
@pytest.mark.parametrize("method", METHODS)
def test_honest_gradients_raise_no_alarm(
    method: str, set_name: str, seed: int, decades: float
) -> None:
    """Scales of metrics and of values are between 1e-6 and 1e6: gradients between 1e±12."""
    result = run(problem_of(method, set_name, seed, decades), method)
    assert isinstance(result, gda.Result), str(result)
    assert result.status in ("converged", "stalled", "iteration_limit"), result.message
