"""Time limits: a deadline for all that runs inside of it, and the question that loops ask it.

A run or a fit sets its deadline once (`until`). Every pass over pairs of samples, every evaluation
at a metric, and loops of unknown length beside these call `check_time`, which raises
`gdaopt.errors.TimeLimitError` when the time is up. Whoever has a result by then catches the error.
What has to be complete runs in `unlimited`. The evaluation of the metric that a run ends at runs in
`completing`: only work that can take longer and that a result can do without, which calls
`check_time_for`, does not begin there.

The deadline is a context variable: a thread does not see deadlines of other threads, and where no
limit is set the question costs less than a microsecond.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from gdaopt.errors import TimeLimitError

__all__ = ["Deadline", "check_time", "check_time_for", "completing", "unlimited", "until"]


@dataclass(frozen=True)
class Deadline:
    """The moment at which a time limit, in seconds, is over, by `time.perf_counter`."""

    at: float
    time_limit: float

    @classmethod
    def after(cls, time_limit: float | None) -> Deadline | None:
        """Return the deadline of a limit in seconds that begins now, or an earlier one around it.

        None is no limit of its own.
        """
        deadline, is_completing = _current.get()
        around = None if is_completing else deadline
        if time_limit is None:
            return around
        deadline = cls(time.perf_counter() + time_limit, time_limit)
        return deadline if around is None or deadline.at < around.at else around

    @property
    def left(self) -> float:
        """Seconds until then, negative afterwards."""
        return self.at - time.perf_counter()


# The deadline, and whether it holds for long work alone.
_current: ContextVar[tuple[Deadline | None, bool]] = ContextVar(
    "gdaopt_deadline", default=(None, False)
)


@contextmanager
def _set(deadline: Deadline | None, is_completing: bool) -> Iterator[None]:
    token = _current.set((deadline, is_completing))
    try:
        yield
    finally:
        _current.reset(token)


def until(deadline: Deadline | None) -> AbstractContextManager[None]:
    """Set the deadline of what runs inside, None for no deadline."""
    return _set(deadline, False)


def completing(deadline: Deadline | None) -> AbstractContextManager[None]:
    """Let what runs inside be completed, but for work that asks `check_time_for`."""
    return _set(deadline, True)


@contextmanager
def unlimited() -> Iterator[None]:
    """Let what runs inside be completed, whatever deadline is set around it; also a decorator."""
    with until(None):
        yield


def check_time() -> None:
    """Raise `gdaopt.errors.TimeLimitError`, with the limit, when the deadline is over.

    Loops that can take long call it once in each pass, at a point where they may be left.
    """
    deadline, is_completing = _current.get()
    if deadline is not None and not is_completing:
        _check(deadline, 0.0)


def check_time_for(seconds: float) -> None:
    """Raise `gdaopt.errors.TimeLimitError` when less time is left than that; in `completing`, too.

    The seconds are those of work that cannot be left once it has begun; 0 for a pass of work that
    can.
    """
    _check(_current.get()[0], seconds)


def _check(deadline: Deadline | None, seconds: float) -> None:
    if deadline is not None and deadline.left <= seconds:
        raise TimeLimitError(f"time_limit = {deadline.time_limit:g} s reached")
