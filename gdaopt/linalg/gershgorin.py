"""Gershgorin discs of a metric matrix, and the positive vector v that aligns their left-ends.

The similarity transform ``diag(1/v) M diag(v)`` has M's eigenvalues, but other discs. When v is the
first eigenvector of a connected M, all left-ends align at its smallest eigenvalue ("Theorem:
eigenvector alignment"); the numbers that the paper prints as scalars are v, not 1/v.

Left-ends are made of ratios ``v_j / v_i``, so that every *entry* must be accurate. A dense
eigen-solver is accurate in norm only ("Remark: accuracy of the first eigenvector entry by entry").
So every candidate is judged by its left-ends, and polished by solves with the Cholesky factor of
the M-matrix ``M - σI``: these only ever add positive numbers, and small entries keep their digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.linalg.lapack import dpotrs

from gdaopt.errors import SolverFailedError
from gdaopt.linalg.laplacian import n_components
from gdaopt.linalg.spectrum import (
    LARGEST_DENSE,
    eigenpairs_by_lobpcg,
    shifted_factor,
    smallest_eigenvalue,
)
from gdaopt.support.validation import FloatArray, as_symmetric, as_vector, number, positive_vector

_SMALLEST_DIAGONAL = 1e-12  # in units of tr M / K, for the preconditioner
_LOBPCG_ITERATIONS = 20
_LOBPCG_TOLERANCE = 1e-5  # in units of tr M / K: its square is about the polish's margin
_MARGINS = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)  # σ is so much below ρ or λ_min, in tr M / K
_POLISH_ROUNDS = 12
_POLISH_SOLVES = 4  # with one factor
_SPREAD = 1e-9  # in units of tr M / K: left-ends this close are aligned
_ACCURACY = 1e-12  # in units of tr M / K: left-ends below min(ρ, λ_min) by less are round-off


def discs(metric: FloatArray, v: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return centres and radii of the Gershgorin discs of ``diag(1/v) M diag(v)``.

    The centres are ``M_ii`` and the radii ``Σ_{j≠i} |M_ij| v_j / v_i``, for any symmetric M and
    positive v; without v they are the discs of the matrix itself.

    Examples
    --------
    >>> M = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
    >>> discs(M)
    (array([2., 5., 4.]), array([3., 4., 3.]))
    """
    metric = as_symmetric("metric", metric)
    magnitudes = np.abs(metric)
    np.fill_diagonal(magnitudes, 0.0)
    if v is not None:
        v = positive_vector("v", v, len(metric))
    radii: FloatArray = magnitudes.sum(axis=1) if v is None else (magnitudes @ v) / v
    return metric.diagonal().copy(), radii


def left_ends(metric: FloatArray, v: FloatArray | None = None) -> FloatArray:
    """Return the K left-ends, centre minus radius, of the (scaled) Gershgorin discs.

    Their minimum is a lower bound on the smallest eigenvalue, for every ``v > 0``.

    Examples
    --------
    >>> M = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
    >>> left_ends(M)
    array([-1.,  1.,  1.])
    """
    centres, radii = discs(metric, v)
    return centres - radii


def comparison_matrix(matrix: FloatArray) -> FloatArray:
    """Return the matrix with off-diagonals ``-|M_ij|``, which has the same discs as M."""
    comparison: FloatArray = -np.abs(matrix)
    np.fill_diagonal(comparison, np.diagonal(matrix))
    return comparison


@dataclass(frozen=True, eq=False)
class Alignment:
    """A positive vector v and the left-ends it gives.

    Attributes
    ----------
    v : ndarray of shape (K,)
        Positive, with maximum 1; the paper's scalars are ``1 / v``.
    left_ends : ndarray of shape (K,)
        ``(M v)_i / v_i``.
    scaling : str
        How v was found: by ``"eigh"`` or, for large matrices, by ``"lobpcg"``, either with
        ``"+polish"``, or by the ``"resolvent"``.
    iterations : int
        LOBPCG iterations used.
    """

    v: FloatArray
    left_ends: FloatArray
    scaling: str
    iterations: int

    @property
    def spread(self) -> float:
        """Largest minus smallest left-end: 0 when perfectly aligned."""
        return float(self.left_ends.max() - self.left_ends.min())


def align(
    metric: FloatArray,
    min_eigenvalue: float | None = None,
    *,
    edge_threshold: float = 0.0,
    guess: FloatArray | None = None,
) -> Alignment:
    """Find ``v > 0`` under which every left-end is at least ``min(ρ, λ_min(M))``, up to round-off.

    For a connected M this is the first eigenvector, and all left-ends are λ_min(M). If some
    off-diagonals are positive, both are those of the comparison matrix, which has the same discs.

    Parameters
    ----------
    metric : ndarray of shape (K, K)
        Symmetric.
    min_eigenvalue : float, optional
        ρ; it decides how accurate v has to be. λ_min(M) when left out.
    edge_threshold : float, optional
        Edges of weight above this threshold connect.
    guess : ndarray of shape (K,), optional
        Where LOBPCG starts, such as the v of a metric nearby; for K ≤ 256 a dense solver is faster.

    Returns
    -------
    Alignment
        v and its left-ends.

    Raises
    ------
    SolverFailedError
        When no solver and no shift gives a positive vector.

    Examples
    --------
    >>> M = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
    >>> alignment = align(M)
    >>> alignment.left_ends.round(4)
    array([0.1078, 0.1078, 0.1078])
    >>> (alignment.v / np.linalg.norm(alignment.v)).round(4)
    array([0.7511, 0.4886, 0.444 ])
    """
    metric = comparison_matrix(as_symmetric("metric", metric))
    if min_eigenvalue is None:
        min_eigenvalue = smallest_eigenvalue(metric)
    min_eigenvalue = number("min_eigenvalue", min_eigenvalue)
    edge_threshold = number("edge_threshold", edge_threshold)
    if guess is not None:
        guess = as_vector("guess", guess, len(metric))
    unit = float(np.trace(metric)) / len(metric) or 1.0  # M = 0 is a metric for ρ = 0
    if n_components(metric, edge_threshold) > 1:
        return _resolvent(metric, min_eigenvalue, unit)
    vector, solver, iterations = _first_eigenvector(metric, guess, unit)
    if vector is None:
        return _resolvent(metric, min_eigenvalue, unit)
    best = Alignment(vector, left_ends(metric, vector), solver, iterations)
    if _is_accurate(metric, best, min_eigenvalue, unit):
        return best
    for v in _polish(metric, vector, unit):
        polished = Alignment(v, left_ends(metric, v), f"{solver}+polish", iterations)
        if polished.left_ends.min() > best.left_ends.min():
            best = polished
        if _is_accurate(metric, best, min_eigenvalue, unit):
            return best
    if _holds(metric, best, min_eigenvalue, unit):
        return best
    fallback = _resolvent(metric, min_eigenvalue, unit)
    return max(best, fallback, key=lambda alignment: float(alignment.left_ends.min()))


def _first_eigenvector(
    metric: FloatArray, guess: FloatArray | None, unit: float
) -> tuple[FloatArray | None, str, int]:
    """Return a positive approximation of the first eigenvector, its source, its iterations."""
    size = len(metric)
    if size > LARGEST_DENSE:
        start = np.ones(size) if guess is None else guess
        diagonal = np.maximum(np.diagonal(metric), _SMALLEST_DIAGONAL * unit)

        def preconditioned(residual: FloatArray) -> FloatArray:
            return residual * (unit / diagonal)[:, None]

        pairs = eigenpairs_by_lobpcg(
            metric / unit,
            start[:, None] / np.linalg.norm(start),
            _LOBPCG_TOLERANCE,
            _LOBPCG_ITERATIONS,
            preconditioned,
        )
        vector = None if pairs is None else _positive(pairs[1][:, 0])
        if pairs is not None and vector is not None:
            return vector, "lobpcg", pairs[2]  # the polish makes it accurate
    try:
        _, vectors = eigh(metric, subset_by_index=[0, 0], check_finite=False)
    except LinAlgError:
        return None, "", 0
    return _positive(np.asarray(vectors[:, 0], dtype=np.float64)), "eigh", 0


def _positive(vector: FloatArray) -> FloatArray | None:
    """Return the vector of magnitudes with maximum 1 and no zeros, None if it is not finite."""
    magnitudes = np.abs(vector)
    largest = float(magnitudes.max())
    if not np.isfinite(largest) or largest == 0:
        return None
    # A smaller entry is noise of the solver; the polish finds its true size.
    floored: FloatArray = np.maximum(magnitudes / largest, np.finfo(float).eps)
    return floored


def _rayleigh(metric: FloatArray, v: FloatArray) -> float:
    """Return ``v'Mv / v'v``, an upper bound of λ_min."""
    return float(v @ (metric @ v)) / float(v @ v)


def _holds(metric: FloatArray, alignment: Alignment, min_eigenvalue: float, unit: float) -> bool:
    """Say whether every left-end reaches ``min(ρ, λ_min)``, up to round-off."""
    wanted = min(min_eigenvalue, _rayleigh(metric, alignment.v))
    return bool(alignment.left_ends.min() >= wanted - _ACCURACY * unit)


def _is_accurate(
    metric: FloatArray, alignment: Alignment, min_eigenvalue: float, unit: float
) -> bool:
    """Say whether the left-ends are aligned, and high enough by `_holds`."""
    return alignment.spread <= _SPREAD * unit and _holds(metric, alignment, min_eigenvalue, unit)


def _polish(metric: FloatArray, v: FloatArray, unit: float) -> Iterator[FloatArray]:
    """Yield v after each of a few inverse iterations, σ just below an estimate of λ_min.

    If v is near a later eigenvector, ``M - σI`` is indefinite; then σ is the smallest left-end
    (Noda's iteration, 1971, which converges from every start).
    """
    for _ in range(_POLISH_ROUNDS):
        factor = shifted_factor(metric, _rayleigh(metric, v) - _MARGINS[1] * unit)
        if factor is None:
            factor = _first_factor(metric, float(left_ends(metric, v).min()), unit)
        if factor is None:
            return
        for _ in range(_POLISH_SOLVES):
            v = _solve(factor, v)
            yield v


def _resolvent(metric: FloatArray, min_eigenvalue: float, unit: float) -> Alignment:
    """Return ``v = (M - σI)⁻¹ 1`` with σ just below both ρ and λ_min: positive for every M in S."""
    wanted = min_eigenvalue
    factor = shifted_factor(metric, wanted - _MARGINS[0] * unit)
    if factor is None:
        wanted = min(min_eigenvalue, smallest_eigenvalue(metric))
        factor = _first_factor(metric, wanted, unit)
        if factor is None:
            raise SolverFailedError(
                f"M - σI has no Cholesky factor for any σ near λ_min = {wanted:.6g}"
            )
    v = np.ones(len(metric))
    best: Alignment | None = None
    for _ in range(_POLISH_SOLVES):
        v = _solve(factor, v)
        alignment = Alignment(v, left_ends(metric, v), "resolvent", 0)
        if best is None or alignment.left_ends.min() > best.left_ends.min():
            best = alignment
        if _holds(metric, best, min_eigenvalue, unit):
            break
    assert best is not None
    return best


def _solve(factor: FloatArray, v: FloatArray) -> FloatArray:
    """Return the solution of a system with a Cholesky factor, with maximum 1."""
    solution: FloatArray = dpotrs(factor, v, lower=1)[0]
    solution /= solution.max()
    return solution


def _first_factor(metric: FloatArray, estimate: float, unit: float) -> FloatArray | None:
    """Return the factor for the largest σ just below an estimate of λ_min that has one, or None."""
    for margin in _MARGINS:
        if (factor := shifted_factor(metric, estimate - margin * unit)) is not None:
            return factor
    return None
