"""Learners on features of any scale; metrics of low rank, and of some of many samples or pairs."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import gdaopt as gda
from gdaopt.errors import NothingLearnedWarning
from gdaopt.estimators import TripletMetricLearner, metric_learner
from gdaopt.estimators.draws import (
    nearest_of_other_classes,
    random_pairs,
    stratified_sample,
)
from gdaopt.estimators.inputs import class_signal
from tests.estimators.cases import LEARNERS, SETS, certified_by_the_learner, samples

UNITS = [1e-3, 1.0, 20.0, 1e6]


def test_four_is_the_largest_mean_squared_distance_of_a_feature() -> None:
    X, codes = samples(n=20)
    pairs = nearest_of_other_classes(X, codes, 3)
    shares = np.array([5.0, 1.0, 0.5])[codes[pairs]].prod(axis=1)
    mean = shares @ (X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2 / shares.sum()
    options: dict[str, Any] = {"class_weight": {0: 5.0, 2: 0.5}, "n_neighbors": 3}
    found = gda.GraphMetricLearner("glr", scale="none", **options).fit(X, codes)
    assert found.trace_bound_ == pytest.approx(4 / mean.max(), rel=1e-12)


# --- Standardised features -----------------------------------------------------------------------


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_metric_is_in_the_units_of_the_features(learner: Any) -> None:
    X, codes = samples()
    X = X * UNITS + [0.0, 5.0, -5.0, 1e3]
    auto = learner().fit(X, codes)
    by_hand = learner(scale="none").fit(X / X.std(axis=0), codes)
    np.testing.assert_allclose(auto.scale_, X.std(axis=0), rtol=1e-12)
    units, atol = np.outer(auto.scale_, auto.scale_), 1e-9 * by_hand.trace_bound_
    np.testing.assert_allclose(auto.metric_ * units, by_hand.metric_, atol=atol)
    np.testing.assert_array_equal(auto.graph_.edges, by_hand.graph_.edges)
    pairs = np.stack([X[:10], X[10:20]], axis=1)
    expected = by_hand.pair_distance(pairs / auto.scale_)
    np.testing.assert_allclose(auto.pair_distance(pairs), expected, rtol=1e-6)
    # A congruence keeps the signs of entries and eigenvalues: it is a graph metric, too.
    assert auto.metric_ in SETS[learner](np.trace(auto.metric_) * (1 + 1e-9), 0.0)


def test_constant_features_are_left_as_they_are() -> None:
    X, codes = samples()
    noise = 0.1 + 1e-17 * np.arange(len(X))  # of round-off, and not of anything measured
    noise[::3] = np.nextafter(0.1, 1)
    wide = np.column_stack([X, np.full(len(X), 1e6), noise])
    learner, plain = (gda.GraphMetricLearner().fit(given, codes) for given in (wide, X))
    assert learner.scale_.tolist() == [*plain.scale_, 1.0, 1.0]
    assert certified_by_the_learner(learner, wide)
    assert learner.result_.objective == pytest.approx(plain.result_.objective, rel=1e-2)


def test_a_function_sees_the_standardised_samples() -> None:
    X, codes = samples()
    seen = []

    def objective(Z: Any, signal: Any) -> gda.GLR:
        assert signal.shape == (60, 3)
        seen.append(Z)
        return gda.GLR(Z, signal)

    learner = gda.GraphMetricLearner(objective).fit(100 * X + 3, codes)
    np.testing.assert_allclose(seen[0].std(axis=0), 1.0)
    assert certified_by_the_learner(learner, X)


# --- What the metric says of features, metrics of low rank, metrics that say nothing -------------


@pytest.mark.parametrize("scale", ["zscore", "unit", "none"])
def test_importances_are_shares_of_squared_distances(scale: str) -> None:
    X, codes = samples()
    wide = np.column_stack([X, np.full(len(X), 0.1)])
    found = gda.DiagonalMetricLearner("glr", scale=scale).fit(wide, codes)
    shares = np.array([cdist(wide[:, [k]], wide[:, [k]], "sqeuclidean").mean() for k in range(5)])
    shares *= found.metric_.diagonal()
    np.testing.assert_allclose(found.feature_importances_, shares / shares.sum(), rtol=1e-9)
    assert found.feature_importances_[4] == 0.0
    if scale == "zscore":
        learner = gda.DiagonalMetricLearner("glr")
        chosen = SelectFromModel(learner, threshold=0.3).fit(wide, codes)
        np.testing.assert_array_equal(chosen.get_support(), found.feature_importances_ >= 0.3)
        others = learner.fit(wide * [1e-6, 1.0, 1e6, 1e3, 1e-9], codes).feature_importances_
        np.testing.assert_allclose(others, found.feature_importances_, rtol=1e-6)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_metric_of_low_rank_keeps_the_largest_eigenvalues(learner: Any) -> None:
    X, codes = samples()
    X = X * UNITS
    whole, found, every = (learner("glr", n_components=k).fit(X, codes) for k in (None, 2, 4))
    np.testing.assert_array_equal(found.result_.metric, whole.result_.metric)
    assert found.components_.shape == (2, 4)
    assert found.transform(X).shape == (60, 2)
    assert len(found.get_feature_names_out()) == 2
    np.testing.assert_allclose(found.metric_, found.components_.T @ found.components_, rtol=1e-12)
    values, vectors = np.linalg.eigh(whole.result_.metric)
    expected = (vectors[:, 2:] * values[2:]) @ vectors[:, 2:].T
    units = np.outer(found.scale_, found.scale_)
    np.testing.assert_allclose(found.metric_ * units, expected, atol=1e-12 * values[-1])
    pairs = np.stack([X[:10], X[10:20]], axis=1)
    np.testing.assert_allclose(every.pair_distance(pairs), whole.pair_distance(pairs), rtol=1e-9)
    with pytest.raises(gda.errors.InvalidInputError, match=r"n_components = 5 exceeds .* 4"):
        learner("glr", n_components=5).fit(X, codes)


def test_searches_and_tuples_have_weights_components_and_importances_too() -> None:
    X, codes = samples()
    learner = gda.GraphMetricLearner("glr", n_components=1)
    weights = 1.0 + 5.0 * codes
    # To a classifier of this kind any metric matters, and a single bound has no warm start.
    options: Any = {"classifier": GaussianNB(), "objectives": ["glr"], "trace_bounds": [4.0]}
    search = gda.MetricLearnerCV(learner, cv=2, **options).fit(X, codes, weights)
    alone = learner.set_params(trace_bound=search.trace_bound_).fit(X, codes, weights)
    for name in ("metric_", "components_", "feature_importances_"):
        np.testing.assert_allclose(getattr(search, name), getattr(alone, name), atol=1e-2)
    for fold, (train, test) in enumerate(StratifiedKFold(2).split(X, codes)):
        learner.set_params(tolerance=3e-2).fit(X[train], codes[train], weights[train])
        classifier = GaussianNB().fit(learner.transform(X[train]), codes[train])
        shares = classifier.predict_proba(learner.transform(X[test]))
        scores = search.cv_results_[f"split{fold}_test_score"]
        expected = shares[np.arange(len(test)), codes[test]].mean()
        assert scores[search.best_index_] == pytest.approx(expected)
    tuples = TripletMetricLearner("logistic-triplets", n_components=2)
    tuples.fit(X[[[0, 3, 1], [4, 1, 2], [2, 5, 0]]])
    assert tuples.components_.shape == (2, 4)
    assert tuples.feature_importances_.sum() == pytest.approx(1.0)


def test_a_learner_that_finds_nothing_says_so() -> None:
    """Both classes are clouds around one centre."""
    X = np.random.default_rng(0).standard_normal((100, 4))
    y = (X**2).sum(axis=1) > 3.4
    search = gda.MetricLearnerCV(objectives=["mcml"], cv=2)
    for learner in (gda.MetricLearner(), gda.PositiveDefiniteMetricLearner(), search):
        words = f"{type(learner).__name__} learned nothing: .* such as 'lmnn' or 'nca'"
        with pytest.warns(NothingLearnedWarning, match=words) as caught:
            learner.fit(X, y)
        assert caught[0].filename == __file__
        np.testing.assert_allclose(learner.feature_importances_, 0.25, rtol=1e-3)
    with pytest.warns(NothingLearnedWarning, match="such as 'logistic-triplets'$"):
        TripletMetricLearner().fit(X[[[0, 1, 2], [0, 2, 1]]])
    gda.MetricLearner().fit(X[:, :1], y)  # of one feature all metrics are
    gda.MetricLearner("none").fit(X, y)  # as it was asked to
    assert not np.allclose(gda.MetricLearner("lmnn").fit(X, y).feature_importances_, 0.25)


# --- Learners that learn from some of many samples, or of many pairs -----------------------------


def test_samples_in_the_proportions_of_the_classes() -> None:
    codes = np.random.default_rng(0).permutation(np.repeat([0, 1, 2, 3], [600, 300, 97, 3]))
    found, again, other = (stratified_sample(codes, 100, seed=seed) for seed in (1, 1, 2))
    assert np.bincount(codes[found]).tolist() == [60, 30, 10, 3]
    assert (np.diff(found) > 0).all()
    np.testing.assert_array_equal(found, again)
    assert not np.array_equal(found, other)


@pytest.mark.parametrize("differ", [True, False])
def test_pairs_are_drawn_evenly_and_once(differ: bool) -> None:
    codes = np.array([0] * 6 + [1] * 3 + [2])
    left, right = np.triu_indices(10, 1)
    allowed = codes[left] != codes[right] if differ else left < right
    counts = dict.fromkeys(zip(left[allowed].tolist(), right[allowed].tolist(), strict=True), 0)
    for seed in range(300):
        drawn = random_pairs(codes, 10, seed, differ=differ)
        assert drawn is not None
        pairs = {tuple(pair) for pair in drawn.tolist()}
        assert len(pairs) == 10
        for pair in pairs:
            counts[pair] += 1
    share = 300 * 10 / len(counts)
    assert all(abs(count - share) < 5 * np.sqrt(share) for count in counts.values())
    assert random_pairs(codes, len(counts), 0, differ=differ) is None
    most = random_pairs(codes, len(counts) - 1, 0, differ=differ)
    assert most is not None
    assert len(most) == len(counts) - 1


def test_nearest_of_other_classes() -> None:
    X, codes = samples(n=30)
    distances = np.where(codes[:, None] == codes, np.inf, cdist(X, X))
    nearest = distances.argsort(axis=1)[:, :3]
    expected = {(min(i, j), max(i, j)) for i, row in enumerate(nearest.tolist()) for j in row}
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
    Z: Any = X / X.std(axis=0)
    of_all = gda.MCML(Z, y) if objective == "mcml" else gda.GLR(Z, class_signal(y))
    assert found.full_objective_ == pytest.approx(of_all.value(found.result_.metric))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("glr", gda.GLR),
        ("logistic-pairs", gda.LogisticPairs),
        ("pair-hinge", gda.PairHinge),
        ("deml", gda.DEML),
    ],
)
def test_the_problem_of_the_pairs_is_the_one_that_is_certified(name: str, make: Any) -> None:
    X, y = samples()
    found = gda.GraphMetricLearner(name, max_pairs=200).fit(X, y)
    assert found.sample_indices_ is None
    drawn = random_pairs(y, 200, 0, differ=name == "glr")
    given = X / found.scale_, class_signal(y) if name == "glr" else y
    metric = found.result_.metric
    assert found.result_.objective == pytest.approx(make(*given, pairs=drawn).value(metric))
    assert found.full_objective_ == pytest.approx(make(*given).value(metric))


def test_as_many_as_there_are_is_all() -> None:
    X, y = samples()
    expected = gda.GraphMetricLearner("glr", max_samples=None).fit(X, y)
    several: list[dict[str, Any]] = [{}, {"max_samples": 60}, {"max_pairs": 10**6}]
    for options in several:
        found = gda.GraphMetricLearner("glr", **options).fit(X, y)
        np.testing.assert_array_equal(found.metric_, expected.metric_)
        assert found.sample_indices_ is None
    assert expected.full_objective_ is None


def test_auto_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_learner, "_AUTO_SAMPLES", 20)
    X, y = samples()
    assert len(gda.DiagonalMetricLearner().fit(X, y).sample_indices_) == 21  # 7 of each class
    for most, count in (("auto", 21), (None, None)):
        learner = gda.DiagonalMetricLearner(max_samples=most)
        chosen = gda.MetricLearnerCV(learner, cv=2).fit(X, y).sample_indices_
        assert (None if chosen is None else len(chosen)) == count


def test_a_limit_leaves_the_full_objective_out() -> None:
    learner = gda.GraphMetricLearner(max_samples=30, time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        learner.fit(*samples())
    assert learner.result_.status == "time_limit"
    assert learner.full_objective_ is None
