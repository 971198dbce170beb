"""Rows by metric learners: the paper's baselines, scikit-learn's and metric-learn's.

Their packages are imported when a row is run: importing scikit-learn takes a second, and
metric-learn may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from table1.training import Learned, Training, with_matrix_trace

__all__ = ["LEARNERS", "LearnerRow", "by_learner"]


@dataclass(frozen=True)
class LearnerRow:
    """How a row's metric learner is made.

    Attributes
    ----------
    make : callable
        Called with a `Training`; returns the unfitted estimator. An estimator with the parameter
        ``missing_label`` is fitted on both halves, without the labels of the test half.
    is_bounded : bool
        Whether the learner has a trace bound of its own; the metrics of others are scaled to
        trace C.
    """

    make: Callable[[Training], Any]
    is_bounded: bool = False


def by_learner(row: LearnerRow) -> Callable[[Training], Learned]:
    """Return the function that learns a metric by an estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from table1.protocol import Protocol
    >>> X, signal = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 2.0]]), np.array([[0.0], [1.0], [1.0]])
    >>> training = Training(X, np.full(3, True), signal, 0, Protocol())
    >>> by_learner(LEARNERS["euclidean"])(training).metric.trace().item()
    2.0
    """

    def learn(training: Training) -> Learned:
        from gdaopt.estimators.metric_parameter import metric_space

        learner = row.make(training)
        metric = metric_space(learner, training.X, training.labelled, training.labels).metric
        return Learned(
            metric if row.is_bounded else with_matrix_trace(metric, training.trace_bound)
        )

    return learn


def _zhu2003(_: Training) -> Any:
    from gdaopt.estimators.baselines.harmonic_entropy import HarmonicEntropyWeights

    return HarmonicEntropyWeights()


def _mao2016(_: Training) -> Any:
    from gdaopt.estimators.baselines.joint_classifier import JointClassifierWeights

    return JointClassifierWeights()


def _yang2018(labels: str) -> Callable[[Training], Any]:
    def make(training: Training) -> Any:
        from gdaopt.estimators.baselines.alternating_classifier import AlternatingClassifierWeights

        return AlternatingClassifierWeights(trace_bound=training.trace_bound, labels=labels)

    return make


def _gmml(training: Training) -> Any:
    from gdaopt.estimators.baselines.geometric_mean import GeometricMeanMetric

    return GeometricMeanMetric(t=0.5, random_state=training.seed)


def _fgl(training: Training) -> Any:
    from gdaopt.estimators.baselines.feature_graph import FeatureGraphLearning

    return FeatureGraphLearning(trace_bound=training.trace_bound)


def _euclidean(_: Training) -> Any:
    from gdaopt.estimators.baselines.euclidean import EuclideanMetric

    return EuclideanMetric()


def _nca(training: Training) -> Any:
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    return NeighborhoodComponentsAnalysis(random_state=training.seed)


def _metric_learn(name: str) -> Callable[[Training], Any]:
    def make(training: Training) -> Any:
        return getattr(import_module("metric_learn"), name)(random_state=training.seed)

    return make


LEARNERS: Mapping[str, LearnerRow] = {
    "zhu2003": LearnerRow(_zhu2003),
    "mao2016": LearnerRow(_mao2016),
    "yang2018": LearnerRow(_yang2018("harmonic"), is_bounded=True),
    "yang2018-sdp": LearnerRow(_yang2018("sdp"), is_bounded=True),
    "gmml": LearnerRow(_gmml),
    "fgl": LearnerRow(_fgl, is_bounded=True),
    "euclidean": LearnerRow(_euclidean),
    "nca": LearnerRow(_nca),
    "lmnn": LearnerRow(_metric_learn("LMNN")),
    "itml": LearnerRow(_metric_learn("ITML_Supervised")),
}
"""The learners by the names of their rows."""
