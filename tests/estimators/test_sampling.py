"""Learners that learn from some of many samples, or of many pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

import gdaopt as gda
from gdaopt.estimators import metric_learner
from gdaopt.estimators.inputs import class_signal
from gdaopt.estimators.metric_learner import (
    nearest_of_other_classes,
    random_pairs,
    stratified_sample,
)
from tests.estimators.cases import LEARNERS, samples


def test_samples_in_the_proportions_of_the_classes() -> None:
    codes = np.random.default_rng(0).permutation(np.repeat([0, 1, 2, 3], [600, 300, 97, 3]))
    found = stratified_sample(codes, 100, seed=1)
    assert np.bincount(codes[found]).tolist() == [60, 30, 10, 3]
    assert (np.diff(found) > 0).all()
    np.testing.assert_array_equal(found, stratified_sample(codes, 100, seed=1))
    assert not np.array_equal(found, stratified_sample(codes, 100, seed=2))


@pytest.mark.parametrize("differ", [True, False])
def test_pairs_are_drawn_evenly_and_once(differ: bool) -> None:
    codes = np.array([0] * 6 + [1] * 3 + [2])
    left, right = np.triu_indices(10, 1)
    allowed = codes[left] != codes[right] if differ else left < right
    expected = {*zip(left[allowed].tolist(), right[allowed].tolist(), strict=True)}
    counts = dict.fromkeys(expected, 0)
    for seed in range(300):
        drawn = random_pairs(codes, 10, seed, differ=differ)
        assert drawn is not None
        pairs = [tuple(pair) for pair in drawn.tolist()]
        assert len(set(pairs)) == 10
        for pair in pairs:
            counts[pair] += 1
    share = 300 * 10 / len(expected)
    assert all(abs(count - share) < 5 * np.sqrt(share) for count in counts.values())
    assert random_pairs(codes, len(expected), 0, differ=differ) is None
    most = random_pairs(codes, len(expected) - 1, 0, differ=differ)
    assert most is not None
    assert len(most) == len(expected) - 1


def test_nearest_of_other_classes() -> None:
    X, codes = samples(n=30)
    expected = set()
    for i, row in enumerate(cdist(X, X)):
        others = np.flatnonzero(codes != codes[i])
        for j in others[np.argsort(row[others])[:3]]:
            expected.add((min(i, j), max(i, j)))
    found = nearest_of_other_classes(X, codes, 3)
    assert [tuple(pair) for pair in found] == sorted(expected)
    assert len(nearest_of_other_classes(X, codes, 100)) == 30 * 20 / 2


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("objective", ["glr", "mcml"])
def test_the_problem_of_the_samples_is_the_one_that_is_certified(
    learner: Any, objective: str
) -> None:
    X, y = samples(n=90)
    found = learner(objective, max_samples=30, random_state=3).fit(X, y)
    chosen = found.sample_indices_
    np.testing.assert_array_equal(chosen, stratified_sample(y, 30, seed=3))
    alone = learner(objective, scale="none").fit(X[chosen] / X.std(axis=0), y[chosen])
    assert found.result_.status == "converged"
    assert found.result_.objective == pytest.approx(alone.result_.objective, rel=1e-9)
    assert found.trace_bound_ == pytest.approx(alone.trace_bound_)
    make: Any = gda.MCML if objective == "mcml" else gda.GLR
    of_all = make(X / X.std(axis=0), y if objective == "mcml" else class_signal(y))
    assert found.full_objective_ == pytest.approx(of_all.value(found.result_.metric))


@pytest.mark.parametrize("objective", ["glr", "logistic-pairs", "pair-hinge", "deml"])
def test_the_problem_of_the_pairs_is_the_one_that_is_certified(objective: str) -> None:
    X, y = samples()
    found = gda.GraphMetricLearner(objective, max_pairs=200).fit(X, y)
    assert found.sample_indices_ is None
    drawn = random_pairs(y, 200, 0, differ=objective == "glr")
    Z = X / found.scale_
    kinds: Any = {"logistic-pairs": gda.LogisticPairs, "pair-hinge": gda.PairHinge}
    make = {"glr": gda.GLR, "deml": gda.DEML, **kinds}[objective]
    labels = class_signal(y) if objective == "glr" else y
    of_pairs, of_all = make(Z, labels, pairs=drawn), make(Z, labels)
    metric = found.result_.metric
    assert found.result_.objective == pytest.approx(of_pairs.value(metric))
    assert found.full_objective_ == pytest.approx(of_all.value(metric))


def test_as_many_as_there_are_is_all() -> None:
    X, y = samples()
    expected = gda.GraphMetricLearner("glr", max_samples=None).fit(X, y)
    for options in ({}, {"max_samples": 60}, {"max_pairs": 10**6}):
        found = gda.GraphMetricLearner("glr", **options).fit(X, y)  # type: ignore[arg-type]
        np.testing.assert_array_equal(found.metric_, expected.metric_)
        assert found.sample_indices_ is None
    assert expected.full_objective_ is None


def test_auto_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_learner, "_AUTO_SAMPLES", 20)
    X, y = samples()
    assert len(gda.DiagonalMetricLearner().fit(X, y).sample_indices_) == 21  # 7 of each class
    for most, count in (("auto", 21), (None, None)):
        learner = gda.DiagonalMetricLearner(max_samples=most)
        chosen = gda.MetricLearnerCV(learner, trace_bounds=2, cv=2).fit(X, y).sample_indices_
        assert (None if chosen is None else len(chosen)) == count


def test_a_limit_leaves_the_full_objective_out() -> None:
    X, y = samples()
    learner = gda.GraphMetricLearner(max_samples=30, time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        learner.fit(X, y)
    assert learner.result_.status == "time_limit"
    assert learner.full_objective_ is None
