"""Estimators for scikit-learn's pipelines and searches."""

from gdaopt.estimators.base import MahalanobisDistance, MetricLearner
from gdaopt.estimators.learners import (
    DiagonalMetricLearner,
    GraphMetricLearner,
    PositiveDefiniteMetricLearner,
)
from gdaopt.estimators.metric_graph import MetricGraph

__all__ = [
    "DiagonalMetricLearner",
    "GraphMetricLearner",
    "MahalanobisDistance",
    "MetricGraph",
    "MetricLearner",
    "PositiveDefiniteMetricLearner",
]
