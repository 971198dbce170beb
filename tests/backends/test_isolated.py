"""Solvers that fail, hang or die in the worker process, and the ends of this process."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.lin_ops.lin_utils import ID_COUNTER

import gdaopt as gda
from gdaopt.backends import isolated
from gdaopt.backends.cvxpy import solve_program
from gdaopt.errors import SolverFailedError
from gdaopt.programs.base import ProgramOptions
from tests.backends.cases import sabotaged, three_programs, worker
from tests.process_cases import is_alive, posix_only, soon

PATIENCE = 300.0
"""Seconds for what would otherwise wait for ever; a worker starts in 1, on busy machines in 20."""


@pytest.fixture(scope="module", autouse=True)
def _no_worker_left() -> Iterator[None]:
    yield
    isolated._mine.workers.clear()


def script(code: str, *options: str) -> subprocess.Popen[str]:
    """Start a plain script, which has no guard of ``__main__``."""
    return subprocess.Popen(
        [sys.executable, *options, "-c", code],
        cwd=Path(__file__).parent,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(gda.__file__).parents[1]), "."])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_worker_gives_the_same_answers() -> None:
    rng = np.random.default_rng(3)
    alone = three_programs(rng, 6, ProgramOptions(isolate=True))
    for kind, (here, polytope) in three_programs(rng, 6).items():
        there = alone[kind][0]
        for _ in range(3):  # the worker keeps the compiled problem, which gets new values
            cost = rng.standard_normal(len(polytope.current))
            one, other = here.solve(cost, polytope), there.solve(cost, polytope)
            assert one.solver == other.solver == "HIGHS"
            assert one.value == pytest.approx(other.value, rel=1e-9)
            np.testing.assert_allclose(one.point, other.point, rtol=1e-9, atol=1e-12)
            assert min(other.seconds.canonicalize, other.seconds.solve) > 0


def test_ids_of_the_worker_do_not_clash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilation adds variables, which must not get the id of a variable of the problem."""

    class AsInANewProcess:
        def call(self, function: Any, *arguments: Any, time_limit: float | None) -> Any:
            monkeypatch.setattr(ID_COUNTER, "count", 1)
            return function(*arguments)

    monkeypatch.setattr(isolated, "_worker", lambda alone: AsInANewProcess())
    for count in range(1, 40):
        monkeypatch.setattr(ID_COUNTER, "count", count)
        x, y = cp.Variable(3), cp.Variable(3)
        cost = cp.norm1(x - np.arange(1, 4)) + cp.norm_inf(y - x) + cp.max(x)
        problem = cp.Problem(cp.Minimize(cost), [cp.abs(x) <= 2, cp.norm1(y) <= 1])
        solve_program(problem, "CLARABEL", isolate=True)
        assert problem.objective.value == pytest.approx(4.5, rel=1e-6)


def test_errors_cross_over() -> None:
    with pytest.raises(SolverFailedError, match="HIGHS failed on the program: no lic") as info:
        sabotaged(fault="raise")
    assert type(info.value.__cause__) is cp.SolverError
    assert "sabotage.py" in str(info.value.__cause__.__cause__)  # the worker's traceback


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"fault": "raise two parts"}, r"HIGHS failed .*: TwoPartError: no licence \(7\)"),
        ({"fault": "exit"}, "HIGHS failed on the program: SystemExit: 4"),
        ({"fault": "panic"}, "HIGHS failed on .*: PanicException: index out of bounds"),
        ({"no_such_option": 1}, "no_such_option"),
    ],
)
def test_errors_that_cannot_cross_say_what_they_were(options: dict[str, Any], says: str) -> None:
    sabotaged()
    before = worker()
    with pytest.raises(SolverFailedError, match=says):
        sabotaged(**options)
    assert worker() == before


@posix_only
@pytest.mark.slow
@pytest.mark.parametrize("ended", ["killed", "interrupted"])
def test_the_end_of_a_worker_in_a_solve(ended: str, tmp_path: Path) -> None:
    """By a signal to it, or an interrupt here; it is dead then, and the next solve has another."""
    note, main = tmp_path / "pid", threading.get_ident()
    expected: dict[str, tuple[type[BaseException], str | None, Callable[[int], None]]] = {
        "killed": (
            SolverFailedError,
            r"HIGHS failed .*it ended its worker process.*SIGKILL",
            lambda pid: os.kill(pid, signal.SIGKILL),
        ),
        "interrupted": (
            KeyboardInterrupt,
            None,
            lambda _: signal.pthread_kill(main, signal.SIGINT),
        ),
    }
    error, says, act = expected[ended]

    def wait_and_act() -> None:
        assert soon(lambda: note.exists() and note.read_text() != "")
        act(int(note.read_text()))

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    with pytest.raises(error, match=says):
        sabotaged(fault="hang", note=str(note))
    thread.join()
    assert not is_alive(int(note.read_text()))
    sabotaged()
    assert worker() != int(note.read_text())


@posix_only
@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_signals_between_solves(name: str) -> None:
    """Ctrl-C reaches the worker too, and a run that goes on keeps its worker."""
    sabotaged()
    before = worker()
    os.kill(before, signal.Signals[name])
    if name == "SIGKILL":
        assert soon(lambda: not is_alive(before))
    else:
        time.sleep(0.2)
    sabotaged()
    assert (worker() == before) == (name == "SIGINT")


def test_a_hanging_worker_is_killed_at_its_limit(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    sabotaged()
    start = time.perf_counter()
    with pytest.raises(SolverFailedError, match=r"HIGHS failed .*killed after 0\.\d+ s"):
        sabotaged(fault="hang", note=str(note), time_limit=0.5)
    assert 0.5 <= time.perf_counter() - start < 30  # it would hang for 60
    assert not is_alive(int(note.read_text()))


@pytest.mark.slow
def test_workers_end_with_their_threads() -> None:
    sabotaged()
    mine = worker()
    together = threading.Barrier(2, timeout=PATIENCE)

    def solve() -> int:
        sabotaged()
        together.wait()  # so that none of the threads has ended before all have begun
        return worker()

    with ThreadPoolExecutor(2) as threads:
        workers = [answer.result() for answer in [threads.submit(solve) for _ in range(2)]]
    assert len({mine, *workers}) == 3
    assert soon(lambda: not any(is_alive(pid) for pid in workers))
    assert worker() == mine


SOLVE = """
import cvxpy as cp
from gdaopt.backends import (isolated)
from gdaopt.backends.cvxpy import (solve_program)
x = cp.Variable()
solve_program(cp.Problem(cp.Minimize(x), [x >= 2]), "HIGHS", isolate=True)
print(isolated._worker().pid, flush=True)
"""


# A thread that is still there when the process ends, and so is its worker.
SOLVE_IN_A_THREAD = f"""
from concurrent.futures import ThreadPoolExecutor
threads = ThreadPoolExecutor(1)
def solve():
    exec({SOLVE!r}, {{}})
threads.submit(solve).result()
"""
SOLVE_IN_A_FORK = f"""
import multiprocessing
def work():
    exec({SOLVE_IN_A_THREAD!r}, globals())
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
child.join()
"""


SCRIPTS = {
    "end": SOLVE,
    "exit": SOLVE + "raise SystemExit(0)",
    "thread": SOLVE_IN_A_THREAD,
    "thread of multiprocessing's process": SOLVE_IN_A_FORK,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_end_quietly_and_their_worker_with_them(name: str) -> None:
    if "process" in name and sys.platform == "win32":
        pytest.skip("Windows has no forks")
    run = script(SCRIPTS[name], "-W", "error")
    out, err = run.communicate(timeout=PATIENCE)
    assert (run.returncode, err) == (0, "")
    assert not is_alive(int(out))


@posix_only
@pytest.mark.slow
def test_a_fork_starts_a_worker_of_its_own() -> None:
    code = (
        SOLVE
        + """
import os
child = os.fork()
if child == 0:
    solve_program(cp.Problem(cp.Minimize(x), [x >= 3]), "HIGHS", isolate=True, time_limit=200)
    isolated._mine.workers.clear()
    os._exit(round(float(x.value)))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    )
    out, _ = script(code).communicate(timeout=PATIENCE)
    assert out.split()[1] == "3"
