"""Learners by the name of an objective: `gdaopt.objectives.OBJECTIVES`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.objectives import OBJECTIVES
from gdaopt.scaling import auto_trace_bound
from tests.estimators.cases import samples

NAMES = tuple(name for name in OBJECTIVES if name != "glr")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_objective_with_its_rule(name: str) -> None:
    X, y = samples()
    learner = gda.GraphMetricLearner(name, scale="none").fit(X, y)
    objective = OBJECTIVES[name](X, np.unique(y, return_inverse=True)[1])
    assert learner.trace_bound_ == auto_trace_bound(objective, gda.GraphMetrics(1.0))
    assert learner.result_.relative_gap is not None
    assert learner.result_.relative_gap <= learner.tolerance
    assert learner.result_.objective == pytest.approx(objective.at(learner.metric_).value)


def test_options_go_to_the_objectives_that_have_them() -> None:
    X, y = samples()
    balanced = gda.GraphMetricLearner(
        "mcml", class_weight={0: 1.0, 1: 5.0, 2: 1.0}, scale="none"
    ).fit(X, y)
    objective = gda.MCML(X, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    assert balanced.result_.objective == pytest.approx(objective.value(balanced.metric_))
    nearest = gda.GraphMetricLearner("lmnn", n_neighbors=1, scale="none").fit(X, y)
    lmnn = gda.LMNN(X, y, n_neighbors=1)
    assert nearest.result_.objective == pytest.approx(lmnn.value(nearest.metric_))


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("lmnn", {"class_weight": "balanced"}, "goes with the objectives glr, mcml, and not"),
        ("mcml", {"n_neighbors": 3}, "goes with the objectives glr, lmnn, and not with mcml"),
        ("lmnn", {"n_neighbors": 500}, "each class needs more samples"),
    ],
)
def test_other_options_are_refused(name: str, options: dict[str, Any], says: str) -> None:
    X, y = samples()
    with pytest.raises(ValueError, match=says):
        gda.GraphMetricLearner(name, **options).fit(X, y)
