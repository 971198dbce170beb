"""Worker threads and processes.

The library of the products starts threads for small ones too, and they wait for each other busily.
Where something else needs the processors, a product of 100 rows then takes ten to a hundred times
as long as in one thread.

NumPy lets go of Python's lock in products and exponentials, so that threads work side by side. Each
of them then calculates alone: the library of the products has one thread for each meanwhile.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import copy_context
from functools import cache
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = [
    "begin_worker",
    "die_with",
    "mapped",
    "peak_memory",
    "single_threaded",
    "without_interrupts",
]

Part = TypeVar("Part")
Found = TypeVar("Found")


class _SingleThreads:
    """Who asks for products of matrices in one thread, and the limit as long as somebody does."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_users = 0
        self._limit: Any = None

    @contextmanager
    def used(self) -> Iterator[None]:
        with self._lock:
            # The first sets the limit and the last lifts it: a limit set in between would
            # restore the limit itself, and not the number of threads before it.
            if not self._n_users:
                _n_threads()  # the number without the limit
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._n_users += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_users -= 1
                if not self._n_users:
                    self._limit.restore_original_limits()


_single_threads = _SingleThreads()


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController  # on demand: it looks through all libraries

    return ThreadpoolController()


@cache
def _n_threads() -> int:
    """Return how many threads products of matrices have."""
    found = [pool["num_threads"] for pool in _controller().select(user_api="blas").info()]
    return max(found, default=1)


def single_threaded() -> AbstractContextManager[None]:
    """Return a context in which each product of matrices, or decomposition, takes one thread.

    Examples
    --------
    >>> with single_threaded():
    ...     mapped(abs, [-1, 2, -3])  # has its threads here too
    [1, 2, 3]
    """
    return _single_threads.used()


def mapped(function: Callable[[Part], Found], parts: Sequence[Part]) -> list[Found]:
    """Return the function of each part, in their order.

    The deadline around the call holds in the threads, too (see `gdaopt.support.deadline`). An error
    in one of them is raised when all other threads have ended their task.

    Examples
    --------
    >>> mapped(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    n_threads = min(_n_threads(), len(parts))
    if n_threads <= 1:
        return [function(part) for part in parts]
    from concurrent.futures import ThreadPoolExecutor  # on demand: few sums are so large

    with single_threaded(), ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(copy_context().run, function, part) for part in parts]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_PR_SET_PDEATHSIG = 1  # of Linux's prctl


def begin_worker(parent: int) -> None:
    """Prepare a new worker process: it ignores interrupts, and ends when its parent has ended.

    Parameters
    ----------
    parent : int
        The process id of the parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The thread must not import it: where one thread loads a library and another one looks through
    # those that are loaded, as threadpoolctl does, each can wait for the other forever.
    import psutil

    Thread(target=_end_with, args=(parent, psutil.pid_exists), daemon=True).start()


def die_with(parent: int) -> None:
    """Let the kernel kill this process when its parent ends; only Linux can do so.

    A thread that watches the parent, as `begin_worker` starts one, does not run while a solver
    holds the interpreter's lock. The kernel kills this process as soon as the thread of the parent
    that started it ends: call this function only where that thread waits for this process.

    Parameters
    ----------
    parent : int
        The process id of the parent.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a libc without prctl: there is still the thread
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # the parent has ended before
        os._exit(1)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Block interrupts while processes are started.

    The new processes inherit the block. So a Ctrl-C, which reaches all processes of a terminal,
    cannot reach them before they ignore interrupts (`begin_worker`).
    """
    if sys.platform == "win32":
        yield
        return
    from multiprocessing import resource_tracker

    # Started together with the first process, the tracker would end the block of interrupts.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def peak_memory() -> int:
    """Return the largest memory of this process so far, in bytes.

    Examples
    --------
    >>> peak_memory() > 1_000_000
    True
    """
    if sys.platform == "win32":
        import psutil  # on demand: importing gdaopt does not need it

        return int(psutil.Process().memory_info().peak_wset)
    import resource  # not on Windows

    # On Linux a process inherits ru_maxrss from its parent, so that it may be too large.
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _end_with(parent: int, exists: Callable[[int], bool]) -> None:
    """End this process when its parent has ended: a pool's worker would wait for calls forever."""
    # An orphan gets another parent at once, except on Windows.
    while os.getppid() == parent and exists(parent):
        time.sleep(0.5)
    os._exit(1)
