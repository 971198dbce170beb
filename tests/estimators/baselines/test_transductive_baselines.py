"""Properties that all three transductive learners of the literature have."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.estimators.baselines.alternating_classifier import AlternatingClassifierWeights
from gdaopt.estimators.baselines.harmonic_entropy import HarmonicEntropyWeights
from gdaopt.estimators.baselines.joint_classifier import JointClassifierWeights
from gdaopt.support.validation import FloatArray
from tests.estimators.baselines.cases import blobs, partly_labelled

BASELINES = [HarmonicEntropyWeights, JointClassifierWeights, AlternatingClassifierWeights]


@parametrize_with_checks([baseline() for baseline in BASELINES])  # type: ignore[untyped-decorator]  # scikit-learn has no types
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(params=BASELINES)
def baseline(request: pytest.FixtureRequest) -> Any:
    return request.param


# --- Labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_the_metric_is_diagonal_and_positive(baseline: Any, classes: int) -> None:
    X, y = partly_labelled(classes=classes)
    metric = baseline().fit(X, y).metric_
    np.testing.assert_array_equal(metric, np.diag(np.diagonal(metric)))
    assert np.diagonal(metric).min() >= 0
    assert np.diagonal(metric).max() > 0


@pytest.mark.parametrize("classes", [2, 3])
def test_samples_without_labels_count(baseline: Any, classes: int) -> None:
    X, y = partly_labelled(classes=classes)
    learned = np.diagonal(baseline().fit(X, y).metric_)
    on_labelled = baseline().fit(X[y != -1], y[y != -1]).metric_
    moved = X.copy()
    moved[np.flatnonzero(y == -1)[:3]] += 1.0
    for other in (on_labelled, baseline().fit(moved, y).metric_):
        assert np.abs(np.diagonal(other) - learned).max() > 1e-3 * learned.max()


@pytest.mark.parametrize("some", [True, False])
def test_the_order_of_samples_does_not_matter(baseline: Any, some: bool) -> None:
    X, y = partly_labelled(classes=3) if some else blobs(classes=3)
    order = np.random.default_rng(1).permutation(len(X))
    expected = baseline().fit(X, y).metric_
    np.testing.assert_allclose(baseline().fit(X[order], y[order]).metric_, expected, rtol=1e-3)


def test_labels_of_any_kind(baseline: Any) -> None:
    X, y = partly_labelled(classes=3)
    expected = baseline().fit(X, y).metric_
    names = ["a" if label == 0 else "bc"[label - 1] if label > 0 else None for label in y]
    frame = pd.DataFrame(X, columns=list("pqrs"))
    learner = baseline(missing_label=None).fit(frame, pd.Series(names))
    np.testing.assert_allclose(learner.metric_, expected, rtol=1e-6)  # other order in memory
    assert learner.classes_.tolist() == ["a", "b", "c"]
    assert learner.feature_names_in_.tolist() == list("pqrs")
    strings = [name or "unknown" for name in names]
    unknown = baseline(missing_label="unknown").fit(X, strings)
    np.testing.assert_array_equal(unknown.metric_, expected)
    floats = baseline(missing_label=np.nan).fit(X, np.where(y == -1, np.nan, y))
    np.testing.assert_array_equal(floats.metric_, expected)


def test_the_graph_classifier_gives_it_all_samples(baseline: Any) -> None:
    X, y = partly_labelled(classes=2)
    classifier = gda.GraphClassifier(baseline()).fit(X, y)
    np.testing.assert_array_equal(classifier.metric_, baseline().fit(X, y).metric_)
    assert np.abs(classifier.metric_ - baseline().fit(X[y != -1], y[y != -1]).metric_).max() > 1e-3
    _, truth = blobs(classes=2)
    assert np.mean(classifier.transduction_ == truth) > 0.9


# --- Samples -------------------------------------------------------------------------------------


def fitted(learner: Any, X: FloatArray, y: Any) -> Any:
    """Fit a learner, which may reach a limit, and check what holds for every fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner.fit(X, y)
    assert np.isfinite(learner.metric_).all()
    assert np.diagonal(learner.metric_).max() > 0
    assert np.isfinite(learner.transform(X)).all()
    values = getattr(learner, "entropy_", getattr(learner, "objective_", None))
    assert values is not None
    assert np.isfinite(values).all()
    if isinstance(learner, AlternatingClassifierWeights):
        assert (values[:, 1] <= values[:, 0]).all()  # whatever the labels, of one round each
    else:
        assert (np.diff(values) <= 0).all()
    return learner


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6, 1e60])
@pytest.mark.parametrize("labelled", ["some", "all"])
def test_features_of_any_scale(baseline: Any, scale: float, labelled: str) -> None:
    X, y = partly_labelled(classes=3) if labelled == "some" else blobs(classes=3)
    fitted(baseline(), scale * X, y)
    X[:, 0] *= scale
    fitted(baseline(), X + 5.0 * scale, y)


def test_the_auto_bound_makes_the_alternation_free_of_scale() -> None:
    X, y = partly_labelled(classes=3)
    expected = AlternatingClassifierWeights().fit(X, y).transform(X)
    for scale in (2.0**-20, 2.0**20):
        scaled = AlternatingClassifierWeights().fit(scale * X, y).transform(scale * X)
        np.testing.assert_allclose(scaled, expected, atol=1e-3)


def test_constant_features_and_copies(baseline: Any) -> None:
    X, y = partly_labelled(classes=2)
    wide = np.column_stack([X, np.full(len(X), 0.1), X[:, 0], np.full(len(X), -1e7)])
    metric = fitted(baseline(), wide, y).metric_
    assert metric[0, 0] == pytest.approx(metric[5, 5], rel=1e-3)


def test_coinciding_samples(baseline: Any) -> None:
    X, y = partly_labelled(classes=2)
    fitted(baseline(), np.vstack([X, X]), np.concatenate([y, y]))
    fitted(baseline(), np.vstack([X, X]), np.concatenate([y, np.full(len(y), -1)]))


@pytest.mark.parametrize("per_class", [1, 2])
def test_few_samples_a_class(baseline: Any, per_class: int) -> None:
    X, _ = blobs(classes=3)
    few = X[: 3 * per_class]
    codes = np.arange(3 * per_class) % 3
    fitted(baseline(), few, codes)
    fitted(baseline(), X[: 3 * per_class + 4], np.append(codes, [-1] * 4))
    fitted(baseline(), few[[0, 1]], [0, 1])


def test_many_more_features_than_samples(baseline: Any) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 1000))
    X[:, 0] += 5.0 * y
    fitted(baseline(), X, np.where(np.arange(60) < 30, y, -1))
    fitted(baseline(), X, y)


def test_many_classes(baseline: Any) -> None:
    X, _ = blobs(classes=2)
    fitted(baseline(), X, np.arange(len(X)) // 2)


@pytest.mark.parametrize(
    ("samples", "labels", "message"),
    [
        (np.ones((4, 2)), [0, 1, 0, -1], "4 samples that are all the same"),
        (np.array([[0.0], [1e-80], [0.0]]), [0, 1, -1], "X spans about 1e-80"),
        (np.array([[0.0], [1e200], [-1e200]]), [0, 1, -1], r"X spans about 2e\+200|spans"),
        (np.arange(4.0)[:, None], [1, 1, 1, 1], "y has 1 class, 1"),
        (np.arange(4.0)[:, None], [1, 1, -1, -1], "y holds only -1 and 1"),
        (np.arange(4.0)[:, None], [-1] * 4, "y holds no label"),
    ],
)
def test_samples_and_labels_that_nothing_can_be_learned_from(
    baseline: Any, samples: FloatArray, labels: list[int], message: str
) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        baseline().fit(samples, labels)


@pytest.mark.parametrize(
    ("learner", "parameter"),
    [
        (HarmonicEntropyWeights(eta=0.0), "eta"),
        (HarmonicEntropyWeights(max_log_scale=0.0), "max_log_scale"),
        (HarmonicEntropyWeights(max_iterations=0), "max_iterations"),
        (JointClassifierWeights(n_steps=0), "n_steps"),
        (AlternatingClassifierWeights(labels="sign"), "labels"),
        (AlternatingClassifierWeights(trace_bound=0.0), "trace_bound"),
        (AlternatingClassifierWeights(max_rounds=0), "max_rounds"),
    ],
)
def test_bad_parameters(learner: Any, parameter: str) -> None:
    with pytest.raises(ValueError, match=f"The '{parameter}' parameter of"):
        learner.fit(*partly_labelled(classes=2))


# --- scikit-learn's tools ------------------------------------------------------------------------


def test_clones_and_pickles(baseline: Any) -> None:
    X, y = partly_labelled(classes=3)
    learner = baseline().fit(X, y)
    for copy in (clone(learner).fit(X, y), pickle.loads(pickle.dumps(learner))):
        np.testing.assert_array_equal(copy.transform(X), learner.transform(X))


def test_in_a_pipeline(baseline: Any) -> None:
    wine = load("wine")
    pipeline = make_pipeline(StandardScaler(), baseline(), KNeighborsClassifier())
    assert cross_val_score(pipeline, wine.features, wine.labels, cv=3).mean() > 0.92
