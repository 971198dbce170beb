"""Metric learners of the literature, to compare with."""

from gdaopt.estimators.rivals.alternating_weights import AlternatingClassifierWeights
from gdaopt.estimators.rivals.euclidean import EuclideanMetric
from gdaopt.estimators.rivals.feature_graph import FeatureGraphLearning
from gdaopt.estimators.rivals.geometric_mean import GeometricMeanMetric
from gdaopt.estimators.rivals.harmonic_entropy import HarmonicEntropyWeights
from gdaopt.estimators.rivals.joint_weights import JointClassifierWeights

__all__ = [
    "AlternatingClassifierWeights",
    "EuclideanMetric",
    "FeatureGraphLearning",
    "GeometricMeanMetric",
    "HarmonicEntropyWeights",
    "JointClassifierWeights",
]
