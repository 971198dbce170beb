"""Runs over many features: run after run over a few of them, as one run with one result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array, eye_array

from gdaopt.certificate import Certificate
from gdaopt.errors import TimeLimitError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import block_of
from gdaopt.linalg.gershgorin import comparison_matrix
from gdaopt.linalg.laplacian import edge_threshold, n_components
from gdaopt.methods.certified import Certified
from gdaopt.methods.context import Context
from gdaopt.methods.run import calculating
from gdaopt.methods.solve import run, run_stepwise
from gdaopt.methods.starts import Optimum
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.sets import has_sparse_members
from gdaopt.state import State
from gdaopt.status import MADE_NO_PROGRESS
from gdaopt.support.deadline import until
from gdaopt.support.resources import check_fits
from gdaopt.support.validation import FloatArray, read_only, symmetric_sparse
from gdaopt.trace import Trace, TraceRow, relative_gap
from gdaopt.wide.certificate import member_at
from gdaopt.wide.features import ManyFeatures, atomic_part_of
from gdaopt.wide.search import Search

_GOES_ON = MADE_NO_PROGRESS | {"converged", "stationary"}  # with other features
_SHORTEST = 1e-6  # seconds: a run without time returns its start

Returned = TypeVar("Returned")


def solve(problem: MetricProblem, method: Certified) -> Result:
    """Solve a problem of many features by runs over a few; the result is that of one run."""
    with _calculating(problem):
        runs = _Runs(problem, method)
        with until(runs.clock.deadline):
            try:
                while runs.search.end is None:
                    result = run(runs.method(), runs.search.problem)[0]
                    runs.take(result)
                    is_last = result.status not in _GOES_ON
                    runs.look(result.atoms, result.weights, is_last=is_last)
                    if is_last and runs.search.end is None:
                        runs.search.end = result.status, result.message
            except TimeLimitError as error:
                runs.search.end = "time_limit", str(error)
            except KeyboardInterrupt:
                if method.on_interrupt == "raise" or not runs.n_runs:
                    raise
                runs.search.end = "interrupted", f"by the user after step {runs.n_steps}"
        return runs.result()


def iterate(problem: MetricProblem, method: Certified) -> Iterator[State]:
    """Yield the states of runs over a few features after each other."""
    with _calculating(problem):
        runs = _Runs(problem, method)
    begins = True
    while runs.search.end is None and (begins or not runs.is_over):
        for state in run_stepwise(runs.method(), runs.search.problem):
            shown = runs.shown(state)
            if begins or state.iteration:  # a later run begins where the last one has ended
                yield shown
        begins = False
        assert shown.atoms is not None
        assert shown.weights is not None
        runs.n_steps = shown.iteration
        with _calculating(problem):
            runs.look(shown.atoms.dense(len(runs.search.features)), shown.weights)


def certify(problem: MetricProblem, metric: Any) -> Certificate:
    """Certify a sparse metric of many features, in memory of its own order."""
    whole = ManyFeatures(problem)
    with _calculating(problem):
        return member_at(whole, symmetric_sparse("metric", metric, whole.size)).certificate()


def _calculating(problem: MetricProblem) -> AbstractContextManager[None]:
    """Set the context of products of N×N and N×K numbers."""
    return calculating(problem.objective.n_samples**2 * problem.n_features)


class _Runs:
    """The runs over a few features so far, put together."""

    def __init__(self, problem: MetricProblem, method: Certified) -> None:
        self.clock = Context(time_limit=method.time_limit)
        warm, self._problem, self._method = method.warm_start, problem, method
        used = None if warm is None else np.unique(csr_array(warm.atoms).indices).astype(np.intp)
        self.search = Search(problem, method, used)
        self.n_runs = self.n_steps = 0
        self._optimum: Optimum | None = None
        if warm is not None:
            assert warm.weights is not None
            self._optimum = Optimum(
                atoms=warm.atoms, weights=warm.weights, feasible_set=warm.feasible_set
            )
        self._last: Result | None = None
        self._rows: list[TraceRow] = []
        self._left_ends: list[FloatArray] = []
        self._iterates: list[FloatArray] = []
        self._bound = -math.inf
        self._oracle_calls = 0
        self._tracing_seconds = 0.0
        self._started = 0.0  # the current run, in seconds since the start

    @property
    def is_over(self) -> bool:
        """Whether a limit of the method is reached."""
        most = self._method.max_iterations
        return self.clock.is_over or (most is not None and self.n_steps >= most)

    def method(self) -> Certified:
        """Return the method for the problem of the current features."""
        method, share, left = self._method, self.search.share, self.clock.left
        most, features = method.max_iterations, self.search.features
        self._started = self.clock.seconds - self._tracing_seconds
        start = None
        if self._optimum is not None:
            optimum, feasible_set = self._optimum, self._optimum.feasible_set
            if has_sparse_members(feasible_set):  # else the method refuses the start
                feasible_set = feasible_set.of_features(features, self._problem.n_features)
            start = Optimum(
                atoms=csr_array(optimum.atoms)[:, features].toarray(),
                weights=optimum.weights,
                feasible_set=feasible_set,
            )
        return replace(
            method,
            tolerance=share * method.tolerance,
            absolute_tolerance=share * method.absolute_tolerance,
            time_limit=None if left is None else max(left, _SHORTEST),
            max_iterations=None if most is None else max(most - self.n_steps, 0),
            warm_start=start,
            callback=None if method.callback is None else self._of_shown(method.callback),
            trace_columns={
                name: self._of_shown(function)
                for name, function in (method.trace_columns or {}).items()
            },
        )

    def shown(self, state: State) -> State:
        """Return a state over the current features as callers see it."""
        return replace(
            state,
            features=self.search.features,
            iteration=state.iteration + self.n_steps,
            round=state.round + self.n_steps,
            lower_bound=self._bound if self._bound > -math.inf else None,
            frank_wolfe_gap=math.inf,
        )

    def _of_shown(self, function: Callable[[State], Returned]) -> Callable[[State], Returned]:
        """Return a function of the user for the states over the current features."""
        return lambda state: function(self.shown(state))

    def take(self, result: Result) -> None:
        """Append the trace of a run over the current features."""
        features, size = self.search.features, self._problem.n_features
        floor, n_outside = self._problem.feasible_set.min_eigenvalue, size - len(features)
        # A later run begins where the last one has ended.
        for place in range(1 if self._rows else 0, len(result.trace)):
            row, ends = result.trace[place], np.full(size, floor)
            ends[features] = result.trace.left_ends[place]
            self._left_ends.append(ends)
            if result.trace.iterates is not None:
                check_fits(8.0 * size**2, f"a {size}×{size} array of a row", "keep no iterates")
                iterate = np.diag(np.full(size, floor))
                iterate[np.ix_(features, features)] = result.trace.iterates[place]
                self._iterates.append(iterate)
            changed: dict[str, Any] = {
                "iteration": row.iteration + self.n_steps,
                "round": row.round + self.n_steps,
                "oracle_calls": row.oracle_calls + self._oracle_calls,
                "matrix_trace": row.matrix_trace + n_outside * floor,
                "seconds": row.seconds + self._started,
                "lower_bound": None,
                "relative_gap": None,
            }
            if row.lambda_min is not None:
                changed["left_end_min"] = float(ends.min())
                changed["left_end_max"] = float(ends.max())
                changed["lambda_min"] = min(row.lambda_min, floor) if n_outside else row.lambda_min
            self._rows.append(replace(row, **changed))
            self._say_bound()
        self._last = result
        self.n_runs += 1
        self.n_steps += result.iterations
        self._oracle_calls += result.oracle_calls
        self._tracing_seconds += result.tracing_seconds

    def look(self, vectors: Any, weights: FloatArray | None, *, is_last: bool = False) -> None:
        """Take the atoms of an optimum over the current features; find who is missing."""
        assert weights is not None
        few = Atoms.of_few_entries(vectors)
        atoms = Atoms(self.search.features[few.support], few.values)
        self._optimum = Optimum(
            atoms=atoms.sparse(self._problem.n_features),
            weights=weights,
            feasible_set=self._problem.feasible_set,
        )
        self.search.look(atoms, weights, is_last=is_last)
        self._oracle_calls += 1
        if self.search.certificate is not None:
            self._bound = max(self._bound, self.search.certificate.lower_bound)
        if self._rows:
            self._say_bound()

    def _say_bound(self) -> None:
        """Give the last row the bound over all features."""
        row = self._rows[-1]
        if self._bound > -math.inf:
            bound = min(self._bound, row.objective)
            gap = relative_gap(row.objective, bound)
            self._rows[-1] = replace(row, lower_bound=bound, relative_gap=gap)

    def result(self) -> Result:
        """Return the result over all features."""
        last, optimum, certificate = self._last, self._optimum, self.search.certificate
        assert last is not None
        assert optimum is not None
        assert self.search.end is not None
        status, message = self.search.end
        feasible_set, size = self._problem.feasible_set, self._problem.n_features
        total = atomic_part_of(Atoms.of_few_entries(optimum.atoms), optimum.weights, size)
        metric = csr_array(total + feasible_set.min_eigenvalue * eye_array(size))
        features, block = block_of(metric, feasible_set.min_eigenvalue)
        threshold = edge_threshold(feasible_set.trace_bound, size)
        n_joined = n_components(comparison_matrix(block), threshold)
        iterates = read_only(np.array(self._iterates)) if self._iterates else None
        is_convex = self._problem.objective.convex
        gap = None if is_convex or certificate is None else certificate.frank_wolfe_gap
        return replace(
            last,
            block=block,
            features=features,
            feasible_set=feasible_set,
            status=status,
            message=message,
            lower_bound=self._rows[-1].lower_bound,
            frank_wolfe_gap=gap,
            components=size - len(features) + n_joined,
            iterations=self.n_steps,
            oracle_calls=self._oracle_calls,
            seconds=self.clock.seconds - self._tracing_seconds,
            tracing_seconds=self._tracing_seconds,
            trace=Trace(tuple(self._rows), read_only(np.array(self._left_ends)), iterates),
            atoms=optimum.atoms,
            central_objective=None,  # that of the last block
        )
