"""What a method shows after each step, and how it says that it has ended."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import IndexArray
from gdaopt.objectives.protocol import Point
from gdaopt.result import Status
from gdaopt.support.deadline import Deadline, check_time, completing, until
from gdaopt.support.validation import FloatArray
from gdaopt.trace import StepColumns


class RunEnded(Exception):  # noqa: N818 (not an error: the way in which a run ends)
    """The end of a run, with its status and a sentence that says why."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status: Status = status
        self.message = message


@dataclass(frozen=True, eq=False, kw_only=True)
class State(StepColumns):
    """A run after a step, as callbacks get it and the tracer logs it.

    Attributes
    ----------
    point : Point
        The objective at the current metric, a member of the feasible set.
    v : ndarray of shape (K,) or None
        The scaling under which the step was taken.
    atoms, weights, colors, multipliers
        As those of `gdaopt.Result`, where the method knows them after each step.
    frank_wolfe_gap, gap_round_off : float
        As those of `gdaopt.Certificate`, of the current metric.
    features : ndarray of int, shape (n,), or None
        Of many features those that the metric and the atoms are of; all others have ρ on the
        diagonal. None for all.
    newton_steps : int
        Newton steps so far, in the weights and in the directions of atoms.
    """

    point: Point
    v: FloatArray | None = None
    atoms: Atoms | None = None
    weights: FloatArray | None = None
    frank_wolfe_gap: float = math.inf
    gap_round_off: float = 0.0
    colors: FloatArray | None = None
    multipliers: FloatArray | None = None
    newton_steps: int = 0
    features: IndexArray | None = None

    @property
    def metric(self) -> FloatArray:
        """The current metric, read-only."""
        return self.point.metric


class Clock:
    """Wall time since the start, with and without the pauses, and the time that is left.

    The limit, in seconds, counts the pauses.
    """

    def __init__(self, time_limit: float | None = None) -> None:
        self._start = time.perf_counter()
        self._deadline = Deadline.after(time_limit)
        self.paused_seconds = 0.0

    @property
    def seconds(self) -> float:
        """Time since the start without the pauses."""
        return time.perf_counter() - self._start - self.paused_seconds

    @property
    def left(self) -> float | None:
        """Time until the limit, negative beyond it; None without a limit."""
        return None if self._deadline is None else self._deadline.left

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached."""
        return self._deadline is not None and self._deadline.left <= 0

    def check(self) -> None:
        """Raise `gdaopt.errors.TimeLimitError` when the limit is reached."""
        with self.limiting():
            check_time()

    def limiting(self) -> AbstractContextManager[None]:
        """Make the limit the deadline of the code inside (see `gdaopt.support.deadline`)."""
        return until(self._deadline)

    def completing(self) -> AbstractContextManager[None]:
        """Let evaluations inside be completed, and no long work (see `gdaopt.support.deadline`)."""
        return completing(self._deadline)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the code inside out of `seconds`, and let its evaluations be completed."""
        start = time.perf_counter()
        try:
            with self.completing():
                yield
        finally:
            self.paused_seconds += time.perf_counter() - start
