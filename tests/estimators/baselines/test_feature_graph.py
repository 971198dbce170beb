"""Feature graph learning: against the loop written out, its conditions, hard input."""

import itertools

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.estimators.baselines.feature_graph import (
    FeatureGraphDescent,
    FeatureGraphLearning,
    _Diagonal,
    floors,
    start_metric,
)
from gdaopt.estimators.inputs import class_signal
from gdaopt.support.validation import FloatArray
from tests.estimators.baselines.literal_feature_graph import literal_fit
from tests.estimators.cases import samples, soundly_fitted


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
    X, z = X[:, :5], z
    metric, history = literal_fit(X, z, inner_tolerance=inner_tolerance)
    learner = FeatureGraphLearning(X.shape[1], inner_tolerance=inner_tolerance).fit(X, z)
    assert len(history) == len(learner.objective_) > 10
    np.testing.assert_allclose(learner.objective_, history, rtol=1e-9)
    np.testing.assert_allclose(learner.metric_, metric, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "positive", "inner_tolerance"),
    [
        ("wine", "class_0", 1e-5),
        ("wine", "class_1", 1e-5),
        ("iris", "setosa", 1e-3),
        ("iris", "versicolor", 1e-5),
        ("breast_cancer", "malignant", 1e-3),
    ],
)
def test_conditions_hold_after_every_step(name: str, positive: str, inner_tolerance: float) -> None:
    X, z = z_scored(name, positive)
    glr = gda.GLR(X, z)
    found = list(FeatureGraphDescent(glr, len(X), 1e-5, inner_tolerance, 1000).steps())
    size = X.shape[1]
    np.testing.assert_array_equal(found[0][1].metric, start_metric(size))
    assert len({changed for changed, _ in found}) > 3
    for (_, before), (changed, after) in itertools.pairwise(found):
        M = after.metric
        assert after.value <= before.value
        np.testing.assert_array_equal(M, M.T)
        assert np.trace(M) <= size * (1 + 1e-14)
        assert floors(M).sum() <= size
        assert np.linalg.eigvalsh(M)[0] > 0
        differs = before.metric != M
        if changed is None:
            assert not differs[~np.eye(size, dtype=bool)].any()
            assert (np.diagonal(M) >= floors(M)).all()
        else:
            differs[changed] = differs[:, changed] = False
            assert not differs.any()
    last = found[-1][1]
    assert last.value == pytest.approx(glr.value(last.metric), rel=1e-9)
    assert last.value < 0.9 * found[0][1].value


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


@pytest.mark.parametrize("classes", [2, 3])
def test_objective_of_all_classes(classes: int) -> None:
    X, codes = samples(classes=classes)
    learner = soundly_fitted(FeatureGraphLearning(), X, codes)
    glr = gda.GLR(X, class_signal(codes))
    assert learner.objective_[-1] == pytest.approx(2 * glr.value(learner.metric_))
    start = learner.trace_bound_ / 4 * start_metric(4)
    assert learner.objective_[0] == pytest.approx(2 * glr.value(start))
    best = gda.PositiveDefiniteMetricLearner().fit(X, codes).result_.lower_bound
    assert 2 * best <= learner.objective_[-1] < 0.95 * learner.objective_[0]
