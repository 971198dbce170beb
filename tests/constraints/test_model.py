"""Models in CVXPY's language: what is read of them, and what is refused before any work."""

import copy
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.constraints.model import ModelReader

SIZE = 3
SET = gda.GraphMetrics(trace_bound=6.0, min_eigenvalue=0.1)
GLR = gda.GLR(np.eye(SIZE), [1, -1, 1])


def variable(**keywords: Any) -> cp.Variable:
    return cp.Variable((SIZE, SIZE), name="M", **(keywords or {"symmetric": True}))


def test_from_cvxpy_is_the_problem_itself() -> None:
    M = variable()
    rows = [M[0, 1] == 0, cp.diag(M) <= 3]
    problem = gda.MetricProblem.from_cvxpy(cp.Problem(cp.Minimize(GLR(M)), [*SET.of(M), *rows]))
    by_hand = gda.MetricProblem(GLR, SET, constraints=lambda M: [M[0, 1] == 0, cp.diag(M) <= 3])
    assert problem.objective is GLR
    assert problem.feasible_set == SET
    assert problem.rows is not None
    assert by_hand.rows is not None
    assert np.array_equal(problem.rows.matrices.toarray(), by_hand.rows.matrices.toarray())
    assert np.array_equal(problem.rows.bounds, by_hand.rows.bounds)


@pytest.mark.parametrize("keywords", [{"symmetric": True}, {"PSD": True}, {"name": "M"}])
def test_each_kind_of_variable(keywords: dict[str, Any]) -> None:
    M = cp.Variable((SIZE, SIZE), **keywords)
    for cone in ("semidefinite", "second-order"):  # whatever variables the cones have
        problem = cp.Problem(cp.Minimize(GLR(M)), [M == M.T, *SET.of(M, cone=cone)])
        model = ModelReader(problem).model()
        assert model.metric is M
        assert model.feasible_set == SET
        assert model.rows is None  # that M is symmetric says nothing new


@pytest.mark.parametrize("attribute", ["nonneg", "diag", "NSD", "integer"])
def test_attributes_that_no_set_has_are_refused(attribute: str) -> None:
    M = variable(**{attribute: True})
    with pytest.raises(gda.errors.InvalidInputError, match=f"attribute {attribute}"):
        ModelReader(cp.Problem(cp.Minimize(cp.trace(M)), SET.of(M))).model()


def test_the_least_bound_on_the_trace_is_the_sets() -> None:
    M, budget = variable(), cp.Parameter(value=4.0)
    others = [cp.trace(M) <= 5, cp.trace(M) >= 1, 3 * cp.trace(M) / 2 - 1 <= budget]
    model = ModelReader(cp.Problem(cp.Minimize(GLR(M)), [*SET.of(M), *others])).model()
    assert model.feasible_set.trace_bound == pytest.approx(10 / 3)
    assert model.rows is not None
    assert len(model.rows) == 1  # the trace from below
    budget.value = 100.0
    model = ModelReader(cp.Problem(cp.Minimize(GLR(M)), [*SET.of(M), *others[2:]])).model()
    assert model.feasible_set is SET
    assert model.rows is None


Made = Callable[[cp.Variable], tuple[Any, list[cp.Constraint]]]

REFUSED: dict[str, tuple[Made, str]] = {
    "no set": (lambda M: (GLR(M), [M >> 0]), "no set of metrics"),
    "two sets": (
        lambda M: (GLR(M), [*SET.of(M), *gda.DiagonalMetrics(2.0).of(M)]),
        "two sets, GraphMetrics.* and DiagonalMetrics",
    ),
    "sets of two variables": (
        lambda M: (GLR(M), [*SET.of(M), *SET.of(variable())]),
        "two sets",
    ),
    "a part of a set": (lambda M: (GLR(M), SET.of(M)[:-1]), "1 of 3 are missing"),
    "a set of an expression": (lambda M: (GLR(M), SET.of(2 * M)), "one of a variable"),
    "two variables": (
        lambda M: (GLR(M) + cp.square(cp.Variable(name="t")), SET.of(M)),
        "the objective has a variable beside the metric M: t",
    ),
    "two variables in a row": (
        lambda M: (GLR(M), [*SET.of(M), cp.trace(M) <= cp.Variable(name="t")]),
        "has a variable beside the metric M: t",
    ),
    "a copy of the variable": (
        lambda M: (GLR(M), copy.deepcopy([*SET.of(M), M[0, 1] == 0])),
        "copy objective and constraints together",
    ),
    "a constraint that is not affine": (
        lambda M: (GLR(M), [*SET.of(M), cp.sum_squares(M) <= 1]),
        "is not linear",
    ),
    "a cone": (lambda M: (GLR(M), [*SET.of(M), M >> 0.2 * np.eye(SIZE)]), "is not linear"),
    "a parameter without a value": (
        lambda M: (GLR(M), [*SET.of(M), cp.trace(M) <= cp.Parameter()]),
        "parameter without a value",
    ),
    "not convex": (lambda M: (-GLR(M), SET.of(M)), "negative multiple"),
    "of another size": (
        lambda M: (gda.GLR(np.eye(2), [1, -1])(M[:2, :2]), [*SET.of(M), GLR(M) <= 1]),
        "is not linear",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_model_is_refused_with_the_reason(name: str) -> None:
    made, words = REFUSED[name]
    objective, constraints = made(variable())
    with pytest.raises(gda.errors.InvalidInputError, match=words):
        gda.MetricProblem.from_cvxpy(cp.Problem(cp.Minimize(objective), constraints))
    with pytest.raises(gda.errors.InvalidInputError, match="problem must be"):
        gda.MetricProblem.from_cvxpy("problem")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bound", "kind"),
    [(0.2, gda.errors.InfeasibleProblemError), (SIZE * 0.1, gda.errors.NoInteriorError)],
)
def test_a_trace_below_that_of_every_member(bound: float, kind: type[Exception]) -> None:
    M = variable()
    with pytest.raises(kind, match="bounds the trace by"):
        ModelReader(cp.Problem(cp.Minimize(GLR(M)), [*SET.of(M), cp.trace(M) <= bound])).model()
