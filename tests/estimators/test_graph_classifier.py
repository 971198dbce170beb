"""The graph-based classifier: new samples, samples that are cut off, scikit-learn's rules."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from gdaopt.errors import CutOffSamplesWarning, InvalidInputError
from gdaopt.estimators.graph_classifier import GraphClassifier
from tests.estimators.cases import halves


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


class TestLabels:
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


class TestInScikitLearn:
    def test_parameters_are_checked(self) -> None:
        X, y = halves()
        with pytest.raises(InvalidInputError, match="no label"):
            GraphClassifier().fit(X, np.full(len(X), -1))
        with pytest.raises(ValueError, match="'n_neighbors' parameter"):
            GraphClassifier(n_neighbors=0).fit(X, y)
