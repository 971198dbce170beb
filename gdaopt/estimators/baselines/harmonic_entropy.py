"""Feature scales that make harmonic labels certain (Zhu, Ghahramani, Lafferty 2003)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from scipy.optimize import OptimizeResult, minimize
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from gdaopt.estimators.base import BaseMetricLearner
from gdaopt.estimators.baselines.feature_weights import check_spread
from gdaopt.estimators.inputs import Codes, Interval, Mask, one_hot
from gdaopt.support.validation import FloatArray, integer, number, read_only

_LEAST_SHARE = 1e-300  # replaces a share of 0 in the logarithm, which is then multiplied by 0
_AT_A_LIMIT = 1  # the status of SciPy's L-BFGS-B when a limit ended it


@dataclass(eq=False, repr=False, kw_only=True)
class HarmonicEntropyWeights(BaseMetricLearner):
    """Learn feature weights by the minimum entropy of predicted labels (Zhu et al. 2003).

    The graph of all samples has the edge weights ``w_ij = exp(-Σ_d (x_id - x_jd)²/σ_d²)``, so that
    the metric is ``diag(1/σ²)``. The learner finds the scales σ under which the harmonic solution
    is most certain of the labels that it predicts for unlabelled samples.

    Parameters
    ----------
    missing_label : object, default=-1
        The value that stands for "no label" in `y`, see `gdaopt.GraphClassifier`.
    eta : float, default=0.01
        Probability, between 0 and 1, that a step of the random walk goes to any sample. Without it
        the entropy goes to its minimum as σ goes to 0.
    max_log_scale : float, default=3.0
        Bound of each ``|log σ_d|``.
    tolerance : float, default=1e-5
        The method stops when all derivatives of the entropy by log σ, projected on the bounds, are
        at most this large, or when a step lowers the entropy by less than 2e-9.
    max_iterations : int, default=500
        Limit of the number of steps of L-BFGS-B. If it ends the fit, the fit warns.

    Attributes
    ----------
    metric_, components_, feature_importances_, classes_, n_features_in_, feature_names_in_
        As of `BaseMetricLearner`.
    length_scales_ : ndarray of shape (n_features,)
        σ.
    entropy_ : ndarray of shape (n_steps + 1,)
        The entropy H at the start and after each step. It never rises.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        The class shares f at the end: 0 and 1 for given labels, else the smoothed harmonic
        solution.
    n_iter_ : int
        Number of steps.

    Notes
    -----
    Source: X. Zhu, Z. Ghahramani, J. Lafferty, *Semi-Supervised Learning Using Gaussian Fields and
    Harmonic Functions* (ICML 2003), section 6.

    * *Published:* the weights; ``P = D⁻¹W``, smoothed to ``P̃ = η/N + (1-η)P``; the harmonic
      solution ``f_U = (I - P̃_UU)⁻¹ P̃_UF f_F``, where U and F are the samples without and with
      labels; for two classes, the mean entropy ``H = -mean_U [f ln f + (1-f) ln(1-f)]``.
    * *This package's own:* L-BFGS-B minimises H over log σ, from σ = 1 and within ``|log σ| ≤ 3``,
      for standardised features: where the spreads are far from 1, H is flat at the start. With more
      than two classes ``H = -mean_U Σ_c f_c ln f_c``. If all samples have labels, each one's label
      is predicted from the labels of the others: ``f_i = Σ_j p̃_ij f_j`` over j ≠ i.

    The trace of the metric is not bounded.

    Examples
    --------
    The first feature tells the classes apart:

    >>> X = [[0.0, 2.0], [0.2, 0.1], [0.1, 1.0], [1.0, 0.0], [1.1, 1.1], [0.9, 2.1]]
    >>> learner = HarmonicEntropyWeights().fit(X, ["a", "a", -1, "b", "b", -1])
    >>> weights = learner.metric_.diagonal()
    >>> bool(weights[0] > 10 * weights[1])
    True
    >>> learner.label_distributions_.argmax(axis=1).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "missing_label": "no_validation",
        "eta": [Interval(Real, 0, 1, closed="neither")],
        "max_log_scale": [Interval(Real, 0, 100, closed="right")],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "max_iterations": [Interval(Integral, 1, None, closed="left")],
    }

    missing_label: Any = -1
    eta: float = 0.01
    max_log_scale: float = 3.0
    tolerance: float = 1e-5
    max_iterations: int = 500

    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:
        check_spread(X)
        labelled = codes >= 0
        codes = codes[labelled]
        max_log_scale = number("max_log_scale", self.max_log_scale, above=0)
        entropy = LabelEntropy(X, codes, labelled, number("eta", self.eta, above=0))
        start = np.zeros(X.shape[1])
        history = [entropy.value_and_gradient(start)[0]]

        def note(intermediate_result: OptimizeResult) -> None:  # SciPy reads the argument's name
            history.append(float(intermediate_result.fun))

        optimum = minimize(
            entropy.value_and_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-max_log_scale, max_log_scale)] * len(start),
            callback=note,
            options={
                "maxiter": integer("max_iterations", self.max_iterations, at_least=1),
                "gtol": number("tolerance", self.tolerance, at_least=0),
            },
        )
        self.n_iter_ = int(optimum.nit)
        self.entropy_ = read_only(np.array(history))
        self.length_scales_ = read_only(np.exp(optimum.x))
        self.label_distributions_ = read_only(entropy.shares(optimum.x))
        if optimum.status == _AT_A_LIMIT:
            warnings.warn(
                f"HarmonicEntropyWeights did not converge in {self.n_iter_} steps; raise "
                f"max_iterations (now {self.max_iterations}) or tolerance",
                ConvergenceWarning,
                stacklevel=4,  # the caller of fit, through scikit-learn's decorator
            )
        return np.diag(np.exp(-2 * optimum.x))


class LabelEntropy:
    """The mean entropy ``H = -mean_i Σ_c f_ic ln f_ic`` of the samples with predicted labels.

    `gdaopt.estimators.harmonic` solves the system for η = 0 only, where it has a symmetric form. If
    all samples have labels, the smoothing is ``η/(N-1)`` off the diagonal.
    """

    def __init__(self, X: FloatArray, codes: Codes, labelled: Mask, smoothing: float) -> None:
        offsets = X - X[0]  # so that constant features are 0 exactly
        self._features = offsets - offsets.mean(axis=0)
        self._smoothing = smoothing
        self._labelled = labelled
        self._leaves_one_out = bool(labelled.all())
        self._rows = np.flatnonzero(~labelled | self._leaves_one_out)
        self._own = (np.arange(len(self._rows)), self._rows)
        self._labels = one_hot(codes)

    def shares(self, log_scales: FloatArray) -> FloatArray:
        """Return f for all samples, shape (N, n_classes); it is 0 and 1 for given labels."""
        return self._solve(self._moves(self._coordinates(log_scales)))[0]

    def value_and_gradient(self, log_scales: FloatArray) -> tuple[float, FloatArray]:
        """Return H and its derivatives by ``log σ``, shape (K,).

        ``∂H = Σ_ij λ_i'f_j ∂p̃_ij``, where one adjoint solve gives λ, and ``∂p_ij/∂log σ_d =
        2 p_ij (a_ijd - Σ_n p_in a_ind)`` with ``a_ijd = (x_id - x_jd)²/σ_d²``. So a few matrix
        products give the derivatives by all features.
        """
        coordinates = self._coordinates(log_scales)
        moves = self._moves(coordinates)
        shares, factors = self._solve(moves)
        predicted = shares[self._rows]
        if self._leaves_one_out:
            predicted = self._smoothed(moves) @ shares
        logarithms = np.log(np.maximum(predicted, _LEAST_SHARE))
        value = -float((predicted * logarithms).sum()) / len(predicted)
        # ∂H/∂f = -(ln f + 1), but the 1 has no effect: the shares sum to 1 under all scales.
        slope = -logarithms / len(predicted)
        adjoint = slope if factors is None else lu_solve(factors, slope, trans=1)
        rates = adjoint @ shares.T
        rates -= np.einsum("ij,ij->i", moves, rates)[:, None]
        rates *= moves
        # Each row of the rates sums to 0, so that Σ rates_ij (z_i - z_j)² has no terms z_i².
        gradient = rates.sum(axis=0) @ coordinates**2
        gradient -= 2 * np.einsum("id,id->d", coordinates[self._rows], rates @ coordinates)
        gradient *= 2 * (1 - self._smoothing)
        return value, gradient

    def _coordinates(self, log_scales: FloatArray) -> FloatArray:
        coordinates: FloatArray = self._features * np.exp(-log_scales)
        return coordinates

    def _moves(self, coordinates: FloatArray) -> FloatArray:
        """Return the rows of P of the predicted samples, none of which underflows."""
        squared = cdist(coordinates[self._rows], coordinates, "sqeuclidean")
        squared[self._own] = np.inf
        moves: FloatArray = np.exp(squared.min(axis=1, keepdims=True) - squared)
        moves /= moves.sum(axis=1, keepdims=True)
        return moves

    def _smoothed(self, moves: FloatArray) -> FloatArray:
        """Return the rows of P̃ of the predicted samples."""
        n_others = moves.shape[1] - self._leaves_one_out
        smoothed: FloatArray = (1 - self._smoothing) * moves + self._smoothing / n_others
        if self._leaves_one_out:
            smoothed[self._own] = 0.0
        return smoothed

    def _solve(self, moves: FloatArray) -> tuple[FloatArray, tuple[Any, Any] | None]:
        """Return f for all samples, and the factors of the system solved for it, if any."""
        if self._leaves_one_out:
            return self._labels, None
        smoothed = self._smoothed(moves)
        matrix = -smoothed[:, self._rows]
        np.fill_diagonal(matrix, 1 + np.diagonal(matrix))
        factors = lu_factor(matrix, overwrite_a=True, check_finite=False)
        shares = np.empty((len(self._labelled), self._labels.shape[1]))
        shares[self._labelled] = self._labels
        shares[self._rows] = lu_solve(factors, smoothed[:, self._labelled] @ self._labels)
        return shares, factors
