"""Metric learners and classifiers that keep scikit-learn's rules.

They go into its pipelines and searches. `MetricLearner` says how to write a learner of your own.
"""

from gdaopt.estimators.base import (
    MahalanobisDistance,
    MetricLearner,
    SupervisedMetricLearner,
    TransductiveMetricLearner,
)
from gdaopt.estimators.baselines import (
    AlternatingClassifierWeights,
    EuclideanMetric,
    FeatureGraphLearning,
    GeometricMeanMetric,
    HarmonicEntropyWeights,
    JointClassifierWeights,
)
from gdaopt.estimators.graph_classifier import GraphClassifier
from gdaopt.estimators.labels import expected_failed_checks
from gdaopt.estimators.learners import (
    DiagonalMetricLearner,
    GraphMetricLearner,
    PositiveDefiniteMetricLearner,
)
from gdaopt.estimators.learners_cv import (
    DiagonalMetricLearnerCV,
    GraphMetricLearnerCV,
    PositiveDefiniteMetricLearnerCV,
)
from gdaopt.estimators.metric_graph import MetricGraph
from gdaopt.estimators.neighbors import MetricKNeighborsClassifier
from gdaopt.estimators.one_vs_rest import OneVsRestMetricClassifier
from gdaopt.estimators.pair_learner import PairMetricLearner
from gdaopt.estimators.problem_learner import ProblemLearner
from gdaopt.estimators.triplet_learner import TripletMetricLearner

__all__ = [
    "AlternatingClassifierWeights",
    "DiagonalMetricLearner",
    "DiagonalMetricLearnerCV",
    "EuclideanMetric",
    "FeatureGraphLearning",
    "GeometricMeanMetric",
    "GraphClassifier",
    "GraphMetricLearner",
    "GraphMetricLearnerCV",
    "HarmonicEntropyWeights",
    "JointClassifierWeights",
    "MahalanobisDistance",
    "MetricGraph",
    "MetricKNeighborsClassifier",
    "MetricLearner",
    "OneVsRestMetricClassifier",
    "PairMetricLearner",
    "PositiveDefiniteMetricLearner",
    "PositiveDefiniteMetricLearnerCV",
    "ProblemLearner",
    "SupervisedMetricLearner",
    "TransductiveMetricLearner",
    "TripletMetricLearner",
    "expected_failed_checks",
]
