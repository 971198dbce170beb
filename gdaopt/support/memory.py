"""How much memory there is."""

from __future__ import annotations

from pathlib import Path

from gdaopt.errors import InvalidInputError

__all__ = ["check_fits", "free_memory"]

_CGROUP = Path("/sys/fs/cgroup")


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
