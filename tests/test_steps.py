"""Step rules: the exact step against SciPy's bounded minimiser, the others by their promises."""

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
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import (
    AtomsDirection,
    ColumnDirection,
    DenseDirection,
    DiagonalDirection,
    Direction,
)
from gdaopt.objectives.protocol import Line
from gdaopt.programs import JointPolytope
from gdaopt.programs.joint import entries_of, matrix_of
from gdaopt.steps import Adaptive, Agnostic, Exact, Full, Short, Step, find_step
from gdaopt.validation import FloatArray
from tests.helpers import PROPERTY, generators, random_metric, random_symmetric
from tests.methods.run_cases import Case, cases


@dataclass
class Function:
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


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("exact", Exact()),
        ("adaptive", Adaptive()),
        ("short", Short()),
        ("agnostic", Agnostic()),
        ("full", Full()),
    ],
)
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


# --- Rules with a constant -----------------------------------------------------------------------


@dataclass(frozen=True)
class Segment:
    """A GLR at one member of ``M ⪰ ρI``, and the way to another."""

    glr: gda.GLR
    rho: float
    metric: FloatArray
    other: FloatArray

    @property
    def line(self) -> Line:
        return self.glr.at(self.metric).line(DenseDirection(self.other - self.metric))


def segment(rng: np.random.Generator) -> Segment:
    """Return a segment; in half of the cases downhill at first."""
    size = int(rng.integers(1, 6))
    X = rng.standard_normal((12, size)) * 10 ** rng.uniform(-1.5, 0.5)
    z = rng.standard_normal(12) * 10 ** rng.uniform(-3, 3)
    rho = float(rng.choice([0.0, 0.01, 0.3]))
    low, high = (
        random_metric(rng, size) * 10 ** rng.uniform(-2, 1) + rho * np.eye(size) for _ in range(2)
    )
    return Segment(gda.GLR(X, z), rho, low, high)


@pytest.mark.parametrize("iteration", [0, 1, 2, 10, 1000])
def test_the_agnostic_step(iteration: int) -> None:
    line = parabola(0.3)
    assert Agnostic().size(line, iteration) == 2 / (iteration + 2)
    assert line.trials == []


@PROPERTY
@given(generators)
def test_the_lipschitz_constant_of_glr_is_one(rng: np.random.Generator) -> None:
    """``‖∇Q(M) - ∇Q(M')‖ ≤ L ‖M - M'‖`` over ``M ⪰ ρI``, and the formula of DESIGN section 5."""
    there = segment(rng)
    constant = there.glr.lipschitz(there.rho)
    difference = there.glr.gradient(there.other) - there.glr.gradient(there.metric)
    distance = np.linalg.norm(there.other - there.metric)
    assert np.linalg.norm(difference) <= constant * distance * (1 + 1e-12)

    X = there.glr.pairs.features
    z = rng.standard_normal((12, 2))
    literal = 0.0
    for xi, zi in zip(X, z, strict=True):
        for xj, zj in zip(X, z, strict=True):
            square = float((xi - xj) @ (xi - xj))
            literal += float((zi - zj) @ (zi - zj)) * np.exp(-there.rho * square) * square**2
    assert gda.GLR(X, z).lipschitz(there.rho) == pytest.approx(literal, rel=1e-12)


def test_the_lipschitz_constant_is_sharp() -> None:
    """One pair, at M = ρI, along dd': no smaller constant would do."""
    glr, rho, d = gda.GLR([[0.0, 0.0], [1.0, 2.0]], [1, -1]), 0.1, np.array([1.0, 2.0])
    move = 1e-6 * np.outer(d, d)
    change = glr.gradient(rho * np.eye(2) + move) - glr.gradient(rho * np.eye(2))
    ratio = np.linalg.norm(change) / np.linalg.norm(move)
    assert ratio == pytest.approx(glr.lipschitz(rho), rel=1e-4)


@PROPERTY
@given(generators)
def test_short_is_its_formula_and_decreases(rng: np.random.Generator) -> None:
    there = segment(rng)
    problem = gda.MetricProblem(there.glr, gda.GraphMetrics(100.0, there.rho))
    rule, line = Short().prepared(problem), there.line
    slope = line.derivatives(0.0)[0]
    length = float(((there.other - there.metric) ** 2).sum())
    expected = min(1.0, max(0.0, -slope) / (there.glr.lipschitz(there.rho) * length))
    gamma = rule.size(line, 3)
    assert gamma == pytest.approx(expected, rel=1e-12)
    assert line.value(gamma) <= line.value(0.0) * (1 + 1e-14) + gamma * slope / 2


@PROPERTY
@given(generators, st.sampled_from([Adaptive(), Adaptive(0.5, 1.5), Adaptive(1.0, 10.0)]))
def test_adaptive_decreases(rng: np.random.Generator, rule: Adaptive) -> None:
    """By half of what the slope promises, at each of a few steps that share the estimate."""
    there = segment(rng)
    running = rule.prepared(gda.MetricProblem(there.glr, gda.GraphMetrics(100.0, there.rho)))
    point = there.glr.at(there.metric)
    for iteration in range(8):
        target = random_metric(rng, len(there.metric)) * 10 ** rng.uniform(-2, 1)
        direction = DenseDirection(target - point.metric)
        line = point.line(direction)
        slope = line.derivatives(0.0)[0]
        gamma = running.size(line, iteration)
        assert 0 <= gamma <= 1
        assert gamma == 0 or slope < 0
        assert line.value(gamma) <= line.value(0.0) * (1 + 1e-13) + gamma * slope / 2
        point = point.moved(direction, gamma)
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


class Nearest(gda.DenseObjective):
    """``‖M - T‖² / 2``, of Lipschitz constant 1."""

    def __init__(self, target: FloatArray) -> None:
        super().__init__(len(target))
        self.target = target
        self.asked = 0

    def value(self, metric: FloatArray) -> float:
        self.asked += 1
        return float(((metric - self.target) ** 2).sum()) / 2

    def gradient(self, metric: FloatArray) -> FloatArray:
        return metric - self.target


@pytest.mark.parametrize("method", ["alternating", "joint"])
def test_short_needs_a_constant_before_any_work(method: str) -> None:
    objective = Nearest(np.array([[2.0, -1.0], [-1.0, 2.0]]))
    problem = gda.MetricProblem(objective, gda.GraphMetrics(10.0))
    with pytest.raises(gda.InvalidInputError, match=r"no Lipschitz constant .*Short\(lipschitz="):
        gda.solve(problem, method, solver="analytic", step="short")
    assert objective.asked == 0
    result = gda.solve(problem, method, solver="analytic", step=Short(lipschitz=1.0))
    assert result.objective < 0.01 * result.trace[0].objective


def test_short_takes_the_objectives_own_constant() -> None:
    class Known(Nearest):
        def lipschitz(self, min_eigenvalue: float) -> float:
            return 1.0 + min_eigenvalue

    problem = gda.MetricProblem(Known(np.eye(2)), gda.GraphMetrics(10.0, 0.25))
    assert Short().prepared(problem) == Short(lipschitz=1.25)
    assert Short(lipschitz=3.0).prepared(problem) == Short(lipschitz=3.0)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Short(lipschitz=0.0), "lipschitz"),
        (lambda: Short(lipschitz=-1.0), "lipschitz"),
        (lambda: Short(lipschitz=math.nan), "lipschitz"),
        (lambda: Adaptive(increase=1.0), "increase"),
        (lambda: Adaptive(decrease=0.0), "decrease"),
        (lambda: Adaptive(decrease=1.1), "decrease"),
        (lambda: Adaptive(decrease=math.inf), "decrease"),
        (lambda: Short().size(parabola(0.3), 0), "Lipschitz constant"),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], Any], what: str) -> None:
    with pytest.raises(gda.InvalidInputError, match=what):
        make()


@pytest.mark.parametrize("rule", [Exact(), Adaptive(), Short(lipschitz=1.0)])
@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_no_step_uphill(rule: Step, slope: float) -> None:
    line = Function(lambda g: g * slope + g**2, lambda g: slope + 2 * g, lambda _: 2.0)
    assert rule.size(line, 0) == 0.0


@PROPERTY
@given(generators, st.sampled_from([1, 2, 5, 12]))
def test_norms_of_directions(rng: np.random.Generator, size: int) -> None:
    column = rng.standard_normal(size)
    column[0] = 0.0
    two_sparse = Atoms(rng.integers(size, size=(3, 2)), rng.standard_normal((3, 2)))
    for direction in (
        DiagonalDirection(rng.standard_normal(size)),
        ColumnDirection(0, column),
        AtomsDirection(rng.standard_normal(3), two_sparse),
        AtomsDirection(rng.standard_normal(2), Atoms.of_vectors(rng.standard_normal((2, size)))),
        DenseDirection(random_symmetric(rng, size)),
    ):
        dense = direction.added_to(np.zeros((size, size)), 1.0)
        assert direction.norm_squared() == pytest.approx(float((dense**2).sum()), rel=1e-12)


# --- Rules against each other --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fixed:
    """A joint polytope of a fixed v, its vertices by DESIGN section 3, and an objective over it."""

    objective: Any
    lipschitz: float
    v: FloatArray
    rho: float = 0.01

    @property
    def polytope(self) -> JointPolytope:
        size = len(self.v)
        return JointPolytope(self.v, self.rho, float(size), np.zeros(size * (size - 1) // 2))

    @property
    def diameter(self) -> float:
        size = len(self.v)
        atoms = [np.zeros(size), *np.eye(size)]
        for i in range(size):
            for j in range(i + 1, size):
                u = self.v[j] * np.eye(size)[i] - self.v[i] * np.eye(size)[j]
                atoms.append(u / np.linalg.norm(u))
        vertices = self.polytope.budget * np.array([np.outer(u, u) for u in atoms])
        return float(max(np.linalg.norm(a - b) for a in vertices for b in vertices))

    def run(self, rule: Step, steps: int) -> tuple[FloatArray, float]:
        """Return the values of Frank–Wolfe by hand from the vertex ρI, and a lower bound of Q*."""
        size, polytope = len(self.v), self.polytope
        upper = np.triu_indices(size, 1)
        point = self.objective.at(self.rho * np.eye(size))
        values, bound = [point.value], -math.inf
        for iteration in range(steps):
            gradient = point.gradient()
            cost = np.concatenate([np.diagonal(gradient), -2 * gradient[upper]])
            change = polytope.minimize(cost) - entries_of(point.metric)
            bound = max(bound, point.value + float(cost @ change))
            direction = DenseDirection(matrix_of(change, size))
            point = point.moved(direction, rule.size(point.line(direction), iteration))
            values.append(point.value)
        return np.array(values), bound


def fixed(kind: str, seed: int) -> Fixed:
    rng = np.random.default_rng(seed)
    v = 10 ** rng.uniform(-0.5, 0, 4)
    if kind == "glr":
        glr = gda.GLR(rng.standard_normal((15, 4)) / 2, np.repeat([1.0, -1.0], [7, 8]))
        return Fixed(glr, glr.lipschitz(0.01), v)
    return Fixed(Nearest(random_metric(rng, 4) / 2), 1.0, v)


@pytest.mark.parametrize("kind", ["glr", "nearest"])
@pytest.mark.parametrize("seed", range(3))
def test_agnostic_keeps_its_bound_on_a_fixed_polytope(kind: str, seed: int) -> None:
    """``Q_t - Q* ≤ 2 L diam² / (t + 2)`` for t ≥ 1 (Jaggi 2013, theorem 1)."""
    there = fixed(kind, seed)
    exact, best = there.run(Exact(), 2000)
    assert exact[-1] - best <= 0.01 * abs(exact[0] - best)  # Q* is known well enough
    values, _ = there.run(Agnostic(), 500)
    steps = np.arange(1, 501)
    bound = 2 * there.lipschitz * there.diameter**2 / (steps + 2)
    assert (values[1:] - best <= bound).all()
    assert exact[-1] >= best * (1 - 1e-12)


def test_the_bound_is_none_for_full_steps() -> None:
    """They jump from vertex to vertex: the test above can fail."""
    there = fixed("nearest", 0)
    best = there.run(Exact(), 2000)[1]
    values, _ = there.run(Full(), 500)
    assert values[-1] - best > 2 * there.diameter**2 / 502


@pytest.mark.parametrize("method", ["alternating", "joint"])
@pytest.mark.parametrize("rule", ["adaptive", "short", "agnostic", "full"])
def test_exact_is_the_lowest_after_one_step(method: str, rule: str) -> None:
    lower: list[bool] = []

    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(cases(bounds_follow=True))
    def check(case: Case) -> None:
        exact, other = (
            gda.solve(
                case.problem(),
                method,
                solver="analytic",
                step=step,
                edge_floor=case.edge_floor,
                max_iterations=1,
            )
            for step in ("exact", rule)
        )
        assert exact.trace[0].objective == other.trace[0].objective
        assert exact.objective <= other.objective * (1 + 1e-12)
        lower.append(exact.objective < other.objective * (1 - 1e-9))

    check()
    assert any(lower)


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
        from gdaopt.objectives.exponentials import ExponentialLine

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
