"""Folds of estimators that choose by cross-validation: groups, routing, weights of 0, refusals."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import gdaopt as gda
from gdaopt.estimators import LaplacianGraphicalModelCV
from tests.estimators.cases import refused, samples

pytestmark = pytest.mark.filterwarnings("ignore::gdaopt.errors.NothingLearnedWarning")

X, Y = samples()
GROUPS = np.repeat(np.arange(20), 3)
SEARCHES: list[Any] = [
    LaplacianGraphicalModelCV(alphas=3),
    gda.MetricLearnerCV(gda.MetricLearner("glr")),
]


def scores(search: Any) -> Any:
    """Return the scores of all folds."""
    results = search.cv_results_
    return np.array([results[name] for name in sorted(results) if name.startswith("split")])


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("splitter", [GroupKFold(3), StratifiedGroupKFold(3)], ids=str)
@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_groups_go_to_the_splitter(search: Any, splitter: Any, routing: bool) -> None:
    folds = list(splitter.split(X, Y, GROUPS))
    expected = scores(clone(search).set_params(cv=folds).fit(X, Y))
    for groups in (GROUPS, GROUPS.tolist(), pd.Series([f"person {n:02}" for n in GROUPS])):
        with config_context(enable_metadata_routing=routing):
            found = clone(search).set_params(cv=splitter).fit(X, Y, groups=groups)
        np.testing.assert_array_equal(scores(found), expected)


class _Halves:
    """A splitter of somebody else, which knows no groups."""

    def get_n_splits(self, *_: Any) -> int:
        return 1

    def split(self, X: Any, y: Any = None) -> Any:
        half = len(X) // 2
        yield np.arange(half), np.arange(half, len(X))


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_other_splitters_and_other_names_of_groups(search: Any) -> None:
    halves = clone(search).set_params(cv=_Halves()).fit(X, Y, groups=None)
    expected = clone(search).set_params(cv=list(_Halves().split(X))).fit(X, Y)
    np.testing.assert_array_equal(scores(halves), scores(expected))
    with config_context(enable_metadata_routing=True):
        by_person = GroupKFold(3).set_split_request(groups="person")
        found = clone(search).set_params(cv=by_person).fit(X, Y, person=GROUPS)
    expected = clone(search).set_params(cv=GroupKFold(3)).fit(X, Y, groups=GROUPS)
    np.testing.assert_array_equal(scores(found), scores(expected))


def test_what_no_splitter_asks_for_is_refused() -> None:
    for search in SEARCHES:
        with refused("unknown argument of fit 'group'; did you mean 'groups'"):
            clone(search).fit(X, Y, group=GROUPS)
        with (
            config_context(enable_metadata_routing=True),
            pytest.raises(TypeError, match=r"unexpected argument\(s\) {'groups'}"),
        ):
            clone(search).fit(X, Y, groups=GROUPS)  # KFold asks for none
        with refused(r"GroupKFold.* makes no folds: The 'groups' parameter should not be None"):
            clone(search).set_params(cv=GroupKFold(3)).fit(X, Y)
        with refused("makes no folds: Found input variables with inconsistent numbers of samples"):
            clone(search).set_params(cv=GroupKFold(3)).fit(X, Y, groups=GROUPS[1:])
    with refused("unknown argument of fit 'group'"):
        LaplacianGraphicalModelCV(criterion="ebic").fit(X, group=GROUPS)


def test_pipelines_and_searches_pass_groups_and_weights_on() -> None:
    search = clone(SEARCHES[1]).set_params(cv=GroupKFold(3))
    weights = 1.0 + Y
    expected = scores(clone(search).fit(X, Y, weights, groups=GROUPS))
    pipeline = make_pipeline(clone(search), KNeighborsClassifier())
    given = {"metriclearnercv__groups": GROUPS, "metriclearnercv__sample_weight": weights}
    np.testing.assert_array_equal(scores(pipeline.fit(X, Y, **given)[0]), expected)
    with config_context(enable_metadata_routing=True):
        pipeline[0].set_fit_request(sample_weight=True)
        accuracy = get_scorer("accuracy").set_score_request(sample_weight=False)
        options: Any = {"cv": GroupKFold(2), "scoring": accuracy}
        pipeline.fit(X, Y, groups=GROUPS, sample_weight=weights)
        np.testing.assert_array_equal(scores(pipeline[0]), expected)
        passed = {"groups": GROUPS, "sample_weight": weights}
        results = cross_validate(pipeline, X, Y, params=passed, return_estimator=True, **options)
        for train, fitted in zip(
            [train for train, _ in GroupKFold(2).split(X, Y, GROUPS)],
            results["estimator"],
            strict=True,
        ):
            alone = clone(search).fit(X[train], Y[train], weights[train], groups=GROUPS[train])
            np.testing.assert_array_equal(scores(fitted[0]), scores(alone))
        grid = GridSearchCV(pipeline, {"metriclearnercv__verbose": [False]}, **options)
        grid.fit(X, Y, **passed)
        np.testing.assert_array_equal(scores(grid.best_estimator_[0]), expected)
        model = GridSearchCV(
            LaplacianGraphicalModelCV(alphas=3, cv=GroupKFold(3)), {"tol": [1e-5]}, cv=2
        )
        model.fit(X, groups=GROUPS)
        alone = LaplacianGraphicalModelCV(alphas=3, cv=GroupKFold(3)).fit(X, groups=GROUPS)
        assert model.best_estimator_.alpha_ == alone.alpha_


FOLDS = list(StratifiedKFold(3).split(X, Y))
MASKS = [tuple(np.isin(np.arange(60), part) for part in fold) for fold in FOLDS]
PARTS = PredefinedSplit(np.arange(60) % 9 // 3)


@pytest.mark.parametrize("cv", [FOLDS, MASKS, PARTS, GroupKFold(3)], ids=["lists", "masks", "", ""])
def test_folds_of_samples_some_of_weight_0(cv: Any) -> None:
    """Lists of folds are of all samples, and the others of those that are not left out."""
    weights = np.random.default_rng(0).integers(3, size=60)
    kept = np.flatnonzero(weights)
    search = SEARCHES[1]
    groups = GROUPS if isinstance(cv, GroupKFold) else None
    found = clone(search).set_params(cv=cv).fit(X, Y, weights, groups=groups)
    if groups is not None:
        folds = cv.split(X[kept], Y[kept], groups[kept])
    else:
        given = PARTS.split() if cv is PARTS else FOLDS
        folds = [[np.flatnonzero(np.isin(kept, part)) for part in fold] for fold in given]
    expected = clone(search).set_params(cv=list(folds)).fit(X[kept], Y[kept], weights[kept])
    np.testing.assert_array_equal(scores(found), scores(expected))
    np.testing.assert_array_equal(found.metric_, expected.metric_)


# --- Folds that cannot be learned from -----------------------------------------------------------


def test_a_feature_that_is_constant_in_a_fold() -> None:
    """It adds the same to the scores of all alphas there, also if its variance is round-off."""
    model = LaplacianGraphicalModelCV(alphas=[0.3, 0.1, 0.03], cv=KFold(6))
    without = clone(model).fit(np.delete(X, 2, axis=1)).cv_results_["split5_test_score"]
    for value in (1.0, 0.1):
        constant = X.copy()
        constant[:50, 2] = value
        added = clone(model).fit(constant).cv_results_["split5_test_score"] - without
        assert np.isfinite(added).all()
        assert np.ptp(added) < 1e-6
    with refused("^the likelihood has no maximum .*: feature 2 has no variance; leave it out$"):
        model.fit(constant * [1, 1, 0, 1])


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], r"cv = \[\] makes no folds$"),
        ([1, 2], "makes no folds: cannot unpack"),
        ([([0, 60], [1])], "makes no folds: index 60 is out of bounds"),
        (61, "makes no folds: .*n_splits=61"),
        ([([], [1])], "fold 0 of cv, counted from 0, has no sample to learn from"),
        ([*FOLDS, (np.arange(60), [])], "fold 3 of cv, counted from 0, has no sample to score by"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_what_makes_no_folds(cv: Any, message: str) -> None:
    for search in SEARCHES:
        with refused(message):
            clone(search).set_params(cv=cv).fit(X, Y)
