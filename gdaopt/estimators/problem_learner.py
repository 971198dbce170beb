"""Learners that solve a `gdaopt.MetricProblem` of labelled samples, over any feasible set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from inspect import Parameter, signature
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions

from gdaopt.errors import InvalidInputError, TimeLimitError
from gdaopt.estimators.base import SupervisedMetricLearner
from gdaopt.estimators.labels import Codes, class_signal
from gdaopt.estimators.parameters import Interval
from gdaopt.estimators.sampling import random_pairs, stratified_sample
from gdaopt.estimators.solving import SolvingLearner, warn_unless_converged
from gdaopt.objectives import GLR, OBJECTIVES, Objective
from gdaopt.objectives.base import check_interface
from gdaopt.support.deadline import check_time, until
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, integer, number

__all__ = ["DEFAULT_OBJECTIVE", "ProblemLearner", "nearest_of_other_classes"]

DEFAULT_OBJECTIVE = "mcml"
"""What learners of labelled samples minimise by default.

It pulls samples of one class together. GLR only pushes samples of different classes apart, which
features that are noise can do as well as other features (``figures/learner_defaults.md``).
"""

_AUTO_SAMPLES = 4000  # eight million pairs: a minute or less, and the metric hardly gains from more
_QUERIES = 256  # samples whose neighbours are found at a time


class ProblemLearner(SolvingLearner, SupervisedMetricLearner):
    """Base of learners that minimise an objective of labelled samples over a feasible set.

    It holds everything but the set. A subclass must write ``_feasible_set(self, trace_bound,
    min_eigenvalue)``, which returns a `gdaopt.sets.FeasibleSet` with these two bounds. A subclass
    with more parameters also writes an ``__init__`` that names all of them, and extends
    ``_parameter_constraints``.

    Examples
    --------
    A learner of metrics between features of two colours:

    >>> import gdaopt as gda
    >>> class TwoColourMetricLearner(ProblemLearner):
    ...     def _feasible_set(self, trace_bound, min_eigenvalue):
    ...         return gda.SignedGraphMetrics([1, -1], trace_bound, min_eigenvalue)
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 0.5], [1.0, 1.5]], ["a", "a", "b", "b"]
    >>> learner = TwoColourMetricLearner().fit(X, y)
    >>> learner.result_.status, bool(learner.metric_[0, 1] >= 0)
    ('converged', True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SolvingLearner._parameter_constraints,
        "objective": [StrOptions(set(OBJECTIVES)), callable],
        "multiclass": [StrOptions({"joint"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "max_pairs": [Interval(Integral, 1, None, closed="left"), None],
        "max_samples": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left"), None],
        "random_state": [Interval(Integral, 0, 2**32 - 1, closed="both")],
    }

    def __init__(
        self,
        objective: str | Callable[[FloatArray, FloatArray], Objective] = DEFAULT_OBJECTIVE,
        *,
        method: str = "certified",
        solver: str | None = None,
        trace_bound: str | float = "auto",
        min_eigenvalue: str | float = "auto",
        scale: str = "auto",
        multiclass: str = "joint",
        class_weight: str | dict[Any, float] | None = None,
        n_neighbors: int | None = None,
        max_pairs: int | None = None,
        max_samples: str | int | None = "auto",
        random_state: int = 0,
        tolerance: float = 1e-4,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            method=method,
            solver=solver,
            trace_bound=trace_bound,
            min_eigenvalue=min_eigenvalue,
            scale=scale,
            tolerance=tolerance,
            max_iterations=max_iterations,
            time_limit=time_limit,
            verbose=verbose,
        )
        self.objective = objective
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.n_neighbors = n_neighbors
        self.max_pairs = max_pairs
        self.max_samples = max_samples
        self.random_state = random_state

    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:
        metric = self._optimum(X, codes)
        warn_unless_converged(self, self.result_)
        return metric

    def _optimum(self, X: FloatArray, codes: Codes) -> FloatArray:
        """Return the metric; set ``result_`` and its like."""
        with until(self._deadline()):
            metric = self._solve(X, lambda scaled: self._sampled_objective(scaled, codes))
            self.full_objective_ = None
            if self.sample_indices_ is not None or self.max_pairs is not None:
                with suppress(TimeLimitError):
                    every = self._objective(X / self.scale_, codes, every_pair=True)
                    self.full_objective_ = every.at(self.result_.metric).value
        return metric

    def _sampled_objective(self, X: FloatArray, codes: Codes) -> Objective:
        """Return the objective of at most `max_samples` scaled samples."""
        most = _AUTO_SAMPLES if isinstance(self.max_samples, str) else self.max_samples
        self.sample_indices_ = None
        if most is None or len(X) <= most:
            return self._objective(X, codes)
        self.sample_indices_ = stratified_sample(codes, int(most), self._seed)
        return self._objective(X[self.sample_indices_], codes[self.sample_indices_])

    @property
    def _seed(self) -> int:
        return integer("random_state", self.random_state, at_least=0)

    def _class_weights(self, codes: Codes) -> FloatArray:
        """Return the weight of each class."""
        given = self.class_weight
        if isinstance(given, dict):
            given = {
                label: number(f"class_weight of {shortened(label)}", weight, above=0)
                for label, weight in given.items()
            }
        weights: FloatArray = compute_class_weight(
            given, classes=self.classes_, y=self.classes_[codes]
        )
        return weights

    def _objective(self, X: FloatArray, codes: Codes, every_pair: bool = False) -> Objective:
        """Return the objective of scaled samples; of all pairs, or of the pairs asked for."""
        if callable(self.objective):
            given = (self.class_weight, self.n_neighbors, self.max_pairs)
            if any(option is not None for option in given):
                raise InvalidInputError(
                    "class_weight, n_neighbors and max_pairs are for objectives by name; an "
                    "objective that is a function weights and chooses the pairs itself"
                )
            objective = self.objective(X, class_signal(codes))
            check_interface(objective)
            return objective
        make = OBJECTIVES[self.objective]
        labels = class_signal(codes) if make is GLR else codes
        options: dict[str, Any] = {}
        if self.class_weight is not None:
            self._check_option("class_weight", "sample_weight")
            options["sample_weight"] = self._class_weights(codes)[codes]
        if self.n_neighbors is not None:
            n_neighbors = integer("n_neighbors", self.n_neighbors, at_least=1)
            if make is GLR:
                options["pairs"] = _nearest_pairs(X, codes, n_neighbors)
            else:
                self._check_option("n_neighbors", "n_neighbors")
                options["n_neighbors"] = n_neighbors
        if self.max_pairs is not None and not every_pair:
            self._check_option("max_pairs", "pairs")
            if "pairs" in options:
                raise InvalidInputError("n_neighbors and max_pairs both choose pairs; pass one")
            drawn = random_pairs(codes, int(self.max_pairs), self._seed, differ=make is GLR)
            options["pairs"] = drawn
        return make(X, labels, **options)

    def _check_option(self, option: str, parameter: str) -> None:
        """Refuse an option that the objective has no parameter for."""
        known = [name for name, make in OBJECTIVES.items() if parameter in _parameters(make)]
        if option == "n_neighbors":
            known.insert(0, "glr")  # whose pairs are pairs of neighbours
        if self.objective not in known:
            raise InvalidInputError(
                f"{option} goes with the objectives {', '.join(known)}, and not with "
                f"{self.objective}; leave it out, or pass objective={known[0]!r}"
            )


def _parameters(make: Callable[..., Objective]) -> Mapping[str, Parameter]:
    """Return the parameters of an objective."""
    return signature(make).parameters


def _nearest_pairs(X: FloatArray, codes: Codes, n_neighbors: int) -> npt.NDArray[np.intp]:
    """Return `nearest_of_other_classes`, or an error that says what took the time."""
    try:
        return nearest_of_other_classes(X, codes, n_neighbors)
    except TimeLimitError as error:
        raise TimeLimitError(
            f"{error} in the search for the neighbours of {len(X)} samples, before there "
            "was anything to learn; raise time_limit, or pass fewer samples"
        ) from None


def nearest_of_other_classes(X: FloatArray, codes: Codes, n_neighbors: int) -> npt.NDArray[np.intp]:
    """Return the pairs of each sample with its nearest samples of other classes.

    Parameters
    ----------
    X : ndarray of shape (N, K)
        Samples.
    codes : ndarray of int, shape (N,)
        Class of each sample, from 0 on.
    n_neighbors : int
        How many samples to pair each sample with, from all other classes together. If they have
        fewer samples, it is paired with all of them.

    Returns
    -------
    ndarray of int, shape (n, 2)
        Indices of the two samples, the smaller one first. Each pair occurs once, and the pairs are
        in ascending order.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0]])
    >>> nearest_of_other_classes(X, np.array([0, 0, 1, 1]), 1).tolist()
    [[0, 2], [1, 2], [1, 3]]
    """
    found = []
    for code in range(codes.max() + 1):
        own, others = np.flatnonzero(codes == code), np.flatnonzero(codes != code)
        search = NearestNeighbors(n_neighbors=min(n_neighbors, len(others))).fit(X[others])
        for start in range(0, len(own), _QUERIES):
            check_time()
            some = own[start : start + _QUERIES]
            nearest = others[search.kneighbors(X[some], return_distance=False)]
            found.append(np.column_stack([np.repeat(some, nearest.shape[1]), nearest.ravel()]))
    pairs: npt.NDArray[np.intp] = np.unique(np.sort(np.concatenate(found), axis=1), axis=0)
    return pairs
