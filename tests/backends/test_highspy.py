"""HiGHS without CVXPY: hot starts that are checked, options, faults, limits, the worker process."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import Answer, LinearArrays, Stopwatch, highspy, isolated
from gdaopt.backends.highspy import HighsModel
from gdaopt.errors import (
    GdaoptError,
    InaccurateSolutionWarning,
    InvalidInputError,
    SolverFailedError,
)
from gdaopt.programs import Knapsack, Program
from gdaopt.programs.base import ProgramOptions
from tests.backends.cases import solve_diagonal as solve_on_diagonal
from tests.backends.cases import three_programs
from tests.backends.sabotage import DyingModel, HangingModel
from tests.programs.cases import KINDS, assert_optimal, cases, largest

Strike = Callable[[Answer], Answer]


solve_diagonal = partial(solve_on_diagonal, "highspy")


# --- Answers -------------------------------------------------------------------------------------


@pytest.mark.covering(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 10])
@pytest.mark.parametrize("block", ["diagonal", "column"])
def test_the_grid_of_all_solvers(block: str, size: int, kind: str) -> None:
    """As for the solvers of CVXPY, and to HiGHS' tolerance; each starts from the one before."""
    grid = cases(block, size, kind, 200)
    program = Program("highspy")
    for cost, polytope in grid:
        solution = program.solve(cost, polytope)
        assert solution.solver == "highspy"
        difference = abs(solution.value - cost @ polytope.minimize(cost))
        assert difference <= 1e-9 * np.abs(cost) @ np.maximum(solution.point, largest(polytope))
        assert_optimal(solution, cost, polytope)


# --- Options and limits --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"presolv": "off"}, "unknown option of highspy: 'presolv'; did you mean 'presolve'"),
        ({"solver": "simplecks"}, "HiGHS refuses the option solver = 'simplecks'.*type str"),
        ({"presolve": [1]}, r"HiGHS refuses the option presolve = \[1\].*type str"),
        ({"output_flag": {"a": "b" * 10_000}}, "HiGHS refuses the option output_flag = .{,200}$"),
        ({"time_limit": "long"}, "HiGHS refuses the option time_limit = 'long'.*type float"),
    ],
)
def test_options_that_highs_does_not_know(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        gda.methods.Alternating(solver="highspy", solver_opts=options)


def test_the_rows_of_a_joint_program_count_at_any_tolerance() -> None:
    """At 0 they would be broken by ρ alone, which a solver may take for nothing."""
    iris = gda.datasets.load("iris")
    glr = gda.GLR(gda.datasets.scale_features(iris.features), iris.signal("setosa"))
    names = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
    result = gda.solve(
        gda.MetricProblem(glr, gda.GraphMetrics(4.0, min_eigenvalue=1e-6)),
        "joint",
        solver="highspy",
        solver_opts=dict.fromkeys(names, 1e-6),
        max_iterations=20,
    )
    assert set(result.trace.column("solver_status")[1:]) == {"optimal"}  # and none asked for again
    assert np.nanmax(result.trace.column("repair_distance")) <= 1e-9


def test_the_users_own_limit() -> None:
    with pytest.raises(SolverFailedError, match=r"'user_limit'.*fallback=.*simplex_iter"):
        solve_diagonal(solver_opts={"simplex_iteration_limit": 0, "presolve": "off"})


@pytest.mark.parametrize(
    ("change", "optimum"),
    [
        ({}, [1.0, 4.0]),
        ({"cost": [-2.0, -1.0]}, [4.0, 1.0]),
        ({"lower": [2.0, 1.0]}, [2.0, 3.0]),
        ({"upper": [np.inf, 3.0]}, [2.0, 3.0]),
        ({"row_upper": 7.0}, [1.0, 6.0]),
        ({"matrix": [[1.0, 3.0]]}, [2.0, 1.0]),
    ],
    ids=["nothing", "cost", "lower bound", "upper bound", "bound of a row", "coefficient"],
)
def test_what_changes_reaches_the_model(change: dict[str, Any], optimum: list[float]) -> None:
    """One program after the other in one model: ``min -x - 2y``, 1 ≤ x, 1 ≤ y, ``x + y ≤ 5``."""
    parts: dict[str, Any] = {"cost": [-1.0, -2.0], "matrix": [[1.0, 1.0]], "lower": [1.0, 1.0]}
    parts |= {"row_upper": 5.0, "upper": np.inf}
    first, second = LinearArrays.of(**parts), LinearArrays.of(**parts | change)
    model = HighsModel({})
    for arrays, point in ((first, [1.0, 4.0]), (second, optimum), (first, [1.0, 4.0])):
        solved = model.minimize(replace(arrays, pattern=first.pattern), hot=True)
        assert solved.status == "optimal"
        np.testing.assert_allclose(solved.point, point, atol=1e-8)


def test_time_limits_count_from_each_call() -> None:
    """HiGHS counts the time of all runs of a model: here it is beyond the limit in the end."""
    rng = np.random.default_rng(0)
    _, polytope = three_programs(rng, 40)["joint"]
    model, limit, seconds = HighsModel({}), 0.4, 0.0
    while seconds < 1.25 * limit:
        arrays = polytope.arrays(rng.standard_normal(len(polytope.current)))
        solved = model.minimize(arrays, hot=False, time_limit=limit)
        assert solved.status == "optimal"
        seconds += solved.reported_seconds or 0.0


# --- Faults --------------------------------------------------------------------------------------


def changed(**values: Any) -> Strike:
    def strike(solved: Answer) -> Answer:
        point = np.broadcast_to(values.get("point", solved.point), solved.point.shape)
        return replace(solved, **{**values, "point": point})

    return strike


def raised(error: Exception) -> Strike:
    def strike(solved: Answer) -> Answer:
        raise error

    return strike


FAULTS: dict[str, tuple[Strike, str]] = {
    "raises": (raised(RuntimeError("core dumped")), "highspy failed on the .*core dumped"),
    "NaN": (changed(point=np.nan), "returned .*nan"),
    "far outside": (changed(point=1e3), "outside of the polytope by"),
    "infeasible": (changed(status="infeasible"), "highspy calls the .* infeasible"),
    "unbounded": (changed(status="unbounded"), "'unbounded'"),
    "limit": (changed(status="user_limit"), "'user_limit'"),
    "error": (changed(status="solver_error"), "'solver_error'"),
}


class Fault:
    """A patched `HighsModel.minimize`: a fault strikes all answers, or only hot ones."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.strike: Strike = lambda solved: solved
        self.only_hot = False
        self.calls: list[dict[str, Any]] = []
        real: Callable[..., Answer] = HighsModel.minimize

        def minimize(model: HighsModel, arrays: LinearArrays, **options: Any) -> Answer:
            self.calls.append(options)
            solved = real(model, arrays, **options)
            return self.strike(solved) if options["hot"] or not self.only_hot else solved

        monkeypatch.setattr(HighsModel, "minimize", minimize)


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Fault:
    return Fault(monkeypatch)


@pytest.mark.filterwarnings("ignore::gdaopt.errors.InaccurateSolutionWarning")
@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_an_error_and_the_closed_form_takes_over(kind: str, fault: Fault) -> None:
    """What becomes of a run then is the same for all backends: tests/methods/test_faults.py."""
    fault.strike, says = FAULTS[kind]
    with pytest.raises(GdaoptError, match=says) as caught:
        solve_diagonal()
    for words in ("fallback='analytic'", "solver_opts"):
        assert words in str(caught.value)
    solution = solve_diagonal(fallback="analytic")
    assert solution.solver == "analytic"
    np.testing.assert_array_equal(solution.point, [1.0, 4.0])


@pytest.mark.parametrize(
    ("strike", "presolve"),
    [
        (changed(status="infeasible"), False),
        (changed(status="solver_error"), True),
        (changed(point=0.3), True),
        (changed(point=np.nan), True),
        (lambda solved: changed(point=solved.point[::-1])(solved), True),
        (lambda solved: changed(point=1.0001 * solved.point)(solved), True),
    ],
)
def test_wrong_hot_answers_are_asked_again(strike: Strike, presolve: bool, fault: Fault) -> None:
    """Whatever is wrong with them: the start from the beginning is right, and it is counted.

    Where the program was called infeasible it is asked without the presolve, which may be why.
    """
    fault.strike, fault.only_hot = strike, True
    solution = solve_diagonal()
    np.testing.assert_allclose(solution.point, [1.0, 4.0], rtol=1e-12)
    assert (solution.restarts, solution.status) == (1, "optimal, asked again")
    assert [call["hot"] for call in fault.calls] == [True, False]
    assert [call["presolve"] for call in fault.calls] == [True, presolve]


def test_answers_that_are_off_are_called_inaccurate(fault: Fault) -> None:
    fault.strike = lambda solved: changed(point=1.01 * solved.point)(solved)
    with pytest.warns(InaccurateSolutionWarning, match="highspy calls its answer to the diag"):
        solution = solve_diagonal()
    assert solution.status == "optimal_inaccurate, asked again"
    np.testing.assert_allclose(solution.point, [1.0, 4.0], rtol=0.02)


@pytest.fixture
def _no_worker_left() -> Iterator[None]:
    yield
    isolated._mine.workers.clear()


@pytest.mark.slow
@pytest.mark.usefixtures("_no_worker_left")
def test_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same answers, hot too; it is killed when it hangs; its death is a failure."""
    rng = np.random.default_rng(3)
    for here, polytope in three_programs(rng, 5, "highspy").values():
        backend = highspy.HighspyBackend({}, isolate=True)
        for cost in rng.standard_normal((3, len(polytope.current))):
            watch = Stopwatch()
            there = backend.minimize(polytope, cost, watch, None)
            found = cost @ polytope.point(polytope.made_feasible(there.point))
            assert found == pytest.approx(here.solve(cost, polytope).value, rel=1e-9)
            assert min(watch.seconds.write, watch.seconds.solve) > 0
    polytope, cost = Knapsack(np.ones(2), 5.0), np.array([-1.0, -2.0])
    program, start = Program(ProgramOptions(solver="highspy", isolate=True)), time.perf_counter()
    for model, limit, says in (
        (HangingModel, 0.5, r"killed after 0\.\d+ s"),
        (DyingModel, None, "ended its worker process"),
    ):
        monkeypatch.setattr(highspy, "HighsModel", model)
        with pytest.raises(SolverFailedError, match=f"highspy failed .*{says}"):
            program.solve(cost, polytope, time_limit=limit)
        assert not isolated._mine.workers[False].is_usable
    assert time.perf_counter() - start < 60  # each would hang for 600
