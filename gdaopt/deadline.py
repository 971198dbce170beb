"""Time limits: a deadline for all that runs inside of it, and the question that loops ask it.

A run or a fit sets its deadline once (`until`). It is not passed on from function to function:
every loop of unknown length, and every pass over pairs of samples, calls `check_time`, which raises
`gdaopt.TimeLimitError` when the time is up. Whoever has a result by then catches the error. What
has to be complete, such as the evaluation of the metric that a run ends at, runs in `unlimited`.

The deadline is a context variable: threads do not see those of others, and where no limit is set
the question costs less than a microsecond.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from gdaopt.errors import TimeLimitError

__all__ = ["Deadline", "check_time", "unlimited", "until"]


@dataclass(frozen=True)
class Deadline:
    """The moment at which a time limit is over.

    Attributes
    ----------
    at : float
        By `time.perf_counter`.
    time_limit : float
        Seconds, for messages.
    """

    at: float
    time_limit: float

    @classmethod
    def after(cls, time_limit: float | None) -> Deadline | None:
        """Return the deadline of a limit that begins now, or an earlier one that is set around it.

        Parameters
        ----------
        time_limit : float or None
            Seconds; None for no limit of its own.
        """
        around = _current.get()
        if time_limit is None:
            return around
        own = cls(time.perf_counter() + time_limit, time_limit)
        return own if around is None or own.at < around.at else around

    @property
    def left(self) -> float:
        """Seconds until then, negative afterwards."""
        return self.at - time.perf_counter()


_current: ContextVar[Deadline | None] = ContextVar("gdaopt_deadline", default=None)


@contextmanager
def until(deadline: Deadline | None) -> Iterator[None]:
    """Set the deadline of what runs inside, None for no deadline.

    Examples
    --------
    >>> with until(Deadline.after(1e-9)):
    ...     check_time()
    Traceback (most recent call last):
        ...
    gdaopt.errors.TimeLimitError: time_limit = 1e-09 s reached
    """
    token = _current.set(deadline)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def unlimited() -> Iterator[None]:
    """Let what runs inside be completed, whatever deadline is set around it; also a decorator."""
    with until(None):
        yield


def check_time() -> None:
    """Raise `gdaopt.TimeLimitError` when the deadline is over.

    Loops that can take long call it once in each pass, at a point where they may be left.

    Raises
    ------
    TimeLimitError
        With the limit.
    """
    deadline = _current.get()
    if deadline is not None and deadline.left <= 0:
        raise TimeLimitError(f"time_limit = {deadline.time_limit:g} s reached")
