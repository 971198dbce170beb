"""Tasks for the runner's tests, computed in processes that import this module alone."""

import ctypes
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from gdaopt.errors import InvalidInputError


def square(path: Path, number: int) -> dict[str, Any]:
    """Return a row, with a file beside it."""
    Path(f"{path}.txt").write_text(f"{number}²")
    return {"square": number**2}


def note_pid(path: Path, number: int, notes: Path) -> dict[str, Any]:
    """Leave a note that the task has been computed: resumed runs must not compute it again."""
    with (notes / path.name).open("a") as file:
        file.write(f"{os.getpid()}\n")
    return square(path, number)


def refuse(path: Path) -> dict[str, Any]:
    raise InvalidInputError("trace_bound must be above 0, got -1")


def stumble(path: Path) -> dict[str, Any]:
    return {"ratio": 1 / 0}


def infinite(path: Path) -> dict[str, Any]:
    return {"ratio": float("inf")}


def fill_disk(path: Path) -> dict[str, Any]:
    raise OSError(28, "No space left on device")


def run_out(path: Path) -> dict[str, Any]:
    raise MemoryError("of the task")


def leave(path: Path) -> dict[str, Any]:
    sys.exit(3)


def be_killed(path: Path) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


class Fatal:
    """Ends the process that unpickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (3,)


class Unloadable:
    """Cannot be unpickled, as where a module is missing."""

    def __reduce__(self) -> tuple[Any, ...]:
        return __import__, ("no_such_module",)


def kill_once(path: Path, note: Path) -> dict[str, Any]:
    if not note.exists():
        note.write_text("killed")
        os.kill(os.getpid(), signal.SIGKILL)
    return {"note": note.read_text()}


def be_killed_the_second_time(note: Path) -> tuple[str, str]:
    if note.exists():
        os.kill(os.getpid(), signal.SIGKILL)
    note.write_text(str(os.getpid()))
    return "first", "try"


def spectrum(path: Path, data: Any) -> dict[str, Any]:
    """Return numbers that depend on how BLAS splits its sums, and how many threads it has."""
    import numpy as np
    from threadpoolctl import threadpool_info

    values = np.linalg.eigvalsh(data.T @ data)
    threads = [pool["num_threads"] for pool in threadpool_info()]
    return {"values": values.tolist(), "threads": sorted(set(threads))}


def sleep(path: Path, note: Path) -> dict[str, Any]:
    note.write_text(str(os.getpid()))
    time.sleep(60)
    return {}


def hold_lock(path: Path, note: Path) -> dict[str, Any]:
    """Keep the interpreter's lock, as compiled solvers may, so that no other thread runs."""
    note.write_text(str(os.getpid()))
    ctypes.PyDLL(None).sleep(60)
    return {}


def leave_running(path: Path, note: Path) -> dict[str, Any]:
    """Leave a process behind that an orderly end would wait for."""
    child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    child.start()
    note.write_text(str(child.pid))
    return {}


def isolated(path: Path) -> dict[str, Any]:
    """Solve in a worker process of the task's own."""
    import gdaopt as gda

    glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    problem = gda.MetricProblem(glr, gda.GraphMetrics(4.0))
    return {"status": gda.solve(problem, "joint", isolate=True, max_iterations=1).status}


def loaded(path: Path) -> dict[str, Any]:
    """Say which of the slow imports the process has done."""
    slow = ("cvxpy", "sklearn", "pandas", "matplotlib", "joblib")
    return {"loaded": [name for name in slow if name in sys.modules]}


def memory(path: Path, megabytes: int) -> dict[str, Any]:
    from gdaopt.support.processes import forget_peak_memory, peak_memory

    forget_peak_memory()
    held = bytearray(megabytes * 2**20)
    return {"peak": peak_memory(), "held": len(held)}
