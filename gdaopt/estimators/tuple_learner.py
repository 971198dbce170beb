"""Learners of pairs and triplets of samples: what both share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions

from gdaopt.estimators.parameters import called
from gdaopt.estimators.solving import SolvingLearner, warn_unless_converged
from gdaopt.estimators.tuples import read_tuples
from gdaopt.objectives import Objective
from gdaopt.objectives.base import check_interface
from gdaopt.sets import (
    DiagonalMetrics,
    FeasibleSet,
    GraphMetrics,
    PositiveDefiniteMetrics,
)
from gdaopt.support.validation import FloatArray, check_instance

__all__ = ["TupleLearner"]

_SETS: dict[str, Callable[[float, float], FeasibleSet]] = {
    kind.name: kind for kind in (GraphMetrics, DiagonalMetrics, PositiveDefiniteMetrics)
}


class TupleLearner(ClassifierMixin, SolvingLearner):
    """Base of learners of tuples: pairs or triplets.

    A subclass writes ``_made``, which returns the objective of tuples, its `fit`, and what it
    predicts of tuples.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SolvingLearner._parameter_constraints,
        "feasible_set": [StrOptions(set(_SETS)), callable],
        "preprocessor": [None, "array-like", callable],
    }

    def __init__(
        self,
        objective: str | Callable[..., Objective],
        *,
        feasible_set: str | Callable[[float, float], FeasibleSet],
        preprocessor: Any,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.objective = objective
        self.feasible_set = feasible_set
        self.preprocessor = preprocessor

    def _feasible_set(self, trace_bound: float, min_eigenvalue: float) -> FeasibleSet:
        if isinstance(self.feasible_set, str):
            return _SETS[self.feasible_set](trace_bound, min_eigenvalue)
        found: FeasibleSet = called("feasible_set", self.feasible_set, trace_bound, min_eigenvalue)
        check_instance("what feasible_set returns", found, FeasibleSet)
        return found

    def _learn(self, tuples: FloatArray, labels: Any = None) -> None:
        """Learn from tuples of samples, of shape (n, size, K)."""
        n_tuples, size, self.n_features_in_ = tuples.shape
        places = np.arange(n_tuples * size).reshape(n_tuples, size)

        def make(samples: FloatArray) -> Objective:
            objective = self._made(samples, places, labels)
            check_interface(objective)
            return objective

        self._set_metric(self._solve(tuples.reshape(-1, self.n_features_in_), make))
        warn_unless_converged(self, self.result_)

    @abstractmethod
    def _made(self, samples: FloatArray, places: Any, labels: Any) -> Objective:
        """Return the objective of samples, for tuples of indices of shape (n, size)."""

    def _read_pairs(self, pairs: Any) -> FloatArray:
        return read_tuples("pairs", pairs, 2, self.preprocessor, self.n_features_in_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags
