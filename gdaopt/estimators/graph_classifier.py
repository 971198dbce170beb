"""Classification by the harmonic solution on the graph of a metric."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from gdaopt.errors import CutOffSamplesWarning
from gdaopt.estimators.harmonic import FARTHEST, full_graph_shares, neighbor_graph_shares
from gdaopt.estimators.labels import one_hot, read_labels
from gdaopt.estimators.metric_parameter import METRIC_CONSTRAINT, MetricSpace, metric_space
from gdaopt.validation import FloatArray

__all__ = ["GraphClassifier"]

_BLOCK_ENTRIES = 2**20  # 8 MB: what is looked at at a time where the whole need not be kept


class GraphClassifier(ClassifierMixin, BaseEstimator):
    """Spread labels over the graph of a metric, the paper's "graph-based classifier".

    All samples given to `fit`, with labels or without, are nodes of a graph with edge weights
    ``w_ij = exp(-(x_i - x_j)' M (x_i - x_j))`` and no self-loops. The scores of the labelled ones
    are fixed at 1 for their class and 0 for the others. Those of the unlabelled ones minimise
    ``z'Lz`` for each class, L the graph's Laplacian: ``L_UU z_U = -L_UF z_F`` (harmonic functions,
    Zhu, Ghahramani and Lafferty, ICML 2003). The scores of a sample are non-negative and sum to 1;
    its class is that of the largest. For two classes coded as ±1 this is the sign of the paper's
    ``argmin z'Lz``, which `decision_function` returns.

    To classify test samples as the paper does, all of them at once, give them to `fit` without
    labels and read `transduction_`. `predict` takes samples one by one, see there.

    Parameters
    ----------
    metric : array-like of shape (n_features, n_features) or estimator, default=None
        M, positive semidefinite; None for the identity. Of a metric learner (with
        `get_mahalanobis_matrix`, `metric_` or `components_` after `fit`) a clone is fitted on the
        labelled samples, or on all where it has a parameter `missing_label`, too; one that is to
        stay as it is goes in as ``learner.metric_``.
    n_neighbors : int, default=None
        Keep the edges from each sample to so many nearest ones only, and those from others to it.
        Memory and time then grow with the number of edges, not of pairs. None keeps all pairs; so
        does any number from ``n_samples - 1`` on.
    missing_label : object, default=-1
        What stands for "no label" in `y`, as in scikit-learn's `LabelPropagation`. Any label will
        do; None, NaN and pandas' NA all mean missing values. Where -1 is a class, choose another.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, without `missing_label`.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Scores of the samples given to `fit`.
    transduction_ : ndarray of shape (n_samples,)
        The label of each of them: its own, or that of the largest score.
    cut_off_ : ndarray of int
        Indices of the unlabelled samples that no path of edges joins to a labelled one. They have
        the label of the nearest labelled sample, and `fit` warns of them. Weights below 1e-300 are
        no edges.
    metric_ : ndarray of shape (n_features, n_features)
        M.
    metric_learner_ : estimator or None
        The fitted clone of `metric`, where that is a learner.
    n_features_in_ : int
        K.
    feature_names_in_ : ndarray of shape (n_features,)
        Where X has column names that are strings.

    See Also
    --------
    MetricKNeighborsClassifier : The vote of the nearest neighbours.
    sklearn.semi_supervised.LabelPropagation : Nearly the same by iteration: its kernels have
        self-loops, so that it need not agree.

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
        "metric": METRIC_CONSTRAINT,
        "n_neighbors": [None, Interval(Integral, 1, None, closed="left")],
        "missing_label": "no_validation",
    }

    def __init__(
        self, metric: Any = None, *, n_neighbors: int | None = None, missing_label: Any = -1
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.missing_label = missing_label

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Spread the labels to the samples that have none.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All samples; dense.
        y : array-like of shape (n_samples,)
            Their labels, and `missing_label` where there is none.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For no label at all, for labels -1 and 1 while -1 is `missing_label`, and for a metric
            that is not symmetric, not positive semidefinite, or of another size. It is a
            `ValueError`, which scikit-learn's own checks raise.

        Warns
        -----
        CutOffSamplesWarning
            For samples without a path to a labelled one, see `cut_off_`.
        """
        X = validate_data(self, X, dtype=np.float64)
        self.classes_, codes, labelled = read_labels(y, self.missing_label)
        check_consistent_length(X, labelled)
        space = metric_space(self.metric, X, labelled, self.classes_[codes])
        self.metric_, self.metric_learner_ = space.metric, space.learner
        self._space: MetricSpace = space
        self._coordinates = space.coordinates(X)
        self._labelled = labelled
        self.label_distributions_ = np.zeros((len(X), len(self.classes_)))
        self.label_distributions_[labelled] = one_hot(codes)
        self.cut_off_ = np.flatnonzero(~labelled)
        if len(self.cut_off_):
            self._spread()
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        return self

    def _spread(self) -> None:
        """Find the scores of the unlabelled samples."""
        labelled, unlabelled = self._labelled, np.flatnonzero(~self._labelled)
        labels = self.label_distributions_[labelled]
        if self.n_neighbors is None:
            own, others = self._coordinates[unlabelled], self._coordinates[labelled]
            shares, cut_off = full_graph_shares(
                cdist(own, own, "sqeuclidean"), cdist(own, others, "sqeuclidean"), labels
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
        """Return the scores of the labelled sample that is nearest to each."""
        search = NearestNeighbors(n_neighbors=1).fit(self._coordinates[self._labelled])
        nearest = search.kneighbors(coordinates, return_distance=False)[:, 0]
        scores: FloatArray = self.label_distributions_[self._labelled][nearest]
        return scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the scores of new samples, each taken by itself.

        The score of a new sample is the mean of the scores of the samples given to `fit`, labelled
        or not, under the weights of its edges to them. That is the harmonic solution at the new
        sample with all others fixed: exactly the joint solution when all samples given to `fit` had
        labels, and else close to it, since one more sample hardly changes the scores of the others.
        New samples do not see one another; to have them joined, give them to `fit`. A sample of
        `fit` is new here too: it takes part in its own mean, with weight 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Non-negative, each row of sum 1. They are shares of the weights, not calibrated.

        Warns
        -----
        CutOffSamplesWarning
            For samples all of whose weights are below 1e-300; they get the label of the nearest
            labelled sample.
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
            For two classes the score of the second less that of the first: the paper's z, in
            [-1, 1]. Otherwise the scores as `predict_proba` returns them.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of the largest score for new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels; the first of `classes_` where scores are equal. For the samples of `fit` see
            `transduction_`, which need not be the same.
        """
        scores = self._scores(X)
        labels: npt.NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return labels

    def _scores(self, X: Any) -> FloatArray:
        """Do what `predict_proba` says, for the methods that users call."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        coordinates = self._space.coordinates(X)
        scores = np.empty((len(X), len(self.classes_)))
        cut_off = np.zeros(len(X), dtype=bool)
        step = max(1, _BLOCK_ENTRIES // len(self._coordinates))
        for start in range(0, len(X), step):
            block = slice(start, start + step)
            squared = cdist(coordinates[block], self._coordinates, "sqeuclidean")
            if self.n_neighbors is not None and self.n_neighbors < squared.shape[1] - 1:
                farther = np.argpartition(squared, self.n_neighbors - 1)[:, self.n_neighbors :]
                np.put_along_axis(squared, farther, np.inf, axis=1)
            nearest = squared.min(axis=1)
            weights = np.exp(nearest[:, None] - squared)
            weights /= weights.sum(axis=1, keepdims=True)
            scores[block] = weights @ self.label_distributions_
            cut_off[block] = nearest >= FARTHEST
        if cut_off.any():
            scores[cut_off] = self._nearest_label(coordinates[cut_off])
            _warn_of_cut_off(np.flatnonzero(cut_off), "to predict", "to one given to fit", 4)
        return scores


def _nearest_pairs(coordinates: FloatArray, n_neighbors: int) -> npt.NDArray[np.intp]:
    """Return the pairs i < j of which one is among the nearest of the other, shape (n, 2)."""
    size = len(coordinates)
    search = NearestNeighbors(n_neighbors=min(n_neighbors, size - 1)).fit(coordinates)
    neighbors = search.kneighbors(return_distance=False)
    samples = np.repeat(np.arange(size), neighbors.shape[1])
    pairs = np.sort(np.column_stack([samples, neighbors.ravel()]), axis=1)
    return np.column_stack(np.divmod(np.unique(pairs[:, 0] * size + pairs[:, 1]), size))


def _pair_distances(coordinates: FloatArray, pairs: npt.NDArray[np.intp]) -> FloatArray:
    """Return the squared distance of each pair, from differences: duplicates are at 0 exactly."""
    squared = np.empty(len(pairs))
    step = max(1, _BLOCK_ENTRIES // coordinates.shape[1])
    for start in range(0, len(pairs), step):
        left, right = pairs[start : start + step].T
        difference = coordinates[left] - coordinates[right]
        squared[start : start + step] = np.einsum("nk,nk->n", difference, difference)
    return squared


def _warn_of_cut_off(
    indices: npt.NDArray[np.intp], which: str, where: str, stacklevel: int
) -> None:
    """Warn whoever called a public method, `stacklevel` calls up from here."""
    shown = ", ".join(str(index) for index in indices[:5]) + (", …" if len(indices) > 5 else "")
    warnings.warn(
        f"no path of weights above 1e-300 leads {where} from {len(indices)} sample(s) {which} "
        f"(index {shown}), which get the label of the nearest labelled sample; scale the features "
        "or the metric so that squared distances are near 1, or keep more neighbours",
        CutOffSamplesWarning,
        stacklevel=stacklevel,
    )
