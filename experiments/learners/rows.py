"""The rows of the comparison: learners of this package, of scikit-learn and of metric-learn."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from gdaopt.estimators.metric_learner import DEFAULT_OBJECTIVE


@dataclass(frozen=True)
class Learner:
    """A row of the table, and the class it stands for with its parameters.

    A mapping with a ``"class"`` among the parameters is a learner within the learner.
    """

    name: str
    module: str
    class_name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        """Whether it is of this package."""
        return self.module == "gdaopt"

    @property
    def needs_environment(self) -> bool:
        """Whether it does not run here."""
        return self.module == "metric_learn"

    def make(self) -> Any:
        """Return the learner, of those that have no learner within."""
        learner = getattr(importlib.import_module(self.module), self.class_name)(**self.parameters)
        if "random_state" in learner.get_params():
            learner.set_params(random_state=0)
        return learner


NO_LEARNING = {"z-scores": "no learning, z-scores", "raw": "no learning, features as they are"}
"""The rows of plain neighbours."""

SEARCH = "GDA CV"
"""The row of the learner that chooses the objective, too."""

_SETS = ("graph", "diagonal", "definite")
_OBJECTIVES = ("mcml", "nca", "glr", "lmnn")


def named(metrics: str, objective: str = DEFAULT_OBJECTIVE, *, cv: bool = False) -> str:
    """Return the name of a row of this package."""
    return f"GDA {metrics}{' CV' if cv else ''}, {objective.upper()}"


def _ours(metrics: str, objective: str, *, cv: bool) -> Learner:
    name = named(metrics, objective, cv=cv)
    parameters = {"metrics": metrics, "objective": objective}
    if not cv:
        return Learner(name, "gdaopt", "MetricLearner", parameters)
    within = {"learner": {"class": "MetricLearner", **parameters}}
    return Learner(name, "gdaopt", "MetricLearnerCV", within)


LEARNERS = (
    *(_ours(metrics, name, cv=False) for name, metrics in product(_OBJECTIVES, _SETS)),
    *(_ours(metrics, name, cv=True) for name, metrics in product(("mcml", "glr"), _SETS)),
    Learner(SEARCH, "gdaopt", "MetricLearnerCV"),
    Learner("scikit-learn NCA", "sklearn.neighbors", "NeighborhoodComponentsAnalysis"),
    Learner("scikit-learn LDA", "sklearn.discriminant_analysis", "LinearDiscriminantAnalysis"),
    *(
        Learner(f"metric-learn {name.removesuffix('_Supervised')}", "metric_learn", name)
        for name in ("LMNN", "ITML_Supervised", "NCA", "MMC_Supervised")
    ),
)
OURS = tuple(learner.name for learner in LEARNERS if learner.is_ours)
DEFAULTS = (*(named(metrics, cv=cv) for cv in (False, True) for metrics in _SETS), SEARCH)
"""Those of ours with the default objective."""
