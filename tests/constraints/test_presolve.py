"""The presolve of rows: rounded data, rows that bind, dependent rows, and rows of any scale."""

import itertools
from collections.abc import Callable
from typing import TypeAlias

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.constraints.restricted import Restricted

Constraints: TypeAlias = Callable[[cp.Expression], list[cp.Constraint]]

SIZE = 3
TOLERANCE = 5e-9  # of "Algorithm: presolve of linear constraints"


def problem_of(
    constraints: Constraints, trace_bound: float = 3.0, min_eigenvalue: float = 1e-6
) -> gda.MetricProblem:
    feasible_set = gda.GraphMetrics(trace_bound, min_eigenvalue)
    return gda.MetricProblem(gda.LogDet(np.eye(SIZE)), feasible_set, constraints=constraints)


def presolved_of(problem: gda.MetricProblem) -> Restricted:
    assert problem.restricted is not None
    return problem.restricted


ROUNDED: dict[str, Constraints] = {
    "equality and inequality": lambda M: [M[0, 0] == 0.3, M[0, 0] <= 0.3 - 1e-12],
    "two equalities": lambda M: [M[0, 0] == 0.3, 2 * M[0, 0] == 0.6 + 1e-12],
    "a sum in eleven digits": lambda M: [cp.diag(M) == 0.33333333333, cp.trace(M) == 1],
    "a sum in nine digits": lambda M: [cp.diag(M) == 0.333333333, cp.trace(M) == 1],
    "beyond the trace bound": lambda M: [cp.trace(M) >= 3 * (1 + 1e-11)],
    "a band without room": lambda M: [M[1, 1] <= 0.5, M[1, 1] >= 0.5 + 1e-11, M[0, 1] == 0],
    "a band of three": lambda M: [M[0, 0] <= 0.2, M[1, 1] <= 0.3, M[0, 0] + M[1, 1] >= 0.5],
}


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    "method", ["certified", "alternating", "joint", "sdp", "socp", "sdp-frank-wolfe"]
)
@pytest.mark.parametrize("constraints", ROUNDED.values(), ids=list(ROUNDED))
def test_rows_that_rounding_contradicts_are_kept(constraints: Constraints, method: str) -> None:
    problem = problem_of(constraints)
    result = gda.solve(problem, method, max_iterations=30)
    assert not problem.violations(result.metric)
    assert problem.rows is not None
    assert problem.rows.violation(result.metric) <= 5e-9 * 3.0
    if method == "certified":
        assert result.status == "converged", result.message


@pytest.mark.parametrize(
    "constraints",
    [
        lambda M: [M[0, 0] == 0.3, M[0, 0] <= 0.3 - 1e-7],
        lambda M: [cp.diag(M) == 0.333333, cp.trace(M) == 1],
        lambda M: [cp.trace(M) >= 3 * (1 + 1e-7)],
    ],
)
def test_what_is_beyond_the_tolerance_is_refused_by_name(constraints: Constraints) -> None:
    metric = cp.Variable((SIZE, SIZE), symmetric=True, name="M")
    with pytest.raises(gda.errors.InfeasibleProblemError, match="cannot hold together") as caught:
        problem_of(constraints)
    names = [" ".join(str(constraint).split()) for constraint in constraints(metric)]
    assert any(name in str(caught.value) for name in names)


def test_names_of_rows_that_contradict_each_other() -> None:
    """Rows that have no part in it are not named, and of many only the first are."""
    says = r"keeps all constraints: 4.0 <= M\[0, 0\] cannot hold together"
    with pytest.raises(gda.errors.InfeasibleProblemError, match=says):
        problem_of(lambda M: [M[1, 1] <= 0.5, M[0, 0] >= 4, M[0, 1] >= -0.1])
    says, objective = r"\[7\]; and 12 more cannot hold", gda.LogDet(np.eye(20))
    with pytest.raises(gda.errors.InfeasibleProblemError, match=says) as caught:
        gda.MetricProblem(objective, gda.GraphMetrics(1.0), lambda M: [cp.diag(M) >= 1.0])
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("room", [0.0, 1e-13])
def test_rows_without_room_become_equalities(
    room: float,
) -> None:
    banded = problem_of(lambda M: [M[0, 0] <= 0.4, M[0, 0] >= 0.4 - room, M[1, 1] <= 0.9])
    equal = problem_of(lambda M: [M[0, 0] == 0.4, M[1, 1] <= 0.9])
    presolved = presolved_of(banded)
    assert presolved.rows.is_equality.tolist() == [True, False]
    assert presolved.indices.tolist() == [0, 2]
    found, other = (gda.solve(p, "certified", tolerance=1e-10) for p in (banded, equal))
    assert found.status == "converged", found.message
    assert found.metric[0, 0] == pytest.approx(0.4, abs=2e-13)
    assert found.objective == pytest.approx(other.objective, rel=1e-9)
    assert found.multipliers is not None
    assert other.multipliers is not None
    assert (found.multipliers >= 0).all()
    # The rows of the band are each other's negatives.
    band = found.multipliers[0] - found.multipliers[1]
    assert band == pytest.approx(other.multipliers[0], rel=1e-6)
    again = gda.certify(banded, found.metric, found.multipliers)
    assert again.lower_bound == pytest.approx(found.objective, rel=1e-8)


def test_equalities_that_follow_from_others_are_left_out() -> None:
    problem = problem_of(
        lambda M: [
            *(M[0, 1] == -0.1, cp.trace(M) == 2, cp.trace(M) - 2 * M[0, 1] == 2.2, M[2, 2] <= 1)
        ]
    )
    assert presolved_of(problem).indices.tolist() == [0, 1, 3]
    result, rows = gda.solve(problem, "certified"), problem.rows
    assert result.status == "converged"
    assert result.multipliers is not None
    assert result.multipliers.shape == (4,)
    # Multiples of what the third row follows by change no bound, and the smallest have none of it.
    assert rows is not None
    own = result.multipliers * rows.norms
    _, sizes, combinations = np.linalg.svd(rows.matrices[[0, 1, 2]].toarray().T)
    assert sizes[2] < 1e-12 < 1e-2 < sizes[1]
    assert combinations[2] @ own[:3] == pytest.approx(0.0, abs=1e-6 * float(np.abs(own).max()))


FEW: dict[str, tuple[int, Constraints]] = {
    "an entry": (2, lambda M: [M[0, 0] <= 0.5]),
    "an entry and an edge": (3, lambda M: [M[0, 0] <= 0.5, M[0, 1] == -0.1]),
    "three": (6, lambda M: [M[0, 0] <= 0.5, M[1, 1] + M[2, 2] == 1.5, M[3, 4] == -0.05]),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("exponent", [2, 3, 5, 6, 7, 8, 9, 10, 12])
@pytest.mark.parametrize("name", FEW)
def test_trace_bounds_that_do_not_bind_do_not_matter(name: str, exponent: int) -> None:
    size, constraints = FEW[name]
    S = np.cov(np.random.default_rng(0).standard_normal((12, size)).T) if size > 3 else np.eye(size)
    tight, loose = (
        gda.solve(
            gda.MetricProblem(gda.LogDet(S), gda.GraphMetrics(bound), constraints), tolerance=1e-7
        )
        for bound in (20.0, 10.0**exponent)
    )
    assert loose.status == "converged", loose.message
    assert loose.objective == pytest.approx(tight.objective, rel=2e-7)


@pytest.mark.parametrize("excess", [1e-11, 1e-10, 1e-9])
def test_rows_are_moved_until_the_set_itself_has_a_metric_that_keeps_them(excess: float) -> None:
    """A linear program's solver takes what is beyond the trace bound by 1e-10 of it for kept."""
    problem = problem_of(lambda M: [cp.trace(M) >= 3 * (1 + excess), M[0, 0] <= 1])
    rows = presolved_of(problem).rows
    least_trace = -float(rows.bounds[0]) * np.sqrt(SIZE)
    assert least_trace <= 3 * (1 + 1e-14)


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))])
def test_multipliers_of_rows_as_written(
    order: tuple[int, ...],
) -> None:
    """One band is without room only because of the other, so that each has a proof of its own."""

    def rows(metric: cp.Expression) -> list[cp.Constraint]:
        x, y = metric[0, 0], metric[1, 1]
        return [[x <= 0.2, x >= 0.2, x + y <= 0.5, y >= 0.3][k] for k in order]

    problem = problem_of(rows)
    presolved, written = presolved_of(problem), problem.rows
    assert written is not None
    assert presolved.rows.is_equality.all()
    for signs in itertools.product([-1.0, 1.0], repeat=len(presolved.indices)):
        multipliers = presolved.as_written(np.array(signs))
        assert multipliers.min() >= 0
        np.testing.assert_allclose(
            written.combine(multipliers * written.norms),
            presolved.rows.combine(np.array(signs)),
            atol=1e-12,
        )


def test_the_size_of_interior_points() -> None:
    # What no row bounds is not as large as the trace bound allows: digits would be lost.
    problem = problem_of(lambda M: [M[0, 0] <= 0.5, M[0, 1] == -0.1], 1e12)
    assert np.trace(problem.central_metric()) <= 2e6 * 0.5
    # Bounds that are round-off at the base are no scale.
    problem = problem_of(lambda M: [M[0, 0] - M[1, 1] == 5e-17], min_eigenvalue=0.1)
    assert np.trace(problem.central_metric()) > 1


# --- Rows that are nearly dependent -------------------------------------------------------------


@pytest.mark.parametrize(
    ("feasible_set", "entry"),
    [
        (gda.DiagonalMetrics(3.0, 1e-6), (0, 1)),
        (gda.GraphMetrics(3.0, 1e-6, edges=[(1, 2)]), (0, 2)),
    ],
)
def test_entries_that_the_set_keeps_at_0_make_no_row_independent(
    feasible_set: gda.GraphMetrics, entry: tuple[int, int]
) -> None:
    def rows(M: cp.Expression) -> list[cp.Constraint]:
        return [
            M[0, 0] == 0.5,
            M[0, 0] + M[entry] == 0.5,
            M[1, 1] <= 0.7,
            M[1, 1] - 3 * M[entry] <= 0.7 + 1e-12,
        ]

    problem = gda.MetricProblem(gda.LogDet(np.eye(SIZE)), feasible_set, rows)
    np.testing.assert_array_equal(presolved_of(problem).indices, [0, 2])
    assert gda.solve(problem, "certified").status == "converged"


def test_what_no_bound_proves_is_not_called_infeasible() -> None:
    """A coefficient of 1e-10 counts: a metric of a large trace keeps both rows."""
    row = np.diag([3e-11, 0.0, 1.0])

    def rows(M: cp.Expression) -> list[cp.Constraint]:
        return [cp.sum(cp.multiply(row, M)) == 0.007 + 6e-11, M[2, 2] == 0.007]

    assert not problem_of(rows).violations(np.diag([2.0, 0.1, 0.007]))


@pytest.mark.parametrize(("share", "is_kept"), [(0.4, True), (0.6, False), (0.9, False)])
def test_phase_one_uses_half_of_the_tolerance(share: float, is_kept: bool) -> None:
    """The rest is for the methods."""

    def constraints(metric: cp.Expression) -> list[cp.Constraint]:
        return [metric[0, 0] == 0.3, metric[0, 0] <= 0.3 * (1 - share * TOLERANCE)]

    if is_kept:
        problem = problem_of(constraints)
        assert not problem.violations(problem.central_metric())
    else:
        with pytest.raises(gda.errors.InfeasibleProblemError, match="cannot hold together"):
            problem_of(constraints)


MEMBER = np.array([[0.5, -0.1, -0.1], [-0.1, 0.5, -0.1], [-0.1, -0.1, 0.5]])


@pytest.mark.parametrize("place", [((0, 0), (1, 1)), ((0, 1), (0, 2))], ids=["diagonal", "edges"])
@pytest.mark.parametrize(
    ("distance", "is_kept"), [(0.2, False), (0.3, True), (10.0, True), (20.0, True)]
)
def test_an_equality_follows_from_others_up_to_a_quarter_of_the_tolerance(
    place: tuple[tuple[int, int], tuple[int, int]], distance: float, is_kept: bool
) -> None:
    (first, second), small = place, distance * TOLERANCE

    def constraints(metric: cp.Expression) -> list[cp.Constraint]:
        right = MEMBER[first] + small * MEMBER[second]
        return [metric[first] == MEMBER[first], metric[first] + small * metric[second] == right]

    presolved = presolved_of(problem_of(constraints))
    assert presolved.indices.tolist() == ([0, 1] if is_kept else [0])
    atoms, weights = presolved.centre
    metric = atoms.added_to(1e-6 * np.eye(SIZE), weights)
    if is_kept:
        assert metric[second] == pytest.approx(MEMBER[second], rel=2 / distance)


@pytest.mark.parametrize(
    ("distance", "room", "kept"),
    [(0.1, 0.0, 1), (20.0, 0.0, 2), (20.0, 1e-3, 1), (1e8, 0.1, 2)],
)
def test_inequalities_that_follow_from_another_one_are_left_out(
    distance: float, room: float, kept: int
) -> None:
    """Where no member of the set is farther from the other than the bounds are apart."""
    small = distance * TOLERANCE
    problem = problem_of(
        lambda M: [M[0, 0] <= 0.5, M[0, 0] + small * M[1, 1] <= 0.5 + room, M[2, 2] <= 1]
    )
    assert len(presolved_of(problem).indices) == kept + 1


def test_rows_that_are_far_from_each_other_determine_the_near_ones() -> None:
    """The direction that two near rows leave has round-off, and here is that of the third."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((9, 3)))[0].T
    rows = [basis[0], basis[0] + 3e-8 * basis[1], basis[1]]
    problem = gda.MetricProblem(
        gda.LogDet(np.eye(9)),
        gda.DiagonalMetrics(20.0),
        lambda M: [row @ cp.diag(M) == row.sum() for row in rows],
    )
    assert presolved_of(problem).indices.tolist() == [0, 2]


@pytest.mark.parametrize("room", [4e-12, 1e-10])
def test_a_narrow_band_stays_a_band(room: float) -> None:
    problem = problem_of(lambda M: [M[0, 0] <= 0.4, M[0, 0] >= 0.4 - room])
    assert presolved_of(problem).rows.is_equality.tolist() == [False, False]
