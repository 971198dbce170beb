"""What a run lends to its method, and what a callback can change while it lasts."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gdaopt.backends import Answer
from gdaopt.programs.base import Polytope, Program, ProgramOptions
from gdaopt.status import Status
from gdaopt.support.deadline import Deadline, check_time, completing, until
from gdaopt.support.validation import FloatArray, check_instance, options_mapping

Ending = tuple[Status, str]
"""How a run ended: its status, and a sentence that says why."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """The changes that a callback wants from the next step on.

    Parameters
    ----------
    solver : str, optional
        Who solves the programs.
    solver_opts : mapping, optional
        Options of the solver. The options of a solver before it are dropped.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> def callback(state):
    ...     return gda.Change(solver="analytic") if state.iteration == 1 else None
    >>> result = gda.solve(problem, "joint", solver="HIGHS", callback=callback, max_iterations=2)
    >>> [row.solver for row in result.trace]
    ['', 'HIGHS', 'analytic']
    """

    solver: str | None = None
    solver_opts: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.solver is not None:
            check_instance("solver", self.solver, str)
        options_mapping("solver_opts", self.solver_opts)


class Context:
    """What a run lends to its method: a solver, the time that is left, a stopwatch.

    The time limit, in seconds, counts the pauses of the run; `seconds` does not.

    Attributes
    ----------
    programs : ProgramOptions or None
        Who solves programs now: the method, if it solves any.
    deadline : Deadline or None
        When the time limit is over.
    isolate : bool
        Whether programs are solved in a worker process even if these options do not ask for it.
    paused_seconds : float
        How long the run has paused.
    """

    def __init__(self, method: object = None, time_limit: float | None = None) -> None:
        self.take_method(method)
        self.isolate = False
        self._program: Program | None = None
        self.paused_seconds = 0.0
        self._started = time.perf_counter()
        self._paused_at: float | None = None
        self.deadline = Deadline.after(time_limit)
        self._laps = defaultdict[str, float](float)

    def take_method(self, method: object) -> None:
        """Let a method solve the programs from now on, if it solves any."""
        self.programs = method if isinstance(method, ProgramOptions) else None

    @property
    def seconds(self) -> float:
        """Time since the start without the pauses."""
        now = time.perf_counter() if self._paused_at is None else self._paused_at
        return now - self._started - self.paused_seconds

    @property
    def left(self) -> float | None:
        """Time until the limit, negative beyond it; None without a limit."""
        return None if self.deadline is None else self.deadline.left

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached."""
        return self.deadline is not None and self.deadline.left <= 0

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Raise TimeLimitError in the code inside once the time limit is over."""
        with until(self.deadline):
            check_time()
            yield

    @contextmanager
    def completing(self, stage: str) -> Iterator[None]:
        """Let the code inside be completed, so that a step that has been taken is not lost.

        Its time counts as that of a stage, see `timed`.
        """
        with completing(self.deadline), self.timed(stage):
            yield

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the code inside out of `seconds`, and let its evaluations be completed."""
        self._paused_at = time.perf_counter()
        try:
            with completing(self.deadline):
                yield
        finally:
            self.paused_seconds += time.perf_counter() - self._paused_at
            self._paused_at = None

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Count the time of the code inside as time of a stage of this step.

        The trace has a column for each of the stages "build", "write", "canonicalize", "solve",
        "unpack", "eig" and "objective".
        """
        started = time.perf_counter()
        try:
            yield
        finally:
            self._laps[stage] += time.perf_counter() - started

    def add_program(self, answer: Answer) -> None:
        """Count the stages of a program that has been solved, and the time its solver reports."""
        for stage, seconds in vars(answer.seconds).items():
            self._laps[stage] += seconds
            self._laps["build"] += 0.0 if stage == "solve" else seconds
        if answer.reported_seconds is not None:
            self._laps["reported"] += answer.reported_seconds

    def solve(self, cost: FloatArray, polytope: Polytope) -> Answer:
        """Let the current solver minimise ``cost · x`` over a polytope, in the time left."""
        options = self.programs
        assert options is not None
        if self._program is None or self._program.options is not options:
            self._program = Program(options, isolate=self.isolate)
        check_time()
        answer = self._program.solve(cost, polytope, self.left)
        self.add_program(answer)
        return answer

    def laps(self) -> dict[str, float]:
        """Return the time of each stage since the last call."""
        laps = dict(self._laps)
        self._laps.clear()
        return laps
