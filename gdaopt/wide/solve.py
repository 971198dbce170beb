"""Runs over many features: run after run over a few of them, as one run with one result."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array

from gdaopt.errors import TimeLimitError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.gershgorin import comparison_matrix
from gdaopt.linalg.laplacian import edge_threshold, n_components
from gdaopt.methods.certified import Certified
from gdaopt.methods.solve import iterate_method, run_method
from gdaopt.methods.state import Clock, State
from gdaopt.problem import MetricProblem
from gdaopt.result import Result, block_of
from gdaopt.support.validation import FloatArray, read_only
from gdaopt.trace import Trace, TraceRow, relative_gap
from gdaopt.wide.features import atomic_part_of
from gdaopt.wide.search import Search

_GOES_ON = ("converged", "stationary", "stalled")  # with other features
_SHORTEST = 1e-6  # seconds: a run without time returns its start


def solve(problem: MetricProblem, method: Certified) -> Result:
    """Solve a problem of many features by runs over a few; the result is that of one run."""
    run = _Run(problem, method)
    with run.clock.limiting():
        try:
            while run.search.end is None:
                result = run_method(run.method(), run.search.problem)
                run.take(result)
                run.search.look(run.atoms(result.atoms), result.weights)
                run.certify()
                if run.search.end is None and result.status not in _GOES_ON:
                    run.search.end = result.status, result.message
        except TimeLimitError as error:
            run.search.end = "time_limit", str(error)
    return run.result()


def iterate(problem: MetricProblem, method: Certified) -> Iterator[State]:
    """Yield the states of runs over a few features after each other; see `State.features`."""
    run = _Run(problem, method)
    while run.search.end is None:
        for state in iterate_method(run.method(), run.search.problem):
            yield (shown := run.shown(state))
        run.iterations = shown.iteration
        run.features = run.search.features
        run.search.look(run.atoms(state.atoms.dense(len(run.features))), state.weights)
        run.certify()


class _Run:
    """The runs over a few features so far, put together."""

    def __init__(self, problem: MetricProblem, method: Certified) -> None:
        self.clock = Clock(method.time_limit)
        warm = method.warm_start
        used = None if warm is None else np.unique(csr_array(warm.atoms).indices)
        self.search = Search(problem, method, used)
        self._method = method
        self._problem = problem
        self._last = warm
        self._features = np.arange(problem.n_features)  # of the last result
        self._rows: list[TraceRow] = []
        self._left_ends: list[FloatArray] = []
        self._iterates: list[FloatArray] = []
        self._bound = -math.inf
        self._iterations = self._oracle_calls = 0
        self._tracing_seconds = 0.0
        self._started = 0.0  # the current run, in seconds since the start

    def method(self) -> Certified:
        """Return the method for the problem of the current features."""
        method, share, left = self._method, self.search.share, self.clock.left
        most = method.max_iterations
        self._started = self.clock.seconds - self._tracing_seconds
        return replace(
            method,
            tolerance=share * method.tolerance,
            absolute_tolerance=share * method.absolute_tolerance,
            time_limit=None if left is None else max(left, _SHORTEST),
            max_iterations=None if most is None else max(most - self._iterations, 0),
            warm_start=self._warm_start(),
            callback=None if method.callback is None else self._call_back,
        )

    def _warm_start(self) -> Result | None:
        """Return the last optimum as one over the current features."""
        last, features, size = self._last, self.search.features, self._problem.n_features
        if last is None:
            return None
        is_users = last is self._method.warm_start
        feasible_set = last.feasible_set if is_users else self._problem.feasible_set
        return replace(
            last,
            block=np.eye(len(features)),
            features=None,
            feasible_set=feasible_set.of_features(features, size),
            atoms=self.atoms(last.atoms).sparse(size)[:, features].toarray(),
        )

    def atoms(self, vectors: Any) -> Atoms:
        """Return the atoms of the last result as those of all features."""
        atoms = Atoms.of_few_entries(vectors)
        return Atoms(self._features[atoms.support], atoms.values)

    def shown(self, state: State) -> State:
        """Return a state over the current features as callers see it."""
        return replace(
            state,
            features=self.search.features,
            iteration=state.iteration + self._iterations,
            round=state.round + self._iterations,
            lower_bound=self._bound if self._bound > -math.inf else None,
            frank_wolfe_gap=math.inf,
        )

    def _call_back(self, state: State) -> bool | None:
        assert self._method.callback is not None
        return self._method.callback(self.shown(state))

    def take(self, result: Result) -> None:
        """Append the trace of a run over the current features."""
        features, size = self.search.features, self._problem.n_features
        floor, n_outside = self._problem.feasible_set.min_eigenvalue, size - len(features)
        # A later run begins where the last one has ended.
        for place in range(1 if self._rows else 0, len(result.trace)):
            row, ends = result.trace[place], np.full(size, floor)
            ends[features] = result.trace.left_ends[place]
            at_floor = (
                {}
                if row.left_end_min is None
                else {
                    "left_end_min": float(ends.min()),
                    "left_end_max": float(ends.max()),
                    "lambda_min": min(row.lambda_min, floor) if n_outside else row.lambda_min,
                }
            )
            self._left_ends.append(ends)
            self._rows.append(
                replace(
                    row,
                    iteration=row.iteration + self._iterations,
                    round=row.round + self._iterations,
                    oracle_calls=row.oracle_calls + self._oracle_calls,
                    matrix_trace=row.matrix_trace + n_outside * floor,
                    seconds=row.seconds + self._started,
                    lower_bound=None,
                    relative_gap=None,
                    **at_floor,
                )
            )
            self._say_bound()
        self._last, self._features = result, features
        self._iterations += result.iterations
        self._oracle_calls += result.oracle_calls
        self._tracing_seconds += result.tracing_seconds

    def certify(self) -> None:
        """Give the last row the bound over all features."""
        self._oracle_calls += 1
        if self.search.certificate is not None:
            self._bound = max(self._bound, self.search.certificate.lower_bound)
        self._say_bound()

    def _say_bound(self) -> None:
        row = self._rows[-1]
        if self._bound > -math.inf:
            bound = min(self._bound, row.objective)
            self._rows[-1] = replace(
                row, lower_bound=bound, relative_gap=relative_gap(row.objective, bound)
            )

    def result(self) -> Result:
        """Return the result over all features."""
        last, certificate, size = self._last, self.search.certificate, self._problem.n_features
        assert last is not None
        assert self.search.end is not None
        status, message = self.search.end
        atoms = self.atoms(last.atoms)
        is_convex = self._problem.objective.convex
        feasible_set = self._problem.feasible_set
        total = atomic_part_of(atoms, last.weights, size)
        metric = csr_array(total + feasible_set.min_eigenvalue * eye_array(size))
        features, block = block_of(metric, feasible_set.min_eigenvalue)
        threshold = edge_threshold(feasible_set.trace_bound, size)
        n_joined = n_components(comparison_matrix(block), threshold)
        return replace(
            last,
            block=block,
            features=features,
            feasible_set=feasible_set,
            status=status,
            message=message,
            lower_bound=self._rows[-1].lower_bound,
            frank_wolfe_gap=None
            if is_convex or certificate is None
            else certificate.frank_wolfe_gap,
            components=size - len(features) + n_joined,
            iterations=self._iterations,
            oracle_calls=self._oracle_calls,
            seconds=self.clock.seconds - self._tracing_seconds,
            tracing_seconds=self._tracing_seconds,
            trace=Trace(tuple(self._rows), read_only(np.array(self._left_ends))),
            atoms=atoms.sparse(size),
        )
