"""Learning a metric for each class of a data set against the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gdaopt.datasets import BUILTIN, Dataset, load, read_csv, scale_features
from gdaopt.errors import InvalidInputError, unknown_name
from gdaopt.methods import Method, State, solve
from gdaopt.objectives import GLR
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.sets import GraphMetrics

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
    min_eigenvalue, edge_floor : float
        ρ and ε.
    """

    positive: str | None = None
    scale: str = "zscore"
    trace_bound: float | None = None
    min_eigenvalue: float = 1e-6
    edge_floor: float = 0.0

    def classes(self, dataset: Dataset) -> tuple[str, ...]:
        """Return the classes to learn, in order."""
        if self.positive is None:
            return dataset.classes
        if self.positive not in dataset.classes:
            raise unknown_name("class", self.positive, dataset.classes)
        return (self.positive,)

    def metrics(self, dataset: Dataset) -> GraphMetrics:
        """Return the feasible set."""
        bound = len(dataset.feature_names) if self.trace_bound is None else self.trace_bound
        return GraphMetrics(bound, self.min_eigenvalue, self.edge_floor)

    def problems(self, dataset: Dataset) -> dict[str, MetricProblem]:
        """Return the problem of each class to learn."""
        features = scale_features(dataset.features, self.scale)
        metrics = self.metrics(dataset)
        return {
            name: MetricProblem(GLR(features, dataset.signal(name)), metrics)
            for name in self.classes(dataset)
        }


def load_source(source: str, label: str | None = None) -> Dataset:
    """Return the built-in data set of that name, or the one in a CSV file.

    Raises
    ------
    InvalidInputError
        When it is neither, or a label column is named for a built-in data set.

    Examples
    --------
    >>> load_source("iris").classes
    ('setosa', 'versicolor', 'virginica')
    """
    if source in BUILTIN:
        if label is not None:
            raise InvalidInputError(f"--label {label} goes with a CSV file; {source} has its own")
        return load(source)
    if source.lower().endswith(".csv"):
        return read_csv(source, label)
    raise unknown_name("data set (or a file ending in .csv):", source, BUILTIN)


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
