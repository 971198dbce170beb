"""Rows by metric learners: the paper's baselines, scikit-learn's and metric-learn's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from experiments.table1.training import Learned, Training, with_matrix_trace

BASELINES = "gdaopt.estimators.baselines"


@dataclass(frozen=True)
class ByLearner:
    """Learns a metric by an estimator, whose package is imported when that is done.

    An estimator with the parameter ``missing_label`` is fitted on both halves, without the labels
    of the test half. Metrics of learners without a trace bound of their own are scaled to trace C.
    """

    module: str
    class_name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_bounded: bool = False  # whether it has a trace bound of its own
    is_seeded: bool = False  # whether it draws at random

    def __call__(self, training: Training) -> Learned:
        """Return the metric."""
        from gdaopt.estimators.metric_classifiers import MetricSpace  # scikit-learn takes a second

        parameters = dict(self.parameters)
        if self.is_bounded:
            parameters["trace_bound"] = training.trace_bound
        if self.is_seeded:
            parameters["random_state"] = training.seed
        learner = getattr(import_module(self.module), self.class_name)(**parameters)
        metric = MetricSpace(learner, training.X, training.labelled, training.labels).metric
        return Learned(
            metric if self.is_bounded else with_matrix_trace(metric, training.trace_bound)
        )
