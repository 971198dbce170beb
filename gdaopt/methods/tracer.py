"""The tracer: keeps the rows, and measures the columns that the method itself does not need."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import fields

import numpy as np

from gdaopt.certificate import certify_point
from gdaopt.errors import TimeLimitError
from gdaopt.linalg.gershgorin import comparison_matrix, left_ends
from gdaopt.linalg.spectrum import component_eigenvalues, smallest_eigenvalue
from gdaopt.methods.state import Clock, State
from gdaopt.problem import MetricProblem
from gdaopt.support.validation import FloatArray, read_only
from gdaopt.trace import StepColumns, Trace, TraceRow, relative_gap

_SAID = tuple(field.name for field in fields(StepColumns))
_TIMES = tuple(name for name in _SAID if name.endswith("_seconds"))
_OF_COMPONENTS = "components"  # the scaling of left-ends under the first eigenvectors


class Tracer:
    """Collects a trace: a row for the start, for every n-th step, and for the end.

    Lower bound, Frank–Wolfe gap and multipliers are those of the last row; the largest bound that
    was found is `claimed`, with its multipliers.
    """

    def __init__(
        self, problem: MetricProblem, clock: Clock, every: int = 1, keep_iterates: bool = False
    ) -> None:
        self._problem = problem
        self._clock = clock
        self.lower_bound = -math.inf
        self.claimed: tuple[float, FloatArray | None] = (-math.inf, None)
        self.multipliers: FloatArray | None = None
        self.frank_wolfe_gap: float | None = None
        self._tight_multipliers = problem.members.multipliers()
        self._every = every
        self._keep_iterates = keep_iterates
        self._rows: list[tuple[TraceRow, FloatArray]] = []
        self._iterates: list[FloatArray] = []  # one for each row, where they are kept
        self._multipliers: list[FloatArray] = []  # one for each row, where there are constraints
        self._times: dict[str, float] = {}  # of the steps since the last row

    def record(self, state: State, seconds: float) -> None:
        """Take note of a state; measure it and add its row when it is its turn."""
        columns = vars(state)
        for name in _TIMES:
            if (value := columns[name]) is not None:
                self._times[name] = self._times.get(name, 0.0) + value
        if self.is_due(state):
            self._add(state, seconds)

    def is_due(self, state: State) -> bool:
        """Say whether it is a state's turn to get a row."""
        return not self._rows or bool(self._every and state.iteration % self._every == 0)

    def trace(self, end: State, seconds: float) -> Trace:
        """Return the rows up to the end of the run, which gets a row if it has none."""
        # An interrupt inside `record` may have left a row of a step that does not count.
        self._rows = [row for row in self._rows if row[0].iteration <= end.iteration]
        if self._rows[-1][0].iteration < end.iteration:
            self._add(end, seconds)
        self._keep_smallest_multipliers(end)
        rows, ends = zip(*self._rows, strict=True)
        size = self._problem.n_features
        return Trace(
            rows,
            read_only(np.array(ends).reshape(-1, size)),
            read_only(np.array(self._iterates[: len(rows)])) if self._keep_iterates else None,
            read_only(np.array(self._multipliers)) if self._multipliers else None,
        )

    def _keep_smallest_multipliers(self, end: State) -> None:
        """Give the last row the smallest multipliers that prove its bound."""
        del self._multipliers[len(self._rows) :]
        if self.multipliers is not None:
            self.multipliers = self._tight_multipliers.smallest(end.point, self.multipliers)
            self._multipliers[-1] = self.multipliers

    def _certify(self, state: State) -> None:
        """Take the state's lower bound; find one where there is none, or the objective is below."""
        known = -math.inf if state.lower_bound is None else state.lower_bound
        self.multipliers = state.multipliers
        if -math.inf < known <= state.objective:
            self.lower_bound = known
            self.claimed = known, state.multipliers
            return
        # At a point of its own: the tracer must not do computations in place of the method.
        at = self._problem.objective.at
        point = state.point if self._clock.is_over else at(state.metric)
        try:
            multipliers = self._tight_multipliers.tight(point)
            certificate = certify_point(self._problem, point, multipliers=multipliers)
        except TimeLimitError:  # an earlier bound holds as well
            self.lower_bound = min(self.claimed[0], state.objective)
            self.frank_wolfe_gap = None
            return
        self.multipliers = certificate.multipliers
        self.frank_wolfe_gap = (
            None if self._problem.objective.convex else certificate.frank_wolfe_gap
        )
        if certificate.reason and not math.isinf(certificate.round_off):
            # Next to an objective that underflows, an earlier bound would look like a proof.
            self.lower_bound = -math.inf
            return
        self.claimed = max(
            self.claimed,
            (known, state.multipliers),
            (certificate.lower_bound, certificate.multipliers),
            key=lambda bound_and_multipliers: bound_and_multipliers[0],
        )
        self.lower_bound = min(self.claimed[0], state.objective)

    def _add(self, state: State, seconds: float) -> None:
        spectrum = None
        with suppress(TimeLimitError):
            spectrum = _spectrum(state)
        size = self._problem.n_features
        ends, smallest, scaling = spectrum or (np.full(size, np.nan), None, "")
        self._certify(state)
        known = self.lower_bound > -math.inf
        columns = vars(state)
        said = {name: columns[name] for name in _SAID}
        bound = self.lower_bound if known else None
        row = TraceRow(
            **said | self._times | {"scaling": scaling, "lower_bound": bound},
            relative_gap=relative_gap(state.objective, self.lower_bound) if known else None,
            lambda_min=smallest,
            left_end_min=None if spectrum is None else float(ends.min()),
            left_end_max=None if spectrum is None else float(ends.max()),
            matrix_trace=float(np.trace(state.metric)),
            constraint_violation=self._problem.members.violation(state.metric),
            seconds=seconds,
        )
        if self._keep_iterates:
            self._iterates.append(state.metric)
        if self._problem.members.names:
            found = self.multipliers
            nothing = np.full(len(self._problem.members.names), np.nan)
            self._multipliers.append(nothing if found is None else found)
        self._rows.append((row, ends))
        self._times = {}


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
