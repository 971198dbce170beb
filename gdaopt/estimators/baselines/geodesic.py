"""The geodesic between positive definite matrices.

``A #_t B = A^½ (A^-½ B A^-½)^t A^½`` needs no square roots of matrices: for each factorisation
``A = LL'`` it is ``L (L⁻¹ B L⁻')^t L'``, and Cholesky's factorisation is the cheapest. As
``A #_t B = B #_{1-t} A``, either matrix can be the one that is factored; factoring the better
conditioned one loses the fewest digits.

Source: Bhatia, *Positive Definite Matrices* (Princeton 2007), chapters 4 and 6; by Cholesky
factors: Iannazzo, *The geometric mean of two matrices from a computational viewpoint* (Numerical
Linear Algebra with Applications 2016).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from gdaopt.errors import InvalidInputError
from gdaopt.support.validation import FloatArray, symmetric_matrix


def geometric_mean_of_inverse(S: FloatArray, D: FloatArray, t: float = 0.5) -> FloatArray:
    """Return ``S⁻¹ #_t D`` without forming the inverse, for positive definite S and D.

    For t = ½ it is the M with ``M S M = D``, and the minimiser of ``tr(MS) + tr(M⁻¹D)``. With
    ``S = LL'`` it is ``L⁻' (L'DL)^t L⁻¹``, with ``D = GG'`` it is ``G (G'SG)^{t-1} G'``. Source:
    Zadeh, Hosseini, Sra, *Geometric Mean Metric Learning* (ICML 2016).
    """
    S, factor = _factored("S", S)
    D, other = _factored("D", D, len(S))
    if reciprocal_condition(S) < reciprocal_condition(D):
        return _symmetric(other @ _power(other.T @ S @ other, t - 1) @ other.T)
    power = _power(factor.T @ D @ factor, t)
    half = solve_triangular(factor, power, lower=True, trans="T")
    return _symmetric(solve_triangular(factor, half.T, lower=True, trans="T"))


def reciprocal_condition(matrix: FloatArray) -> float:
    """Return ``1 / (‖A‖₁ ‖A⁻¹‖₁)``, which is 0 for a singular matrix."""
    return 1 / float(np.linalg.cond(matrix, 1)) if matrix.any() else 0.0  # NumPy's result is nan


def _factored(
    name: str, value: FloatArray, size: int | None = None
) -> tuple[FloatArray, FloatArray]:
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
    """Return the power of a matrix that is positive definite up to round-off."""
    values, vectors = eigh(_symmetric(matrix))
    # Round-off can move the smallest eigenvalues below 0.
    values = np.maximum(values, np.finfo(float).eps * values[-1])
    return np.asarray((vectors * values**exponent) @ vectors.T)


def _symmetric(matrix: FloatArray) -> FloatArray:
    """Return the symmetric part, which is symmetric to the last digit."""
    return np.asarray((matrix + matrix.T) / 2)
