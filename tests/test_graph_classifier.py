"""The harmonic classifier: against other ways to the same scores, and where weights vanish."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelPropagation
from sklearn.utils.estimator_checks import parametrize_with_checks

from gdaopt.errors import CutOffSamplesWarning, InvalidInputError
from gdaopt.estimators import GraphMetricLearner
from gdaopt.estimators.graph_classifier import GraphClassifier
from gdaopt.estimators.harmonic import _eliminate, full_graph_shares
from gdaopt.validation import FloatArray
from tests.helpers import random_metric

# Of SciPy, about how scikit-learn 1.6 calls it.
SEARCHES = pytest.mark.filterwarnings("ignore:scipy.optimize:DeprecationWarning")
MINUS_ONE = {
    "check_classifiers_classes": "labels -1 and 1 are refused: -1 stands for no label by default"
}


def halves(n: int = 40, size: int = 3, classes: int = 3) -> tuple[FloatArray, np.ndarray]:
    """Return overlapping blobs, every other sample without a label."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    X = 0.6 * rng.standard_normal((n, size)) + 0.8 * y[:, None]
    return X, np.where(rng.permutation(n) < n // 2, y, -1)


def weights_of(X: FloatArray, metric: FloatArray) -> FloatArray:
    """Return the full graph's weights, from the definition."""
    weights = np.array([[np.exp(-(a - b) @ metric @ (a - b)) for b in X] for a in X])
    np.fill_diagonal(weights, 0.0)
    return weights


def exact_shares(weights: FloatArray, y: np.ndarray) -> FloatArray:
    """Return the shares of the class 1 where y is -1, by elimination with 400 digits."""
    unknown, known = np.flatnonzero(y == -1), np.flatnonzero(y != -1)
    with localcontext(prec=400):
        w = np.array([[Decimal(float(value)) for value in row] for row in weights])
        matrix = np.diag(w.sum(axis=1)) - w
        right = w[np.ix_(unknown, known)] @ [Decimal(int(label)) for label in y[known]]
        left = matrix[np.ix_(unknown, unknown)]
        for k in range(len(left)):
            factors = left[k + 1 :, k] / left[k, k]
            left[k + 1 :, k:] -= np.outer(factors, left[k, k:])
            right[k + 1 :] -= factors * right[k]
        for k in reversed(range(len(left))):
            right[k] = (right[k] - left[k, k + 1 :] @ right[k + 1 :]) / left[k, k]
        return right.astype(float)


@pytest.mark.filterwarnings("ignore::gdaopt.errors.CutOffSamplesWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    [GraphClassifier(), GraphClassifier(n_neighbors=4)],
    expected_failed_checks=lambda _: MINUS_ONE,
)
def test_scikit_learns_checks(estimator: BaseEstimator, check: Callable[[Any], None]) -> None:
    check(estimator)


class TestScores:
    @pytest.mark.parametrize("classes", [2, 3])
    def test_are_those_of_label_propagation_without_self_loops(self, classes: int) -> None:
        X, y = halves(classes=classes)
        metric = random_metric(np.random.default_rng(1), 3)

        def kernel(_: FloatArray, __: FloatArray) -> FloatArray:
            return weights_of(X, metric)

        reference = LabelPropagation(kernel=kernel, max_iter=100_000, tol=1e-14).fit(X, y)
        classifier = GraphClassifier(metric).fit(X, y)
        np.testing.assert_allclose(
            classifier.label_distributions_, reference.label_distributions_, atol=1e-10
        )
        np.testing.assert_array_equal(classifier.transduction_, reference.transduction_)
        assert classifier.cut_off_.size == 0

    def test_are_the_papers_quadratic_program(self) -> None:
        X, y = halves(classes=2)
        metric = random_metric(np.random.default_rng(2), 3)
        weights = weights_of(X, metric)
        laplacian = np.diag(weights.sum(axis=1)) - weights
        z = cp.Variable(len(X))
        problem = cp.Problem(
            cp.Minimize(cp.quad_form(z, cp.psd_wrap(laplacian))),
            [z[y != -1] == 2 * y[y != -1] - 1],
        )
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
        assert z.value is not None
        scores = GraphClassifier(metric).fit(X, y).label_distributions_
        np.testing.assert_allclose(scores[:, 1] - scores[:, 0], z.value, atol=1e-10)

    def test_of_the_sparse_graph_with_all_neighbors_are_the_same(self) -> None:
        X, y = halves()
        full = GraphClassifier().fit(X, y)
        for n_neighbors in (len(X) - 1, 10 * len(X)):
            sparse = GraphClassifier(n_neighbors=n_neighbors).fit(X, y)
            np.testing.assert_allclose(
                sparse.label_distributions_, full.label_distributions_, atol=1e-12
            )
            np.testing.assert_allclose(sparse.predict_proba(X), full.predict_proba(X), atol=1e-12)

    def test_of_the_sparse_graph_are_those_of_its_laplacian(self) -> None:
        X, y = halves()
        weights = weights_of(X, np.eye(3))
        near = np.argsort(np.argsort(-weights, axis=1), axis=1) < 5
        weights *= near | near.T
        laplacian = np.diag(weights.sum(axis=1)) - weights
        U, F = y == -1, y != -1
        expected = np.linalg.solve(laplacian[np.ix_(U, U)], weights[np.ix_(U, F)] @ np.eye(3)[y[F]])
        scores = GraphClassifier(n_neighbors=5).fit(X, y).label_distributions_
        np.testing.assert_allclose(scores[U], expected, atol=1e-12)

    @pytest.mark.parametrize("n_neighbors", [None, 6])
    def test_do_not_depend_on_the_order_of_the_samples(self, n_neighbors: int | None) -> None:
        X, y = halves()
        order = np.random.default_rng(3).permutation(len(X))
        classifier = GraphClassifier(n_neighbors=n_neighbors)
        scores = clone(classifier).fit(X, y).label_distributions_
        reordered = clone(classifier).fit(X[order], y[order]).label_distributions_
        np.testing.assert_allclose(reordered, scores[order], atol=1e-12)

    def test_do_not_depend_on_units_of_features_or_on_the_origin(self) -> None:
        X, y = halves()
        metric = random_metric(np.random.default_rng(4), 3)
        units = np.array([1e-6, 1.0, 1e6])
        scores = GraphClassifier(metric).fit(X, y).label_distributions_
        other = GraphClassifier(metric / np.outer(units, units)).fit(X * units + 100 * units, y)
        np.testing.assert_allclose(other.label_distributions_, scores, atol=1e-10)

    @pytest.mark.parametrize("n_neighbors", [None, 7])
    @pytest.mark.parametrize("distance", [4.0, 8.0, 20.0])
    def test_of_clusters_far_from_labels_keep_their_digits(
        self, distance: float, n_neighbors: int | None
    ) -> None:
        """At 20 a step leads from the cluster to a label with probability e^-380."""
        rng = np.random.default_rng(5)
        near, next_to_it = 0.3 * rng.standard_normal((2, 3, 1))
        X = np.vstack([near, next_to_it + distance, [[-distance], [2.01 * distance]]])
        y = np.array([-1] * 6 + [0, 1])
        classifier = GraphClassifier(n_neighbors=n_neighbors).fit(X, y)
        expected = exact_shares(np.where(np.eye(8), 0, np.exp(-cdist(X, X, "sqeuclidean"))), y)
        np.testing.assert_allclose(classifier.label_distributions_[:6, 1], expected, rtol=1e-9)

    @pytest.mark.parametrize("n_neighbors", [None, 20])
    def test_are_found_by_elimination_where_a_factorization_cannot(
        self, n_neighbors: int | None
    ) -> None:
        """More samples than are eliminated at a time, in clusters, some pairs with labels between.

        With few neighbours there is no edge from one pair of clusters to the other.
        """
        rng = np.random.default_rng(6)
        centers = np.repeat([0.0, 11.0, 50.0, 61.0], 20)
        X = centers[:, None] + 0.5 * rng.standard_normal((80, 1))
        X = np.vstack([X, [[5.45], [5.55], [55.4], [55.6]]])
        y = np.array([-1] * 80 + [0, 1, 0, 1])
        distances = cdist(X, X, "sqeuclidean")
        np.fill_diagonal(distances, np.inf)
        if n_neighbors:
            near = np.argsort(np.argsort(distances, axis=1), axis=1) < n_neighbors
            distances[~(near | near.T)] = np.inf
        scores = GraphClassifier(n_neighbors=n_neighbors).fit(X, y).label_distributions_
        expected = exact_shares(np.exp(-distances), y)
        np.testing.assert_allclose(scores[:80, 1], expected, rtol=1e-12)

    @pytest.mark.parametrize("spread", [1.0, 2.0, 3.0, 5.0])
    def test_of_the_sparse_graph_of_any_spread_are_those_of_a_dense_one(
        self, spread: float
    ) -> None:
        """From weights that are much alike to pairs that see each other only."""
        X = spread * np.random.default_rng(7).standard_normal((400, 10))
        y = np.where(np.arange(400) % 10 == 0, np.arange(400) // 10 % 2, -1)
        distances = cdist(X, X, "sqeuclidean")
        np.fill_diagonal(distances, np.inf)
        near = np.argsort(np.argsort(distances, axis=1), axis=1) < 8
        distances[~(near | near.T)] = np.inf
        U, F = y == -1, y != -1
        expected, _ = full_graph_shares(
            distances[np.ix_(U, U)], distances[np.ix_(U, F)], np.eye(2)[y[F]]
        )
        classifier = GraphClassifier(n_neighbors=8).fit(X, y)
        assert classifier.cut_off_.size == 0
        np.testing.assert_allclose(classifier.label_distributions_[U], expected, atol=1e-9)

    def test_of_a_sparse_graph_seldom_take_dense_elimination(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without incomplete factors it takes 1348 of these 1350 samples."""
        sizes = []

        def counted(moves: FloatArray, leaving: FloatArray) -> FloatArray:
            sizes.append(len(moves))
            return _eliminate(moves, leaving)

        monkeypatch.setattr("gdaopt.estimators.harmonic._eliminate", counted)
        X = 2.5 * np.random.default_rng(7).standard_normal((1500, 10))
        y = np.where(np.arange(1500) % 10 == 0, np.arange(1500) // 10 % 2, -1)
        GraphClassifier(n_neighbors=8).fit(X, y)
        assert sum(sizes) < 100

    def test_a_far_sample_follows_its_nearest_neighbors(self) -> None:
        """Its weights are 1e-200, and their ratios count."""
        X = np.array([[0.0], [1.0], [-21.5], [22.5]])
        scores = GraphClassifier().fit(X, [0, 1, -1, -1]).label_distributions_
        np.testing.assert_allclose(scores[2], [1, np.exp(21.5**2 - 22.5**2)], rtol=1e-10)
        np.testing.assert_allclose(scores[3], [np.exp(21.5**2 - 22.5**2), 1], rtol=1e-10)


class TestCutOffSamples:
    def test_get_the_nearest_label_and_are_reported(self) -> None:
        X, y = halves()
        X = 1e3 * X
        with pytest.warns(CutOffSamplesWarning, match=r"20 sample\(s\) given to fit") as caught:
            classifier = GraphClassifier().fit(X, y)
        assert caught[0].filename == __file__
        U, F = np.flatnonzero(y == -1), np.flatnonzero(y != -1)
        nearest = F[cdist(X[U], X[F]).argmin(axis=1)]
        np.testing.assert_array_equal(classifier.cut_off_, U)
        np.testing.assert_array_equal(classifier.transduction_[U], y[nearest])
        np.testing.assert_array_equal(classifier.label_distributions_[U], np.eye(3)[y[nearest]])

    def test_leave_the_others_as_they_are(self) -> None:
        X, y = halves()
        alone = GraphClassifier().fit(X, y)
        far = np.vstack([X, [[100.0] * 3, [100.1] * 3, [-200.0] * 3]])
        with pytest.warns(CutOffSamplesWarning, match=r"index 40, 41, 42\)"):
            joined = GraphClassifier().fit(far, np.append(y, [-1, -1, -1]))
        np.testing.assert_allclose(
            joined.label_distributions_[:40], alone.label_distributions_, atol=1e-13
        )

    def test_in_a_component_of_the_sparse_graph(self) -> None:
        X = np.array([[0.0], [0.1], [0.2], [3.0], [3.1], [3.2]])
        y = [0, 1, -1, -1, -1, -1]
        assert GraphClassifier().fit(X, y).cut_off_.size == 0
        with pytest.warns(CutOffSamplesWarning, match="keep more neighbours"):
            classifier = GraphClassifier(n_neighbors=2).fit(X, y)
        np.testing.assert_array_equal(classifier.cut_off_, [3, 4, 5])
        np.testing.assert_array_equal(classifier.transduction_, [0, 1, 1, 1, 1, 1])

    def test_in_a_sparse_graph_without_any_path(self) -> None:
        with pytest.warns(CutOffSamplesWarning):
            classifier = GraphClassifier(n_neighbors=1).fit([[0.0], [1e3]], ["a", -1])
        assert classifier.transduction_.tolist() == ["a", "a"]

    def test_new_ones_are_reported_too(self) -> None:
        X, y = halves()
        classifier = GraphClassifier().fit(X, y)
        labelled = np.flatnonzero(y != -1)
        new = np.array([[1.0, 1.0, 1.0], [1e3, 1e3, 1e3]])
        nearest = labelled[cdist(new[1:], X[labelled]).argmin()]
        for method in (classifier.predict, classifier.predict_proba, classifier.decision_function):
            with pytest.warns(CutOffSamplesWarning, match=r"1 sample\(s\) to predict") as caught:
                result = method(new)
            assert caught[0].filename == __file__
        np.testing.assert_array_equal(result[1], np.eye(3)[y[nearest]])

    @pytest.mark.parametrize("n_neighbors", [None, 3])
    def test_edges_end_at_the_same_weight_in_both_graphs(self, n_neighbors: int | None) -> None:
        """A sample with one weight just above 1e-300 and one just below."""
        X = [[0.0], [26.28], [52.57], [52.57]]
        classifier = GraphClassifier(n_neighbors=n_neighbors).fit(X, [0, -1, 1, 1])
        np.testing.assert_array_equal(classifier.label_distributions_[1], [1.0, 0.0])

    def test_chains_connect(self) -> None:
        """Each sample has a weight to the next one only."""
        towards = np.array([[400.0], [1600.0], [3600.0]])
        among = np.array([[0.0, 400, 1600], [400, 0, 400], [1600, 400, 0]])
        shares, cut_off = full_graph_shares(among, towards, np.array([[0.0, 1.0]]))
        assert not cut_off.any()
        np.testing.assert_allclose(shares, [[0, 1]] * 3)


class TestLabels:
    @pytest.mark.parametrize(
        ("y", "missing"),
        [
            (["a", "b", -1], -1),
            (["a", "b", None], None),
            (["a", "b", float("nan")], float("nan")),
            (["a", "b", None], float("nan")),
            (["a", "b", "?"], "?"),
            (np.array(["a", "b", ""]), ""),
            (np.array(["a", "b", -1], dtype=object), -1),
            (pd.Series(["a", "b", None]), None),
            (pd.Series(["a", "b", None], dtype="string"), pd.NA),
            (pd.Series(["a", "b", None], dtype="category"), None),
            ([1, 2, -1], -1),
            ([1.0, 2.0, float("nan")], None),
            ([-1, 1, 0], 0),
            ([-1, 1, None], None),
            ([False, True, -1], -1),
            (pd.Series([1, 2, None], dtype="Int64"), None),
        ],
    )
    def test_of_any_kind(self, y: Any, missing: Any) -> None:
        classifier = GraphClassifier(missing_label=missing).fit([[0.0], [1.0], [0.9]], y)
        first, second = list(y)[:2]
        assert classifier.classes_.tolist() == [first, second]
        assert classifier.transduction_.tolist() == [first, second, second]
        assert classifier.predict([[0.1], [0.8]]).tolist() == [first, second]

    @pytest.mark.parametrize("n_neighbors", [None, 2])
    def test_everything_labelled(self, n_neighbors: int | None) -> None:
        X, y = halves()
        y = np.arange(len(X)) % 3
        classifier = GraphClassifier(n_neighbors=n_neighbors).fit(X, y)
        np.testing.assert_array_equal(classifier.transduction_, y)
        np.testing.assert_array_equal(classifier.label_distributions_, np.eye(3)[y])

    def test_of_one_class(self) -> None:
        classifier = GraphClassifier().fit([[0.0], [1.0]], ["a", -1])
        assert classifier.transduction_.tolist() == ["a", "a"]
        np.testing.assert_allclose(classifier.predict_proba([[2.0]]), [[1.0]])

    def test_one_sample_a_class(self) -> None:
        X, _ = halves()
        classifier = GraphClassifier().fit(X, np.arange(len(X)))
        assert len(classifier.classes_) == len(X)

    def test_of_duplicates_spread_to_them(self) -> None:
        X = np.array([[0.0], [0.0], [9.0], [9.0], [9.0]])
        scores = GraphClassifier().fit(X, [0, -1, 0, 1, -1]).label_distributions_
        np.testing.assert_allclose(scores[[1, 4]], [[1.0, 0.0], [0.5, 0.5]], atol=1e-15)
        scores = GraphClassifier(n_neighbors=2).fit(X, [0, -1, 0, 1, -1]).label_distributions_
        np.testing.assert_allclose(scores[[1, 4]], [[1.0, 0.0], [0.5, 0.5]], atol=1e-15)

    @pytest.mark.parametrize(
        ("y", "missing", "message"),
        [
            ([-1, 1, 1], -1, "missing_label=-1 makes unlabelled samples of all 1 that are -1"),
            ([-1.0, 1.0, 1.0], -1, "pass missing_label=None"),
            ([-1, -1, -1], -1, "all of its 3 samples are unlabelled under missing_label=-1"),
            (["a", None, "b"], -1, "holds None at index 1; pass missing_label=None"),
            ([0, 1, float("nan")], -1, "holds nan at index 2"),
            (["a", 1, "b"], None, "mixed types, such as 'a' and 1"),
            ([0.5, 1.0, 2.0], None, "Unknown label type: continuous. y holds 0.5"),
            ([0, 1, float("inf")], None, "infinity"),
            ([1j, 1j, 2j], None, "Unknown label type"),
            ([[0, 1], [1, 0], [1, 1]], None, "1d array"),
            ([0, 1], None, "inconsistent numbers of samples: [3, 2]"),
        ],
    )
    def test_that_are_wrong(self, y: Any, missing: Any, message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)):
            GraphClassifier(missing_label=missing).fit([[0.0], [1.0], [2.0]], y)


class TestPredict:
    def test_is_the_joint_solution_when_all_samples_had_labels(self) -> None:
        X, y = halves()
        new = X[y == -1]
        X, y = X[y != -1], y[y != -1]
        classifier = GraphClassifier().fit(X, y)
        for sample, scores in zip(new, classifier.predict_proba(new), strict=True):
            joint = GraphClassifier().fit(np.vstack([X, sample]), np.append(y, -1))
            np.testing.assert_allclose(scores, joint.label_distributions_[-1], atol=1e-13)
            assert joint.transduction_[-1] == classifier.predict([sample])

    @pytest.mark.parametrize("n_neighbors", [None, 4])
    def test_is_the_weighted_mean_of_all_scores(self, n_neighbors: int | None) -> None:
        X, y = halves()
        classifier = GraphClassifier(n_neighbors=n_neighbors).fit(X, y)
        new = np.array([0.3, 0.2, 0.1])
        weights = np.exp(-((X - new) ** 2).sum(axis=1))
        if n_neighbors:
            weights[np.argsort(weights)[:-n_neighbors]] = 0.0
        expected = weights @ classifier.label_distributions_ / weights.sum()
        np.testing.assert_allclose(classifier.predict_proba([new])[0], expected, atol=1e-13)

    def test_decision_function_is_the_papers_signal(self) -> None:
        X, y = halves(classes=2)
        classifier = GraphClassifier().fit(X, y)
        shares = classifier.predict_proba(X)
        np.testing.assert_array_equal(classifier.decision_function(X), shares[:, 1] - shares[:, 0])
        X, y = halves()
        classifier = GraphClassifier().fit(X, y)
        np.testing.assert_array_equal(classifier.decision_function(X), classifier.predict_proba(X))


class TestMetric:
    @pytest.mark.parametrize(
        ("metric", "message"),
        [
            ([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]], "not symmetric: [0,1] is 0.5, [1,0] is 0"),
            (np.diag([1.0, -0.5, 1.0]), "smallest eigenvalue is -0.5, with trace 1.5"),
            (-np.eye(3), "smallest eigenvalue is -1"),
            (np.eye(2), "metric must be 3×3, got 2×2"),
            (np.ones((3, 2)), "metric must be square, got shape (3, 2)"),
            (np.full((3, 3), np.nan), "metric holds nan at index (0, 0)"),
            ("euclidean", "must be None, an array-like or an object implementing 'fit'"),
            (StandardScaler(), "metric=StandardScaler() learns no metric"),
            (5, "The 'metric' parameter of GraphClassifier must be"),
        ],
    )
    def test_that_is_wrong(self, metric: Any, message: str) -> None:
        X, y = halves()
        with pytest.raises(ValueError, match=re.escape(message)):
            GraphClassifier(metric).fit(X, y)

    def test_may_be_singular_or_a_hair_below_it(self) -> None:
        X, y = halves()
        flat = GraphClassifier(np.diag([2.0, 0.0, -1e-13])).fit(X, y)
        one = GraphClassifier([[2.0]]).fit(X[:, :1], y)
        np.testing.assert_allclose(flat.label_distributions_, one.label_distributions_, atol=1e-10)

    def test_of_zero_weighs_all_samples_alike(self) -> None:
        scores = GraphClassifier([[0.0]]).fit([[0.0], [1.0], [5.0]], [0, 1, -1])
        np.testing.assert_allclose(scores.label_distributions_[2], [0.5, 0.5])

    @SEARCHES
    def test_of_a_learner_is_learned_from_labelled_samples(self) -> None:
        X, y = halves()
        learner = NeighborhoodComponentsAnalysis(max_iter=5, random_state=0)
        classifier = GraphClassifier(learner).fit(X, y)
        reference = clone(learner).fit(X[y != -1], y[y != -1])
        expected = reference.components_.T @ reference.components_
        np.testing.assert_allclose(classifier.metric_, expected, rtol=1e-10)
        assert isinstance(classifier.metric_learner_, NeighborhoodComponentsAnalysis)
        assert not hasattr(learner, "components_")
        same = GraphClassifier(expected).fit(X, y)
        assert same.metric_learner_ is None
        np.testing.assert_allclose(
            same.label_distributions_, classifier.label_distributions_, atol=1e-10
        )

    def test_of_our_learner_goes_through_searches(self) -> None:
        X, y = load_wine(return_X_y=True)
        pipeline = make_pipeline(StandardScaler(), GraphClassifier(GraphMetricLearner()))
        grid = {"graphclassifier__metric__min_eigenvalue": [1e-6, 1e-2]}
        assert GridSearchCV(pipeline, grid, cv=3).fit(X, y).best_score_ > 0.9

    def test_of_a_learner_with_metric_learns_names(self) -> None:
        X, y = halves()

        class Named(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
            def fit(self, X: Any, y: Any) -> Named:
                self.metric_ = 2 * np.eye(X.shape[1])
                return self

        class Asked(Named):
            def get_mahalanobis_matrix(self) -> FloatArray:
                matrix: FloatArray = 2 * self.metric_
                return matrix

        np.testing.assert_array_equal(GraphClassifier(Named()).fit(X, y).metric_, 2 * np.eye(3))
        np.testing.assert_array_equal(GraphClassifier(Asked()).fit(X, y).metric_, 4 * np.eye(3))


class TestInScikitLearn:
    @SEARCHES
    def test_pipeline_search_and_pickle(self) -> None:
        X, y = load_iris(return_X_y=True)
        learner = NeighborhoodComponentsAnalysis(max_iter=3, random_state=0)
        pipeline = make_pipeline(StandardScaler(), GraphClassifier(learner))
        grid = {
            "graphclassifier__n_neighbors": [None, 20],
            "graphclassifier__metric__n_components": [2, 4],
        }
        search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
        assert search.best_score_ > 0.9
        again = pickle.loads(pickle.dumps(search))
        np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))
        assert "NeighborhoodComponentsAnalysis" in pipeline._repr_html_()

    def test_scores_without_learning(self) -> None:
        X, y = load_iris(return_X_y=True)
        pipeline = make_pipeline(StandardScaler(), GraphClassifier())
        assert cross_val_score(pipeline, X, y, cv=5).mean() > 0.8

    def test_data_frames(self) -> None:
        X, y = halves()
        frame = pd.DataFrame(X, columns=["length", "width", "height"])
        classifier = GraphClassifier().fit(frame, pd.Series(y))
        assert classifier.feature_names_in_.tolist() == list(frame.columns)
        np.testing.assert_array_equal(
            classifier.transduction_, GraphClassifier().fit(X, y).transduction_
        )
        with pytest.raises(ValueError, match="feature names"):
            classifier.predict(frame[["width", "length", "height"]])

    def test_sparse_samples_are_refused(self) -> None:
        X, y = halves()
        with pytest.raises(TypeError, match="dense data is required"):
            GraphClassifier().fit(scipy.sparse.csr_array(X), y)

    def test_parameters_are_checked(self) -> None:
        X, y = halves()
        with pytest.raises(InvalidInputError, match="no label"):
            GraphClassifier().fit(X, np.full(len(X), -1))
        with pytest.raises(ValueError, match="'n_neighbors' parameter"):
            GraphClassifier(n_neighbors=0).fit(X, y)
