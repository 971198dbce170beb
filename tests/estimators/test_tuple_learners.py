"""Learners of pairs and triplets, with metric-learn's conventions."""

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score

import gdaopt as gda
from gdaopt.estimators import PairMetricLearner, TripletMetricLearner
from gdaopt.estimators.tuple_learners import _best_threshold, _goodness
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import refused, samples

pytestmark = pytest.mark.filterwarnings("ignore::gdaopt.errors.NothingLearnedWarning")

SETS = {
    "graph": gda.GraphMetrics,
    "diagonal": gda.DiagonalMetrics,
    "definite": gda.PositiveDefiniteMetrics,
}
PROBLEMS: dict[str, Any] = {  # by samples, tuples, and which pairs are similar
    "logistic-pairs": lambda X, found, y: gda.LogisticPairs(X, pairs=found, similar=y),
    "pair-hinge": lambda X, found, y: gda.PairHinge(X, pairs=found, similar=y),
    "triplet-hinge": gda.TripletHinge,
    "logistic-triplets": gda.LogisticTriplets,
}
LEARNERS = [PairMetricLearner, TripletMetricLearner]


def pairs(n: int = 60) -> tuple[FloatArray, np.ndarray, np.ndarray]:
    """Return samples, pairs of them as indices, and 1 for pairs of one class, else -1."""
    X, codes = samples()
    X = X * [1e-3, 1.0, 50.0, 1.0]
    found = np.random.default_rng(0).permutation(len(X))[:n].reshape(-1, 2)
    found = np.concatenate([found, np.roll(found, 1, axis=0) % len(X)])
    return X, found, np.where(codes[found[:, 0]] == codes[found[:, 1]], 1, -1)


def triplets() -> tuple[FloatArray, np.ndarray]:
    """Return samples, and triplets of two samples of one class and a third of another."""
    X, codes = samples()
    rng = np.random.default_rng(1)
    found: list[tuple[int, int, int]] = []
    while len(found) < 50:
        i, j, k = rng.choice(len(X), 3, replace=False)
        if codes[i] == codes[j] != codes[k]:
            found.append((i, j, k))
    return X * [1e-3, 1.0, 50.0, 1.0], np.array(found)


def fit(learner: Any, with_indices: bool = False) -> Any:
    """Fit a learner to its tuples."""
    X, found, *y = pairs() if isinstance(learner, PairMetricLearner) else triplets()
    return learner.fit(found if with_indices else X[found], *y)


# --- What is learned -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("objective", PROBLEMS)
def test_the_metric_is_the_optimum_of_its_problem(objective: str, kind: str) -> None:
    of_pairs = "pair" in objective
    learner: Any = LEARNERS[not of_pairs](objective, metrics=kind)
    X, found, *labels = pairs() if of_pairs else triplets()
    learner.fit(X[found], *labels)
    spreads = X[found].reshape(-1, 4).std(axis=0)
    np.testing.assert_allclose(learner.scale_, spreads, rtol=1e-12)
    by_hand = PROBLEMS[objective](X / spreads, found, *(y == 1 for y in labels))
    assert learner.trace_bound_ == pytest.approx(by_hand.auto_trace_bound())
    feasible_set = SETS[kind](learner.trace_bound_, learner.min_eigenvalue_)
    optimum = gda.solve(gda.MetricProblem(by_hand, feasible_set), "certified", tolerance=1e-7)
    assert learner.result_.status == "converged"
    assert learner.result_.lower_bound <= optimum.objective
    assert learner.result_.objective == pytest.approx(optimum.objective, rel=2e-4)
    units = np.outer(spreads, spreads)
    np.testing.assert_allclose(learner.metric_ * units, learner.result_.metric, rtol=1e-9)
    if not of_pairs:
        i, j, k = X[found].transpose(1, 0, 2)
        plain = np.mean(((i - j) ** 2).sum(axis=1) < ((i - k) ** 2).sum(axis=1))
        assert learner.score(X[found]) > plain


@pytest.mark.parametrize("learner", LEARNERS)
def test_indices_are_the_samples_that_they_stand_for(learner: Any) -> None:
    X = pairs()[0]
    expected = fit(learner())
    names = np.array([f"file{n}" for n in range(len(X))])

    def of_names(asked: Any) -> FloatArray:
        return X[[int(name.removeprefix("file")) for name in asked]]

    by_array = fit(learner(preprocessor=X), with_indices=True)
    np.testing.assert_array_equal(by_array.metric_, expected.metric_)
    asked = np.array([[0, 5], [7, 2]])
    distances = expected.pair_distance(X[asked])
    np.testing.assert_allclose(by_array.pair_distance(asked), distances)
    by_array.preprocessor = of_names
    np.testing.assert_allclose(by_array.pair_distance(names[asked]), distances)
    np.testing.assert_allclose(by_array.pair_distance(X[asked]), distances)  # samples do, too


def test_ones_own_objective_and_set() -> None:
    X, found, y = pairs()

    def deml(samples: FloatArray, places: Any, similar: Any) -> gda.DEML:
        labels = np.arange(len(samples))
        labels[places[similar, 1]] = labels[places[similar, 0]]
        return gda.DEML(samples, labels, pairs=places)

    only = partial(gda.GraphMetrics, edges=[(0, 1)])
    learner = PairMetricLearner(deml, metrics=only).fit(X[found], y)
    assert learner.result_.status == "converged"
    assert not learner.metric_[0, 2:].any()
    masked = PairMetricLearner(deml, edges=[("x0", "x1")]).fit(X[found], y)
    np.testing.assert_array_equal(masked.metric_, learner.metric_)


# --- Predictions ---------------------------------------------------------------------------------


def test_predictions_of_pairs() -> None:
    X, found, y = pairs()
    learner = PairMetricLearner().fit(X[found], y)
    distances = learner.pair_distance(X[found])
    np.testing.assert_array_equal(learner.decision_function(X[found]), -distances)
    assert learner.score(X[found], y) == roc_auc_score(y, -distances)
    predicted = learner.predict(X[found])
    np.testing.assert_array_equal(predicted, np.where(distances <= learner.threshold_, 1, -1))
    others = np.concatenate([distances - 1e-9, distances + 1e-9])
    most = max(np.mean(np.where(distances <= t, 1, -1) == y) for t in others)
    assert np.mean(predicted == y) == pytest.approx(most)
    assert learner.set_threshold(0).threshold_ == 0.0
    assert (learner.predict(X[found]) == -1).all()
    assert learner.classes_.tolist() == [-1, 1]


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta", "max_tpr", "max_tnr"])
@pytest.mark.parametrize("seed", range(4))
def test_thresholds_are_the_best_of_all(strategy: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    similar = rng.random(30) < 0.5
    distances = np.round(rng.random(30) + np.where(similar, 0.0, 0.3), 1)  # some are equal

    def goodness(threshold: float) -> float:
        called = distances <= threshold
        found, wrong = (called & similar).sum(), (called & ~similar).sum()
        tpr, tnr = found / similar.sum(), 1 - wrong / (~similar).sum()
        precision = found / max(called.sum(), 1)
        by_strategy = {
            "accuracy": (called == similar).mean(),
            "f_beta": 5 * precision * tpr / (4 * precision + tpr) if found else 0.0,
            "max_tpr": tpr if tnr >= 0.7 else -1,
            "max_tnr": tnr if tpr >= 0.7 else -1,
        }
        return float(by_strategy[strategy])

    found = _best_threshold(distances, similar, _goodness(strategy, min_rate=0.7, beta=2.0))
    best = max(goodness(t) for t in [-1.0, *np.unique(distances)])
    assert goodness(found) == pytest.approx(best)


def test_calibration_by_other_pairs() -> None:
    X, found, y = pairs()
    learner = PairMetricLearner(preprocessor=X)
    strict = clone(learner).fit(found, y, {"strategy": "max_tpr", "min_rate": 1.0})
    assert (strict.predict(found)[y == -1] == -1).all()
    learner.fit(found[:40], y[:40])
    learner.calibrate_threshold(found[40:], y[40:], "max_tnr", min_rate=1.0)
    assert (learner.predict(found[40:])[y[40:] == 1] == 1).all()
    with refused("all 2 pairs are similar"):
        learner.calibrate_threshold(found[:2], [1, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "best"}, "unknown strategy"),
        ({"strategy": "max_tpr"}, "needs min_rate, a number from 0 to 1, got None"),
        ({"strategy": "max_tnr", "min_rate": 2}, "got 2"),
        ({"strategy": "f_beta", "beta": 0}, "beta must be"),
    ],
)
def test_bad_calibrations(options: dict[str, Any], message: str) -> None:
    X, found, y = pairs()
    learner = PairMetricLearner().fit(X[found], y)
    with refused(message):
        learner.calibrate_threshold(X[found], y, **options)
    with refused(message):
        learner.fit(X[found], y, options)


@pytest.mark.parametrize("learner", LEARNERS)
def test_searches_and_copies(learner: Any) -> None:
    X, found, y = pairs()
    given: Any = (found, y) if learner is PairMetricLearner else (triplets()[1],)
    search = GridSearchCV(learner(preprocessor=X), {"metrics": list(SETS)}, cv=2).fit(*given)
    scores = cross_val_score(learner(preprocessor=X, min_eigenvalue=1e-3), *given, cv=3)
    assert len(scores) == 3
    assert scores.min() > 0.5
    best = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(best.predict(given[0]), search.predict(given[0]))


@pytest.mark.parametrize("learner", LEARNERS)
def test_scores_leave_tuples_of_weight_0_out(learner: Any) -> None:
    X, found, y = pairs()
    given: Any = (found, y) if learner is PairMetricLearner else (triplets()[1], None)
    fitted, size = learner(preprocessor=X).fit(*given), len(given[0])
    weights = np.arange(size) % 3
    kept = [None if values is None else values[weights > 0] for values in given]
    expected = fitted.score(*kept, weights[weights > 0])
    assert fitted.score(*given, weights) == pytest.approx(expected)
    for wrong, message in [
        (np.zeros(size), "entries of sample_weight are zero"),
        (-weights, "must not be negative, got -2 at index 2"),
        (weights[1:], "must have"),
        (weights * np.nan, "sample_weight holds nan"),
    ]:
        with refused(message):
            fitted.score(*given, wrong)
