"""Step rules by their names, rules of one's own, and bad parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import gdaopt as gda
from gdaopt.methods.steps import Adaptive, Agnostic, Exact, Full, Short, Step, find_step
from gdaopt.objectives.protocol import Line
from tests.methods.steps.cases import Function, parabola


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
    with pytest.raises(gda.InvalidInputError, match=message):
        gda.solve(problem, method, step=Returning(found))


@pytest.mark.parametrize("step", ["exakt", "EXACT", "", None, 1, Half])
def test_others_are_refused(step: Any) -> None:
    with pytest.raises(gda.InvalidInputError, match=r"unknown step .*Known: adaptive, "):
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
    with pytest.raises(gda.InvalidInputError, match=what):
        make()


@pytest.mark.parametrize("rule", [Exact(), Adaptive(), Short(lipschitz=1.0)])
@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_no_step_uphill(rule: Step, slope: float) -> None:
    line = Function(lambda g: g * slope + g**2, lambda g: slope + 2 * g, lambda _: 2.0)
    assert rule.size(line, 0) == 0.0
