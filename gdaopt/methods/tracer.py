"""The tracer: measures what the method itself does not need, and keeps the rows."""

from __future__ import annotations

import numpy as np

from gdaopt.linalg.eigen import smallest_eigenvalue
from gdaopt.linalg.gershgorin import left_ends
from gdaopt.methods.state import State
from gdaopt.trace import Trace, TraceRow
from gdaopt.validation import FloatArray, read_only

__all__ = ["Tracer"]


class Tracer:
    """Collects a trace.

    Parameters
    ----------
    n_features : int
        K.
    """

    def __init__(self, n_features: int) -> None:
        self._n_features = n_features
        # One list, so that an interrupt cannot leave a row without its left-ends.
        self._rows: list[tuple[TraceRow, FloatArray]] = []

    @property
    def last(self) -> TraceRow:
        """The row recorded last."""
        return self._rows[-1][0]

    @property
    def begins_round(self) -> bool:
        """Whether the last row is the first of its round."""
        return len(self._rows) < 2 or self._rows[-2][0].round != self.last.round

    def record(self, state: State, seconds: float) -> None:
        """Measure a state and add its row."""
        ends = left_ends(state.metric, state.v)
        gap = None if state.lower_bound is None else state.objective - state.lower_bound
        row = TraceRow(
            iteration=state.iteration,
            round=state.round,
            phase=state.phase,
            block=state.block,
            objective=state.objective,
            block_gap=state.block_gap,
            lower_bound=state.lower_bound,
            relative_gap=None if gap is None else gap / abs(state.objective),
            step=state.step,
            lambda_min=smallest_eigenvalue(state.metric),
            left_end_min=float(ends.min()),
            left_end_max=float(ends.max()),
            aligned_spread=state.aligned_spread,
            trace=float(np.trace(state.metric)),
            moved=state.moved,
            oracle_calls=state.oracle_calls,
            eig_iterations=state.eig_iterations,
            build_seconds=state.build_seconds,
            solve_seconds=state.solve_seconds,
            eig_seconds=state.eig_seconds,
            objective_seconds=state.objective_seconds,
            seconds=seconds,
            solver=state.solver,
            solver_status=state.solver_status,
            scaling=state.scaling,
        )
        self._rows.append((row, ends))

    def trace(self) -> Trace:
        """Return what was collected."""
        ends = np.array([ends for _, ends in self._rows]).reshape(-1, self._n_features)
        return Trace(tuple(row for row, _ in self._rows), read_only(ends))
