"""Learners that choose their trace bound by cross-validation."""

import pickle
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline

import gdaopt as gda
from gdaopt.estimators import cross_validated
from gdaopt.estimators.cross_validated import _choice, path_results
from gdaopt.estimators.draws import stratified_sample
from tests.estimators.cases import LEARNERS, clouds, refused, samples

pytestmark = pytest.mark.filterwarnings("ignore::gdaopt.errors.NothingLearnedWarning")

SMALL: dict[str, Any] = {"trace_bounds": 2, "cv": 2, "path_tolerance": 0.1}


@pytest.mark.parametrize("kind", LEARNERS)
def test_scores_are_those_of_a_grid_search_without_a_path(kind: Any) -> None:
    X, y = samples()
    X = X * [1e-3, 1.0, 10.0, 1e3]
    bounds = [4.0, 0.25, 1.0]
    options: Any = {"objectives": ["glr"], "trace_bounds": bounds, "scoring": "accuracy"}
    found = gda.MetricLearnerCV(kind("glr"), cv=3, path_tolerance=1e-7, **options).fit(X, y)
    pipeline = make_pipeline(kind("glr", tolerance=1e-7), KNeighborsClassifier())
    name = kind.__name__.lower()
    search = GridSearchCV(pipeline, {f"{name}__trace_bound": sorted(bounds)}, cv=3).fit(X, y)
    for key in ("mean_test_score", "std_test_score", "split1_test_score", "rank_test_score"):
        np.testing.assert_allclose(found.cv_results_[key], search.cv_results_[key], err_msg=key)
    assert found.trace_bound_ == search.best_params_[f"{name}__trace_bound"]
    assert found.best_score_ == pytest.approx(search.best_score_)
    assert found.best_index_ == search.best_index_
    alone = kind("glr", trace_bound=found.trace_bound_).fit(X, y)
    np.testing.assert_allclose(found.metric_, alone.metric_)
    assert found.cv_results_["params"][found.best_index_]["trace_bound"] == found.trace_bound_
    assert (found.cv_results_["mean_fit_time"] > 0).all()


@pytest.mark.parametrize("objective", ["glr", "mcml"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_each_fit_of_a_path_is_a_single_fit(learner: Any, objective: str) -> None:
    X, y = samples()
    bounds = np.geomspace(0.1, 10.0, 6)
    tolerance = 1e-3
    made = learner(objective, tolerance=tolerance)
    made.classes_, made.n_features_in_ = np.unique(y), 4
    results = list(path_results(made, X, y, bounds))
    for bound, result in zip(bounds, results, strict=True):
        alone = learner(objective, trace_bound=bound, tolerance=tolerance).fit(X, y).result_
        assert result.status == "converged"
        assert result.feasible_set == alone.feasible_set
        assert result.relative_gap is not None
        assert result.relative_gap <= tolerance
        assert result.objective <= alone.objective + tolerance * abs(result.objective)
        assert alone.objective <= result.objective + tolerance * abs(alone.objective)
    assert sum(result.iterations for result in results[1:]) <= 12


@pytest.mark.parametrize(
    "kind",
    [
        gda.DiagonalMetricLearner,
        pytest.param(gda.GraphMetricLearner, marks=pytest.mark.slow),
        pytest.param(gda.PositiveDefiniteMetricLearner, marks=pytest.mark.slow),
    ],
)
def test_as_many_jobs_as_one_likes(kind: Any) -> None:
    X, y = samples()
    several: Any = {"objectives": ["glr", "mcml"], "trace_bounds": 3, "cv": 2}
    one, two = (gda.MetricLearnerCV(kind(), n_jobs=jobs, **several).fit(X, y) for jobs in (1, 2))
    assert (one.trace_bound_, one.objective_) == (two.trace_bound_, two.objective_)
    for key in ("param_trace_bound", "mean_test_score", "rank_test_score"):
        np.testing.assert_array_equal(one.cv_results_[key], two.cv_results_[key])
    np.testing.assert_allclose(one.metric_, two.metric_, rtol=1e-9, atol=1e-12)


def test_the_path_goes_around_the_trace_bound_of_the_learner() -> None:
    X, y = samples()
    found = gda.MetricLearnerCV(gda.MetricLearner(), trace_bounds=5, cv=2).fit(100 * X, y)
    auto = gda.GraphMetricLearner().fit(100 * X, y).trace_bound_
    assert found.cv_results_["param_objective"] == ["mcml"] * 5 + ["none"]
    bounds = found.cv_results_["param_trace_bound"][:-1]
    assert bounds[[0, -1]] == pytest.approx([auto / 16, 3 * auto])
    np.testing.assert_allclose(bounds[1:] / bounds[:-1], 48**0.25)
    of_a_number = gda.MetricLearner(trace_bound=32.0)
    found = gda.MetricLearnerCV(of_a_number, trace_bounds=2, cv=2).fit(X, y)
    assert found.cv_results_["param_trace_bound"] == pytest.approx([2.0, 96.0, 32.0])


def test_the_score_is_the_probability_of_the_right_class() -> None:
    """That of folds by hand, and the accuracy where a classifier has no probabilities."""
    X, y = samples()
    plain: dict[str, Any] = {"objectives": ["none"], "cv": 3}
    found = gda.MetricLearnerCV(**plain).fit(X, y)
    for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        spreads = X[train].std(axis=0)
        model = KNeighborsClassifier().fit(X[train] / spreads, y[train])
        right = model.predict_proba(X[test] / spreads)[np.arange(len(test)), y[test]]
        assert found.cv_results_[f"split{fold}_test_score"] == pytest.approx(right.mean())
    centroids = gda.MetricLearnerCV(classifier=NearestCentroid(), **plain).fit(X, y)
    scores = cross_val_score(NearestCentroid(), X / X.std(axis=0), y, cv=3)
    assert centroids.best_score_ == pytest.approx(scores.mean(), abs=0.05)


def test_no_learning_is_chosen_within_one_standard_error_of_the_best() -> None:
    folds = np.array([0.5, 0.6, 0.7, 0.8])  # a standard error of 0.065
    near, far = (np.stack([folds, folds + gain] * 2, axis=1) for gain in (0.06, 0.07))
    objectives: list[Any] = ["glr", "mcml", "none", gda.GLR]
    cautious = partial(_choice, rule="one-standard-error")
    assert (cautious(near, objectives), cautious(far, objectives)) == (2, 1)
    assert _choice(near, objectives, "best") == 1
    assert cautious(near, ["glr", "mcml", "nca", "nca"]) == 1
    assert cautious(near[:1], objectives) == 1  # one fold has no error


def test_scores_that_differ_by_round_off_are_equal() -> None:
    scores, far = (np.array([[0.5, 0.5 + gain]] * 3) for gain in (1e-13, 1e-11))
    assert _choice(scores, ["glr", "mcml"], "best") == 0
    assert _choice(scores, ["none", "glr"], "one-standard-error") == 0
    assert _choice(scores[:, ::-1], ["glr", "none"], "one-standard-error") == 1  # no error at all
    assert _choice(far, ["none", "glr"], "one-standard-error") == 1


def test_the_objective_is_chosen_without_a_learner() -> None:
    X, y = clouds(150)
    found = gda.MetricLearnerCV(trace_bounds=3).fit(X, y)
    assert found.best_objective_ == found.objective_ == "nca"
    named = found.cv_results_["param_objective"]
    assert named == ["mcml"] * 3 + ["nca"] * 3 + ["lmnn"] * 3 + ["glr"] * 3 + ["none"]
    assert found.best_score_ > found.cv_results_["mean_test_score"][named.index("none")]
    assert found.result_.status == "stationary"
    weighted = gda.MetricLearnerCV(trace_bounds=1, cv=2).fit(X, y, np.ones(150))
    assert weighted.cv_results_["param_objective"] == ["mcml", "nca", "glr", "none"]
    few = np.r_[np.flatnonzero(y)[:7], np.flatnonzero(~y)[:9]]
    small = gda.MetricLearnerCV(trace_bounds=1, cv=2).fit(X[few], y[few])
    assert "lmnn" not in small.cv_results_["param_objective"]


def test_samples_of_few_binary_features() -> None:
    """All target neighbours of LMNN coincide with their samples."""
    X = np.random.default_rng(0).integers(2, size=(120, 4)).astype(float)
    y = X[:, :2].sum(axis=1) % 2 == 0
    found = gda.MetricLearnerCV(trace_bounds=2, cv=3).fit(X, y)
    assert "lmnn" in found.cv_results_["param_objective"]
    assert found.best_score_ == pytest.approx(1.0)


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
    found = gda.MetricLearnerCV(gda.MetricLearner(**options), trace_bounds=1, cv=2).fit(X, y)
    assert found.cv_results_["param_objective"][1] == "none"
    plain = gda.MetricLearnerCV(objectives=["none"], cv=2).fit(X, y)
    assert found.cv_results_["mean_test_score"][1] == pytest.approx(plain.best_score_)


@pytest.mark.filterwarnings("error::gdaopt.errors.NothingLearnedWarning")
@pytest.mark.parametrize("kind", LEARNERS)
def test_no_learning_is_a_choice_without_a_path(kind: Any) -> None:
    X = np.random.default_rng(0).standard_normal((60, 3)) * [1.0, 10.0, 0.1] + 5.0
    found = gda.MetricLearnerCV(kind(), objectives=["none"]).fit(X, np.arange(60) % 2)
    assert (found.best_objective_, found.trace_bound_) == ("none", 3.0)
    assert len(found.cv_results_["mean_test_score"]) == 1
    np.testing.assert_allclose(found.metric_, np.diag(1 / X.var(axis=0)), atol=1e-6)
    assert found.result_.status == "converged"


def test_what_is_fitted_is_the_learner_of_the_choice() -> None:
    X, y = samples()
    named = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    learner = gda.MetricLearner("glr", edges=[("a", "b")], tolerance=1e-6)
    found = gda.MetricLearnerCV(learner, objectives=["glr"], trace_bounds=3, cv=2).fit(named, y)
    assert found.result_.status == "converged"
    assert found.result_.relative_gap <= 1e-6
    assert found.objective_ == "glr"
    assert [edge[:2] for edge in found.graph_.named_edges()] in ([], [("a", "b")])
    assert found.learner_.get_params()["edges"] == [("a", "b")]
    alone = clone(learner).set_params(trace_bound=found.trace_bound_).fit(named, y)
    np.testing.assert_array_equal(found.metric_, alone.metric_)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.transform(named), found.transform(named))
    assert learner.trace_bound == "auto"  # the learner itself stays as it was
    assert not hasattr(learner, "metric_")


def test_other_sets_and_objectives() -> None:
    X, y = samples()
    of_set = gda.MetricLearner(gda.GLR, metrics=gda.GraphMetrics(8.0, 0.01, edges=[(0, 1)]))
    found = gda.MetricLearnerCV(of_set, trace_bounds=2, cv=2, n_jobs=2, rule="best").fit(X, y)
    assert found.objective_ is gda.GLR
    assert found.cv_results_["param_trace_bound"] == pytest.approx([0.5, 24.0, 8.0])
    assert found.min_eigenvalue_ == 0.01
    assert not found.metric_[0, 2:].any()
    search = GridSearchCV(
        gda.MetricLearnerCV(gda.MetricLearner(), trace_bounds=2, cv=2),
        {"learner__metrics": ["diagonal", "graph"]},
        scoring=lambda learner, X, y: learner.best_score_,
        cv=2,
    ).fit(X, y)
    assert search.best_estimator_.learner_.metrics == search.best_params_["learner__metrics"]


def test_other_scores_classifiers_and_folds() -> None:
    X, y = samples()
    folds = list(StratifiedKFold(2, shuffle=True, random_state=1).split(X, y))
    options: Any = {"scoring": "neg_log_loss", "classifier": KNeighborsClassifier(9)}
    learner = gda.DiagonalMetricLearner()
    found = gda.MetricLearnerCV(learner, cv=folds, trace_bounds=2, **options).fit(X, y)
    assert "split1_test_score" in found.cv_results_
    assert (found.cv_results_["mean_test_score"] < 0).all()
    single = gda.MetricLearnerCV(cv=folds[:1], trace_bounds=2).fit(X, y)
    assert single.best_index_ == single.cv_results_["mean_test_score"].argmax()


def test_few_of_many_samples_are_enough_for_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = samples()
    train = np.arange(60) % 2 == 0
    kept = np.flatnonzero(train)[stratified_sample(y[train], 15, seed=0)]
    by_hand = gda.MetricLearnerCV(cv=[(kept, ~train)], trace_bounds=2).fit(X, y)
    monkeypatch.setattr(cross_validated, "_MOST_TRAINED", 15)
    found = gda.MetricLearnerCV(cv=[(train, ~train)], trace_bounds=2).fit(X, y)
    scores = (each.cv_results_["split0_test_score"] for each in (found, by_hand))
    np.testing.assert_array_equal(*scores)
    assert found.sample_indices_ is None  # the last fit is of all


@pytest.mark.parametrize("trace_bounds", [2, [1.0, 4.0]])
@pytest.mark.parametrize(
    ("options", "weight", "message"),
    [
        ({}, -1.0, "sample_weight must not be negative, got -1"),
        ({}, np.inf, "sample_weight"),
        ({"path_tolerance": 10**400}, 1.0, "path_tolerance is too large"),
    ],
)
def test_no_fold_is_learned_before_a_refusal(
    options: Any, weight: float, message: str, trace_bounds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_validated, "_fold_scores", lambda *_: pytest.fail("learned"))
    X, y = samples()
    search = gda.MetricLearnerCV(gda.MetricLearner("glr"), trace_bounds=trace_bounds, **options)
    with pytest.raises(ValueError, match=message):
        search.fit(X, y, np.full(len(y), weight))


@pytest.mark.parametrize("trace_bounds", [2, [1.0, 4.0]])
def test_no_fold_is_learned_before_a_set_is_refused(
    trace_bounds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_validated, "_fold_scores", lambda *_: pytest.fail("learned"))
    learner = gda.MetricLearner("glr", metrics="signed")
    search = gda.MetricLearnerCV(learner, trace_bounds=trace_bounds, objectives=["glr"])
    with refused("the labels of two classes, and there are 3"):
        search.fit(*samples())


def test_the_last_fit_has_the_time_that_is_left() -> None:
    learner = gda.DiagonalMetricLearner("glr", time_limit=60.0)
    found = gda.MetricLearnerCV(learner, trace_bounds=2, cv=2).fit(*samples())
    assert 0.0 < found.learner_.time_limit < 60.0
