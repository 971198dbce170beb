"""Learners on features of any scale, constant ones, copies, few samples of many features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.estimators.labels import class_signal
from gdaopt.estimators.problem_learner import nearest_of_other_classes
from gdaopt.scaling import auto_trace_bound
from tests.estimators.cases import LEARNERS, certified_by_the_learner, samples


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("scale", [1e-60, 1e-6, 3.7, 1e6, 1e60])
def test_the_scale_of_all_features_drops_out(learner: Any, scale: float) -> None:
    X, codes = samples()
    expected = learner(tolerance=1e-9).fit(X, codes).transform(X)
    found = learner(tolerance=1e-9).fit(scale * X, codes).transform(scale * X)
    assert cdist(found, found) == pytest.approx(cdist(expected, expected), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("learner", LEARNERS)
def test_by_powers_of_two_it_drops_out_to_the_last_bit(learner: Any) -> None:
    X, codes = samples()
    expected, found = learner().fit(X, codes), learner().fit(1024 * X, codes)
    np.testing.assert_array_equal(found.metric_ * 2**20, expected.metric_)
    np.testing.assert_array_equal(found.transform(1024 * X), expected.transform(X))


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("exponents", [(-6, 6, 0, 0), (6, 0, 0, -6), (0, -6, 0, 0), (6, 6, -6, -6)])
def test_scales_of_single_features(learner: Any, exponents: tuple[int, ...]) -> None:
    X, codes = samples()
    X = X * 10.0 ** np.array(exponents)
    assert certified_by_the_learner(learner().fit(X, codes), X)


@pytest.mark.parametrize("learner", LEARNERS)
def test_constant_features_and_copies(learner: Any) -> None:
    X, codes = samples()
    plain = learner().fit(X, codes)
    for more in (
        np.column_stack([X, np.full(60, 1e3), np.zeros(60)]),
        np.column_stack([X, X[:, 0]]),
        np.tile(X, 20),
    ):
        wide = learner().fit(more, codes)
        assert certified_by_the_learner(wide, more)
        assert wide.trace_bound_ == pytest.approx(plain.trace_bound_)
        ratio = wide.result_.objective / plain.result_.objective
        if np.ptp(more, axis=0).all() and learner is gda.PositiveDefiniteMetricLearner:
            assert ratio < 0.95  # such a metric adds copies up
        else:
            assert 0.8 < ratio < 1.6


@pytest.mark.parametrize("weights", [None, {0: 5.0, 2: 0.5}])
@pytest.mark.parametrize("neighbors", [None, 3])
def test_four_is_the_largest_mean_squared_distance_of_a_feature(
    weights: dict[int, float] | None, neighbors: int | None
) -> None:
    X, codes = samples(n=20)
    pairs = nearest_of_other_classes(X, codes, neighbors or 20)
    of_class = np.array([1.0, 1.0, 1.0] if weights is None else [5.0, 1.0, 0.5])
    shares = of_class[codes[pairs]].prod(axis=1)
    shares /= shares.sum()
    differences = X[pairs[:, 0]] - X[pairs[:, 1]]
    mean = shares @ differences**2
    for learner in LEARNERS:
        found = learner(class_weight=weights, n_neighbors=neighbors).fit(X, codes)
        assert found.trace_bound_ == pytest.approx(4 / mean.max(), rel=1e-12)
        assert found.min_eigenvalue_ == pytest.approx(1e-3 * found.trace_bound_ / 4)


@pytest.mark.parametrize("copies", [10, 200])
def test_two_hundred_is_the_largest_mean_squared_distance_of_the_set(copies: int) -> None:
    X, codes = samples(n=20)
    differences = (X[:, None] - X)[codes[:, None] != codes]
    mean = differences.T @ differences / len(differences)
    of_features, of_set = mean.diagonal().max(), copies * np.linalg.eigvalsh(mean)[-1]
    found = auto_trace_bound(
        gda.GLR(np.tile(X, copies), class_signal(codes)), gda.PositiveDefiniteMetrics(1.0)
    )
    assert found == pytest.approx(min(4 / of_features, 200 / of_set))
    assert (found * of_set > 199) == (copies == 200)


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_larger_sets_have_smaller_optima(name: str) -> None:
    data = load(name)
    diagonal, graph, definite = (
        learner().fit(data.features, data.labels)
        for learner in (
            gda.DiagonalMetricLearner,
            gda.GraphMetricLearner,
            gda.PositiveDefiniteMetricLearner,
        )
    )
    assert diagonal.trace_bound_ == graph.trace_bound_ == definite.trace_bound_
    assert diagonal.result_.objective > graph.result_.objective > definite.result_.objective


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_distances_neither_vanish_nor_underflow(name: str, learner: Any) -> None:
    """What the rule promises of each metric of the set, on raw features."""
    data = load(name)
    fitted = learner().fit(data.features, data.labels)
    transformed = fitted.transform(data.features)
    distances = cdist(transformed, transformed, "sqeuclidean")
    different = data.labels[:, None] != data.labels
    assert 1.0 < distances[different].mean() <= 200.0
    assert fitted.result_.objective >= np.exp(-200.0) * 2 * different.sum()  # Q(0)


@pytest.mark.parametrize(
    "learner",
    [
        gda.GraphMetricLearner,
        gda.DiagonalMetricLearner,
        pytest.param(gda.PositiveDefiniteMetricLearner, marks=pytest.mark.slow),
    ],
)
def test_few_samples_of_many_features(learner: Any) -> None:
    X, codes = samples(n=60, k=1000)
    assert certified_by_the_learner(learner(tolerance=1e-3).fit(X, codes), X)


@pytest.mark.parametrize("scale", [0.0, 1e-100, 1e100])
def test_samples_too_near_or_far_for_a_rule(scale: float) -> None:
    X, codes = samples()
    with pytest.raises(gda.InvalidInputError, match=r"samples of different classes differ by "):
        gda.GraphMetricLearner().fit(scale * X, codes)
