"""Problems with linear constraints, by all methods: CVXPY's optimum, rows kept, bounds below."""

import itertools
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy

import gdaopt as gda
from gdaopt.master import constrained
from gdaopt.methods import certified
from gdaopt.methods.solve import METHODS
from tests.certificate_cases import Nearest
from tests.constraints.cases import RandomCase
from tests.helpers import scaled
from tests.methods.certified_cases import set_of

SOLVERS = ("HIGHS", "CLARABEL", "SCIPY")


def wine(kind: str = "graph") -> gda.MetricProblem:
    X, z = scaled("wine", "class_1")
    glr = gda.GLR(X[::3, :6], z[::3])
    return gda.MetricProblem(glr, set_of(kind, 6, 6.0, 1e-6), constraints=three)


def three(metric: cp.Expression) -> list[cp.Constraint]:
    """What a teacher would try: forbid an edge, fix a weight, a budget for a group of features."""
    return [metric[0, 1] == 0, metric[2, 3] == -0.05, cp.sum(cp.diag(metric)[:4]) <= 2]


def test_multipliers_of_the_master_problem_need_no_better_ones() -> None:
    """Those of log Q, whose master problem is solved here, are scaled to those of Q."""
    result = gda.solve(wine(), "certified", tolerance=1e-8)
    assert result.status == "converged"
    assert result.oracle_calls == result.iterations + 1


def test_a_start_that_breaks_a_row_within_the_tolerance_is_mended() -> None:
    """Its value is below the optimum, so that a run which counted it would go back to it."""
    objective = Nearest(np.diag([3.0, 0.5]))
    problem = gda.MetricProblem(
        objective, gda.DiagonalMetrics(4.0, 0.0), lambda M: [M[0, 0] <= 1.0]
    )
    start = np.diag([1 + 5e-9, 0.5 + 1e-5])
    assert objective.value(start) < objective.value(np.diag([1.0, 0.5]))
    states = gda.iterate(problem, "certified", initial=start, tolerance=1e-9)
    _, first = itertools.islice(states, 2)
    np.testing.assert_allclose(first.metric, np.diag([1.0, 0.5]), rtol=0, atol=1e-14)


@pytest.mark.covering(2)
@pytest.mark.parametrize("method", ["alternating", "joint"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", [0, 5, 10])
def test_block_methods_keep_rows_at_every_step(method: str, solver: str, seed: int) -> None:
    if solver == "SCIPY" and tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 15):
        pytest.skip("HiGHS in older versions of SciPy calls some feasible programs infeasible")
    case = RandomCase(seed)
    assert case.kind == "graph"
    problem, optimum = case.problem, gda.solve(case.problem, "certified")
    states = list(gda.iterate(problem, method, solver=solver, max_iterations=40))
    assert len(states) > 5
    assert not any(problem.violations(state.metric) for state in states)
    assert states[-1].objective < states[0].objective
    assert optimum.lower_bound is not None
    assert states[-1].objective >= optimum.lower_bound


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["graph", "masked"])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_keeps_them_or_refuses(method: str, kind: str) -> None:
    problem = wine(kind)
    if "linear constraints" not in METHODS[method].takes:
        match = "(?s)cannot keep linear constraints.*certified"
        with pytest.raises(gda.errors.InvalidInputError, match=match):
            gda.solve(problem, method)
        with pytest.raises(gda.errors.InvalidInputError, match=match):
            next(gda.iterate(problem, method))
        return
    optimum = gda.solve(problem, "certified", tolerance=1e-9)
    result = gda.solve(problem, method, max_iterations=30, trace_every=10)
    assert not problem.violations(result.metric)
    assert result.constraints == ("M[0, 1] == 0.0", "M[2, 3] == -0.05", result.constraints[2])
    assert result.constraint_violation is not None
    assert result.constraint_violation <= 1e-8 * 6
    assert result.lower_bound is not None
    assert optimum.lower_bound is not None
    assert result.lower_bound <= optimum.objective
    assert result.objective >= optimum.lower_bound
    if method in ("sdp", "socp"):
        assert result.status == "converged"


def test_results_and_traces_carry_and_keep_multipliers(tmp_path: Path) -> None:
    problem = wine()
    result = gda.solve(problem, "certified")
    assert result.multipliers is not None
    assert result.trace.multipliers is not None
    assert result.trace.multipliers.shape == (len(result.trace), 3)
    np.testing.assert_array_equal(result.trace.multipliers[-1], result.multipliers)
    assert result.trace[-1].constraint_violation == result.constraint_violation
    assert "constraints" in repr(result)
    again = gda.Result.load(result.save(tmp_path / "result"))
    assert again == result
    assert again.constraints == result.constraints
    # A certificate from the saved multipliers alone.
    certificate = gda.certify(problem, again.metric, again.multipliers)
    assert certificate.lower_bound == pytest.approx(result.lower_bound, rel=1e-9)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("alternating", {"solver": "analytic"}, "no closed form"),
        ("joint", {"fallback": "analytic"}, "no closed form"),
        ("alternating", {"edge_floor": 0.01}, "edge_floor"),
        ("joint", {"align": "gradient"}, "align"),
        ("certified", {"initial": np.eye(6)}, "initial is not in the set"),
    ],
)
def test_options_that_do_not_go_with_constraints(
    method: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        gda.solve(wine(), method, **options)


def test_block_methods_say_that_rows_may_stop_them_early() -> None:
    """A row that ties two blocks together: neither can move alone, and the optimum is elsewhere."""
    problem = gda.MetricProblem(
        gda.LogDet(np.array([[2.0, 1.0], [1.0, 2.0]])),
        gda.GraphMetrics(10.0, 0.0),
        constraints=lambda M: [M[0, 0] + M[1, 1] + 4 * M[0, 1] == 1, M[0, 0] == M[1, 1]],
    )
    result = gda.solve(problem, "alternating")
    assert result.status == "block_minimum"
    assert "tie blocks together" in result.message


def test_weights_that_break_rows_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of a master problem at the limit of its accuracy may."""
    problem, n_broken = wine(), 0
    least = gda.solve(problem, "certified").objective
    whole = constrained.find_best_weights_with_rows

    def breaking(point: Any, *arguments: Any) -> Any:
        nonlocal n_broken
        n_broken += 1
        best, *others = whole(point, *arguments)
        # The edge of a fixed weight is then lighter.
        return best.function.at((1 - 1e-4) * best.x), *others

    monkeypatch.setattr(certified, "find_best_weights_with_rows", breaking)
    states = list(gda.iterate(problem, "certified", max_iterations=5))
    assert n_broken >= len(states) - 1 > 1
    assert not any(problem.violations(state.metric) for state in states)
    assert states[-1].objective > least
