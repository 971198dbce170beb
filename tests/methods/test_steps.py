"""Step rules: by their names, of one's own, and the formula or the promise of each.

The exact step is compared with SciPy's bounded minimiser.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import gdaopt as gda
from gdaopt.linalg.directions import DenseDirection, DiagonalDirection, Direction
from gdaopt.methods.steps import Adaptive, Agnostic, Exact, Full, Short, Step, find_step
from gdaopt.objectives.pair_point import PairLine
from gdaopt.objectives.protocol import Line, Point
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, properties, random_metric, random_symmetric
from tests.methods.certified_cases import Nearest
from tests.methods.run_cases import Case, before_each


@dataclass
class Function(Line):
    """A line from its value and two derivatives, counting evaluations."""

    phi: Callable[[float], float]
    slope: Callable[[float], float]
    curvature: Callable[[float], float] = lambda _: math.nan
    direction: Direction = field(default_factory=lambda: DiagonalDirection(np.ones(1)))
    trials: list[float] = field(default_factory=list)

    def value(self, gamma: float) -> float:
        return self.phi(gamma)

    def derivatives(self, gamma: float) -> tuple[float, float]:
        assert 0 <= gamma <= 1
        self.trials.append(gamma)
        return self.slope(gamma), self.curvature(gamma)

    def at(self, gamma: float) -> Point:
        raise NotImplementedError


def parabola(minimum: float, *, curved: bool = True) -> Function:
    return Function(
        lambda g: (g - minimum) ** 2,
        lambda g: 2 * (g - minimum),
        (lambda _: 2.0) if curved else (lambda _: math.nan),
    )


def segment(rng: np.random.Generator) -> tuple[gda.GLR, float, FloatArray, FloatArray]:
    """Return a GLR, ρ, and two members of ``M ⪰ ρI``; often it is downhill at first."""
    size = int(rng.integers(1, 6))
    X = rng.standard_normal((12, size)) * 10 ** rng.uniform(-1.5, 0.5)
    z = rng.standard_normal(12) * 10 ** rng.uniform(-3, 3)
    rho = float(rng.choice([0.0, 0.01, 0.3]))
    low, high = (
        random_metric(rng, size) * 10 ** rng.uniform(-2, 1) + rho * np.eye(size) for _ in range(2)
    )
    return gda.GLR(X, z), rho, low, high


# --- By name, and of one's own --------------------------------------------------------------------


@pytest.mark.parametrize("rule", [Exact(), Adaptive(), Short(), Agnostic(), Full()])
def test_steps_are_found_by_name(rule: Any) -> None:
    assert find_step(type(rule).__name__.lower()) == rule
    assert find_step(rule) is rule


THREE = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
OF_THREE = gda.MetricProblem(THREE, gda.GraphMetrics(2.0))


class Returning(Step):
    """A rule of one's own, that returns some object."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def size(self, line: Line, iteration: int) -> float:
        found: float = self.found
        return found


@pytest.mark.parametrize("method", ["alternating", "frank-wolfe"])
def test_a_rule_of_ones_own_is_used(method: str) -> None:
    trace = gda.solve(OF_THREE, method, step=Returning(0.5), max_iterations=3, tolerance=0).trace
    assert [row.step for row in trace][1:] == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("method", ["alternating", "frank-wolfe"])
@pytest.mark.parametrize(
    ("found", "message"),
    [
        (None, "the size of a step by Returning must be a number, got None"),
        (math.nan, "must be finite, got nan"),
        (1.5, r"must be at most 1, got 1\.5"),
        (-0.5, r"must be at least 0, got -0\.5"),
    ],
)
def test_what_a_rule_returns_is_checked(method: str, found: Any, message: str) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        gda.solve(OF_THREE, method, step=Returning(found))


@pytest.mark.parametrize("step", ["exakt", "EXACT", "", None, 1, Returning])
def test_others_are_refused(step: Any) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=r"unknown step .*Known: adaptive, "):
        find_step(step)


@pytest.mark.parametrize("rule", [Exact(), Adaptive(), Short(lipschitz=1.0)])
@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_no_step_uphill(rule: Step, slope: float) -> None:
    line = Function(lambda g: g * slope + g**2, lambda g: slope + 2 * g, lambda _: 2.0)
    assert rule.size(line, 0) == 0.0


# --- Short ----------------------------------------------------------------------------------------


@PROPERTY
@given(generators)
def test_short_is_its_formula_and_decreases(rng: np.random.Generator) -> None:
    glr, rho, metric, other = segment(rng)
    rule = Short().prepared(gda.MetricProblem(glr, gda.GraphMetrics(100.0, rho)))
    line = glr.at(metric).line(DenseDirection(other - metric))
    slope = line.derivatives(0.0)[0]
    length = float(((other - metric) ** 2).sum())
    expected = min(1.0, max(0.0, -slope) / (glr.lipschitz(rho) * length))
    gamma = rule.size(line, 3)
    assert gamma == pytest.approx(expected, rel=1e-12)
    assert line.value(gamma) <= line.value(0.0) * (1 + 1e-14) + gamma * slope / 2


@pytest.mark.parametrize("method", ["alternating", "joint"])
def test_short_needs_a_constant_before_any_work(method: str) -> None:
    class Asked(Nearest):
        n_values = 0

        def value(self, metric: FloatArray) -> float:
            self.n_values += 1
            return super().value(metric)

    objective = Asked(np.array([[2.0, -1.0], [-1.0, 2.0]]))
    problem = gda.MetricProblem(objective, gda.GraphMetrics(10.0))
    with pytest.raises(
        gda.errors.InvalidInputError, match=r"no Lipschitz constant .*Short\(lipschitz="
    ):
        gda.solve(problem, method, solver="analytic", step="short")
    assert objective.n_values == 0
    result = gda.solve(problem, method, solver="analytic", step=Short(lipschitz=1.0))
    assert result.objective < 0.01 * result.trace[0].objective


# --- Adaptive -------------------------------------------------------------------------------------


@PROPERTY
@given(generators, st.sampled_from([Adaptive(), Adaptive(0.5, 1.5), Adaptive(1.0, 10.0)]))
def test_adaptive_decreases(rng: np.random.Generator, rule: Adaptive) -> None:
    """By half of what the slope promises, at each of a few steps that share the estimate."""
    glr, rho, metric, _ = segment(rng)
    running = rule.prepared(gda.MetricProblem(glr, gda.GraphMetrics(100.0, rho)))
    point = glr.at(metric)
    for iteration in range(8):
        target = random_metric(rng, len(metric)) * 10 ** rng.uniform(-2, 1)
        direction = DenseDirection(target - point.metric)
        line = point.line(direction)
        slope = line.derivatives(0.0)[0]
        gamma = running.size(line, iteration)
        assert 0 <= gamma <= 1
        assert gamma == 0 or slope < 0
        assert line.value(gamma) <= line.value(0.0) * (1 + 1e-13) + gamma * slope / 2
        point = point.line(direction).at(gamma)
        if slope < -1e-6 * line.value(0.0):
            assert gamma > 0


def test_adaptive_is_exact_on_parabolas_and_learns_their_curvature() -> None:
    """The first step uses the curvature there, so that the model is the function itself."""
    for minimum in (0.3, 2.0):
        line = parabola(minimum)
        assert Adaptive().size(line, 0) == pytest.approx(min(minimum, 1.0), rel=1e-6)
    # Where the curvature grows along the way, the estimate rises until the model bounds it.
    quartic = Function(
        lambda g: g**4 - 0.1 * g, lambda g: 4 * g**3 - 0.1, lambda g: 12 * g**2 + 1e-9
    )
    gamma = Adaptive().size(quartic, 0)
    assert 0 < gamma < 1
    assert quartic.value(gamma) <= gamma * quartic.derivatives(0.0)[0] / 2


def test_adaptive_steps_grow_again_where_lines_are_flatter() -> None:
    rule = Adaptive(decrease=0.8)
    steep = Function(lambda g: 50 * g**2 - g, lambda g: 100 * g - 1, lambda _: 100.0)
    flat = Function(lambda g: 0.5 * g**2 - g, lambda g: g - 1, lambda _: 1.0)
    steps = np.array([rule.size(line, 0) for line in (steep, flat, flat, flat)])
    np.testing.assert_allclose(steps, 0.01 / 0.8 ** np.arange(4))


@pytest.mark.parametrize("method", ["alternating", "joint"])
def test_the_estimate_does_not_leak_between_runs(method: str) -> None:
    rule = Adaptive()
    case = Case(n_features=6, seed=1, log_scale=0.0, bounds_follow=True, with_floor=False)
    runs = [
        gda.solve(case.problem(), method, solver="analytic", step=rule, max_iterations=40)
        for _ in range(2)
    ]
    first, second = runs
    np.testing.assert_array_equal(first.trace.column("step"), second.trace.column("step"))
    np.testing.assert_array_equal(first.metric, second.metric)


# --- Open loop ------------------------------------------------------------------------------------


@pytest.mark.parametrize("iteration", [0, 1, 2, 10, 1000])
def test_open_loop_steps_look_at_no_line(iteration: int) -> None:
    line = parabola(0.3)
    assert Agnostic().size(line, iteration) == 2 / (iteration + 2)
    assert Full().size(line, iteration) == 1.0
    assert line.trials == []


# --- Exact ----------------------------------------------------------------------------------------


def exponentials(weights: FloatArray, rates: FloatArray, *, curved: bool = True) -> Function:
    """``Σ w exp(-r γ)``, the shape of every GLR line."""

    def moment(power: int) -> Callable[[float], float]:
        return lambda g: float(weights @ ((-rates) ** power * np.exp(-rates * g)))

    return Function(moment(0), moment(1), moment(2) if curved else (lambda _: math.nan))


def until(end: float, inside: Function, beyond: float) -> Function:
    """Return a line that is some number from γ = `end` on."""

    def of(function: Callable[[float], float]) -> Callable[[float], float]:
        return lambda g: function(g) if g < end else beyond

    return Function(of(inside.phi), of(inside.slope), of(inside.curvature))


def barrier(end: float, beyond: float = math.inf) -> Function:
    """``-2γ/end - log(end - γ)``, whose minimum is at γ = `end`/2."""
    inside = Function(
        lambda g: -2 * g / end - math.log(end - g),
        lambda g: -2 / end + 1 / (end - g),
        lambda g: 1 / (end - g) ** 2,
    )
    return until(end, inside, beyond)


def uncurved(line: Function) -> Function:
    """Return a line that does not know its curvature."""
    return replace(line, curvature=lambda _: math.nan)


def reference(line: Line) -> float:
    """Return the smallest value over [0, 1] that SciPy finds, ends included."""
    inner = minimize_scalar(line.value, bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    return float(min(inner.fun, line.value(0.0), line.value(1.0)))


def check_minimum(line: Line, *, rel: float = 1e-12) -> float:
    """Check that the exact step is as low as SciPy's; return it."""
    gamma = Exact().size(line, 0)
    assert 0 <= gamma <= 1
    assert line.value(gamma) <= reference(line) + rel * abs(line.value(0.0))
    return gamma


@pytest.mark.parametrize("curved", [True, False])
@pytest.mark.parametrize(
    ("minimum", "expected"),
    [(-3.0, 0.0), (0.0, 0.0), (1e-9, 1e-9), (0.3, 0.3), (1 - 1e-9, 1 - 1e-9), (1.0, 1.0), (9, 1.0)],
)
def test_parabolas(minimum: float, expected: float, curved: bool) -> None:
    line = parabola(minimum, curved=curved)
    assert Exact().size(line, 0) == pytest.approx(expected, rel=1e-8, abs=0)
    assert len(line.trials) <= 4  # one step of Newton or of the secant is exact


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (Function(lambda _: 3.0, lambda _: 0.0, lambda _: 0.0), 0.0),
        (Function(lambda _: math.nan, lambda _: math.nan), 0.0),
        (Function(lambda g: -g, lambda _: -1.0, lambda _: 0.0), 1.0),
        (barrier(0.5, math.nan), 0.25),
    ],
    ids=["flat", "without a slope", "falling", "not a number beyond the domain"],
)
def test_odd_lines(line: Function, expected: float) -> None:
    assert Exact().size(line, 0) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("curved", [True, False])
def test_a_slope_that_falls_by_decades_at_the_start(curved: bool) -> None:
    """A billionth of the first slope is still steep there: the value must not rise."""
    rates = np.array([-1.0, -1.0, -1.0, 1e12])
    inside = Function(
        lambda g: 50 * g - float(np.log1p(g * rates).sum()),
        lambda g: 50 - float((rates / (1 + g * rates)).sum()),
        lambda g: float(((rates / (1 + g * rates)) ** 2).sum()),
    )
    line = until(1.0, inside if curved else uncurved(inside), math.inf)
    gamma = Exact().size(line, 0)
    lowest = min(line.value(g) for g in np.linspace(1e-4, 0.1, 1000))
    assert line.value(gamma) <= lowest < line.value(0.0)


@pytest.mark.parametrize("curved", [True, False])
@properties(200)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 30), log_rate=st.floats(-4, 3))
def test_sums_of_exponentials(curved: bool, seed: int, size: int, log_rate: float) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.random(size) * 10.0 ** rng.uniform(-6, 6)
    rates = rng.standard_normal(size) * 10.0**log_rate
    line = exponentials(weights, np.maximum(rates, -600.0), curved=curved)
    gamma = check_minimum(line, rel=1e-11)
    # Never up, and stationary unless it is at an end.
    assert line.value(gamma) <= line.value(0.0)
    first = line.slope(0.0)
    if 0 < gamma < 1:
        assert abs(line.slope(gamma)) <= 1.0001e-9 * abs(first) or len(line.trials) > 120
    elif gamma == 0:
        assert first >= 0
    else:
        assert line.slope(1.0) <= 0


class TestBalance:
    """The exact step on the graph Laplacian regulariser, by the balance of its slope's parts."""

    @PROPERTY
    @given(generators, st.floats(-2, 6))
    def test_it_is_the_zero_of_the_slope(self, rng: np.random.Generator, decades: float) -> None:
        X, z = rng.standard_normal((20, 4)), np.where(np.arange(20) < 9, 1.0, -1.0)
        point = gda.GLR(X, z).at(random_metric(rng, 4))
        line = point.line(DenseDirection(10**decades * random_symmetric(rng, 4)))
        gamma = Exact().size(line, 0)
        first, slope = line.derivatives(0.0)[0], line.derivatives(gamma)[0]
        if first >= 0:
            assert gamma == 0
        elif gamma == 1:
            assert slope <= 0
        else:
            assert abs(slope) <= 2e-9 * abs(first) + 1e-12 * point.value

    def test_it_takes_few_evaluations(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Also where Q rises by hundreds of decades towards γ = 1."""
        n_calls: list[float] = []
        before_each(monkeypatch, PairLine, "balance", lambda _, gamma: n_calls.append(gamma))
        rng = np.random.default_rng(0)
        X, z = rng.standard_normal((30, 3)), np.where(np.arange(30) < 9, 1.0, -1.0)
        point = gda.GLR(X, z).at(np.eye(3))
        for scale in (1.0, 1e2, 1e4):
            n_calls.clear()
            gamma = Exact().size(point.line(DiagonalDirection(scale * np.array([1.0, -1, 0]))), 0)
            assert 0 < gamma < 1 or scale == 1
            assert len(n_calls) <= 8
