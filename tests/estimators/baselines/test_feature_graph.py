"""Feature graph learning: against numbers of the loop written out, its conditions, hard input."""

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


def z_scored(name: str, positive: str, every: int = 2) -> tuple[FloatArray, FloatArray]:
    data = load(name)
    X, z = data.features[::every], data.signal(positive)[::every]
    return (X - X.mean(axis=0)) / X.std(axis=0), z


# --- The algorithm -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "positive", "every", "inner_tolerance", "values"),
    [
        ("iris", "setosa", 20, 1e-2, (476, 1.986543367932e-3, 1.934987617185e-4, 6.407783618542)),
        ("iris", "versicolor", 15, 1e-3, (198, 0.5937242519069, 0.2171135106467, 5.785763339495)),
        ("wine", "class_1", 25, 1e-2, (486, 6.849951790685e-3, 7.923877728054e-4, 9.996542047196)),
    ],
)
def test_its_steps_are_those_of_the_loop_written_out(
    name: str, positive: str, every: int, inner_tolerance: float, values: tuple[float, ...]
) -> None:
    """The numbers are those of the published loop, by its formulas with loops over pairs."""
    X, z = z_scored(name, positive, every)
    X = X[:, :5]
    learner = FeatureGraphLearning(X.shape[1], inner_tolerance=inner_tolerance).fit(X, z)
    objective, entries = learner.objective_, np.abs(learner.metric_).sum()
    middle = objective[len(objective) // 2]
    assert (len(objective), middle, objective[-1], entries) == pytest.approx(values, rel=1e-9)


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
