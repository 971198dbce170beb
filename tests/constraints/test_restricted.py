"""Multipliers of linear constraints: every one gives a lower bound, the tight ones a good one."""

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.constraints.restricted import _find_shortest
from gdaopt.support.deadline import Deadline, until
from gdaopt.support.validation import FloatArray
from gdaopt.support.warning_filters import ignoring
from tests.constraints.cases import RandomCase
from tests.covering import chosen
from tests.helpers import scaled
from tests.methods.certified_cases import Nearest


def wine() -> gda.MetricProblem:
    X, z = scaled("wine", "class_1")
    return gda.MetricProblem(
        gda.GLR(X, z),
        gda.GraphMetrics(13.0),
        constraints=lambda M: [M[0, 1] == 0, M[2, 3] == -0.05, cp.sum(cp.diag(M)[:4]) <= 2],
    )


@pytest.mark.parametrize("seed", range(12))
def test_tight_multipliers_are_nearly_the_best(seed: int) -> None:
    """Against the duals of the linear problem at the same gradient, by CVXPY."""
    case = RandomCase(seed)
    problem, size = case.problem, case.free.n_features
    metric = problem.central_metric()
    point = problem.objective.at(metric)
    variable = cp.Variable((size, size), symmetric=True)
    rows = case.constraints(variable)
    constraints = [*problem.feasible_set.of(variable), *rows]
    linear = cp.trace(point.gradient() @ variable)
    value = float(cp.Problem(cp.Minimize(linear), constraints).solve("CLARABEL"))
    gap = float(np.vdot(point.gradient(), metric)) - value
    certificate = gda.certify(problem, metric)
    linear_bound = point.value - gap
    if problem.objective.log_convex:
        linear_bound = point.value * float(np.exp(-gap / point.value))
    allowed = 0.02 * abs(point.value - linear_bound) + 1e-6 * abs(point.value)
    assert certificate.lower_bound == pytest.approx(linear_bound, abs=allowed)


def smallest_by_cvxpy(case: RandomCase, gradient: FloatArray) -> FloatArray:
    """Return them in the rows' own units: a square penalty on the rows chooses the least norm.

    Its multipliers maximise the dual function less `penalty / 2` times the square of their norm.
    """
    rows, size, penalty = case.problem.rows, len(gradient), 1e-4
    assert rows is not None
    metric, broken = cp.Variable((size, size), symmetric=True), cp.Variable(len(rows))
    unit, total = float(np.abs(gradient).max()), case.free.feasible_set.trace_bound
    left, right = rows.matrices @ cp.vec(metric, order="C"), rows.bounds + total * broken
    equal, signed = np.flatnonzero(rows.is_equality), np.flatnonzero(~rows.is_equality)
    program = cp.Problem(
        cp.Minimize(
            cp.trace(gradient / unit @ metric) / total + cp.sum_squares(broken) / (2 * penalty)
        ),
        [
            *case.free.feasible_set.of(metric),
            *([left[equal] == right[equal]] if len(equal) else []),
            *([left[signed] <= right[signed]] if len(signed) else []),
        ],
    )
    with ignoring():  # not every program is solved that well; the comparison judges the answer
        program.solve("CLARABEL", **dict.fromkeys(("tol_gap_abs", "tol_gap_rel"), 1e-11))
    assert broken.value is not None
    found: FloatArray = broken.value / penalty * unit
    return found


SEEDS = (0, 1, 2, 3, 4, 10, 11, 13, 19, 27)


@pytest.mark.parametrize("seed", chosen(SEEDS, default=[2, 3], slow=SEEDS))
def test_the_multipliers_of_a_result_are_the_smallest(seed: int) -> None:
    """Of 2, 4, 11 and 19 two rows are the same; of 3, 10 and 27 the choice is no such line."""
    case = RandomCase(seed)
    problem, rows = case.problem, case.problem.rows
    assert rows is not None
    result = gda.solve(problem, "certified", tolerance=1e-10)
    assert result.multipliers is not None
    point = problem.objective.at(result.metric)
    own = result.multipliers * rows.norms
    expected = smallest_by_cvxpy(case, point.gradient())
    size = float(np.abs(own).max()) + 0.01 * float(np.abs(point.gradient()).max())
    np.testing.assert_allclose(own, expected, atol=1e-3 * size)
    again = gda.certify(problem, result.metric, result.multipliers)
    assert again.relative_gap == pytest.approx(result.relative_gap, abs=1e-9)
    found = gda.certify(problem, result.metric).multipliers
    assert found is not None
    np.testing.assert_allclose(found * rows.norms, expected, atol=1e-3 * size)


def of_a_forbidden_edge(rows: list[str], edge: float) -> FloatArray:
    """Return multipliers at the graph that is nearest to one with an edge: λ ≤ -2 edge is right."""

    def forbidden(metric: cp.Expression) -> list[cp.Constraint]:
        kinds = {
            "equality": metric[0, 1] == 0,
            "in thousandths": 1000 * metric[0, 1] == 0,
            "at most": metric[0, 1] <= 0,
            "at least": metric[0, 1] >= 0,
        }
        return [kinds[row] for row in rows]

    target = np.array([[2.0, -edge], [-edge, 2.0]])
    problem = gda.MetricProblem(Nearest(target), gda.GraphMetrics(10.0), constraints=forbidden)
    multipliers = gda.solve(problem, "certified").multipliers
    assert multipliers is not None
    return multipliers


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["equality"], [-1.0]),
        (["in thousandths"], [-0.001]),
        (["equality", "equality"], [-0.5, -0.5]),
        (["equality", "in thousandths"], [-0.5, -0.0005]),
        (["at most", "at least"], [0.0, 1.0]),
        (["at least", "equality"], [0.5, -0.5]),
    ],
)
def test_where_the_multipliers_are_an_interval_the_least_one_is_returned(
    rows: list[str], expected: list[float]
) -> None:
    np.testing.assert_allclose(of_a_forbidden_edge(rows, 0.5), expected, atol=1e-6)
    np.testing.assert_allclose(of_a_forbidden_edge(rows, -0.5), 0.0, atol=1e-6)


@pytest.mark.parametrize("bound", np.geomspace(0.1, 5.0, 10))
@pytest.mark.parametrize("target", [np.eye(2), np.array([[2.0, 0.5], [0.5, 2.0]])])
def test_the_smallest_multipliers_of_inequalities_are_not_negative(
    target: FloatArray, bound: float
) -> None:
    """Not even by round-off where a row is slack; their bounds would be wrong."""
    problem = gda.MetricProblem(
        Nearest(target),
        gda.GraphMetrics(10.0),
        constraints=lambda M: [M[0, 0] <= bound, M[1, 1] <= 5, M[0, 0] + M[1, 1] <= 8],
    )
    point = problem.objective.at(problem.central_metric())
    tight = problem.members.multipliers().tight(point)
    assert tight is not None
    assert problem.members.multipliers().smallest(point, tight).min() >= 0


def test_without_time_the_multipliers_stay() -> None:
    problem = wine()
    point = problem.objective.at(problem.central_metric())
    given = np.array([-4553.0, 10.0, 10.0])
    assert not np.array_equal(problem.members.multipliers().smallest(point, given), given)
    with until(Deadline.after(0.0)):
        np.testing.assert_array_equal(problem.members.multipliers().smallest(point, given), given)


def test_the_next_search_starts_from_the_last_one() -> None:
    problem = wine()
    tight = problem.members.multipliers()
    point = problem.objective.at(problem.central_metric())
    bounds = [gda.certify(problem, point.metric, tight.tight(point)).lower_bound for _ in range(2)]
    assert bounds[1] >= bounds[0] - 0.01 * abs(bounds[0] - point.value)


def test_without_constraints_there_are_none() -> None:
    problem = gda.MetricProblem(gda.LogDet(np.eye(2)), gda.GraphMetrics(2.0))
    assert problem.members.multipliers().tight(problem.objective.at(np.eye(2))) is None
    with pytest.raises(gda.errors.InvalidInputError, match="has 1 entries, and the problem has 0"):
        gda.certify(problem, np.eye(2), np.ones(1))


def test_any_multipliers_give_a_lower_bound() -> None:
    problem = wine()
    assert problem.rows is not None
    optimum = gda.solve(problem, "certified", tolerance=1e-9).objective
    rng = np.random.default_rng(0)
    metric: FloatArray = problem.central_metric()
    tight = gda.certify(problem, metric).lower_bound
    for _ in range(20):
        multipliers = rng.standard_normal(3) * 10 ** rng.uniform(-3, 3)
        multipliers[~problem.rows.is_equality] = np.abs(multipliers[~problem.rows.is_equality])
        bound = gda.certify(problem, metric, multipliers).lower_bound
        assert bound <= optimum
        assert bound <= tight + 0.02 * abs(optimum - tight)


@pytest.mark.parametrize(
    ("multipliers", "message"),
    [([1.0], "has 1 entries"), ([0.0, 0.0, -1.0], "must be ≥ 0"), ([0, 0, np.nan], "multipliers")],
)
def test_bad_multipliers_are_refused(multipliers: list[float], message: str) -> None:
    problem = wine()
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        gda.certify(problem, problem.central_metric(), np.array(multipliers))


def test_multipliers_where_a_gradient_underflows() -> None:
    """Over traces of 1e-200 its share of a bound is 0."""
    objective, members = gda.Linear(np.diag([1e-150, -1e-150])), gda.GraphMetrics(1e-200, 0.0)
    problem = gda.MetricProblem(objective, members, lambda M: [M[1, 1] <= 5e-201])
    certificate = gda.certify(problem, 1e-201 * np.eye(2))
    assert certificate.multipliers is not None
    assert np.isfinite(certificate.multipliers).all()
    assert certificate.lower_bound <= 0


def test_the_bounds_of_constraints_are_rounded_too() -> None:
    """With a Lagrangian of 0, what else is rounded is half as much."""
    problem = gda.MetricProblem(
        gda.Linear(np.diag([-1.0, 0.0])), gda.GraphMetrics(0.8), lambda M: [M[0, 0] <= 0.7]
    )
    support = problem.members.support(np.diag([-1.0, 0.0]), np.ones(1))
    assert not support.priced.any()
    assert support.least == pytest.approx(-0.7, abs=1e-5)
    assert problem.members.round_off(support, np.zeros(2)) >= 20 * 2.0**-53 * 0.7


def test_the_shortest_multipliers_where_no_point_keeps_all_rows() -> None:
    """``x ≤ -1`` and ``-x ≤ -1``: least squares have a residual of 0, exactly or nearly."""
    left, right = np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0])
    assert _find_shortest(left, right, np.array([True])) is None
    shortest = _find_shortest(left[1:], right[1:], np.array([False]))
    assert shortest is not None
    np.testing.assert_allclose(shortest, [1.0])
