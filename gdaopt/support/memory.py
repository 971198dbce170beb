"""How much memory there is, and what becomes of memory that is freed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from gdaopt.errors import InvalidInputError

_CGROUP = Path("/sys/fs/cgroup")
_KEPT = 31 * 2**20  # bytes; glibc ignores arrays of 32 MiB and more


def free_memory() -> int:
    """Return the bytes that this process can still get, within its container's limit."""
    import psutil  # on demand: only what may not fit asks

    free: int = psutil.virtual_memory().available
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
    except (OSError, ValueError):  # no such limit, or "max"
        return free
    return min(free, max(limit - used, 0))


def check_fits(needed: float, what: str, remedy: str) -> None:
    """Raise InvalidInputError for what needs more bytes of memory than are free."""
    free = free_memory()
    if needed > free:
        raise InvalidInputError(
            f"{what} would need about {needed / 1e9:.3g} GB of memory, of which {free / 1e9:.3g} "
            f"are free; {remedy}"
        )


@cache
def keep_freed_memory() -> None:
    """Have the arrays of a step made where those of the last step were freed.

    glibc gives freed memory back to the system, unless an array as large was freed before, and
    mapping it anew in each step can take as long as the step. An array that is not written to
    takes no memory.
    """
    np.empty(_KEPT, dtype=np.uint8)
