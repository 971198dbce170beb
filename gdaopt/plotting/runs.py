"""What callers may pass to a picture: runs, with or without names, or a metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Literal

import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.laplacian import EDGE_THRESHOLD
from gdaopt.linalg.masked import MaskedMatrix, Symmetric
from gdaopt.result import Result
from gdaopt.support.text import plain, shortened
from gdaopt.support.validation import symmetric_matrix

Time = Literal["iterations", "seconds", "oracle_calls"]
"""What can stand on the horizontal axis of runs."""

COLUMNS: Mapping[Time, str] = {
    "iterations": "iteration",
    "seconds": "seconds",
    "oracle_calls": "oracle_calls",
}
"""The columns of a trace that hold it."""

TIMES: Mapping[Time, Sequence[str]] = {
    "iterations": ["iteration"],
    "seconds": ["seconds"],
    "oracle_calls": ["calls of the oracle", "oracle calls"],
}
"""The labels of that axis, from long to short."""

MOST_FEATURES = 40
"""The features that are drawn of a metric that is no array."""

Results = Result | Sequence[Result] | Mapping[str, Result]
"""One run, several runs, or runs by their names in the legend."""


def named_runs(results: Results) -> list[tuple[str, Result]]:
    """Return the runs that a caller passed, each with its name.

    A run without a name is named after its method and solver; equal names get numbers.
    """
    if isinstance(results, Result):
        results = [results]
    if not isinstance(results, Iterable):
        raise _no_runs(results)
    if isinstance(results, Mapping):
        runs = [(plain(str(name)), run) for name, run in results.items()]
    else:
        runs = _numbered(results)
    for _, run in runs:
        checked_run(run)
    if not runs:
        raise InvalidInputError("results is empty; pass at least one run")
    return runs


def checked_run(run: object) -> Result:
    """Return a run that a caller passed; raise InvalidInputError for any other object."""
    if not isinstance(run, Result):
        raise _no_runs(run)
    return run


def _no_runs(value: object) -> InvalidInputError:
    """Return the error for what is neither a run nor several."""
    return InvalidInputError(f"pass runs, as gdaopt.solve returns them; got {shortened(value)}")


def metric_and_threshold(metric: Result | npt.ArrayLike) -> tuple[Symmetric, float]:
    """Return a K×K metric and the weight above which one of its edges counts.

    A run's feasible set has such a weight; for a matrix it follows from ``tr M / K``. The metric is
    an array where all features are drawn.
    """
    if isinstance(metric, Result):
        known = metric.known_metric
        threshold = metric.feasible_set.edge_threshold(len(known))
        return known if len(known) > MOST_FEATURES else metric.metric, threshold
    matrix = symmetric_matrix("metric", metric)
    return matrix, EDGE_THRESHOLD * abs(float(np.trace(matrix))) / len(matrix)


def shown_features(metric: Symmetric) -> npt.NDArray[np.intp]:
    """Return the features to draw, ascending: of a metric that is no array, at most 40.

    They have the strongest edges, and then the largest diagonal entries.
    """
    if not isinstance(metric, MaskedMatrix):
        return np.arange(len(metric))
    order = np.argsort(-np.abs(metric.on_edges), kind="stable")
    ends = np.column_stack(metric.edges)[order].ravel()
    ranked = np.concatenate([ends, np.argsort(-metric.diagonal(), kind="stable")])
    _, first = np.unique(ranked, return_index=True)
    return np.sort(ranked[np.sort(first)[:MOST_FEATURES]])


def _numbered(results: Iterable[Result]) -> list[tuple[str, Result]]:
    """Return the runs named after method and solver, with numbers where names are equal."""
    runs = list(results)
    names = [f"{run.method}, {run.solver}" if isinstance(run, Result) else "no run" for run in runs]
    numbers = {name: count(1) for name in names}
    return [
        (name if names.count(name) == 1 else f"{name} ({next(numbers[name])})", run)
        for name, run in zip(names, runs, strict=True)
    ]
