"""Learners that choose their trace bound and objective by a race over folds."""

import pickle
import time
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

import gdaopt as gda
from gdaopt.estimators import cross_validated
from gdaopt.estimators.cross_validated import path_fits
from gdaopt.estimators.draws import stratified_sample
from gdaopt.estimators.racing import Race, chance, standard_errors
from tests.estimators.cases import LEARNERS, clouds, refused, samples

pytestmark = pytest.mark.filterwarnings("ignore::gdaopt.errors.NothingLearnedWarning")


@pytest.mark.parametrize("objective", ["glr", "mcml", "nca"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_each_fit_of_a_path_is_a_single_fit(learner: Any, objective: str) -> None:
    X, y = samples()
    tolerance = 1e-3
    made = learner(objective, tolerance=tolerance)
    made.classes_, made.n_features_in_ = np.unique(y), 4
    bounds = np.geomspace(0.1, 10.0, 6)
    for bound, fit in zip(bounds, path_fits(made, X, y, bounds), strict=True):
        assert fit.seconds > 0
        alone = learner(objective, trace_bound=bound, tolerance=tolerance).fit(X, y).result_
        assert fit.start is not None
        assert fit.start.feasible_set == alone.feasible_set
        metric = fit.components.T @ fit.components * np.outer(made.scale_, made.scale_)
        value = made._make_problem(X, y)[0].value(metric)
        if objective != "nca":  # of which one start is followed, in place of two
            assert value <= alone.objective + tolerance * abs(value)


def test_scores_are_those_of_the_folds_by_hand() -> None:
    """The probability of the right class, and how often it is right where there is none."""
    X, y = samples()
    for classifier in (KNeighborsClassifier(5), RidgeClassifier()):
        search = gda.MetricLearnerCV(classifier=classifier, objectives=["none"], cv=3).fit(X, y)
        for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
            spreads = X[train].std(axis=0)
            model = clone(classifier).fit(X[train] / spreads, y[train])
            right = model.predict(X[test] / spreads) == y[test]
            if classifier.__class__ is KNeighborsClassifier:
                right = model.predict_proba(X[test] / spreads)[np.arange(len(test)), y[test]]
            assert search.cv_results_[f"split{fold}_test_score"] == pytest.approx(right.mean())
    assert search.p_value_ is None


def test_candidates_leave_by_paired_standard_errors() -> None:
    rng = np.random.default_rng(0)
    common, noise = rng.random(50), rng.standard_normal((3, 50)) / 100
    race = Race(4, 60)
    for place, gain in enumerate((0.0, -0.1, -0.1, 0.0)):
        race.add(place, np.arange(50), common + gain + noise[place % 3])
    race.drop(1.0, spared=2)
    assert race.is_in.tolist() == [True, False, True, True]
    other = deepcopy(race)
    other.keep_best(np.array([0, 0, 1, 1]))  # of equal ones the first, of two objectives
    assert other.is_in.tolist() == [True, False, False, True]
    other.keep_best(np.array([0, 0, 0, 0]))
    assert other.is_in.tolist() == [True, False, False, False]
    assert race.best == 0  # of equal ones the first
    race.add(3, np.arange(50, 60), np.full(10, 9.0))
    assert race.best == 3
    assert np.isnan(race.scores[0, 50:]).all()
    rows = rng.standard_normal((2, 30))
    expected = rows.std(axis=1, ddof=1) / np.sqrt(30)
    np.testing.assert_allclose(standard_errors(rows), expected)


def test_the_best_of_many_is_compared_as_the_best_of_many() -> None:
    """Chances are nearly uniform without gains, however many candidates there are."""
    rng = np.random.default_rng(1)
    for count in (1, 5):
        chances = [chance(rng.standard_normal((count, 80))) for _ in range(200)]
        assert 0.02 <= np.mean(np.array(chances) < 0.1) <= 0.18
    gains = rng.standard_normal((5, 80))
    gains[3] += 0.6
    gains[4, 20:] = np.nan  # it left the race
    assert chance(gains) < 0.01
    assert chance(-np.abs(gains)) == 1.0
    assert chance(np.zeros((2, 9))) == 1.0
    assert chance(np.full((2, 9), 0.5)) == 0.0


def test_no_structure_is_found_in_noise() -> None:
    found = []
    for seed in range(12):
        X = np.random.default_rng(seed).standard_normal((60, 5))
        found.append(gda.MetricLearnerCV().fit(X, np.arange(60) % 2).objective_)
    assert found.count("none") >= 10


def test_the_objective_is_chosen_without_a_learner() -> None:
    X, y = clouds(150)
    search = gda.MetricLearnerCV().fit(X, y)
    assert search.objective_ == "nca"
    assert search.p_value_ is not None
    assert search.p_value_ < 0.05
    named = search.cv_results_["param_objective"]
    assert named == ["mcml"] * 2 + ["nca"] * 2 + ["none"]
    assert search.best_score_ > search.cv_results_["mean_test_score"][named.index("none")]
    assert search.result_.status == "stationary"
    assert search.result_.frank_wolfe_gap <= 1e-2
    ranks = search.cv_results_["rank_test_score"]
    assert ranks[search.best_index_] == 1


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "lmnn", "n_neighbors": 2},
        {"objective": "pair-hinge", "max_pairs": 50},
        {"class_weight": "balanced"},
        {"edge_floor": 0.01},
        {"objective": "glr", "method": "alternating", "solver": "analytic"},
        {"metrics": "balanced", "edges": [(0, 1), (1, 2)]},
    ],
    ids=lambda options: list(options)[-1],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_learning_needs_no_options_of_other_objectives(options: dict[str, Any]) -> None:
    X, y = np.random.default_rng(0).standard_normal((60, 3)), np.arange(60) % 2
    search = gda.MetricLearnerCV(gda.MetricLearner(**options), cv=2).fit(X, y)
    assert search.cv_results_["param_objective"][-1] == "none"
    plain = gda.MetricLearnerCV(objectives=["none"], cv=2).fit(X, y)
    assert search.cv_results_["mean_test_score"][-1] == pytest.approx(plain.best_score_)


@pytest.mark.filterwarnings("error::gdaopt.errors.NothingLearnedWarning")
@pytest.mark.parametrize("kind", LEARNERS)
def test_no_learning_is_a_choice_of_one_bound(kind: Any) -> None:
    X = np.random.default_rng(0).standard_normal((60, 3)) * [1.0, 10.0, 0.1] + 5.0
    search = gda.MetricLearnerCV(kind(), objectives=["none"]).fit(X, np.arange(60) % 2)
    assert (search.objective_, search.trace_bound_) == ("none", 3.0)
    np.testing.assert_allclose(search.metric_, np.diag(1 / X.var(axis=0)), atol=1e-6)
    assert search.result_.status == "converged"


def test_what_is_fitted_is_the_learner_of_the_choice() -> None:
    X, y = samples()
    named = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    learner = gda.MetricLearner("glr", edges=[("a", "b")], tolerance=1e-6)
    search = gda.MetricLearnerCV(learner, objectives=["glr"], cv=2).fit(named, y)
    assert search.result_.status == "converged"
    assert search.result_.relative_gap <= 1e-6
    assert search.learner_.get_params()["edges"] == [("a", "b")]
    auto = gda.MetricLearner("glr", edges=[("a", "b")]).fit(named, y).trace_bound_
    bounds = search.cv_results_["param_trace_bound"]
    np.testing.assert_allclose(bounds, [auto, 4 * auto])
    alone = clone(learner).set_params(trace_bound=search.trace_bound_).fit(named, y)
    assert search.result_.objective == pytest.approx(alone.result_.objective, rel=1e-5)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.transform(named), search.transform(named))
    assert learner.trace_bound == "auto"  # the learner itself stays as it was
    assert not hasattr(learner, "metric_")


def test_other_sets_and_objectives() -> None:
    X, y = samples()
    of_set = gda.MetricLearner(gda.GLR, metrics=gda.GraphMetrics(8.0, 0.01, edges=[(0, 1)]))
    options: dict[str, Any] = {"trace_bounds": [24.0, 0.5], "cv": 2}
    search = gda.MetricLearnerCV(of_set, objectives=[gda.GLR], **options).fit(X, y)
    assert search.objective_ is gda.GLR
    assert search.cv_results_["param_trace_bound"].tolist() == [0.5, 24.0]
    assert search.min_eigenvalue_ == 0.01
    assert not search.metric_[0, 2:].any()
    grid = GridSearchCV(
        gda.MetricLearnerCV(gda.MetricLearner(), cv=2),
        {"learner__metrics": ["diagonal", "graph"]},
        scoring=lambda learner, X, y: learner.best_score_,
        cv=2,
    ).fit(X, y)
    assert grid.best_estimator_.learner_.metrics == grid.best_params_["learner__metrics"]


def test_few_of_many_samples_are_enough_for_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """All training samples of the fold are neighbours of those held out."""
    X, y = samples()
    train, test = np.flatnonzero(np.arange(60) % 2 == 0), np.flatnonzero(np.arange(60) % 2)
    chosen = train[stratified_sample(y[train], 15, seed=0)]
    monkeypatch.setattr(cross_validated, "_MOST_TRAINED", 15)
    options: dict[str, Any] = {"objectives": ["mcml"], "trace_bounds": [8.0]}
    search = gda.MetricLearnerCV(cv=[(train, test)], **options).fit(X, y)
    learner = gda.MetricLearner(trace_bound=8.0, tolerance=3e-2).fit(X[chosen], y[chosen])
    model = KNeighborsClassifier(5).fit(learner.transform(X[train]), y[train])
    shares = model.predict_proba(learner.transform(X[test]))[np.arange(30), y[test]]
    assert search.best_score_ == pytest.approx(shares.mean())
    assert search.sample_indices_ is None  # the last fit is of all


@pytest.mark.parametrize(
    ("weight", "metrics", "message"),
    [
        (-1.0, "graph", "sample_weight must not be negative, got -1"),
        (np.inf, "graph", "sample_weight"),
        (1.0, "signed", "the labels of two classes, and there are 3"),
    ],
)
@pytest.mark.parametrize("trace_bounds", [None, [1.0, 4.0]])
def test_no_fold_is_learned_before_a_refusal(
    weight: float, metrics: str, message: str, trace_bounds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_validated, "path_fits", lambda *_: pytest.fail("learned"))
    X, y = samples()
    learner = gda.MetricLearner("glr", metrics=metrics)
    search = gda.MetricLearnerCV(learner, trace_bounds=trace_bounds, objectives=["glr"])
    with refused(message):
        search.fit(X, y, np.full(len(y), weight))


def test_a_time_limit_ends_the_race(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = clouds(300)
    start = time.perf_counter()
    with pytest.warns(UserWarning, match="MetricLearnerCV"):
        search = gda.MetricLearnerCV(objectives=["mcml", "nca"], time_limit=1e-6).fit(X, y)
    assert time.perf_counter() - start < 5.0
    assert np.isfinite(search.metric_).all()
    gda.MetricLearnerCV(verbose=True, cv=2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("fold 1 of 2: ")
    assert "none" in lines[1]
    assert lines[-1].startswith("learned from all samples")
