"""The tracer: measures what the method itself does not need, and keeps the rows."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from gdaopt.linalg.eigen import smallest_eigenvalue
from gdaopt.linalg.gershgorin import left_ends
from gdaopt.methods.state import State
from gdaopt.trace import Trace, TraceRow
from gdaopt.validation import FloatArray, read_only

__all__ = ["Tracer"]

_SHARED = tuple({f.name for f in fields(TraceRow)} & {f.name for f in fields(State)})
_TIMES = ("build_seconds", "solve_seconds", "eig_seconds", "objective_seconds")


class Tracer:
    """Collects a trace: a row for the start, for every n-th step, and for the end.

    Parameters
    ----------
    n_features : int
        K.
    every : int
        n; 0 keeps the start and the end only.
    keep_iterates : bool
        Whether to keep the metric of each row.
    """

    def __init__(self, n_features: int, every: int = 1, keep_iterates: bool = False) -> None:
        self._n_features = n_features
        self._every = every
        self._keep_iterates = keep_iterates
        self._rows: list[tuple[TraceRow, FloatArray, FloatArray]] = []
        self._times: dict[str, float] = {}  # of the steps since the last row

    def see(self, state: State, seconds: float) -> None:
        """Take note of a state; measure it and add its row when it is its turn."""
        for name in _TIMES:
            value = getattr(state, name)
            if value is not None:
                self._times[name] = self._times.get(name, 0.0) + value
        if not self._rows or (self._every and state.iteration % self._every == 0):
            self._add(state, seconds)

    def trace(self, end: State, seconds: float) -> Trace:
        """Return the rows up to the end of the run, which gets a row if it has none."""
        # An interrupt inside `see` may have left a row of a step that does not count.
        self._rows = [row for row in self._rows if row[0].iteration <= end.iteration]
        if self._rows[-1][0].iteration < end.iteration:
            self._add(end, seconds)
        rows, ends, iterates = zip(*self._rows, strict=True)
        size = self._n_features
        return Trace(
            rows,
            read_only(np.array(ends).reshape(-1, size)),
            read_only(np.array(iterates)) if self._keep_iterates else None,
        )

    def _add(self, state: State, seconds: float) -> None:
        """Measure a state and add its row."""
        ends = left_ends(state.metric, state.v)
        gap = None if state.lower_bound is None else state.objective - state.lower_bound
        shared = {name: getattr(state, name) for name in _SHARED}
        row = TraceRow(
            **shared | self._times,
            relative_gap=None if gap is None else gap / abs(state.objective),
            lambda_min=smallest_eigenvalue(state.metric),
            left_end_min=float(ends.min()),
            left_end_max=float(ends.max()),
            trace=float(np.trace(state.metric)),
            seconds=seconds,
        )
        self._rows.append((row, ends, state.metric))
        self._times = {}
