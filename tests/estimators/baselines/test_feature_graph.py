"""Feature graph learning: against the loop written out, its conditions, hard input."""

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.estimators.baselines.feature_graph import (
    FeatureGraphDescent,
    FeatureGraphLearning,
    _Diagonal,
)
from gdaopt.support.validation import FloatArray
from tests.estimators.baselines.literal_feature_graph import literal_fit


def z_scored(name: str, positive: str, every: int = 2) -> tuple[FloatArray, FloatArray]:
    data = load(name)
    X, z = data.features[::every], data.signal(positive)[::every]
    return (X - X.mean(axis=0)) / X.std(axis=0), z


# --- The algorithm -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "positive", "every", "inner_tolerance"),
    [("iris", "setosa", 20, 1e-2), ("iris", "versicolor", 15, 1e-3), ("wine", "class_1", 25, 1e-2)],
)
def test_it_is_the_loop_written_out(
    name: str, positive: str, every: int, inner_tolerance: float
) -> None:
    X, z = z_scored(name, positive, every)
    X = X[:, :5]
    metric, history = literal_fit(X, z, inner_tolerance=inner_tolerance)
    learner = FeatureGraphLearning(X.shape[1], inner_tolerance=inner_tolerance).fit(X, z)
    assert len(history) == len(learner.objective_) > 10
    np.testing.assert_allclose(learner.objective_, history, rtol=1e-9)
    np.testing.assert_allclose(learner.metric_, metric, atol=1e-9)


def test_a_step_that_is_too_large_is_halved() -> None:
    X, z = z_scored("wine", "class_0")
    glr = gda.GLR(X, z)
    for power in range(4, 24):
        descent = FeatureGraphDescent(glr, len(X), 1e-5, 1e-3, 1000)
        stepping = descent.steps()
        _, start = next(stepping)
        descent.rate = 2.0**power
        changed, first = next(stepping)
        if changed is None and descent.rate < 2.0**power:
            break
    else:
        raise AssertionError("no step was too large")
    assert first.value <= start.value
    halvings = np.log2(2.0**power * 1.01 / descent.rate)
    assert halvings == pytest.approx(round(halvings), abs=1e-9)
    # With one halving fewer the objective would rise. The trace is at its bound in this step.
    step = 2 * descent.rate / 1.01 * np.diagonal(start.gradient())
    direction = _Diagonal(start.metric).direction(start.metric, step)
    assert glr.value(direction.added_to(start.metric, 1.0)) > start.value
