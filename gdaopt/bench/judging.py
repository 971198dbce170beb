"""How solvers are judged: by residuals at the point, not by the status that they report.

A program is *verified* when the point, as the solver returned it, is feasible and optimal up to the
tolerance that was asked. All else counts as if it had taken the cap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gdaopt.bench.replayed import Replayed
from gdaopt.support.validation import FloatArray

SHIFT = 1e-3
"""Seconds that are added to times before their geometric mean. These programs take about 1 ms; the
10 s that is common for large ones would make all solvers alike."""

VERDICTS = ("verified", "wrong", "inaccurate", "infeasible", "failed", "timed_out", "unreached")
"""What can be said of one answer. *Wrong*: called optimal, and not within the tolerance.
*Inaccurate*: not within the tolerance, and not called optimal either. *Infeasible*: the solver
calls the program so, which none is. *Unreached*: the budget of the cell was used up before."""


def verdict(replayed: Replayed, tolerance: float, cap: float) -> str:
    """Return what is to be said of an answer, one of `VERDICTS`.

    After `cap` seconds an answer does not count any more.
    """
    if replayed.seconds.total > cap:
        return "timed_out"
    if replayed.calls_infeasible:
        return "infeasible"
    if replayed.failure or replayed.answer is None:
        return "failed"
    if replayed.is_verified(tolerance):
        return "verified"
    return "wrong" if replayed.answer.status == "optimal" else "inaccurate"


def charged(seconds: npt.ArrayLike, verified: npt.ArrayLike, cap: float) -> FloatArray:
    """Return the seconds that count: the cap for all that is not verified."""
    found: FloatArray = np.where(np.asarray(verified, bool), np.asarray(seconds, float), cap)
    return found


def shifted_geometric_mean(values: npt.ArrayLike, shift: float = SHIFT) -> float:
    """Return the geometric mean of the values plus a shift, minus the shift; NaN of none."""
    array = np.asarray(values, dtype=np.float64)
    if not len(array):
        return float("nan")
    # log1p and expm1 keep what is small beside the shift.
    return float(shift * np.expm1(np.log1p(array / shift).mean()))


def mean_residual(residuals: npt.ArrayLike, tolerance: float) -> float:
    """Return the geometric mean of residuals, each at least the tolerance and at most 1.

    To be more accurate than was asked is no merit, and a failure counts as a residual of 1.
    """
    array = np.nan_to_num(np.asarray(residuals, dtype=np.float64), nan=1.0, posinf=1.0)
    return float(np.exp(np.log(np.clip(array, tolerance, 1.0)).mean()))


def performance_profile(
    seconds: Mapping[str, npt.ArrayLike],
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return the performance profiles of Dolan and Moré (2002), by solver.

    The times are those of the same n programs, infinity where a solver did not solve one. A profile
    has ratios τ in ascending order, and the share of all programs that were solved within τ times
    the least time of all solvers: one entry for each program that was solved.
    """
    times = {name: np.asarray(own, dtype=np.float64) for name, own in seconds.items()}
    least = np.min(list(times.values()), axis=0)
    profiles = {}
    for name, own in times.items():
        solved = np.isfinite(own)
        ratios = np.sort(own[solved] / least[solved])
        profiles[name] = ratios, np.arange(1, len(ratios) + 1) / len(own)
    return profiles


def not_dominated(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Say of each point whether no other is as small in one coordinate and smaller in the other."""
    return [
        not any(
            other[0] <= x and other[1] <= y and (other[0] < x or other[1] < y) for other in points
        )
        for x, y in points
    ]
