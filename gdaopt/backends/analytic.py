"""The backend that solves programs by their closed forms, exactly."""

from __future__ import annotations

from gdaopt.backends.protocol import ANALYTIC, Answer, PreparedProgram, Stopwatch

__all__ = ["AnalyticBackend"]


class AnalyticBackend:
    """The closed form of each program."""

    name = ANALYTIC

    def minimize(
        self,
        program: PreparedProgram,
        watch: Stopwatch,
        time_limit: float | None,  # noqa: ARG002 (it takes microseconds)
    ) -> Answer:
        """Return the program's exact answer; see `gdaopt.backends.Backend`."""
        answer = program.closed_form()
        watch.lap("solve")
        return answer
