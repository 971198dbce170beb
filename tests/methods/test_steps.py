"""Step rules: by their names, of one's own, and the formula or the promise of each."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.linalg.directions import DenseDirection
from gdaopt.linalg.entries import all_edges, entries_of, matrix_of
from gdaopt.methods.steps import Adaptive, Agnostic, Exact, Full, Short, Step, find_step
from gdaopt.objectives.protocol import Line
from gdaopt.programs import JointPolytope
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, random_metric
from tests.methods.certified_cases import Nearest
from tests.methods.run_cases import Case, Function, parabola, segment

# --- By name, and of one's own --------------------------------------------------------------------


@pytest.mark.parametrize("rule", [Exact(), Adaptive(), Short(), Agnostic(), Full()])
def test_steps_are_found_by_name(rule: Any) -> None:
    assert find_step(type(rule).__name__.lower()) == rule
    assert find_step(rule) is rule


class Half(Step):
    """A rule of one's own."""

    def size(self, line: Line, iteration: int) -> float:
        return 0.5


def test_a_rule_of_ones_own_is_used() -> None:
    point = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    problem = gda.MetricProblem(point, gda.GraphMetrics(2.0))
    trace = gda.solve(
        problem, "alternating", solver="analytic", step=Half(), max_iterations=3
    ).trace
    assert [row.step for row in trace][1:] == [0.5, 0.5, 0.5]


class Returning(Step):
    """A rule that returns some object."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def size(self, line: Line, iteration: int) -> float:
        found: float = self.found
        return found


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
    glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    problem = gda.MetricProblem(glr, gda.GraphMetrics(2.0))
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        gda.solve(problem, method, step=Returning(found))


@pytest.mark.parametrize("step", ["exakt", "EXACT", "", None, 1, Half])
def test_others_are_refused(step: Any) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=r"unknown step .*Known: adaptive, "):
        find_step(step)


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
    with pytest.raises(gda.errors.InvalidInputError, match=what):
        make()


@pytest.mark.parametrize("rule", [Exact(), Adaptive(), Short(lipschitz=1.0)])
@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_no_step_uphill(rule: Step, slope: float) -> None:
    line = Function(lambda g: g * slope + g**2, lambda g: slope + 2 * g, lambda _: 2.0)
    assert rule.size(line, 0) == 0.0


# --- Short ----------------------------------------------------------------------------------------


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


def test_short_takes_the_objectives_own_constant() -> None:
    class Known(Nearest):
        def lipschitz(self, min_eigenvalue: float) -> float:
            return 1.0 + min_eigenvalue

    problem = gda.MetricProblem(Known(np.eye(2)), gda.GraphMetrics(10.0, 0.25))
    assert Short().prepared(problem) == Short(lipschitz=1.25)
    assert Short(lipschitz=3.0).prepared(problem) == Short(lipschitz=3.0)


# --- Adaptive -------------------------------------------------------------------------------------


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


# --- Open loop, and the bound of the agnostic step on a fixed polytope ----------------------------


@pytest.mark.parametrize("iteration", [0, 1, 2, 10, 1000])
def test_the_agnostic_step(iteration: int) -> None:
    line = parabola(0.3)
    assert Agnostic().size(line, iteration) == 2 / (iteration + 2)
    assert line.trials == []


@dataclass(frozen=True, eq=False)
class Fixed:
    """A joint polytope of a fixed v, and an objective over it.

    Its vertices are those of "Proposition: joint program is a ratio test".
    """

    objective: Any
    lipschitz: float
    v: FloatArray
    rho: float = 0.01

    @property
    def polytope(self) -> JointPolytope:
        size = len(self.v)
        edges = all_edges(size)
        return JointPolytope(self.v, self.rho, float(size), edges, np.zeros(len(edges[0])))

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
        point = self.objective.at(self.rho * np.eye(size))
        values, bound = [point.value], -math.inf
        for iteration in range(steps):
            gradient = point.gradient()
            cost = np.concatenate([np.diagonal(gradient), -2 * gradient[polytope.edges]])
            change = polytope.minimize(cost) - entries_of(point.metric, polytope.edges)
            bound = max(bound, point.value + float(cost @ change))
            direction = DenseDirection(matrix_of(change, size, polytope.edges))
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


@pytest.mark.covering(1)
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


@pytest.mark.parametrize("iteration", [0, 1, 100])
def test_the_full_step_is_1(iteration: int) -> None:
    assert Full().size(parabola(0.0), iteration) == 1.0
