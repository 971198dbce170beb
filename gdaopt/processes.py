"""Worker processes: they ignore interrupts, end with their parent, and know their memory."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import psutil

__all__ = ["begin_worker", "die_with", "peak_memory", "without_interrupts"]

_PR_SET_PDEATHSIG = 1  # of Linux's prctl


def begin_worker(parent: int) -> None:
    """Prepare a new worker process: it ignores interrupts, and ends when its parent has ended.

    Parameters
    ----------
    parent : int
        The process id of the parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(parent,), daemon=True).start()


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
        return int(psutil.Process().memory_info().peak_wset)
    import resource  # not on Windows

    # On Linux a process inherits ru_maxrss from its parent, so that it may be too large.
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _end_with(parent: int) -> None:
    """End this process when its parent has ended: a pool's worker would wait for calls forever."""
    # An orphan gets another parent at once, except on Windows.
    while os.getppid() == parent and psutil.pid_exists(parent):
        time.sleep(0.5)
    os._exit(1)
