"""The tracer: keeps the rows of the trace, which `gdaopt.trace.TraceRow` declares."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from gdaopt.errors import InvalidInputError, TimeLimitError
from gdaopt.linalg.gershgorin import comparison_matrix, left_ends
from gdaopt.linalg.spectrum import component_eigenvalues, smallest_eigenvalue
from gdaopt.methods.run import Listener, Run
from gdaopt.state import State
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, read_only, returned_numbers
from gdaopt.trace import COLUMNS, Moment, Trace, TraceRow

_OF_COMPONENTS = "components"  # the scaling of left-ends under the first eigenvectors


class Tracer(Listener):
    """The listener that collects a trace: a row for the start, for every n-th step, for the end."""

    def __init__(
        self, *, keep_iterates: bool = False, columns: Mapping[str, Callable[[State], Any]]
    ) -> None:
        self._keep_iterates = keep_iterates
        self._columns = columns
        self._entries: list[_Entry] = []
        self._timings = Counter[str]()  # since the last row
        self.solved_by = Counter[str]()
        self.multipliers: FloatArray | None = None  # at the end

    def started(self, run: Run) -> None:
        """Add the row of the start."""
        self._timings.update(run.state.timings)
        self._entries.append(self._entry(run))

    def stepped(self, run: Run) -> None:
        """Take note of a state; add its row if it is due."""
        if self._entries[-1].row.iteration == run.state.iteration:
            return  # the start
        self._timings.update(run.state.timings)
        self.solved_by.update([run.state.solver] if run.state.solver else [])
        if run.is_due:
            self._entries.append(self._entry(run))

    def ended(self, run: Run) -> None:
        """Add the row of the end if it has none, with the smallest multipliers."""
        if self._entries[-1].row.iteration < run.state.iteration:
            self._entries.append(self._entry(run))
        multipliers = run.prove().multipliers
        if multipliers is not None:
            self.multipliers = run.multipliers.smallest(run.state.point, multipliers)
            self._entries[-1] = self._entries[-1]._replace(multipliers=self.multipliers)

    @property
    def trace(self) -> Trace:
        """The rows so far."""
        rows, ends, iterates, multipliers = zip(*self._entries, strict=True)
        return Trace(
            rows,
            read_only(np.array(ends)),
            read_only(np.array(iterates)) if self._keep_iterates else None,
            None if multipliers[0] is None else read_only(np.array(multipliers)),
        )

    def _entry(self, run: Run) -> _Entry:
        """Measure the run at its state."""
        state, members = run.state, run.problem.members
        ends: FloatArray | None
        try:
            ends, smallest, scaling = _spectrum(state)
        except TimeLimitError:
            ends, smallest, scaling = None, None, ""
        proof = run.prove()
        moment = Moment(
            state=state,
            seconds=run.context.seconds,
            timings=self._timings,
            lower_bound=proof.lower_bound,
            left_ends=ends,
            lambda_min=smallest,
            scaling=scaling,
            constraint_violation=members.violation(state.metric),
        )
        row = TraceRow(
            **{name: column.measure(moment) for name, column in COLUMNS.items()},
            user_columns={
                name: _measure_column(name, function, state)
                for name, function in self._columns.items()
            },
        )
        self._timings.clear()
        multipliers = proof.multipliers
        if members.names and multipliers is None:
            multipliers = np.full(len(members.names), np.nan)
        return _Entry(
            row,
            np.full(run.problem.n_features, np.nan) if ends is None else ends,
            state.metric if self._keep_iterates else None,
            multipliers,
        )


class _Entry(NamedTuple):
    """A row of the trace, and the arrays that belong to it."""

    row: TraceRow
    left_ends: FloatArray
    iterate: FloatArray | None
    multipliers: FloatArray | None


def _measure_column(name: str, function: Callable[[State], Any], state: State) -> float | None:
    """Return what a user's function says of a state, None for NaN; refuse what is no number."""
    returned = function(state)
    try:
        (value,) = returned_numbers(returned)[None].tolist()
        return None if math.isnan(value) else float(value)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"trace_columns[{name!r}] must return a number, got {shortened(returned)}"
        ) from None


def _spectrum(state: State) -> tuple[FloatArray, float, str]:
    """Return a state's left-ends, its λ_min, and how the scalars were found.

    A step without scalars is shown under those that align best: the smallest eigenvalues of the
    components are then the left-ends, and unless off-diagonals are positive the least is λ_min.
    """
    if state.v is not None:
        ends = left_ends(state.metric, state.v)
        return ends, smallest_eigenvalue(state.metric), state.scaling
    comparison = comparison_matrix(state.metric)
    ends = component_eigenvalues(comparison)
    same = np.array_equal(comparison, state.metric)
    smallest = float(ends.min()) if same else smallest_eigenvalue(state.metric)
    return ends, smallest, _OF_COMPONENTS
