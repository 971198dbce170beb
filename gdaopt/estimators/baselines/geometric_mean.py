"""Metrics in closed form: the geometric mean of similar and dissimilar pairs, and the identity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import StrOptions

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.base import BaseMetricLearner
from gdaopt.estimators.components import components_of
from gdaopt.estimators.inputs import Codes, Interval, one_hot
from gdaopt.support.validation import FloatArray, integer, number, symmetric_matrix
from gdaopt.support.warning_filters import ignoring

_PAIRS = 40  # times h(h-1) pairs are drawn for h classes
_LEAST_CONDITION = 1e-9  # below this reciprocal condition number the ridge is added
_RIDGE = 1e-6  # as a share of the variances
_COARSE = (0.1, 0.3, 0.5, 0.7, 0.9)  # the values of t that are tried first
_FINE = 0.02 * np.arange(-7, 8)  # added to the best of them, for the values that are tried next
_NEIGHBORS = 5
_NUMBERS_AT_ONCE = 2**22  # 32 MB of differences
_LARGEST_SPREAD = 1e140  # the samples' largest spread: M contains squares of it


@dataclass(eq=False, repr=False, kw_only=True)
class GeometricMeanMetric(BaseMetricLearner):
    """Learn a metric as a weighted geometric mean of similar and dissimilar pairs (GMML).

    Random pairs of samples are drawn. Let S be the sum of ``d d'`` over the differences d of the
    similar pairs, whose samples are of the same class, and D the sum over the dissimilar pairs. M
    is the point t on the geodesic from ``S⁻¹`` to D. It depends on the scales of the features: if
    these have different units, put a `sklearn.preprocessing.StandardScaler` before the learner.

    Parameters
    ----------
    t : float or "cv", default=0.5
        A number from 0, where ``M ∝ S⁻¹``, to 1, where ``M ∝ D``. With ``"cv"``, t is the value for
        which five nearest neighbours have the best accuracy in cross-validation: first the best of
        0.1, 0.3, …, 0.9, then the best of the values at most 0.14 away from it, in steps of 0.02.
    n_pairs : int, default=None
        How many pairs to draw. None stands for ``40 h(h - 1)``, where h is the number of classes.
    cv : int, default=5
        Number of stratified folds for ``t="cv"``, at most that of samples in the smallest class.
    random_state : int, RandomState instance or None, default=None
        Source of the random pairs and folds, see scikit-learn's glossary.

    Attributes
    ----------
    metric_, components_, feature_importances_, classes_, n_features_in_, feature_names_in_
        As of `BaseMetricLearner`.
    t_ : float
        The value of t that M was computed with.
    n_similar_, n_dissimilar_ : int
        How many similar and dissimilar pairs were drawn.
    cv_scores_ : dict of float to float
        Mean accuracy for each t that was tried. It is empty if t is a number.

    Notes
    -----
    Source: Zadeh, Hosseini, Sra, *Geometric Mean Metric Learning* (ICML 2016).

    * *Published:* the sums S and D, ``M = S⁻¹ #_t D``, the number of pairs, the values of t that
      are tried, and a ridge of ``10⁻⁶ I`` that is added to both S and D if either has a reciprocal
      condition number below 10⁻⁹.
    * *From code* that is derived from the authors' code: both samples of a pair are drawn from all
      samples, independently and with replacement, and the labels decide of which kind it is.
    * *This package's own:* the ridge is ``10⁻⁶ diag(v)`` with the variances v of the features, the
      published one for z-scores; a constant feature gets the mean variance of the others. Of
      several values of t with the same accuracy, the smallest is used. All values are tried on the
      same pairs, which are drawn from the training part of each fold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = GeometricMeanMetric(random_state=0).fit(X, y)
    >>> learner.n_similar_ + learner.n_dissimilar_
    240
    >>> bool(np.linalg.eigvalsh(learner.metric_)[0] > 0)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "t": [Interval(Real, 0, 1, closed="both"), StrOptions({"cv"})],
        "n_pairs": [Interval(Integral, 1, None, closed="left"), None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    t: float | str = field(default=0.5, kw_only=False)
    n_pairs: int | None = None
    cv: int = 5
    random_state: Any = None

    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:
        unit = _unit(X)
        random = check_random_state(self.random_state)
        n_classes = len(self.classes_)
        n_pairs = _PAIRS * n_classes * (n_classes - 1)
        if self.n_pairs is not None:
            n_pairs = integer("n_pairs", self.n_pairs, at_least=1)
        S, D, self.n_similar_ = pair_matrices(X / unit, codes, n_pairs, random)
        self.n_dissimilar_ = n_pairs - self.n_similar_
        self.cv_scores_: dict[float, float] = {}
        self.t_ = (
            self._choose_t(X / unit, codes, n_pairs, random)
            if self.t == "cv"
            else number("t", self.t, at_least=0, at_most=1)
        )
        # In the features' own units, S⁻¹ #_t D is that of the scaled features times unit^(4t-2).
        metric: FloatArray = _metric(S, D, X / unit, self.t_) * unit ** (4 * self.t_ - 2)
        return metric

    def _choose_t(
        self, X: FloatArray, codes: Codes, n_pairs: int, random: np.random.RandomState
    ) -> float:
        folds = [
            (*pair_matrices(X[train], codes[train], n_pairs, random)[:2], train, test)
            for train, test in self._folds(codes, random)
        ]

        def tried(candidates: npt.ArrayLike) -> float:
            for t in np.round(np.clip(candidates, 0, 1), 12).tolist():
                if t not in self.cv_scores_:
                    accuracies = [
                        _accuracy(_metric(S, D, X[train], t), X, codes, train, test)
                        for S, D, train, test in folds
                    ]
                    self.cv_scores_[t] = float(np.mean(accuracies))
            best = max(self.cv_scores_.values())
            return min(t for t, score in self.cv_scores_.items() if score == best)

        return tried(tried(_COARSE) + _FINE)

    def _folds(
        self, codes: Codes, random: np.random.RandomState
    ) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        counts = np.bincount(codes)
        if counts.max() < 2:
            raise InvalidInputError(
                "t='cv' needs a class of two or more samples, but each class has 1; pass a number "
                "for t, such as 0.5"
            )
        n_folds = min(integer("cv", self.cv, at_least=2), max(2, int(counts.min())))
        split = StratifiedKFold(n_folds, shuffle=True, random_state=random).split(codes, codes)
        # There are at least two folds, which are more than a class of one sample can be in.
        with ignoring("The least populated class"):
            folds = list(split)
        yield from folds


def pair_matrices(
    X: FloatArray, codes: Codes, n_pairs: int, random: np.random.RandomState
) -> tuple[FloatArray, FloatArray, int]:
    """Draw random pairs, and return both sums of ``dd'`` and the number of similar ones."""
    size = X.shape[1]
    S, D, n_similar = np.zeros((size, size)), np.zeros((size, size)), 0
    first, second = random.randint(len(X), size=n_pairs), random.randint(len(X), size=n_pairs)
    for part in gen_batches(n_pairs, max(1, _NUMBERS_AT_ONCE // size)):
        i, j = first[part], second[part]
        similar = codes[i] == codes[j]
        differences = X[i] - X[j]
        S += differences[similar].T @ differences[similar]
        D += differences[~similar].T @ differences[~similar]
        n_similar += int(similar.sum())
    return S, D, n_similar


def regularise(S: FloatArray, D: FloatArray, X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return S and D, with a ridge of the features' variances on both if either is singular."""
    variances = _variances(X)
    deviations = np.sqrt(variances)
    at_one = np.outer(deviations, deviations)
    if min(reciprocal_condition(S / at_one), reciprocal_condition(D / at_one)) >= _LEAST_CONDITION:
        return S, D
    ridge = np.diag(_RIDGE * variances)
    return S + ridge, D + ridge


def _variances(X: FloatArray) -> FloatArray:
    """Return the variances of the features; a constant feature gets the mean of the others."""
    variances: FloatArray = (X - X[0]).var(axis=0)  # exactly 0 for a constant feature
    varies = variances > 0
    variances[~varies] = variances[varies].mean() if varies.any() else 1.0
    return variances


def _unit(X: FloatArray) -> float:
    """Return a power of two of about the size of the differences between samples."""
    spread = 2 * float(np.abs(X / 2 - X[0] / 2).max())
    if not 1 / _LARGEST_SPREAD < spread < _LARGEST_SPREAD:
        raise InvalidInputError(
            f"samples differ by {spread:.3g} in their largest feature, which is out of the range "
            "that a metric can be computed from; rescale the features, or drop constant ones"
        )
    return float(2.0 ** np.round(np.log2(spread)))


def _metric(S: FloatArray, D: FloatArray, X: FloatArray, t: float) -> FloatArray:
    return geometric_mean_of_inverse(*regularise(S, D, X), t)


def _accuracy(metric: FloatArray, X: FloatArray, codes: Codes, train: Codes, test: Codes) -> float:
    # The same as `KNeighborsClassifier`, whose checks would take most of the time of t="cv".
    mapped = X @ components_of(metric).T
    distances = cdist(mapped[test], mapped[train], "sqeuclidean")
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :_NEIGHBORS]
    votes = one_hot(codes)[train][nearest].sum(axis=1)
    return float((votes.argmax(axis=1) == codes[test]).mean())


# The geodesic ``A #_t B = A^½ (A^-½ B A^-½)^t A^½`` needs no square roots of matrices: for each
# factorisation ``A = LL'`` it is ``L (L⁻¹ B L⁻')^t L'``, and Cholesky's is the cheapest. As
# ``A #_t B = B #_{1-t} A``, either matrix can be the one that is factored; factoring the better
# conditioned one loses the fewest digits (Bhatia, *Positive Definite Matrices*, 2007, chapters 4
# and 6; Iannazzo, *The geometric mean of two matrices from a computational viewpoint*, 2016).


def geometric_mean_of_inverse(S: FloatArray, D: FloatArray, t: float = 0.5) -> FloatArray:
    """Return ``S⁻¹ #_t D`` without forming the inverse, for positive definite S and D.

    For t = ½ it is the M with ``M S M = D``, and the minimiser of ``tr(MS) + tr(M⁻¹D)``. With
    ``S = LL'`` it is ``L⁻' (L'DL)^t L⁻¹``, with ``D = GG'`` it is ``G (G'SG)^{t-1} G'``. Source:
    Zadeh, Hosseini, Sra, *Geometric Mean Metric Learning* (ICML 2016).
    """
    S, factor = _factor("S", S)
    D, other = _factor("D", D, len(S))
    if reciprocal_condition(S) < reciprocal_condition(D):
        return _symmetric(other @ _power(other.T @ S @ other, t - 1) @ other.T)
    power = _power(factor.T @ D @ factor, t)
    half = solve_triangular(factor, power, lower=True, trans="T")
    return _symmetric(solve_triangular(factor, half.T, lower=True, trans="T"))


def reciprocal_condition(matrix: FloatArray) -> float:
    """Return ``1 / (‖A‖₁ ‖A⁻¹‖₁)``, which is 0 for a singular matrix."""
    return 1 / float(np.linalg.cond(matrix, 1)) if matrix.any() else 0.0  # NumPy's result is nan


def _factor(name: str, value: FloatArray, size: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Return a matrix A and its L, lower triangular, with ``LL' = A``; refuse an indefinite one."""
    matrix = symmetric_matrix(name, value, size)
    try:
        return matrix, cholesky(matrix, lower=True)
    except LinAlgError as error:
        least = float(np.linalg.eigvalsh(matrix)[0])
        raise InvalidInputError(
            f"{name} is not positive definite: its smallest eigenvalue is {least:.3g}; add a "
            "small multiple of the identity"
        ) from error


def _power(matrix: FloatArray, exponent: float) -> FloatArray:
    values, vectors = eigh(_symmetric(matrix))
    # Round-off can move the smallest eigenvalues below 0.
    values = np.maximum(values, np.finfo(float).eps * values[-1])
    return np.asarray((vectors * values**exponent) @ vectors.T)


def _symmetric(matrix: FloatArray) -> FloatArray:
    return np.asarray((matrix + matrix.T) / 2)


class EuclideanMetric(BaseMetricLearner):
    """The identity matrix, in the place of a learned metric. The labels are checked but not used.

    Attributes
    ----------
    metric_, components_, feature_importances_, classes_, n_features_in_, feature_names_in_
        As of `BaseMetricLearner`.

    Examples
    --------
    >>> learner = EuclideanMetric().fit([[0.0, 3.0], [4.0, 0.0]], ["a", "b"])
    >>> learner.pair_distance([[[0.0, 3.0], [4.0, 0.0]]])
    array([5.])
    """

    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:  # noqa: ARG002 (labels are not used)
        return np.eye(X.shape[1])
