"""Column generation: linear programs over a set with rows, interior points, and proofs of none."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy import optimize

import gdaopt as gda
from gdaopt.constraints.column_generation import LinearProgram, LinearSolution
from gdaopt.constraints.presolve import presolve
from gdaopt.constraints.rows import LinearConstraints, read_constraints
from gdaopt.errors import SolverFailedError
from gdaopt.linalg.atoms import Atoms
from gdaopt.support.validation import FloatArray
from tests.constraints.cases import RandomCase
from tests.helpers import random_symmetric
from tests.methods.certified_cases import KINDS, set_of

SIZE = 3


Constraints = Callable[[cp.Expression], list[cp.Constraint]]


@pytest.mark.parametrize("seed", range(12))
def test_linear_minima_are_cvxpys(seed: int) -> None:
    case = RandomCase(seed)
    problem, size = case.problem, case.free.n_features
    feasible_set, rows = problem.feasible_set, problem.rows
    assert rows is not None
    gradient = random_symmetric(np.random.default_rng(seed), size)
    accuracy = 1e-7 * feasible_set.trace_bound
    found = LinearProgram(feasible_set, rows, gradient=gradient).solve(
        *problem.members.centre,
        lambda value, bound: value - bound <= accuracy,
    )
    metric = cp.Variable((size, size), symmetric=True)
    constraints = [*feasible_set.of(metric), *case.constraints(metric)]
    program = cp.Problem(cp.Minimize(cp.trace(gradient @ metric)), constraints)
    program.solve("CLARABEL")
    base = feasible_set.base(size)
    offset = float(np.vdot(gradient, base))
    assert found.value - found.lower_bound <= accuracy
    assert program.value == pytest.approx(offset + found.value, abs=10 * accuracy)
    # The answer is a member that keeps the rows, of that value.
    answer = found.atoms.added_to(base, found.weights)
    assert np.vdot(gradient, answer) == pytest.approx(offset + found.value, abs=accuracy)
    assert not problem.violations(answer)
    assert (found.multipliers[~rows.is_equality] >= 0).all()
    # An interior point keeps all and is inside.
    centre = problem.central_metric()
    assert not problem.violations(centre)
    inside = np.linalg.eigvalsh(centre)[0] - feasible_set.min_eigenvalue
    assert inside > 1e-3 * feasible_set.trace_bound / size


@pytest.mark.parametrize("kind", KINDS)
def test_an_interior_point_is_half_as_far_inside_as_the_best(kind: str) -> None:
    size = 5
    feasible_set = set_of(kind, size, float(size), 0.0)
    rows = gda.MetricProblem(
        gda.LogDet(np.eye(size)),
        feasible_set,
        constraints=lambda M: [M[0, 0] == 0.2, M[1, 1] >= 2, cp.sum(cp.diag(M)[2:]) <= 2],
    ).rows
    assert rows is not None
    presolved = presolve(feasible_set, rows)
    atoms, weights = presolved.centre
    inner = atoms.added_to(np.zeros((size, size)), weights)
    found = np.linalg.eigvalsh(inner)[0]
    share = cp.Variable()
    metric = cp.Variable((size, size), symmetric=True)
    best = cp.Problem(
        cp.Maximize(share),
        [metric - share * np.eye(size) >> 0, *feasible_set.of(metric), *rows(metric)],
    ).solve("CLARABEL")
    assert found >= 0.5 * best - 1e-7


PROOF, BOUNDARY = "keeps all constraints", "no metric but on its boundary"
WITHOUT_INTERIOR: tuple[tuple[str, str, Constraints], ...] = (
    (PROOF, "graph", lambda M: [M[0, 0] >= 4]),
    (PROOF, "graph", lambda M: [M[0, 0] <= 1, M[0, 0] >= 2]),
    (PROOF, "graph", lambda M: [M[0, 1] >= 0.1]),
    (PROOF, "graph", lambda M: [M[0, 1] == -2]),
    (PROOF, "graph", lambda M: [cp.sum(M) <= -1]),
    (PROOF, "signed", lambda M: [M[0, 1] <= -0.1]),
    (PROOF, "signed", lambda M: [M[0, 2] == 0.1]),
    (PROOF, "diagonal", lambda M: [M[0, 1] == 0.1]),
    (PROOF, "diagonal", lambda M: [cp.trace(M) == 4]),
    (PROOF, "definite", lambda M: [M[0, 0] <= 0]),
    (PROOF, "definite", lambda M: [M[0, 1] >= 1, M[0, 0] + M[1, 1] <= 1.9]),
    (PROOF, "definite", lambda M: [cp.sum(M) <= 0.01]),
    (BOUNDARY, "graph", lambda M: [M[0, 0] == 0.01]),
    (BOUNDARY, "graph", lambda M: [M[0, 1] == -1.485, M[2, 2] == 0.01]),
    (BOUNDARY, "graph", lambda M: [cp.sum(M) == 0.03]),
    (BOUNDARY, "signed", lambda M: [M[0, 0] == 0.01]),
    (BOUNDARY, "diagonal", lambda M: [M[0, 0] <= 0.01]),
    (BOUNDARY, "diagonal", lambda M: [M[0, 0] >= 2.98]),
    (BOUNDARY, "definite", lambda M: [M[0, 0] == 0.01]),
    (BOUNDARY, "definite", lambda M: [cp.trace(M) <= 0.03]),
)


@pytest.mark.parametrize(("says", "kind", "constraints"), WITHOUT_INTERIOR)
def test_problems_without_interior_say_so(says: str, kind: str, constraints: Constraints) -> None:
    feasible_set = set_of(kind, 3, 3.0, 0.01)
    with pytest.raises(gda.errors.InfeasibleProblemError, match=says) as caught:
        gda.MetricProblem(gda.LogDet(np.eye(3)), feasible_set, constraints=constraints)
    metric = cp.Variable((3, 3), symmetric=True, name="M")
    assert says == BOUNDARY or str(constraints(metric)[0]) in str(caught.value)


def minimum(
    trace_bound: float,
    rows: LinearConstraints,
    gradient: FloatArray,
    accuracy: float = 1e-12,
    start: tuple[float, ...] = (0.0, 0.0, 0.0),
) -> LinearSolution:
    """Return the least value over graph metrics that keep the rows, as a diagonal start does."""
    program = LinearProgram(gda.GraphMetrics(trace_bound, 0.0), rows, gradient=gradient)
    atoms = Atoms.of_features(np.arange(SIZE))
    return program.solve(atoms, np.array(start), lambda value, bound: value - bound <= accuracy)


@pytest.mark.parametrize("least", [1e-8, 1e-10, 1e-12])
def test_small_rows_are_kept_to_as_many_digits_as_the_others(least: float) -> None:
    """In the units of the other row 1e-10 would be no different from 0."""
    rows = read_constraints(lambda M: [M[0, 0] >= least, M[1, 1] <= 1], SIZE)
    found = minimum(3.0, rows, np.diag([1.0, -1.0, 1.0]), 1e-13, (2 * least, 0.0, 0.0))
    metric = found.atoms.added_to(np.zeros((SIZE, SIZE)), found.weights)
    assert metric[0, 0] == pytest.approx(least, rel=1e-9, abs=0)
    assert metric[1, 1] == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9, 1e-12])
def test_linear_minima_with_nearly_dependent_equalities(apart: float) -> None:
    """Two rows say together that the first entry is 0.5: their multipliers are large and cancel."""
    rows = read_constraints(
        lambda M: [
            M[0, 0] == M[1, 1],
            (1 + apart) * M[0, 0] == M[1, 1] + 0.5 * apart,
            M[2, 2] <= 1,
        ],
        SIZE,
    )
    found = minimum(3.0, rows, -np.eye(SIZE), 1e-9, (0.5, 0.5, 0.0))
    metric = found.atoms.added_to(np.zeros((SIZE, SIZE)), found.weights)
    accuracy = max(1e-15 / apart, 1e-11)
    np.testing.assert_allclose(metric.diagonal(), [0.5, 0.5, 1.0], rtol=accuracy)
    assert found.value == pytest.approx(-2, rel=accuracy)
    assert found.lower_bound == pytest.approx(-2, rel=accuracy)


def test_linear_minima_from_a_vertex_of_more_rows_than_needed() -> None:
    """All rows bind at the start, though the best vertex needs others: no step leads there."""
    rows = read_constraints(
        lambda M: [M[0, 0] <= 1, M[1, 1] <= 1, M[0, 0] + M[1, 1] <= 2, M[0, 0] + 2 * M[1, 1] <= 3],
        SIZE,
    )
    found = minimum(5.0, rows, np.diag([-1.0, -3.0, -1.0]), start=(1.0, 1.0, 0.0))
    assert found.value == pytest.approx(-7, rel=1e-14)
    assert found.lower_bound == pytest.approx(-7, rel=1e-14)


def test_no_bound_is_above_the_value_where_all_prices_are_above_zero() -> None:
    """Then the best weights are 0, and the budget is not used."""
    rows = read_constraints(lambda M: [M[0, 0] <= 0.5], SIZE)
    found = minimum(3.0, rows, np.eye(SIZE))
    assert found.lower_bound == found.value == 0


@pytest.mark.parametrize("seed", [0, 2])
def test_bounds_of_a_search_never_fall(seed: int) -> None:
    case = RandomCase(seed)
    problem, size = case.problem, case.free.n_features
    assert problem.rows is not None
    gradient = random_symmetric(np.random.default_rng(seed), size)
    bounds = list[float]()

    def ends(value: float, bound: float) -> bool:
        bounds.append(bound)
        return False

    program = LinearProgram(problem.feasible_set, problem.rows, gradient=gradient)
    found = program.solve(*problem.members.centre, ends)
    assert len(bounds) > 2
    assert bounds == sorted(bounds)
    assert found.lower_bound == bounds[-1]


@pytest.mark.parametrize("trace_bound", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("size", [1e-320, 1e-307, 1e-100, 1e100, 1e300])
def test_costs_of_any_size_are_met_or_refused(trace_bound: float, size: float) -> None:
    rows = read_constraints(lambda M: [M[0, 0] <= 0.3 * trace_bound], SIZE)
    gradient = np.diag([-3.0, -1.0, 1.0])
    if size * min(trace_bound, 1.0) >= 1e-307 and size * trace_bound < 1e308:
        found = minimum(trace_bound, rows, size * gradient, 1e-9 * size * trace_bound)
        assert found.value == pytest.approx(-1.6 * size * trace_bound, rel=1e-8)
        assert found.lower_bound == pytest.approx(found.value, rel=1e-8)
    else:
        with pytest.raises(SolverFailedError, match="costs that under- or overflow"):
            minimum(trace_bound, rows, size * gradient)


def test_on_a_plateau_there_is_nothing_to_gain() -> None:
    """Where the gradient underflows, so that 1 over it is infinite."""
    objective = gda.NCA([[0], [1], [27], [28]], [0, 1, 0, 1])
    problem = gda.MetricProblem(objective, gda.GraphMetrics(2.0, 1.0), lambda M: [M[0, 0] <= 1.8])
    assert 0 < np.abs(objective.gradient(np.eye(1))).max() < 1e-300
    assert gda.solve(problem).status == "stationary"


@pytest.mark.parametrize("n_failing", [0, 1000])
@pytest.mark.parametrize("size", [8, 30])
def test_many_rows_are_met_by_the_simplex_method_or_by_the_active_set(
    size: int, n_failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every other entry ends at its lower bound, the rest at the upper one."""
    calls, whole = 0, optimize.linprog

    def failing(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        answer = whole(*arguments, **options)
        if calls <= n_failing:
            answer.x, answer.success = None, False
        return answer

    monkeypatch.setattr(optimize, "linprog", failing)
    rows = read_constraints(lambda M: [cp.diag(M) <= 1, cp.diag(M) >= 0.5], size)
    costs = np.where(np.arange(size) % 2, 1.0, -1.0)
    program = LinearProgram(gda.DiagonalMetrics(2.0 * size, 0.0), rows, gradient=np.diag(costs))
    atoms, start = Atoms.of_features(np.arange(size)), np.full(size, 0.75)
    found = program.solve(atoms, start, lambda value, bound: value - bound <= 1e-12)
    assert calls > 0
    metric = found.atoms.added_to(np.zeros((size, size)), found.weights)
    np.testing.assert_allclose(metric.diagonal(), np.where(costs > 0, 0.5, 1.0), rtol=1e-9)
    assert found.value == pytest.approx(-size / 4, rel=1e-9)
    assert found.lower_bound == pytest.approx(-size / 4, rel=1e-9)
