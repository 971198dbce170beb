"""Metric learners from the literature, for comparisons."""

from gdaopt.estimators.baselines.alternating_classifier import AlternatingClassifierWeights
from gdaopt.estimators.baselines.euclidean import EuclideanMetric
from gdaopt.estimators.baselines.feature_graph import FeatureGraphLearning
from gdaopt.estimators.baselines.geometric_mean import GeometricMeanMetric
from gdaopt.estimators.baselines.harmonic_entropy import HarmonicEntropyWeights
from gdaopt.estimators.baselines.joint_classifier import JointClassifierWeights

__all__ = [
    "AlternatingClassifierWeights",
    "EuclideanMetric",
    "FeatureGraphLearning",
    "GeometricMeanMetric",
    "HarmonicEntropyWeights",
    "JointClassifierWeights",
]
