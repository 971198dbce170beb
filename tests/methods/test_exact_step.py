"""The exact step, against SciPy's bounded minimiser."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import gdaopt as gda
from gdaopt.linalg.directions import ColumnDirection, DenseDirection, DiagonalDirection
from gdaopt.methods.steps import Exact
from gdaopt.objectives.protocol import Line
from tests.helpers import PROPERTY, generators, properties, random_metric, random_symmetric
from tests.methods.run_cases import Function, parabola


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


def not_a_number_from(end: float, inside: Function) -> Function:
    def of(function: Callable[[float], float]) -> Callable[[float], float]:
        return lambda g: function(g) if g < end else math.nan

    return Function(of(inside.phi), of(inside.slope), of(inside.curvature))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (Function(lambda _: 3.0, lambda _: 0.0, lambda _: 0.0), 0.0),
        (Function(lambda _: math.nan, lambda _: math.nan), 0.0),
        (Function(lambda g: -g, lambda _: -1.0, lambda _: 0.0), 1.0),
        (not_a_number_from(0.5, barrier(-4.0, 0.5)), 0.25),
    ],
    ids=["flat", "without a slope", "falling", "not a number beyond the domain"],
)
def test_odd_lines(line: Function, expected: float) -> None:
    assert Exact().size(line, 0) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("end", [1.0, 0.5, 1e-3])
@pytest.mark.parametrize("curved", [True, False])
def test_lines_that_leave_the_domain(end: float, curved: bool) -> None:
    """At γ = 1 value and slope are infinite, as for -log det at a singular metric."""
    line = barrier(-2 / end, end)  # minimum at γ = end/2
    if not curved:
        line.curvature = lambda _: math.nan
    assert Exact().size(line, 0) == pytest.approx(end / 2, rel=1e-7)


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
def test_a_slope_that_falls_by_decades_at_the_start(curved: bool) -> None:
    """A billionth of the first slope is still steep there: the value must not rise."""
    rates = np.array([-1.0, -1.0, -1.0, 1e12])
    line = Function(
        lambda g: 50 * g - float(np.log1p(g * rates).sum()) if g < 1 else math.inf,
        lambda g: 50 - float((rates / (1 + g * rates)).sum()) if g < 1 else math.inf,
        lambda g: float(((rates / (1 + g * rates)) ** 2).sum()) if g < 1 else math.inf,
    )
    if not curved:
        line.curvature = lambda _: math.nan
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


def test_glr_lines() -> None:
    """The steps end inside and at both ends."""
    found = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, z = rng.standard_normal((15, 4)), rng.choice([-1.0, 1.0], 15)
        z[:2] = 1.0, -1.0
        point, dense = gda.GLR(X, z).at(np.eye(4) / 4), random_symmetric(rng, 4)
        for direction in (
            DiagonalDirection(rng.standard_normal(4)),
            ColumnDirection(2, np.insert(rng.standard_normal(3), 2, 0.0)),
            DenseDirection(2 * dense),
        ):
            gamma = check_minimum(point.line(direction))
            found.add(gamma if gamma in (0.0, 1.0) else None)
    assert found == {0.0, 1.0, None}


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
        from gdaopt.objectives.glr import ExponentialLine

        balance, n_calls = ExponentialLine.balance, []

        def counting(line: ExponentialLine, gamma: float) -> tuple[float, float]:
            n_calls.append(gamma)
            return balance(line, gamma)

        monkeypatch.setattr(ExponentialLine, "balance", counting)
        rng = np.random.default_rng(0)
        X, z = rng.standard_normal((30, 3)), np.where(np.arange(30) < 9, 1.0, -1.0)
        point = gda.GLR(X, z).at(np.eye(3))
        for scale in (1.0, 1e2, 1e4):
            n_calls.clear()
            gamma = Exact().size(point.line(DiagonalDirection(scale * np.array([1.0, -1, 0]))), 0)
            assert 0 < gamma < 1 or scale == 1
            assert len(n_calls) <= 8
