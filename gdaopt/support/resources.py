"""Threads and memory of this machine.

The library of the products starts threads for small ones too, and they wait for each other busily.
Where something else needs the processors, a product of 100 rows then takes ten to a hundred times
as long as in one thread. NumPy lets go of Python's lock in products and exponentials, so that
threads work side by side: each of them calculates alone meanwhile.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gdaopt.errors import InvalidInputError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Part = TypeVar("Part")
Outcome = TypeVar("Outcome")
_CGROUP = Path("/sys/fs/cgroup")
_LITTLE = 2**20  # bytes, which are always free: to look takes longer than to use them
_KEPT = 31 * 2**20  # bytes; glibc ignores arrays of 32 MiB and more


class _Limit:
    """The limit of one thread for a product of matrices, and how many ask for it."""

    changing = Lock()
    n_users = 0
    set_by_first: Any = None


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController  # on demand: it looks through all libraries

    return ThreadpoolController()


@cache
def _n_threads() -> int:
    pools = _controller().select(user_api="blas").info()
    return max((pool["num_threads"] for pool in pools), default=1)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Let each product of matrices, or decomposition, in a block take one thread."""
    with _Limit.changing:
        # The first sets the limit and the last lifts it: a limit set in between would restore the
        # limit itself, and not the number of threads before it.
        if not _Limit.n_users:
            _n_threads()  # the number without the limit
            _Limit.set_by_first = _controller().limit(limits=1, user_api="blas")
        _Limit.n_users += 1
    try:
        yield
    finally:
        with _Limit.changing:
            _Limit.n_users -= 1
            if not _Limit.n_users:
                _Limit.set_by_first.restore_original_limits()


def mapped(function: Callable[[Part], Outcome], parts: Sequence[Part]) -> list[Outcome]:
    """Return the function of each part, in their order; the deadline holds in the threads, too."""
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


def free_memory() -> int:
    """Return the bytes that this process can still get, within its container's limit."""
    free = _available_memory()
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
    except (OSError, ValueError):  # no such limit, or "max"
        return free
    return min(free, max(limit - used, 0))


def _available_memory() -> int:
    """Return the bytes of memory that programs can get; on macOS, all that the machine has."""
    with suppress(OSError), open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    if sys.platform == "win32":
        # A record whose first number is its own size, and whose third is what is free.
        record = (ctypes.c_uint64 * 8)(ctypes.sizeof(ctypes.c_uint64 * 8))
        ctypes.windll.kernel32.GlobalMemoryStatusEx(record)
        return int(record[2])
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check_fits(needed: float, what: str, remedy: str) -> None:
    """Raise InvalidInputError for what needs more bytes of memory than are free."""
    if needed > _LITTLE and needed > (free := free_memory()):
        raise InvalidInputError(
            f"{what} would need about {needed / 1e9:.3g} GB of memory, of which {free / 1e9:.3g} "
            f"are free; {remedy}"
        )


@cache
def keep_freed_memory() -> None:
    """Have glibc keep freed memory, which it does once an array as large was freed.

    Mapping the memory of a step anew can take as long as the step.
    """
    np.empty(_KEPT, dtype=np.uint8)
