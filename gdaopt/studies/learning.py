"""Learning a metric for each class of a data set against the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gdaopt.datasets import BUILTIN, FROM_UCI, Dataset, load, read_csv, scale_features
from gdaopt.errors import InvalidInputError, unknown_name
from gdaopt.methods import Method, State, solve
from gdaopt.objectives import GLR
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.sets import SETS

__all__ = ["LearningOptions", "learn_classes", "load_source", "summary"]


@dataclass(frozen=True, kw_only=True)
class LearningOptions:
    """What defines the problems of a data set.

    Attributes
    ----------
    positive : str or None
        The class to learn against the rest; None for each in turn.
    scale : {"zscore", "none"}
        See `gdaopt.datasets.scale_features`.
    trace_bound : float or None
        C; None for K, the number of features.
    min_eigenvalue : float
        ρ.
    set : str
        The kind of the feasible set, a name of `gdaopt.sets.SETS`. For ``signed`` the colour of a
        feature is -1 where its correlation with the signal is negative, else +1.
    """

    positive: str | None = None
    scale: str = "zscore"
    trace_bound: float | None = None
    min_eigenvalue: float = 1e-6
    set: str = "graph"

    def __post_init__(self) -> None:
        if self.set not in SETS:
            raise unknown_name("set", self.set, SETS)

    def classes(self, dataset: Dataset) -> tuple[str, ...]:
        """Return the classes to learn, in order."""
        if self.positive is None:
            return dataset.classes
        if self.positive not in dataset.classes:
            raise unknown_name("class", self.positive, dataset.classes)
        return (self.positive,)

    def bound(self, dataset: Dataset) -> float:
        """Return the trace bound C."""
        return len(dataset.feature_names) if self.trace_bound is None else self.trace_bound

    def problem(self, dataset: Dataset, positive: str) -> MetricProblem:
        """Return the problem of one class."""
        features = scale_features(dataset.features, self.scale)
        signal = dataset.signal(positive)
        feasible_set = SETS[self.set].for_signal(
            features,
            signal,
            trace_bound=self.bound(dataset),
            min_eigenvalue=self.min_eigenvalue,
        )
        return MetricProblem(GLR(features, signal), feasible_set)

    def problems(self, dataset: Dataset) -> dict[str, MetricProblem]:
        """Return the problem of each class to learn."""
        return {name: self.problem(dataset, name) for name in self.classes(dataset)}


def load_source(
    source: str,
    label: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Return the data set known by that name, or the one in a CSV file.

    Parameters
    ----------
    source : str
        One of `gdaopt.datasets.BUILTIN`, or the path of a file that ends in ``.csv``.
    label : str, optional
        The label column of a CSV file, the last one by default.
    data_dir : path-like, optional
        The directory with the files of `gdaopt.datasets.FROM_UCI`; see `gdaopt.datasets.load`.

    Raises
    ------
    InvalidInputError
        When it is neither, and when an option is given that does not go with it.
    DownloadError
        When it has to be downloaded and cannot be.

    Examples
    --------
    >>> load_source("iris").classes
    ('setosa', 'versicolor', 'virginica')
    """
    is_table = source not in BUILTIN
    if is_table and not source.lower().endswith(".csv"):
        raise unknown_name("data set (or a file ending in .csv):", source, BUILTIN)
    if label is not None and not is_table:
        raise InvalidInputError(f"--label {label} goes with a CSV file; {source} has its own")
    if data_dir is not None and source not in FROM_UCI:
        raise InvalidInputError(
            f"--data-dir {os.fspath(data_dir)} goes with {', '.join(FROM_UCI)}, not with {source}; "
            "leave it out"
        )
    return read_csv(source, label) if is_table else load(source, data_dir)


def learn_classes(
    problems: Mapping[str, MetricProblem],
    method: Method,
    progress: Callable[[str, State], None] | None = None,
) -> Iterator[tuple[str, Result]]:
    """Solve the problem of each class in turn; an interrupted run is the last.

    Parameters
    ----------
    problems : mapping of str to MetricProblem
        By class.
    method : Method
        Applied to each problem.
    progress : callable, optional
        Called with the class and the state after each step.

    Yields
    ------
    tuple of str and Result
        Each as soon as it is there.
    """
    for name, problem in problems.items():
        result = solve(problem, _reporting(method, name, progress))
        yield name, result
        if result.status == "interrupted":
            return


def _reporting(method: Method, name: str, progress: Callable[[str, State], None] | None) -> Method:
    """Return the method with a callback that reports progress."""
    if progress is None:
        return method
    return replace(method, callback=lambda state: progress(name, state))


def summary(result: Result) -> dict[str, str | int | float | None]:
    """Return the figures of a result for a table: plain values by name.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> summary(gda.solve(problem, solver="analytic"))["status"]
    'stalled'
    """
    trace = result.trace

    def total(*columns: str) -> float:
        return float(sum(np.nansum(trace.column(column)) for column in columns))

    return {
        "objective_start": trace[0].objective,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "relative_gap": result.relative_gap,
        "lambda_min": trace[-1].lambda_min,
        "components": result.components,
        "programs": result.oracle_calls,
        "solver": result.solver,
        "program_seconds": total("build_seconds", "solve_seconds"),
        "eig_seconds": total("eig_seconds"),
        "objective_seconds": total("objective_seconds"),
        "seconds": result.seconds,
        "status": result.status,
        "message": result.message,
    }
