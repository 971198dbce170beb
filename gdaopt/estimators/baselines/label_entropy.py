"""The mean entropy of predicted labels as a function of feature scales, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from scipy.spatial.distance import cdist

from gdaopt.estimators.labels import Codes, Mask, one_hot
from gdaopt.support.validation import FloatArray

__all__ = ["LabelEntropy"]

_LEAST_SHARE = 1e-300  # replaces a share of 0 in the logarithm, which is then multiplied by 0


class LabelEntropy:
    """The mean entropy ``H = -mean_i Σ_c f_ic ln f_ic`` of the samples with predicted labels.

    The class shares ``f_U`` of the unlabelled samples U are the harmonic solution of the smoothed
    random walk ``P̃ = η/N + (1-η) D⁻¹W``: they solve ``(I - P̃_UU) f_U = P̃_UF f_F``, where F are
    the labelled samples. (`gdaopt.estimators.harmonic` solves this system for η = 0 only, where it
    has a symmetric form, and it does not keep the factors that the gradient needs.) If all samples
    have labels, each one is predicted from the labels of the others, ``f_i = Σ_j p̃_ij f_j`` over
    j ≠ i, and the smoothing is ``η/(N-1)`` off the diagonal.

    Parameters
    ----------
    X : ndarray of shape (N, K)
        Samples.
    codes : ndarray of int, shape (n_labelled,)
        Classes of the labelled samples, from 0 on.
    labelled : ndarray of bool, shape (N,)
        Which samples have a label.
    smoothing : float
        η. With 0 the system is singular if no path joins some samples to labelled ones.

    Examples
    --------
    A sample half-way between two labels has the largest entropy:

    >>> X, labelled = np.array([[0.0], [1.0], [2.0]]), np.array([True, False, True])
    >>> entropy = LabelEntropy(X, np.array([0, 1]), labelled, smoothing=0.01)
    >>> value, gradient = entropy.value_and_gradient(np.zeros(1))
    >>> round(float(value / np.log(2)), 12), abs(gradient) < 1e-15
    (1.0, array([ True]))
    """

    def __init__(
        self,
        X: FloatArray,
        codes: Codes,
        labelled: Mask,
        smoothing: float,
    ) -> None:
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
        return self._solved(self._moves(self._coordinates(log_scales)))[0]

    def value_and_gradient(self, log_scales: FloatArray) -> tuple[float, FloatArray]:
        """Return H and its derivatives by ``log σ``, shape (K,).

        ``∂H = Σ_ij λ_i'f_j ∂p̃_ij``, where one adjoint solve gives λ, and ``∂p_ij/∂log σ_d =
        2 p_ij (a_ijd - Σ_n p_in a_ind)`` with ``a_ijd = (x_id - x_jd)²/σ_d²``. So a few matrix
        products give the derivatives by all features.
        """
        coordinates = self._coordinates(log_scales)
        moves = self._moves(coordinates)
        shares, factors = self._solved(moves)
        predicted = self._predicted(moves, shares)
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
        """Return the rows of P of the predicted samples.

        The weights of each row are divided by the largest of them, so that no row underflows.
        """
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

    def _solved(self, moves: FloatArray) -> tuple[FloatArray, tuple[Any, Any] | None]:
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

    def _predicted(self, moves: FloatArray, shares: FloatArray) -> FloatArray:
        """Return f of the predicted samples."""
        if self._leaves_one_out:
            return self._smoothed(moves) @ shares
        predicted: FloatArray = shares[self._rows]
        return predicted
