"""Solvers that fail, hang or die, in this process and in a worker, and what runs make of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.lin_ops.lin_utils import ID_COUNTER

import gdaopt as gda
from gdaopt.backends import cvxpy as backend
from gdaopt.backends import find_solver, isolated, solve_program
from gdaopt.programs import (
    ColumnPolytope,
    ColumnProgram,
    DiagonalPolytope,
    DiagonalProgram,
    JointPolytope,
    JointProgram,
    ProgramOptions,
)
from tests.helpers import scaled
from tests.methods.sabotage import Sabotaged

METHODS = ("alternating", "joint")
STEPS = 3  # that go well

Strike = Callable[[cp.Problem], None]


def iris() -> gda.MetricProblem:
    return gda.MetricProblem(gda.GLR(*scaled("iris", "virginica")), gda.GraphMetrics(4.0, 1e-3))


def found(value: float) -> Strike:
    def strike(problem: cp.Problem) -> None:
        for variable in problem.variables():
            variable.save_value(np.full(variable.shape, value))

    return strike


def ended(status: str) -> Strike:
    def strike(problem: cp.Problem) -> None:
        problem._status = status

    return strike


def raised(error: BaseException) -> Strike:
    def strike(problem: cp.Problem) -> None:
        raise error

    return strike


def lost(problem: cp.Problem) -> None:
    """Forget the answer, but for its status."""
    for variable in problem.variables():
        variable.save_value(None)


FAULTS: dict[str, tuple[Strike, str]] = {
    "SolverError": (raised(cp.SolverError("no licence")), "no licence"),
    "another error": (raised(ZeroDivisionError("by nought")), "by nought"),
    "panic": (raised(type("PanicException", (BaseException,), {})("bounds")), "bounds"),
    "NaN": (found(np.nan), "nan"),
    "infinite": (found(np.inf), "inf"),
    "None": (lost, "returned None"),
    "far below": (found(-1e3), "outside of the polytope by"),
    "far above": (found(1e3), "outside of the polytope by"),
    "infeasible": (ended(cp.INFEASIBLE), "infeasible"),
    "unbounded": (ended(cp.UNBOUNDED), "unbounded"),
    "user_limit": (ended(cp.USER_LIMIT), "user_limit"),
    "solver_error": (ended(cp.SOLVER_ERROR), "solver_error"),
}


class Stub:
    """`cvxpy.Problem.solve`, real at first; a solver's fault strikes after so many of its solves.

    A fault of None is a solve that does nothing.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for solver in ("HIGHS", "CLARABEL"):
            find_solver(solver)  # probed before they are stubbed
        self.faults: dict[str, tuple[Strike | None, int]] = {}
        self.calls: list[dict[str, Any]] = []
        real: Callable[..., Any] = cp.Problem.solve

        def solve(problem: cp.Problem, **options: Any) -> Any:
            solver = options["solver"]
            strike, after = self.faults.get(solver, (lambda _: None, 0))
            struck = sum(call["solver"] == solver for call in self.calls) >= after
            self.calls.append(options)
            if struck and strike is None:
                return None
            value = real(problem, **options)
            if struck and strike is not None:
                strike(problem)
            return value

        monkeypatch.setattr(cp.Problem, "solve", solve)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    return Stub(monkeypatch)


# --- Faults end the run at the last feasible metric ----------------------------------------------


def assert_failed_after(result: gda.Result, steps: int, method: str, says: str) -> None:
    assert result.status == "solver_failed"
    program = {"alternating": "diagonal program", "joint": "joint program"}[method]
    for words in (f"after step {steps}:", "HIGHS", program, says):
        assert words in result.message
    assert result.iterations == result.oracle_calls == steps
    assert len(result.trace) == steps + 1
    assert result.trace[-1].iteration == steps
    assert result.trace[-1].objective == result.objective
    assert not iris().feasible_set.violations(result.metric)
    assert result.objective == iris().objective.at(result.metric).value


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_the_run(fault: str, method: str, steps: int, stub: Stub) -> None:
    strike, says = FAULTS[fault]
    unharmed = gda.solve(iris(), method, max_iterations=steps)
    stub.calls.clear()
    stub.faults["HIGHS"] = strike, steps
    result = gda.solve(iris(), method)
    assert_failed_after(result, steps, method, says)
    np.testing.assert_array_equal(result.metric, unharmed.metric)
    assert result.solver == "HIGHS"


@pytest.mark.parametrize("method", METHODS)
def test_a_solve_that_does_nothing_leaves_no_old_answer(method: str, stub: Stub) -> None:
    stub.faults["HIGHS"] = None, 1
    assert_failed_after(gda.solve(iris(), method), 1, method, "returned None")


@pytest.mark.parametrize("method", METHODS)
def test_answers_called_inaccurate_are_used(method: str, stub: Stub) -> None:
    def strike(problem: cp.Problem) -> None:
        problem._status = cp.OPTIMAL_INACCURATE
        for variable in problem.variables():
            assert variable.value is not None
            variable.save_value(1.01 * variable.value)  # beyond the budget

    def check(state: gda.State) -> None:
        values.append(state.objective)
        assert not problem.feasible_set.violations(state.metric)

    values: list[float] = []
    problem = iris()
    stub.faults["HIGHS"] = strike, STEPS
    with pytest.warns(gda.InaccurateSolutionWarning, match="HIGHS calls its answer to the"):
        result = gda.solve(problem, method, callback=check, max_iterations=40)
    assert result.status in ("stalled", "iteration_limit")
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[STEPS]
    rows = [row for row in list(result.trace)[STEPS + 1 :] if row.solver == "HIGHS"]
    assert {row.solver_status for row in rows} == {"optimal_inaccurate"}
    assert max(row.repair_distance or 0.0 for row in rows) > 1e-3


# --- Fall-backs ----------------------------------------------------------------------------------


def assert_solved_by(result: gda.Result, solver: str, after: int, reasons: Sequence[str]) -> None:
    """Check who solved each row and why; rows of zero costs have the closed form anyway."""
    for row in list(result.trace)[1 : after + 1]:
        assert (row.solver, row.solver_status) == ("HIGHS", "optimal")
    replaced = [row for row in list(result.trace)[after + 1 :] if row.solver_status != "optimal"]
    assert len(replaced) > 5
    for row in replaced:
        assert row.solver == solver
        assert row.solver_status.startswith("optimal, after: ")
        for reason in reasons:
            assert reason in row.solver_status
    assert not any(row.solver == "HIGHS" for row in list(result.trace)[after + 1 :])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fault", FAULTS)
def test_the_closed_form_takes_over(fault: str, method: str, stub: Stub) -> None:
    strike, says = FAULTS[fault]
    analytic = gda.solve(iris(), method, solver="analytic", max_iterations=20)
    stub.faults["HIGHS"] = strike, 0
    result = gda.solve(iris(), method, fallback="analytic", max_iterations=20)
    assert (result.status, result.message) == (analytic.status, analytic.message)
    np.testing.assert_array_equal(result.metric, analytic.metric)
    np.testing.assert_array_equal(
        result.trace.column("objective"), analytic.trace.column("objective")
    )
    assert_solved_by(result, "analytic", 0, ["HIGHS", says])


@pytest.mark.parametrize("method", METHODS)
def test_a_fall_back_in_the_middle_of_a_run(method: str, stub: Stub) -> None:
    analytic = gda.solve(iris(), method, solver="analytic", tolerance=1e-2)
    stub.faults["HIGHS"] = FAULTS["NaN"][0], STEPS
    result = gda.solve(iris(), method, fallback="analytic", tolerance=1e-2)
    assert result.status == analytic.status
    assert result.objective == pytest.approx(analytic.objective, rel=1e-9)
    assert_solved_by(result, "analytic", STEPS, ["HIGHS", "nan"])


@pytest.mark.parametrize("method", METHODS)
def test_a_list_of_fall_backs(method: str, stub: Stub) -> None:
    fallback = ["clarabel", "analytic"]
    stub.faults["HIGHS"] = FAULTS["SolverError"][0], STEPS
    options = {"presolve": "on"}  # of HIGHS: CLARABEL would refuse them
    by_second = gda.solve(iris(), method, fallback=fallback, solver_opts=options, tolerance=1e-2)
    assert by_second.status == "stalled"
    assert_solved_by(by_second, "CLARABEL", STEPS, ["HIGHS", "no licence"])
    stub.calls.clear()
    stub.faults["CLARABEL"] = FAULTS["unbounded"][0], 0
    by_third = gda.solve(iris(), method, fallback=fallback, tolerance=1e-2)
    assert by_third.status == "stalled"
    assert_solved_by(by_third, "analytic", STEPS, ["HIGHS", "no licence", "CLARABEL", "unbounded"])


@pytest.mark.parametrize("method", METHODS)
def test_when_all_solvers_fail_the_first_error_counts(method: str, stub: Stub) -> None:
    stub.faults["HIGHS"] = FAULTS["SolverError"][0], 1
    stub.faults["CLARABEL"] = FAULTS["unbounded"][0], 0
    result = gda.solve(iris(), method, fallback="CLARABEL")
    assert_failed_after(result, 1, method, "no licence")
    assert [call["solver"] for call in stub.calls] == ["HIGHS", "HIGHS", "CLARABEL"]


@pytest.mark.parametrize("fallback", ["higsh", ["analytic", "higsh"]])
@pytest.mark.parametrize("method", [gda.Alternating, gda.Joint])
def test_unknown_fall_backs_are_refused_at_once(method: Any, fallback: str | list[str]) -> None:
    with pytest.raises(gda.SolverNotFoundError, match="did you mean 'HIGHS'"):
        method(solver="analytic", fallback=fallback)


# --- Limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["HIGHS", "CLARABEL", "SCS", "OSQP"])
def test_time_limits_are_accepted_and_obeyed(solver: str) -> None:
    rng = np.random.default_rng(0)
    x = cp.Variable(300)
    rows = rng.random((400, 300))
    problem = cp.Problem(cp.Maximize(rng.random(300) @ x), [rows @ x <= 1, x >= 0])
    loose = {"SCS": {"eps": 1e-3}, "OSQP": {"eps_abs": 1e-2, "eps_rel": 1e-2}}.get(solver, {})
    mine = loose | {backend._TIME_LIMIT_OPTIONS[solver]: 300.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gda.InaccurateSolutionWarning)
        solve_program(problem, solver, time_limit=300.0, solver_opts=loose)
        solve_program(problem, solver, time_limit=1e-9, solver_opts=mine)  # the user's comes first
        if solver == "SCS":  # it calls what it has at the limit inaccurate
            assert solve_program(problem, solver, time_limit=1e-9).status == "optimal_inaccurate"
        else:
            with pytest.raises(gda.SolverFailedError, match="user_limit"):
                solve_program(problem, solver, time_limit=1e-9)


def test_all_attempts_share_the_time(stub: Stub) -> None:
    """The second opinion on infeasibility and the fall-backs get what is left."""

    def strike(problem: cp.Problem) -> None:
        time.sleep(0.2)
        problem._status = cp.INFEASIBLE

    stub.faults["HIGHS"] = strike, 0
    polytope = DiagonalPolytope(np.ones(2), trace_bound=5.0)
    cost = np.array([-1.0, -2.0])
    DiagonalProgram(2, ProgramOptions(fallback=["CLARABEL"])).solve(cost, polytope, time_limit=5.0)
    assert [call["solver"] for call in stub.calls] == ["HIGHS", "HIGHS", "CLARABEL"]
    first, second, third = (call["time_limit"] for call in stub.calls)
    assert first <= 5.0
    assert second <= first - 0.2
    assert third <= second - 0.2


# --- In a worker process -------------------------------------------------------------------------


def sabotaged(**options: Any) -> None:
    """Solve a problem that misbehaves in the worker."""
    x = cp.Variable()
    problem = Sabotaged(cp.Minimize(x), [x >= 2])
    limit = options.pop("time_limit", None)
    solve_program(problem, "HIGHS", solver_opts=options, time_limit=limit, isolate=True)


def worker() -> int:
    """Return the process id of the worker, which runs."""
    executor = isolated._executor
    assert executor is not None
    (pid,) = executor._processes
    assert is_alive(pid)
    return int(pid)


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that ended and was not waited for does not."""
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def soon(happened: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.perf_counter() + seconds
    while not happened() and time.perf_counter() < end:
        time.sleep(0.02)
    return happened()


def script(code: str, *options: str) -> subprocess.Popen[str]:
    """Start a plain script, without a guard of ``__main__``, from the folder above the tests."""
    return subprocess.Popen(
        [sys.executable, *options, "-c", code],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(gda.__file__).parents[1]), "."])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module", autouse=True)
def _no_worker_left() -> Iterator[None]:
    yield
    isolated._kill()


@pytest.fixture
def new_worker() -> None:
    """Let the test start its worker, which has solved nothing."""
    isolated._kill()


def programs(size: int, isolate: bool) -> list[tuple[Any, Any]]:
    """Return one program of each kind, with a polytope."""
    n_edges = size * (size - 1) // 2
    return [
        (
            DiagonalProgram(size, ProgramOptions(isolate=isolate)),
            DiagonalPolytope(np.ones(size), 2.0 * size),
        ),
        (
            ColumnProgram(size, ProgramOptions(isolate=isolate)),
            ColumnPolytope(np.linspace(1, 2, size), np.ones(size), np.zeros(size), 2.0),
        ),
        (
            JointProgram(size, ProgramOptions(isolate=isolate)),
            JointPolytope(np.linspace(1, 2, size), 1e-3, 3.0, np.zeros(n_edges)),
        ),
    ]


def test_a_worker_gives_the_same_answers() -> None:
    rng = np.random.default_rng(3)
    for (here, polytope), (there, _) in zip(programs(6, False), programs(6, True), strict=True):
        for _ in range(3):  # the compiled problem is held there, and gets new values
            cost = rng.standard_normal(here.size)
            one, other = here.solve(cost, polytope), there.solve(cost, polytope)
            assert one.solver == other.solver == "HIGHS"
            assert one.value == pytest.approx(other.value, rel=1e-9)
            np.testing.assert_allclose(one.point, other.point, rtol=1e-9, atol=1e-12)
            assert other.build_seconds is not None


@pytest.mark.parametrize("method", METHODS)
def test_a_run_in_a_worker_is_the_same_run(method: str) -> None:
    here = gda.solve(iris(), method, tolerance=1e-2)
    there = gda.solve(iris(), method, tolerance=1e-2, isolate=True)
    assert there.message == here.message
    np.testing.assert_array_equal(there.metric, here.metric)
    np.testing.assert_array_equal(there.trace.column("objective"), here.trace.column("objective"))


def test_ids_of_the_worker_do_not_clash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilation adds variables; by an id that came with the problem they would be merged."""

    def as_in_a_new_process(*call: Any) -> Future[Any]:
        monkeypatch.setattr(ID_COUNTER, "count", 1)
        answer: Future[Any] = Future()
        answer.set_result(isolated._solve(*call))
        return answer

    monkeypatch.setattr(isolated, "_submit", as_in_a_new_process)
    for count in range(1, 40):
        monkeypatch.setattr(ID_COUNTER, "count", count)
        x, y = cp.Variable(3), cp.Variable(3)
        cost = cp.norm1(x - np.arange(1, 4)) + cp.norm_inf(y - x) + cp.max(x)
        problem = cp.Problem(cp.Minimize(cost), [cp.abs(x) <= 2, cp.norm1(y) <= 1])
        solve_program(problem, "CLARABEL", isolate=True)
        assert problem.objective.value == pytest.approx(4.5, rel=1e-6)


def test_options_and_errors_cross_over() -> None:
    with pytest.raises(gda.SolverFailedError, match="HIGHS failed on the program: no lic") as info:
        sabotaged(fault="raise")
    assert type(info.value.__cause__) is cp.SolverError
    assert "sabotage.py" in str(info.value.__cause__.__cause__)  # the worker's traceback
    before = worker()
    with pytest.raises(gda.SolverFailedError, match="no_such_option"):
        sabotaged(no_such_option=1)
    assert worker() == before


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("raise two parts", r"TwoPartError: no licence \(7\)"),
        ("exit", "SystemExit: 4"),
        ("panic", "PanicException: index out of bounds"),
    ],
)
def test_errors_that_cannot_cross_over_say_what_they_were(fault: str, says: str) -> None:
    sabotaged()
    before = worker()
    with pytest.raises(gda.SolverFailedError, match=f"HIGHS failed on the program: {says}"):
        sabotaged(fault=fault)
    assert worker() == before


def test_a_worker_killed_in_a_solve(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    def kill() -> None:
        assert soon(lambda: note.exists() and note.read_text() != "")
        os.kill(int(note.read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(gda.SolverFailedError, match=r"HIGHS failed .*worker process down.*SIGKILL"):
        sabotaged(fault="hang", note=str(note))
    killer.join()
    assert not is_alive(int(note.read_text()))
    sabotaged()
    assert worker() != int(note.read_text())


def test_a_worker_killed_between_solves() -> None:
    sabotaged()
    before = worker()
    os.kill(before, signal.SIGKILL)
    executor = isolated._executor
    assert soon(lambda: executor is not None and executor._flags.broken is not None)
    sabotaged()
    assert worker() != before


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fallback", [(), "analytic"])
def test_a_worker_that_dies_in_a_run(
    method: str, fallback: str, monkeypatch: pytest.MonkeyPatch, new_worker: None
) -> None:
    monkeypatch.setattr(cp, "Problem", Sabotaged)
    options: dict[str, Any] = {"solver_opts": {"fault": "die", "after": 1}, "fallback": fallback}
    result = gda.solve(iris(), method, isolate=True, max_iterations=4, **options)
    if not fallback:
        assert_failed_after(result, 1, method, "took its worker process down")
        return
    assert result.status == "iteration_limit"  # each new worker does one solve before it dies
    assert [row.solver for row in list(result.trace)[1:]] == [
        "HIGHS",
        "analytic",
        "HIGHS",
        "analytic",
    ]
    assert "worker process down" in result.trace[2].solver_status


def test_a_hanging_worker_is_killed_at_its_limit(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    sabotaged()
    start = time.perf_counter()
    with pytest.raises(gda.SolverFailedError, match=r"HIGHS failed .*killed after 0\.5 s"):
        sabotaged(fault="hang", note=str(note), time_limit=0.5)
    assert 0.5 <= time.perf_counter() - start < 30  # it would hang for 60
    assert not is_alive(int(note.read_text()))


@pytest.mark.parametrize("method", METHODS)
def test_a_run_that_hangs_ends_at_its_limit(
    method: str, monkeypatch: pytest.MonkeyPatch, new_worker: None
) -> None:
    sabotaged()  # starts the worker and counts
    monkeypatch.setattr(cp, "Problem", Sabotaged)
    start = time.perf_counter()
    result = gda.solve(
        iris(),
        method,
        isolate=True,
        time_limit=2.0,
        solver_opts={"fault": "hang", "after": 1 + STEPS},
    )
    assert 2.0 <= time.perf_counter() - start < 30  # it would hang for 60
    assert result.status == "time_limit"
    assert "was killed" in result.message
    assert result.iterations == len(result.trace) - 1 == STEPS
    assert not iris().feasible_set.violations(result.metric)


def test_an_interrupt_kills_the_worker(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    main = threading.get_ident()

    def interrupt() -> None:
        assert soon(lambda: note.exists() and note.read_text() != "")
        signal.pthread_kill(main, signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        sabotaged(fault="hang", note=str(note))
    interrupter.join()
    assert not is_alive(int(note.read_text()))
    sabotaged()


def test_a_worker_ignores_interrupts_between_solves() -> None:
    """Ctrl-C reaches the worker too; the run that goes on keeps it."""
    sabotaged()
    before = worker()
    os.kill(before, signal.SIGINT)
    time.sleep(0.2)
    sabotaged()
    assert worker() == before


SOLVE = """
import cvxpy as cp
from gdaopt.backends import isolated, solve_program
x = cp.Variable()
solve_program(cp.Problem(cp.Minimize(x), [x >= 2]), "HIGHS", isolate=True)
print(*isolated._executor._processes, flush=True)
"""


@pytest.mark.parametrize("then", ["", "raise SystemExit(0)"])
def test_scripts_end_quietly_and_their_worker_with_them(then: str) -> None:
    run = script(SOLVE + then, "-W", "error")
    out, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (0, "")
    assert not is_alive(int(out))


def test_the_worker_ends_with_its_parent() -> None:
    run = script(SOLVE + "import time; time.sleep(60)")
    assert run.stdout is not None
    pid = int(run.stdout.readline())
    assert is_alive(pid)
    run.kill()
    run.wait()
    assert soon(lambda: not is_alive(pid))
    run.communicate()


def test_no_worker_unless_asked_for() -> None:
    code = """
import sys
import gdaopt as gda
from gdaopt.backends import isolated
glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
gda.solve(gda.MetricProblem(glr, gda.GraphMetrics(4.0)), "joint")
assert isolated._executor is None
print([name for name in sys.modules if "loky" in name])
"""
    out, err = script(code).communicate(timeout=60)
    assert (out, err) == ("[]\n", "")


def test_a_fork_starts_a_worker_of_its_own() -> None:
    code = (
        SOLVE
        + """
import os
child = os.fork()
if child == 0:
    solve_program(cp.Problem(cp.Minimize(x), [x >= 3]), "HIGHS", isolate=True, time_limit=20)
    isolated._kill()
    os._exit(round(float(x.value)))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    )
    out, _ = script(code).communicate(timeout=60)
    assert out.split()[1] == "3"
