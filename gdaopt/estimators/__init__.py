"""Metric learners and classifiers that keep scikit-learn's rules.

They go into its pipelines and searches. `BaseMetricLearner` says how to write a learner of your
own. Published methods to compare with are in `gdaopt.estimators.baselines`.
"""

from gdaopt.estimators.base import BaseMetricLearner
from gdaopt.estimators.cross_validated import MetricLearnerCV
from gdaopt.estimators.graph_classifier import GraphClassifier
from gdaopt.estimators.graphical_model import LaplacianGraphicalModel, LaplacianGraphicalModelCV
from gdaopt.estimators.inputs import expected_failed_checks
from gdaopt.estimators.metric_classifiers import MetricKNeighborsClassifier
from gdaopt.estimators.metric_graph import MetricGraph
from gdaopt.estimators.metric_learner import (
    DiagonalMetricLearner,
    GraphMetricLearner,
    MetricLearner,
    PositiveDefiniteMetricLearner,
)
from gdaopt.estimators.one_vs_rest import OneVsRestMetricClassifier
from gdaopt.estimators.tuple_learners import PairMetricLearner, TripletMetricLearner

__all__ = [
    "BaseMetricLearner",
    "DiagonalMetricLearner",
    "GraphClassifier",
    "GraphMetricLearner",
    "LaplacianGraphicalModel",
    "LaplacianGraphicalModelCV",
    "MetricGraph",
    "MetricKNeighborsClassifier",
    "MetricLearner",
    "MetricLearnerCV",
    "OneVsRestMetricClassifier",
    "PairMetricLearner",
    "PositiveDefiniteMetricLearner",
    "TripletMetricLearner",
    "expected_failed_checks",
]
