"""``problem.solve(method="gdaopt")``: what CVXPY's users look at, beside conic solvers."""

import copy
import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.methods import State
from tests.constraints.model_cases import RandomModel, by_cone
from tests.covering import chosen

SIZE = 3
SET = gda.GraphMetrics(trace_bound=6.0, min_eigenvalue=0.01)
RNG = np.random.default_rng(2)
GLR = gda.GLR(RNG.standard_normal((8, SIZE)), [1, 1, 1, 1, -1, -1, -1, -1])


def variable() -> Any:
    return cp.Variable((SIZE, SIZE), symmetric=True, name="M")


def least(M: Any, *rows: Any, objective: Any = None) -> cp.Problem:
    """Return the model of least GLR, or another objective, over the set and under rows."""
    return cp.Problem(cp.Minimize(GLR(M) if objective is None else objective), [*SET.of(M), *rows])


SKEWED = np.array([[2.0, -0.7, 0.3], [-0.7, 1.0, 0.2], [0.3, 0.2, 0.4]])


def stats(problem: cp.Problem) -> Any:
    return problem.solver_stats


@pytest.mark.parametrize("seed", chosen(range(300), default=range(10), slow=range(80)))
def test_random_models_have_the_values_statuses_and_duals_of_a_conic_solver(seed: int) -> None:
    model = RandomModel(seed)
    value = model.problem.solve(method="gdaopt", tolerance=1e-8)
    status = model.problem.status
    duals = [row.dual_value for row in model.rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a conic solver that is not so accurate
        by_cone(model.problem)
    if model.infeasible:
        assert status == model.problem.status == cp.INFEASIBLE
        assert value == model.problem.value
        return
    assert value == pytest.approx(model.problem.value, rel=1e-6, abs=1e-6)
    assert model.problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
    assert status == cp.OPTIMAL or seed == 198  # where the gap cannot be lowered to 1e-8
    if len(model.rows) == 1:  # its multiplier is unique, but for single right-hand sides
        scale = max(1.0, float(np.abs(model.rows[0].dual_value).max()))
        # Multipliers are as exact as the root of the gap.
        np.testing.assert_allclose(duals[0], model.rows[0].dual_value, atol=1e-3 * scale)


def test_what_is_there_after_a_solve() -> None:
    M = variable()
    edge, diagonal = M[0, 1] == -0.1, cp.diag(M) <= np.array([0.5, 6.0, 6.0])
    problem = least(M, edge, diagonal, objective=GLR(M) + 2)
    value = problem.solve(method="gdaopt")
    result = stats(problem).extra_stats
    assert isinstance(result, gda.Result)
    assert problem.status == cp.OPTIMAL
    assert result.relative_gap is not None
    assert result.relative_gap <= 1e-6
    assert value == problem.value == pytest.approx(result.objective, rel=1e-12)
    assert np.array_equal(M.value, result.metric)
    assert np.shape(edge.dual_value) == ()
    assert diagonal.dual_value.shape == (SIZE,)
    assert diagonal.dual_value[0] > 0
    np.testing.assert_allclose(diagonal.dual_value[1:], 0, atol=1e-9)
    assert stats(problem).solver_name == "gdaopt certified"
    assert stats(problem).solve_time == result.seconds
    assert stats(problem).num_iters == result.iterations
    assert all(constraint.dual_value is None for constraint in problem.constraints[:3])


def test_the_three_ways_to_solve_a_model() -> None:
    M, budget = variable(), cp.Parameter(value=4.0)
    rows = M[0, 1] == 0, budget >= cp.trace(M)
    problem = least(M, *rows, objective=GLR(M) + 0.1 * cp.sum_squares(1 * M))
    certified = problem.solve(method="gdaopt")
    conic = problem.solve(solver="CLARABEL")
    assert conic == pytest.approx(certified, rel=1e-6)
    alternating = problem.solve(method="gdaopt", by="alternating", solver="HIGHS")
    assert problem.status == cp.OPTIMAL_INACCURATE  # above the optimum, by no more than the gap
    gap = stats(problem).extra_stats.gap
    assert certified <= alternating <= certified + gap
    by_sdp = problem.solve(method="gdaopt", by="sdp", solver="CLARABEL")
    assert by_sdp == pytest.approx(certified, rel=1e-5)


@pytest.mark.parametrize("multiple", [1.0, -2.0])
@pytest.mark.parametrize("inside", [True, False])
def test_a_distance_is_the_projection(multiple: float, inside: bool) -> None:
    M = variable()
    S = np.array([[2.0, -0.5, 0.0], [-0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    S = S if inside else 3 * S + 1
    problem = least(M, objective=cp.norm(multiple * (M - S), "fro"))
    value = problem.solve(method="gdaopt")
    nearest = SET.projected(S).nearest
    assert value == pytest.approx(abs(multiple) * np.linalg.norm(nearest - S), abs=1e-8)
    np.testing.assert_allclose(M.value, nearest, atol=1e-8)
    assert problem.status == cp.OPTIMAL


def test_the_multiplier_of_a_distance_is_not_that_of_its_square() -> None:
    M = variable()
    bound = cp.Parameter(value=1.0)
    rows = [M[0, 0] <= bound, M[1, 1] <= 3]
    problem = least(M, *rows, objective=cp.norm(M - 2 * np.diag([1.0, 1.0, 0.5]), "fro"))
    problem.solve(method="gdaopt", tolerance=1e-9)
    ours = float(rows[0].dual_value)
    problem.solve(solver="CLARABEL")
    assert ours == pytest.approx(float(rows[0].dual_value), rel=1e-4)


@pytest.mark.parametrize("feasible", [True, False])
def test_a_bound_on_the_trace_that_no_member_keeps(feasible: bool) -> None:
    M, budget = variable(), cp.Parameter(value=1.0)
    problem = cp.Problem(cp.Maximize(-GLR(M)), [*SET.of(M), cp.trace(M) <= budget])
    problem.solve(method="gdaopt")
    assert problem.status == cp.OPTIMAL
    if not feasible:
        budget.value = 0.02
        assert problem.solve(method="gdaopt") == -np.inf
        assert problem.status == cp.INFEASIBLE
        assert M.value is None
        assert stats(problem).extra_stats is None  # nothing of the solve before
        assert problem.constraints[-1].dual_value is None


@pytest.mark.parametrize("rows", [False, True])
def test_a_path_of_a_parameter_starts_each_time_with_the_last_atoms(rows: bool) -> None:
    M, budget = variable(), cp.Parameter(nonneg=True)
    own = [budget / 4 >= M[0, 0], M[0, 1] == -0.02 * budget] if rows else []
    within = cp.trace(M) <= budget
    warm, cold = (least(M, within, *own) for _ in range(2))
    rounds, cold_rounds = 0, 0
    for budget.value in np.geomspace(2.0, 2.4, 8):
        cold.solve(method="gdaopt", warm_start=False)
        cold_rounds += stats(cold).num_iters
        dual = within.dual_value
        M.value = None if rounds == 0 else stats(warm).extra_stats.metric
        assert warm.solve(method="gdaopt") == pytest.approx(cold.value, rel=2e-6)
        assert within.dual_value == pytest.approx(dual, rel=1e-2)
        rounds += stats(warm).num_iters
    assert rounds <= 0.7 * cold_rounds
    assert warm.solve(method="gdaopt") <= cold.value * (1 + 1e-6)
    assert stats(warm).num_iters == 0  # nothing has changed


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("before", ["solve", "read"])
def test_copies_of_what_was_solved(copied: Any, before: str) -> None:
    """A deep copy has other variables, and whatever CVXPY keeps of the first ones."""
    M, most = variable(), cp.Parameter(value=0.3)
    rows = [M[0, 1] == -0.1, cp.cumsum(cp.diag(M)) <= most + np.arange(3)]
    problem = least(M, *rows, objective=cp.sum_squares(M - np.eye(SIZE)) + most * cp.trace(M))
    if before == "solve":
        problem.solve(method="gdaopt")
    gda.MetricProblem.from_cvxpy(problem)
    other = copied(problem)
    objective, constraints = copied((problem.objective, problem.constraints))
    for value in (0.3, 0.4):
        for each in (problem, other, cp.Problem(objective, constraints)):
            each.parameters()[0].value = value
        expected = problem.solve(method="gdaopt", tolerance=1e-9)
        assert expected == pytest.approx(problem.solve(solver=cp.CLARABEL), rel=1e-6)
        for each in (other, cp.Problem(objective, constraints)):
            assert each.solve(method="gdaopt", tolerance=1e-9) == pytest.approx(expected, rel=1e-8)


def test_constraints_as_cones_have_the_dual_values_of_a_conic_solver() -> None:
    M, S = variable(), np.diag([0.4, 0.6, 0.8])
    row = cp.Zero(M[0, 1:] + 0.1), cp.NonNeg(0.5 - cp.diag(M)), cp.NonNeg(M[0, 0] - 0.45)
    problem = least(M, *row, objective=cp.sum_squares(M - S))
    value = problem.solve(method="gdaopt", tolerance=1e-9)
    duals = [each.dual_value for each in row]
    assert value == pytest.approx(problem.solve(solver=cp.CLARABEL), rel=1e-6)
    for ours, each in zip(duals, row, strict=True):
        assert np.any(each.dual_value)
        np.testing.assert_allclose(ours, each.dual_value, atol=1e-5)


def test_where_a_kink_stops_a_method_another_one_is_named() -> None:
    random = np.random.default_rng(5).standard_normal((8, 8))
    M, target = cp.Variable((8, 8), symmetric=True), random + random.T
    members = gda.GraphMetrics(8.0).of(M)
    problem = cp.Problem(cp.Minimize(cp.lambda_max(M - target)), members)
    value = problem.solve(method="gdaopt")
    assert problem.status == cp.OPTIMAL_INACCURATE
    assert 'by="sdp"' in stats(problem).extra_stats.message
    least = problem.solve(method="gdaopt", by="sdp")
    assert problem.status == cp.OPTIMAL
    assert least == pytest.approx(problem.solve(solver=cp.CLARABEL), rel=1e-6)
    assert least < value - 0.1


def test_an_optimum_at_a_kink_is_called_what_the_conic_solver_calls_it() -> None:
    M = variable()
    problem = least(M, objective=cp.abs(cp.trace(M) - 2))
    assert problem.solve(method="gdaopt", by="sdp") == pytest.approx(0, abs=1e-6)
    assert problem.status == cp.OPTIMAL
    result = stats(problem).extra_stats
    assert result.status == "inaccurate"
    assert "at a kink" in result.message
    # Elsewhere a gap is a gap.
    smooth = least(M, objective=cp.sum_squares(M - SKEWED))
    loose = {"eps_abs": 1e-1, "eps_rel": 1e-1}
    smooth.solve(method="gdaopt", by="sdp", solver="SCS", solver_opts=loose)
    assert smooth.status == cp.OPTIMAL_INACCURATE
    assert "kink" not in stats(smooth).extra_stats.message


def test_a_callback_sees_each_state_and_can_end_the_run() -> None:
    M, rounds = variable(), []
    problem = least(M)

    def watch(state: State) -> bool:
        rounds.append(state.round)
        return state.round < 1

    problem.solve(method="gdaopt", callback=watch)
    assert rounds == [0, 1]
    assert problem.status == cp.settings.USER_LIMIT
    assert M.value in SET
    assert stats(problem).extra_stats.gap > 0


def test_verbose_prints_progress(capsys: pytest.CaptureFixture[str]) -> None:
    least(variable()).solve(method="gdaopt", verbose=True)
    assert "objective" in capsys.readouterr().out


def test_an_unknown_option_is_refused() -> None:
    problem = least(variable())
    with pytest.raises(gda.errors.InvalidInputError, match="tolerance"):
        problem.solve(method="gdaopt", tolerence=1e-3)
    with pytest.raises(gda.errors.InvalidInputError, match="alternating"):
        problem.solve(method="gdaopt", by="alternatig")


def test_a_solver_that_fails_is_cvxpys_solver_error() -> None:
    problem = least(variable())
    with pytest.raises(cp.SolverError, match="try another solver"):
        problem.solve(method="gdaopt", by="sdp", solver="SCS", solver_opts={"max_iters": 1})


class Counted(gda.DenseObjective):
    """A squared distance that counts its gradients."""

    n_gradients = 0

    def __init__(self) -> None:
        super().__init__(SIZE)

    def value(self, metric: Any) -> float:
        return float(np.sum((metric - SKEWED) ** 2)) / 2

    def gradient(self, metric: Any) -> Any:
        self.n_gradients += 1
        return metric - SKEWED

    def expression(self, metric: Any) -> Any:
        return cp.sum_squares(metric - SKEWED) / 2


def test_duals_need_no_evaluation_beside_the_runs_own() -> None:
    objective, metric, bound = Counted(), variable(), cp.Parameter(value=2.0)
    problem = least(metric, cp.trace(metric) <= bound, objective=objective(metric))
    problem.solve(method="gdaopt", warm_start=False)
    n_gradients, objective.n_gradients = objective.n_gradients, 0
    gda.solve(gda.MetricProblem(objective, gda.GraphMetrics(2.0, 0.01)), "certified")
    assert problem.constraints[-1].dual_value > 0
    assert n_gradients == objective.n_gradients > 0
