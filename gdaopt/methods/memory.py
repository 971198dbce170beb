"""Large conic programs: those that would not fit are refused, those with a limit are isolated."""

from __future__ import annotations

from pathlib import Path

from gdaopt.errors import InvalidInputError
from gdaopt.methods.state import Clock

__all__ = ["check_memory", "cone_bytes", "free_memory", "is_isolated"]

# Bytes for each of the d² entries that a factorisation holds: interior-point solvers see all
# entries of the metric coupled. d is K(K+1)/2 in a semidefinite cone, and K plus the number of
# edges in second-order cones. Measured with CLARABEL and ECOS, K from 10 to 80, all edges.
_BYTES = {"semidefinite": 60, "second-order": 24}
_LARGE = 2e7  # bytes: CVXPY and a solver take about a second to begin with such a program
_CGROUP = Path("/sys/fs/cgroup")


def cone_bytes(n_features: int, n_edges: int, cone: str) -> float:
    """Return an estimate of what ``M ⪰ ρI`` takes inside of a solver.

    Examples
    --------
    >>> round(cone_bytes(200, 19900, "semidefinite") / 1e9)
    24
    >>> round(cone_bytes(200, 19900, "second-order") / 1e9, 1)
    9.7
    >>> round(cone_bytes(200, 400, "second-order") / 1e6, 1)
    8.6
    """
    is_matrix = cone == "semidefinite"
    entries = n_features * (n_features + 1) / 2 if is_matrix else n_features + n_edges
    return _BYTES[cone] * entries**2


def check_memory(needed: float, what: str) -> None:
    """Refuse what needs more memory than is free.

    Raises
    ------
    InvalidInputError
        With the estimate.

    Examples
    --------
    >>> check_memory(1e18, "the program")
    Traceback (most recent call last):
        ...
    gdaopt.errors.InvalidInputError: the program would need about 1e+09 GB of memory, of which ...
    """
    free = free_memory()
    if needed > free:
        raise InvalidInputError(
            f"{what} would need about {needed / 1e9:.3g} GB of memory, of which {free / 1e9:.3g} "
            "are free; take method 'certified', fewer samples or features, or force=True"
        )


def is_isolated(asked: bool | None, needed: float, clock: Clock) -> bool:
    """Say whether a conic program is solved in a worker process, which can be killed.

    Large ones with a time limit are, unless the user says otherwise. Solvers look at the clock once
    an iteration, and CVXPY never does; for a large program the first iteration can take minutes.

    Parameters
    ----------
    asked : bool or None
        What the user says; None for nothing.
    needed : float
        The estimate of its memory in bytes.
    clock : Clock
        Says whether there is a limit.

    Examples
    --------
    >>> [is_isolated(None, 1e9, clock) for clock in (Clock(), Clock(time_limit=60.0))]
    [False, True]
    """
    return clock.left is not None and needed > _LARGE if asked is None else asked


def free_memory() -> int:
    """Return the bytes that this process can still get, within its container's limit."""
    import psutil  # on demand: only conic methods ask

    free: int = psutil.virtual_memory().available
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
    except (OSError, ValueError):  # no such limit, or "max"
        return free
    return min(free, max(limit - used, 0))
