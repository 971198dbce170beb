"""Metric learners from the literature, for comparisons."""

from gdaopt.estimators.baselines.feature_graph import FeatureGraphLearning
from gdaopt.estimators.baselines.feature_weights import (
    AlternatingClassifierWeights,
    JointClassifierWeights,
)
from gdaopt.estimators.baselines.geometric_mean import EuclideanMetric, GeometricMeanMetric
from gdaopt.estimators.baselines.harmonic_entropy import HarmonicEntropyWeights

__all__ = [
    "AlternatingClassifierWeights",
    "EuclideanMetric",
    "FeatureGraphLearning",
    "GeometricMeanMetric",
    "HarmonicEntropyWeights",
    "JointClassifierWeights",
]
