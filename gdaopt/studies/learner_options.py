"""What ``gdaopt learn`` learns: one metric for all classes, or one for each class against the rest.

Each is the fit of a `gdaopt.MetricLearner`, or of a `gdaopt.MetricLearnerCV`, to a `Dataset`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdaopt.datasets import Dataset
from gdaopt.datasets.numbers import float_or_nan
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.samples import is_sparse
from gdaopt.methods import METHODS, Method
from gdaopt.methods.solve import make_method
from gdaopt.studies.class_problems import ProblemChoice
from gdaopt.support.options import option
from gdaopt.support.validation import number, store_checked

if TYPE_CHECKING:
    from gdaopt.estimators import MetricLearner, MetricLearnerCV

ALL_CLASSES = "all classes"
"""What the one metric for all classes is called, where others are named after their class."""

OF_THE_PAPER: dict[str, Any] = {"scale": "unit", "trace_bound": "K", "min_eigenvalue": 1e-6}
"""What the paper's problem, of the objective "glr" for one class against the rest, goes with.

The tolerance is that of the method then.
"""

_KEPT = ("scale", "trace_bound", "min_eigenvalue", "edge_floor", "tolerance")
"""The options that learners have as well, under the same names, and that a study records."""


@dataclass(frozen=True, kw_only=True)
class LearnerOptions(ProblemChoice):
    """Options of ``gdaopt learn``; None if nothing is asked for."""

    search: bool = option(
        False,
        "choose the objective and the trace bound by a race over folds, or no learning where "
        "nothing helps by more than chance",
    )
    one_against_rest: bool = option(
        False,
        "learn a metric for each class against the rest, as in the paper, whose scale, trace bound "
        "and tolerance are the defaults then",
    )
    method: str | None = option(
        None,
        f"{', '.join(METHODS)} (default: certified, or alternating, which is the paper's, with "
        "--solver)",
    )
    solver: str | None = option(
        None,
        "for methods that solve programs, such as alternating: any solver that CVXPY knows and "
        "that has the cones, highspy (HiGHS without CVXPY), or analytic; see gdaopt solvers "
        "(default: the method's)",
    )
    edge_floor: float | None = option(
        None,
        "ε, an option of alternating and joint: edges of weight ≥ ε connect all features (default: "
        "0, no edge floor)",
    )
    tolerance: float | None = option(None, "relative gap or decrease that ends a run")
    time_limit: float | None = option(
        None,
        "seconds for each metric; the first evaluation of its objective is completed whatever the "
        "limit is",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        store_checked(self, number, "edge_floor", "tolerance", at_least=0)
        store_checked(self, number, "time_limit", above=0)
        if self.search and (self.has_class_metrics or self.trace_bound is not None):
            other = "--trace-bound" if self.trace_bound is not None else "--one-against-rest"
            raise InvalidInputError(
                f"--search chooses among metrics for all classes, and their trace bounds; leave "
                f"{other} out, or --search"
            )
        self.make_method()  # refuses here what it would refuse later

    @property
    def has_class_metrics(self) -> bool:
        """Whether each metric is one of a class against the rest."""
        return self.one_against_rest or self.positive is not None

    @property
    def chosen_objective(self) -> str:
        """The objective; of a search the first of those that it compares."""
        if self.objective is not None:
            return self.objective
        from gdaopt.estimators.metric_learner import DEFAULT_OBJECTIVE

        # MCML would pull "the rest" together across the class.
        return "glr" if self.has_class_metrics else DEFAULT_OBJECTIVE

    def make_method(self) -> Method:
        """Return the method of the fits; refuse options that it does not have."""
        options = {"solver": self.solver, "edge_floor": self.edge_floor}
        named = {name: value for name, value in options.items() if value is not None}
        return make_method(self.method, **named)

    def metric_names(self, dataset: Dataset) -> tuple[str, ...]:
        """Return what the metrics are called: the classes against the rest, or `ALL_CLASSES`.

        Two classes have one metric, that of the second one.
        """
        classes = dataset.classes
        if self.has_class_metrics:
            return self.classes(dataset)
        values = [float_or_nan(name) for name in classes]
        if all(math.isfinite(value) for value in values) and any(value % 1 for value in values):
            self._refuse_many_classes(dataset)
        if self.metrics == "signed" and len(classes) > 2:
            raise InvalidInputError(
                f"--metrics signed follows the labels of two classes, and there are {len(classes)};"
                " pass --one-against-rest, or --metrics sdd"
            )
        return (ALL_CLASSES,)

    def make_learner(self) -> MetricLearner | MetricLearnerCV:
        """Return the learner of each metric, or the search for one, not yet fitted."""
        from gdaopt.estimators import MetricLearner, MetricLearnerCV
        from gdaopt.estimators.cross_validated import SEARCHED

        learner = self.make_base_learner()
        if not self.search:
            learner.set_params(time_limit=self.time_limit)
            return learner
        objectives = SEARCHED if self.objective is None else (self.objective, "none")
        # Without a learner of one's own the search chooses the tolerance of its last fit.
        is_default = learner.get_params() == MetricLearner(max_samples=None).get_params()
        return MetricLearnerCV(
            None if is_default else learner, objectives=objectives, time_limit=self.time_limit
        )

    def make_base_learner(self) -> MetricLearner:
        """Return the learner of each metric, or of all fits of a search, without a time limit."""
        from gdaopt.estimators import MetricLearner  # on demand: scikit-learn is slow to import

        method = self.make_method()
        defaults: dict[str, Any] = {}
        if self.has_class_metrics and self.chosen_objective == "glr":
            defaults = OF_THE_PAPER | {"tolerance": method.tolerance}
        asked = {name: getattr(self, name) for name in (*_KEPT, "edges", "solver")}
        options = defaults | {name: value for name, value in asked.items() if value is not None}
        return MetricLearner(
            self.chosen_objective,
            metrics=self.metrics,
            method=method.name,
            max_samples=None,
            **options,
        )

    def draw(self, dataset: Dataset, most: int | None = None) -> Dataset:
        """Return the samples to learn from, in the proportions of the classes; always the same."""
        rows = self.samples(dataset, most)
        return replace(dataset, features=dataset.features[rows], labels=dataset.labels[rows])

    def record(self, dataset: Dataset) -> dict[str, Any]:
        """Return what is learned as plain values, equal for the same metrics alone."""
        base = self.make_base_learner()
        n_samples = len(dataset.labels)
        return {
            **super().record(dataset),
            "classes": list(self.metric_names(dataset)),
            "objective": self.chosen_objective,
            "search": self.search,
            **{name: getattr(base, name) for name in (*_KEPT, "method")},
            "solver": self.make_method().solver,
            "time_limit": self.time_limit,
            "samples": min(self.max_samples or n_samples, n_samples),
        }

    def outline(self, dataset: Dataset) -> str:
        """Return how much there is to learn from, and what is learned, in a few words."""
        self.metric_names(dataset)  # refuses what is no class
        n_samples, classes = len(dataset.labels), dataset.classes
        n_learned = min(self.max_samples or n_samples, n_samples)
        drawn = "" if n_learned == n_samples else f", {n_learned} of them drawn to learn from"
        if self.positive is not None:
            what = f"a metric is learned for class {self.positive} against the rest"
        elif self.one_against_rest:
            what = f"a metric is learned for each of {len(classes)} classes against the rest"
        else:
            every = "both" if len(classes) == 2 else f"all {len(classes)}"
            what = f"one metric is learned for {every} classes"
        if self.search:
            what += ", after a search for the best learner"
        return f"{n_samples} samples{drawn}, {len(dataset.feature_names)} features; {what}"


def as_frame(dataset: Dataset) -> Any:
    """Return samples with the names of their features; sparse ones without."""
    if is_sparse(dataset.features):
        return dataset.features
    import pandas as pd

    return pd.DataFrame(dataset.features, columns=list(dataset.feature_names))


def labels_of(dataset: Dataset, name: str) -> npt.NDArray[np.str_]:
    """Return the labels that a metric is learned from, given what it is called."""
    if name == ALL_CLASSES:
        return dataset.labels
    return np.where(dataset.labels == name, name, f"not {name}")
