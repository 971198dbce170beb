"""Harmonic solutions against their definitions, and the classifier that has them."""

import mpmath
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from gdaopt.errors import CutOffSamplesWarning
from gdaopt.estimators.graph_classifier import GraphClassifier
from gdaopt.estimators.harmonic import _eliminate, full_graph_shares
from gdaopt.support.validation import FloatArray
from tests.digits import exact
from tests.estimators.cases import halves
from tests.helpers import random_metric


def squared_distances(X: FloatArray, n_neighbors: int | None = None) -> FloatArray:
    """Return those of the edges; all others are infinite."""
    distances: FloatArray = cdist(X, X, "sqeuclidean")
    np.fill_diagonal(distances, np.inf)
    if n_neighbors:
        near = np.argsort(np.argsort(distances, axis=1), axis=1) < n_neighbors
        distances[~(near | near.T)] = np.inf
    return distances


def exact_shares(weights: FloatArray, y: np.ndarray) -> FloatArray:
    """Return the shares of the class 1 where y is -1, with 400 digits."""
    U, F = y == -1, y != -1
    with mpmath.workdps(400):
        w = exact(weights)
        laplacian = np.diag(w.sum(axis=1)) - w
        right = w[np.ix_(U, F)] @ y[F]
        matrix = mpmath.matrix(laplacian[np.ix_(U, U)].tolist())
        return np.array(mpmath.lu_solve(matrix, right.tolist()).tolist(), dtype=float)[:, 0]


# --- Scores --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_neighbors", [39, 400])
def test_all_neighbours_are_the_full_graph(n_neighbors: int) -> None:
    X, y = halves()
    full, sparse = GraphClassifier().fit(X, y), GraphClassifier(n_neighbors=n_neighbors).fit(X, y)
    np.testing.assert_allclose(sparse.label_distributions_, full.label_distributions_, atol=1e-12)
    np.testing.assert_allclose(sparse.predict_proba(X), full.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("n_neighbors", [None, 6])
def test_order_units_and_origin_do_not_matter(n_neighbors: int | None) -> None:
    X, y = halves()
    metric = random_metric(np.random.default_rng(4), 3)
    order = np.random.default_rng(3).permutation(len(X))
    units = np.array([1e-6, 1.0, 1e6])
    scores = GraphClassifier(metric, n_neighbors=n_neighbors).fit(X, y).label_distributions_
    other = GraphClassifier(metric / np.outer(units, units), n_neighbors=n_neighbors)
    other.fit((X * units + 100 * units)[order], y[order])
    np.testing.assert_allclose(other.label_distributions_, scores[order], atol=1e-10)


@pytest.mark.parametrize("n_neighbors", [None, 7])
@pytest.mark.parametrize("distance", [4.0, 8.0, 20.0])
def test_clusters_far_from_labels_keep_their_digits(
    distance: float, n_neighbors: int | None
) -> None:
    """At distance 20, a step leads from the cluster to a label with probability e^-380."""
    rng = np.random.default_rng(5)
    near, next_to_it = 0.3 * rng.standard_normal((2, 3, 1))
    X = np.vstack([near, next_to_it + distance, [[-distance], [2.01 * distance]]])
    y = np.array([-1] * 6 + [0, 1])
    classifier = GraphClassifier(n_neighbors=n_neighbors).fit(X, y)
    expected = exact_shares(np.exp(-squared_distances(X)), y)
    np.testing.assert_allclose(classifier.label_distributions_[:6, 1], expected, rtol=1e-9)


def spread_out(n: int, spread: float) -> tuple[FloatArray, np.ndarray]:
    """Return samples of two classes, of which one in ten has a label."""
    X = spread * np.random.default_rng(7).standard_normal((n, 10))
    return X, np.where(np.arange(n) % 10 == 0, np.arange(n) // 10 % 2, -1)


@pytest.mark.parametrize("spread", [1.0, 2.0, 3.0, 5.0])
def test_sparse_graphs_of_any_spread_are_solved_as_dense_ones(spread: float) -> None:
    """The weights range from nearly equal ones to pairs of samples without other edges."""
    X, y = spread_out(400, spread)
    distances, U, F = squared_distances(X, 8), y == -1, y != -1
    towards = distances[np.ix_(U, F)]
    expected, _ = full_graph_shares(distances[np.ix_(U, U)], towards, np.eye(2)[y[F]])
    classifier = GraphClassifier(n_neighbors=8).fit(X, y)
    assert classifier.cut_off_.size == 0
    np.testing.assert_allclose(classifier.label_distributions_[U], expected, atol=1e-9)


def test_sparse_graphs_seldom_take_dense_elimination(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without incomplete factors, 1348 of these 1350 samples would be eliminated."""
    sizes = []

    def counted(moves: FloatArray, leaving: FloatArray) -> FloatArray:
        sizes.append(len(moves))
        return _eliminate(moves, leaving)

    monkeypatch.setattr("gdaopt.estimators.harmonic._eliminate", counted)
    GraphClassifier(n_neighbors=8).fit(*spread_out(1500, 2.5))
    assert sum(sizes) < 100


# --- Samples that are cut off from all labels ----------------------------------------------------


def test_samples_in_a_component_of_the_sparse_graph() -> None:
    X = np.array([[0.0], [0.1], [0.2], [3.0], [3.1], [3.2]])
    y = [0, 1, -1, -1, -1, -1]
    assert GraphClassifier().fit(X, y).cut_off_.size == 0
    with pytest.warns(CutOffSamplesWarning, match="raise n_neighbors"):
        classifier = GraphClassifier(n_neighbors=2).fit(X, y)
    np.testing.assert_array_equal(classifier.cut_off_, [3, 4, 5])
    np.testing.assert_array_equal(classifier.transduction_, [0, 1, 1, 1, 1, 1])
    with pytest.warns(CutOffSamplesWarning):  # without any path
        classifier = GraphClassifier(n_neighbors=1).fit([[0.0], [1e3]], ["a", -1])
    assert classifier.transduction_.tolist() == ["a", "a"]


@pytest.mark.parametrize("n_neighbors", [None, 3])
def test_edges_end_at_the_same_weight_in_both_graphs(n_neighbors: int | None) -> None:
    """A sample with one weight just above 1e-300 and one just below."""
    X = [[0.0], [26.28], [52.57], [52.57]]
    classifier = GraphClassifier(n_neighbors=n_neighbors).fit(X, [0, -1, 1, 1])
    np.testing.assert_array_equal(classifier.label_distributions_[1], [1.0, 0.0])


def test_chains_connect() -> None:
    """Each sample has a weight to the next one only."""
    towards = np.array([[400.0], [1600.0], [3600.0]])
    among = np.array([[0.0, 400, 1600], [400, 0, 400], [1600, 400, 0]])
    shares, cut_off = full_graph_shares(among, towards, np.array([[0.0, 1.0]]))
    assert not cut_off.any()
    np.testing.assert_allclose(shares, [[0, 1]] * 3)


def test_they_get_the_nearest_label_and_are_reported() -> None:
    X, y = halves()
    X = 1e3 * X
    with pytest.warns(CutOffSamplesWarning, match=r"20 sample\(s\) given to fit") as caught:
        classifier = GraphClassifier().fit(X, y)
    assert caught[0].filename == __file__
    U, F = np.flatnonzero(y == -1), np.flatnonzero(y != -1)
    nearest = y[F[cdist(X[U], X[F]).argmin(axis=1)]]
    np.testing.assert_array_equal(classifier.cut_off_, U)
    np.testing.assert_array_equal(classifier.transduction_[U], nearest)
    np.testing.assert_array_equal(classifier.label_distributions_[U], np.eye(3)[nearest])


def test_they_leave_the_others_as_they_are() -> None:
    X, y = halves()
    alone = GraphClassifier().fit(X, y)
    far = np.vstack([X, [[100.0] * 3, [100.1] * 3, [-200.0] * 3]])
    with pytest.warns(CutOffSamplesWarning, match=r"index 40, 41, 42\)"):
        joined = GraphClassifier().fit(far, np.append(y, [-1, -1, -1]))
    others = joined.label_distributions_[:40]
    np.testing.assert_allclose(others, alone.label_distributions_, atol=1e-13)


def test_new_ones_are_reported_too() -> None:
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


# --- Labels and predictions ----------------------------------------------------------------------


@pytest.mark.parametrize("n_neighbors", [None, 2])
def test_everything_labelled(n_neighbors: int | None) -> None:
    X, y = halves()[0], np.arange(40) % 3
    classifier = GraphClassifier(n_neighbors=n_neighbors).fit(X, y)
    np.testing.assert_array_equal(classifier.transduction_, y)
    np.testing.assert_array_equal(classifier.label_distributions_, np.eye(3)[y])
    assert len(GraphClassifier(n_neighbors=n_neighbors).fit(X, np.arange(40)).classes_) == 40


@pytest.mark.parametrize("n_neighbors", [None, 4])
def test_predictions_are_weighted_means_of_all_scores(n_neighbors: int | None) -> None:
    X, y = halves()
    classifier = GraphClassifier(n_neighbors=n_neighbors).fit(X, y)
    new = np.array([0.3, 0.2, 0.1])
    weights = np.exp(-((X - new) ** 2).sum(axis=1))
    if n_neighbors:
        weights[np.argsort(weights)[:-n_neighbors]] = 0.0
    expected = weights @ classifier.label_distributions_ / weights.sum()
    np.testing.assert_allclose(classifier.predict_proba([new])[0], expected, atol=1e-13)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_decision_function_is_the_papers_signal(classes: int) -> None:
    X, y = halves(classes=classes)
    classifier = GraphClassifier().fit(X, y)
    shares = classifier.predict_proba(X)
    expected = shares[:, 1] - shares[:, 0] if classes == 2 else shares
    np.testing.assert_array_equal(classifier.decision_function(X), expected)
