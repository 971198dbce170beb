"""The backend that solves programs by their closed forms, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gdaopt.backends.protocol import ANALYTIC, Answer, PreparedProgram, Stopwatch
from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened

__all__ = ["AnalyticBackend"]


class AnalyticBackend:
    """The closed form of each program: it has no options, and never hangs.

    Raises
    ------
    InvalidInputError
        For options.
    """

    name = ANALYTIC

    def __init__(
        self,
        options: Mapping[str, Any],
        *,
        isolate: bool = False,  # noqa: ARG002 (it takes microseconds)
        hot: bool | None = None,  # noqa: ARG002 (it keeps nothing between calls)
    ) -> None:
        if options:
            raise InvalidInputError(
                f"solver_opts {shortened(dict(options))} make no sense with solver='analytic'"
            )

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
