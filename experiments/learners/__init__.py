"""Learners beside those of scikit-learn and metric-learn: errors, seconds and memory of fits."""

from experiments.learners.command import EXPERIMENT as EXPERIMENT
