"""Step rules: the exact step against SciPy's bounded minimiser, and at the edges of [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import gdaopt as gda
from gdaopt.linalg.directions import ColumnDirection, DenseDirection, DiagonalDirection
from gdaopt.objectives.protocol import Line
from gdaopt.steps import Exact, Full, Step, find_step


@dataclass
class Function:
    """A line from its value and two derivatives, counting evaluations."""

    phi: Callable[[float], float]
    slope: Callable[[float], float]
    curvature: Callable[[float], float] = lambda _: math.nan
    trials: list[float] = field(default_factory=list)

    def value(self, gamma: float) -> float:
        return self.phi(gamma)

    def derivatives(self, gamma: float) -> tuple[float, float]:
        assert 0 <= gamma <= 1
        self.trials.append(gamma)
        return self.slope(gamma), self.curvature(gamma)


def parabola(minimum: float, *, curved: bool = True) -> Function:
    return Function(
        lambda g: (g - minimum) ** 2,
        lambda g: 2 * (g - minimum),
        (lambda _: 2.0) if curved else (lambda _: math.nan),
    )


def exponentials(weights: np.ndarray, rates: np.ndarray, *, curved: bool = True) -> Function:
    """``Σ w exp(-r γ)``, the shape of every GLR line."""

    def moment(power: int) -> Callable[[float], float]:
        return lambda g: float(weights @ ((-rates) ** power * np.exp(-rates * g)))

    return Function(moment(0), moment(1), moment(2) if curved else (lambda _: math.nan))


def barrier(gradient: float, end: float) -> Function:
    """``gradient·γ - log(end - γ)``: infinite from γ = `end` on."""

    def within(gamma: float, value: Callable[[float], float], outside: float) -> float:
        return value(end - gamma) if gamma < end else outside

    return Function(
        lambda g: gradient * g + within(g, lambda left: -math.log(left), math.inf),
        lambda g: gradient + within(g, lambda left: 1 / left, math.inf),
        lambda g: within(g, lambda left: 1 / left**2, math.inf),
    )


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


def test_a_flat_line_takes_no_step() -> None:
    assert Exact().size(Function(lambda _: 3.0, lambda _: 0.0, lambda _: 0.0), 0) == 0.0


def test_a_line_without_a_slope_takes_no_step() -> None:
    assert Exact().size(Function(lambda _: math.nan, lambda _: math.nan), 0) == 0.0


def test_a_falling_straight_line_goes_to_its_end() -> None:
    assert Exact().size(Function(lambda g: -g, lambda _: -1.0, lambda _: 0.0), 0) == 1.0


@pytest.mark.parametrize("end", [1.0, 0.5, 1e-3])
@pytest.mark.parametrize("curved", [True, False])
def test_lines_that_leave_the_domain(end: float, curved: bool) -> None:
    """At γ = 1 value and slope are infinite, as for -log det at a singular metric."""
    line = barrier(-2 / end, end)  # minimum at γ = end/2
    if not curved:
        line.curvature = lambda _: math.nan
    assert Exact().size(line, 0) == pytest.approx(end / 2, rel=1e-7)


def test_lines_that_are_not_a_number_beyond_the_domain() -> None:
    inside = barrier(-4.0, 0.5)
    line = Function(
        lambda g: inside.phi(g) if g < 0.5 else math.nan,
        lambda g: inside.slope(g) if g < 0.5 else math.nan,
        lambda g: inside.curvature(g) if g < 0.5 else math.nan,
    )
    assert Exact().size(line, 0) == pytest.approx(0.25, rel=1e-7)


def test_a_kink_of_the_slope_is_bracketed() -> None:
    """Newton jumps to and fro over it: only the bracket ends that."""
    line = Function(
        lambda g: 1e6 * max(g - 0.2, 0.0) ** 2 - g,
        lambda g: 2e6 * max(g - 0.2, 0.0) - 1,
        lambda g: 2e6 if g > 0.2 else 1e-6,
    )
    assert Exact().size(line, 0) == pytest.approx(0.2 + 0.5e-6, rel=1e-12)
    assert len(line.trials) <= 122


@pytest.mark.parametrize("curved", [True, False])
def test_a_slope_that_explodes_at_the_end(curved: bool) -> None:
    """A secant through γ = 1 stays at 0 there, to round-off: only bisection gets on."""
    line = exponentials(np.array([1e-100, 1.0]), np.array([-600.0, 5.0]), curved=curved)
    assert 0.3 < check_minimum(line) < 0.4


@pytest.mark.parametrize("curved", [True, False])
@settings(max_examples=200, deadline=None, derandomize=True)
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


def glr_point(seed: int) -> tuple[Any, np.random.Generator]:
    rng = np.random.default_rng(seed)
    X, z = rng.standard_normal((15, 4)), rng.choice([-1.0, 1.0], 15)
    z[:2] = 1.0, -1.0
    return gda.GLR(X, z).at(np.eye(4) / 4), rng


@pytest.mark.parametrize("seed", range(20))
def test_glr_lines(seed: int) -> None:
    point, rng = glr_point(seed)
    dense = rng.standard_normal((4, 4))
    for direction in (
        DiagonalDirection(rng.standard_normal(4)),
        ColumnDirection(2, np.insert(rng.standard_normal(3), 2, 0.0)),
        DenseDirection(dense + dense.T),
    ):
        check_minimum(point.line(direction))


def test_glr_lines_end_inside_and_at_both_ends() -> None:
    """The directions above exercise all three cases."""
    found = set()
    for seed in range(20):
        point, rng = glr_point(seed)
        gamma = Exact().size(point.line(DiagonalDirection(rng.standard_normal(4))), 0)
        found.add(gamma if gamma in (0.0, 1.0) else None)
    assert found == {0.0, 1.0, None}


def test_a_line_of_an_objective_of_ones_own() -> None:
    """The dense fall-back knows no curvature."""

    class Square(gda.DenseObjective):
        def value(self, metric: np.ndarray) -> float:
            return float(((metric - np.eye(2)) ** 2).sum())

        def gradient(self, metric: np.ndarray) -> np.ndarray:
            return 2 * (metric - np.eye(2))

    line = Square(2).at(np.zeros((2, 2))).line(DenseDirection(4 * np.eye(2)))
    assert math.isnan(line.derivatives(0.5)[1])
    assert Exact().size(line, 0) == pytest.approx(0.25, abs=1e-12)


@pytest.mark.parametrize("iteration", [0, 1, 100])
def test_the_full_step_is_1(iteration: int) -> None:
    assert Full().size(parabola(0.0), iteration) == 1.0


@pytest.mark.parametrize(("name", "rule"), [("exact", Exact()), ("full", Full())])
def test_steps_are_found_by_name(name: str, rule: Any) -> None:
    assert find_step(name) == rule
    assert find_step(name).name == name
    assert find_step(rule) is rule


class Half(Step):
    """A rule of one's own."""

    name = "half"

    def size(self, line: Line, iteration: int) -> float:
        return 0.5


def test_a_rule_of_ones_own_is_used() -> None:
    point = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    problem = gda.MetricProblem(point, gda.GraphMetrics(2.0))
    trace = gda.solve(problem, solver="analytic", step=Half(), max_iterations=3).trace
    assert [row.step for row in trace][1:] == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("step", ["exakt", "EXACT", "", None, 1, Half])
def test_others_are_refused(step: Any) -> None:
    with pytest.raises(gda.InvalidInputError, match=r"unknown step .*Known: adaptive, "):
        find_step(step)
