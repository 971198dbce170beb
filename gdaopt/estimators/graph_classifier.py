"""Classification by the harmonic solution on the graph of a metric."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.base import _fit_context
from sklearn.neighbors import NearestNeighbors, kneighbors_graph
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from gdaopt.errors import CutOffSamplesWarning
from gdaopt.estimators.harmonic import FARTHEST, full_graph_shares, neighbor_graph_shares
from gdaopt.estimators.inputs import Interval, one_hot, read_labels, read_samples
from gdaopt.estimators.metric_classifiers import MetricClassifier
from gdaopt.support.validation import FloatArray

_BLOCK_ENTRIES = 2**20  # 8 MB: how many distances are in memory at a time


@dataclass(eq=False, repr=False, kw_only=True)
class GraphClassifier(MetricClassifier):
    """Spread labels over the graph of a metric: the paper's "graph-based classifier".

    All samples given to `fit`, with labels or without, are nodes of a graph with edge weights
    ``w_ij = exp(-(x_i - x_j)' M (x_i - x_j))`` and no self-loops. The labelled samples F have the
    score 1 for their own class and 0 for other classes. The scores z of the unlabelled samples U
    minimise ``z'Lz`` for each class, where L is the graph's Laplacian: ``L_UU z_U = -L_UF z_F``
    (harmonic functions, Zhu, Ghahramani and Lafferty, ICML 2003). They are non-negative and sum to
    1, and the sample gets the class with the largest one: for two classes the sign of the paper's
    ``argmin z'Lz`` with labels ±1.

    To classify all test samples together, as the paper does, give them to `fit` without labels and
    read `transduction_`. `predict` classifies each new sample by itself.

    Parameters
    ----------
    metric : array-like of shape (n_features, n_features) or estimator, default=None
        M, positive semidefinite. None stands for the identity. If it is a metric learner, or a
        pipeline that ends with one, a clone is fitted: on all samples if it has a parameter
        `missing_label`, else on the labelled samples, with the names of their features if `fit` was
        given a data frame. A metric learner is an estimator with ``get_mahalanobis_matrix``,
        `metric_` or ``components_`` after `fit`. To use a learner that is already fitted, pass
        ``learner.metric_``.
    n_neighbors : int, default=None
        Join two samples by an edge only if one is among this many nearest neighbours of the other,
        which takes less memory and time. None keeps the edges of all pairs.
    missing_label : object, default=-1
        The value that stands for "no label" in `y`, as in scikit-learn's ``LabelPropagation``.
        None, NaN and pandas' NA all mean missing values. The value never stands for a class: with
        the value -1, the labels -1 and 1 alone are refused. If -1 is a class, choose another value,
        such as None.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        M. With a pipeline, M acts on the features that the steps before the learner return.
    metric_learner_ : estimator or None
        The fitted clone of `metric` if that is a learner.
    n_features_in_, feature_names_in_ : int and ndarray of shape (n_features,)
        K, and the column names of X, if `fit` was given a data frame whose names are strings.
    classes_ : ndarray of shape (n_classes,)
        The different labels, sorted, without `missing_label`.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Scores of the samples given to `fit`.
    transduction_ : ndarray of shape (n_samples,)
        The label of each sample given to `fit`: the given label, or the class with the largest
        score.
    cut_off_ : ndarray of int
        Indices of the unlabelled samples that no path of edges joins to a labelled sample; edges
        have weights above 1e-300. They get the label of the nearest labelled sample, and `fit`
        warns of them.

    See Also
    --------
    MetricKNeighborsClassifier : The vote of the nearest neighbours.
    sklearn.semi_supervised.LabelPropagation : Nearly the same scores by iteration.

    Examples
    --------
    >>> X = [[0.0], [0.5], [1.0], [3.0], [3.5], [4.0]]
    >>> classifier = GraphClassifier().fit(X, ["low", -1, -1, -1, -1, "high"])
    >>> classifier.transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    >>> classifier.predict([[0.2], [3.3]]).tolist()
    ['low', 'high']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MetricClassifier._parameter_constraints,
        "n_neighbors": [None, Interval(Integral, 1, None, closed="left")],
        "missing_label": "no_validation",
    }

    metric: Any = field(default=None, kw_only=False)
    n_neighbors: int | None = None
    missing_label: Any = -1

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Spread the labels to the samples that have none.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels; `missing_label` for samples without one.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For parameters, samples or labels that do not fit; it is a `ValueError`.

        Warns
        -----
        CutOffSamplesWarning
            If no path of edges joins some samples to a labelled one, see `cut_off_`.
        """
        X = read_samples(self, X)
        self.classes_, codes, labelled = read_labels(X, y, self.missing_label)
        self._coordinates = self._enter_space(X, labelled, self.classes_[codes])
        self._labelled = labelled
        self.label_distributions_ = np.zeros((len(X), len(self.classes_)))
        self.label_distributions_[labelled] = one_hot(codes)
        self.cut_off_ = np.flatnonzero(~labelled)
        if len(self.cut_off_):
            self._spread()
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        return self

    def _spread(self) -> None:
        labelled, unlabelled = self._labelled, np.flatnonzero(~self._labelled)
        labels = self.label_distributions_[labelled]
        if self.n_neighbors is None:
            free, fixed = self._coordinates[unlabelled], self._coordinates[labelled]
            shares, cut_off = full_graph_shares(
                cdist(free, free, "sqeuclidean"), cdist(free, fixed, "sqeuclidean"), labels
            )
        else:
            edges = _nearest_pairs(self._coordinates, self.n_neighbors)
            squared = _pair_distances(self._coordinates, edges)
            shares, cut_off = neighbor_graph_shares(edges, squared, labelled, labels)
        self.label_distributions_[unlabelled] = shares
        self.cut_off_ = unlabelled[cut_off]
        if len(self.cut_off_):
            self.label_distributions_[self.cut_off_] = self._nearest_label(
                self._coordinates[self.cut_off_]
            )
            _warn_of_cut_off(self.cut_off_, "given to fit", "to a labelled one", 5)

    def _nearest_label(self, coordinates: FloatArray) -> FloatArray:
        search = NearestNeighbors(n_neighbors=1).fit(self._coordinates[self._labelled])
        nearest = search.kneighbors(coordinates, return_distance=False)[:, 0]
        scores: FloatArray = self.label_distributions_[self._labelled][nearest]
        return scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the scores of new samples, computed for each sample by itself.

        The score of a new sample is the mean of the scores of the samples given to `fit`, labelled
        or not, weighted by its edges to them. This is the harmonic solution at the new sample while
        all other scores stay fixed. There are no edges between new samples; if you want them, give
        the samples to `fit`. A sample that was given to `fit` counts as new, too: its own score
        takes part in its mean, with weight 1. The scores are not calibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Shares, of which each row sums to 1.

        Warns
        -----
        CutOffSamplesWarning
            If all edges of some samples have weights below 1e-300. These samples get the label of
            the nearest labelled sample.
        """
        return self._scores(X)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the real-valued prediction for new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, the score of the second minus the score of the first: the paper's z, in
            [-1, 1]. For more classes, the scores that `predict_proba` returns.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the largest score for new samples, each by itself.

        Of equal scores, the class that comes first in `classes_` wins. For samples given to `fit`
        this can differ from `transduction_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self._scores(X)
        labels: npt.NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return labels

    def _scores(self, X: Any) -> FloatArray:
        """Return what `predict_proba` returns; warnings name the caller of the caller."""
        coordinates = self._map(X)
        scores = np.empty((len(coordinates), len(self.classes_)))
        cut_off = np.zeros(len(scores), dtype=bool)
        for block in gen_batches(len(scores), max(1, _BLOCK_ENTRIES // len(self._coordinates))):
            squared = cdist(coordinates[block], self._coordinates, "sqeuclidean")
            if self.n_neighbors is not None and self.n_neighbors < squared.shape[1] - 1:
                farther = np.argpartition(squared, self.n_neighbors - 1)[:, self.n_neighbors :]
                np.put_along_axis(squared, farther, np.inf, axis=1)
            nearest = squared.min(axis=1)
            with np.errstate(under="ignore"):
                weights = np.exp(nearest[:, None] - squared)
                weights /= weights.sum(axis=1, keepdims=True)
                scores[block] = weights @ self.label_distributions_
            cut_off[block] = nearest >= FARTHEST
        if cut_off.any():
            scores[cut_off] = self._nearest_label(coordinates[cut_off])
            _warn_of_cut_off(np.flatnonzero(cut_off), "to predict", "to a sample given to fit", 4)
        return scores


def _nearest_pairs(coordinates: FloatArray, n_neighbors: int) -> npt.NDArray[np.intp]:
    """Return the pairs i < j in which one is among the nearest of the other, shape (n, 2)."""
    nearest = kneighbors_graph(coordinates, min(n_neighbors, len(coordinates) - 1))
    joined = scipy.sparse.triu(nearest + nearest.T, format="csr")
    joined.sort_indices()
    return np.column_stack(joined.nonzero())


def _pair_distances(coordinates: FloatArray, pairs: npt.NDArray[np.intp]) -> FloatArray:
    """Return squared distances of pairs from differences: those of duplicates are exactly 0."""
    squared = np.empty(len(pairs))
    for part in gen_batches(len(pairs), max(1, _BLOCK_ENTRIES // coordinates.shape[1])):
        left, right = pairs[part].T
        squared[part] = row_norms(coordinates[left] - coordinates[right], squared=True)
    return squared


def _warn_of_cut_off(
    indices: npt.NDArray[np.intp], which: str, where: str, stacklevel: int
) -> None:
    """Warn the caller of a public method, which is `stacklevel` calls up from here."""
    shown = ", ".join(str(index) for index in indices[:5]) + (", …" if len(indices) > 5 else "")
    warnings.warn(
        f"no path of weights above 1e-300 leads {where} from {len(indices)} sample(s) {which} "
        f"(index {shown}); they get the label of the nearest labelled sample. Scale the features "
        "or the metric so that squared distances are near 1, or raise n_neighbors",
        CutOffSamplesWarning,
        stacklevel=stacklevel,
    )
