"""Worker processes: they leave interrupts to their parent, end with it, and know their memory."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread

__all__ = ["begin_worker", "die_with", "peak_memory", "without_interrupts"]

_PR_SET_PDEATHSIG = 1  # of Linux's prctl


def begin_worker(parent: int) -> None:
    """Begin a worker: the parent decides on interrupts, and its end is the worker's.

    Parameters
    ----------
    parent : int
        The process id of the parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(parent,), daemon=True).start()


def die_with(parent: int) -> None:
    """Have the kernel kill this process with its parent, where it can: on Linux.

    A thread that watches the parent starves while a solver holds the interpreter's lock. The
    kernel takes the end of the thread that started us for the parent's: call this only where that
    thread waits for us.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a libc without it: the thread has to do
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it ended before we could ask
        os._exit(1)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Hold interrupts back while processes start.

    They inherit that, and Ctrl-C, which all processes of a terminal get, does not meet them before
    they ignore interrupts.
    """
    if sys.platform == "win32":
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # with the first process, it would let interrupts through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def peak_memory() -> int | None:
    """Return the most memory that this process has held so far, in bytes; None if unknown.

    Examples
    --------
    >>> peak_memory() is None or peak_memory() > 1_000_000
    True
    """
    # Linux's ru_maxrss is inherited from the parent, whatever this process needs itself.
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    try:
        import resource  # not on Windows
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _end_with(parent: int) -> None:
    """End the process once it is an orphan: a pool's would wait for calls for ever."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
