"""Metrics for a path of trace bounds, each from the one before, and their scores on a fold."""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from gdaopt.estimators.base import components_of
from gdaopt.estimators.labels import Codes
from gdaopt.estimators.parameters import called
from gdaopt.estimators.problem_learner import ProblemLearner
from gdaopt.methods import solve
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.scaling import auto_min_eigenvalue, read_trace_bound
from gdaopt.sets import FeasibleSet
from gdaopt.support.deadline import Deadline, until
from gdaopt.support.validation import FloatArray, number

__all__ = ["auto_path", "fold_scores", "path_results"]

_SMALLEST, _LARGEST = 1 / 16, 3.0  # of the bound "auto"
_BINDING = 1e-6  # of the trace bound: with less of it left, it binds


def auto_path(learner: ProblemLearner, X: FloatArray, codes: Codes, count: int) -> FloatArray:
    """Return ascending trace bounds, evenly spaced in the logarithm around the rule "auto"."""
    learner.scale_ = learner._spreads(X)
    objective = learner._sampled_objective(X / learner.scale_, codes)
    middle = read_trace_bound("auto", objective, learner._feasible_set(1.0, 0.0))
    return middle * np.geomspace(_SMALLEST, _LARGEST, count)


def path_results(
    learner: ProblemLearner, X: FloatArray, codes: Codes, trace_bounds: FloatArray
) -> Iterator[Result]:
    """Yield the results for ascending trace bounds; each run starts from the last one's metric.

    Parameters
    ----------
    learner : ProblemLearner
        Says what to minimise, over which sets, and how.
    X : ndarray of shape (N, K)
        Samples.
    codes : ndarray of int, shape (N,)
        Their classes, as indices of the learner's ``classes_``.
    trace_bounds : ndarray of shape (n,)
        Ascending.
    """
    learner.scale_ = learner._spreads(X)
    objective = learner._sampled_objective(X / learner.scale_, codes)
    size = objective.n_features
    last: Result | None = None
    for bound in trace_bounds.tolist():
        least = learner.min_eigenvalue
        floor = auto_min_eigenvalue(bound, size) if isinstance(least, str) else least
        feasible_set = learner._feasible_set(bound, floor)
        start = None if last is None else _moved(last, feasible_set)
        problem = MetricProblem(objective, feasible_set)
        last = solve(problem, learner.method, **learner._method_options(), initial=start)
        yield last


def _moved(result: Result, feasible_set: FeasibleSet) -> FloatArray:
    """Return the metric of a result, moved into a set of a larger trace bound."""
    size, before = len(result.metric), result.feasible_set
    weights = result.metric - before.base(size)
    if np.trace(result.metric) >= (1 - _BINDING) * before.trace_bound:
        weights = weights * (feasible_set.budget(size) / before.budget(size))
    start: FloatArray = feasible_set.base(size) + weights
    return start


def fold_scores(
    learner: ProblemLearner,
    classifier: Any,
    scorer: Any,
    X: FloatArray,
    y: npt.NDArray[Any],
    train: npt.NDArray[np.intp],
    test: npt.NDArray[np.intp],
    trace_bounds: FloatArray,
    seconds: float | None,
) -> tuple[list[float], list[float]]:
    """Return the scores on held-out samples for each trace bound, and the seconds of each fit.

    Parameters
    ----------
    learner : ProblemLearner
        See `path_results`. Not changed.
    classifier, scorer
        Who classifies under the metrics, and how that is scored.
    X, y : ndarrays of shape (N, K) and (N,)
        Samples and labels.
    train, test : ndarrays of int
        The fold.
    trace_bounds : ndarray of shape (n,)
        Ascending.
    seconds : float, optional
        Time for the path. Where it is over, the last metric stands for the missing metrics.
    """
    learner = copy(learner)
    learner.classes_, codes = np.unique(y[train], return_inverse=True)
    scores, taken = [], []
    start = time.perf_counter()
    with until(Deadline.after(seconds)):
        for result in path_results(learner, X[train], codes, trace_bounds):
            taken.append(time.perf_counter() - start)
            components = components_of(learner._in_units(result.metric))
            with until(None):
                fitted = clone(classifier).fit(X[train] @ components.T, y[train])
                score = called("scoring", scorer, fitted, X[test] @ components.T, y[test])
                scores.append(number("what scoring returns", score))
            start = time.perf_counter()
    return scores, taken
