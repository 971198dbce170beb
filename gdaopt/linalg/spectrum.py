"""The lower end of the spectrum of symmetric matrices."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.linalg.lapack import dpotrf, dsyevr

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.laplacian import connected_features
from gdaopt.linalg.magnitudes import largest_entry
from gdaopt.support.deadline import check_time, check_time_for
from gdaopt.support.validation import FloatArray, as_symmetric, finite_array, integer
from gdaopt.support.warning_filters import ignoring

LARGEST_DENSE = 256
"""Up to this size a dense solver is the fastest."""

_WORK = 40  # numbers for each feature that LAPACK works with: enough for its blocks of 32 columns
_LARGE = 1000  # features: eigenvalues of fewer take a tenth of a second or less
_TIMED = 512  # features of the matrix whose eigenvalue is timed
_UNCACHED = 1.5  # larger matrices take that much longer than K³: they do not fit the cache
_FACTOR = 0.1  # a share of the time of eigenvalues: a Cholesky factor
_LOBPCG_ITERATIONS = 40
_LOBPCG_TOLERANCE = 1e-9  # a share of the largest entry: values are then exact to the square of it
_MARGIN = 1e-13  # a share of the sum of magnitudes on the diagonal: round-off of a factorisation


def smallest_eigenvalue(metric: FloatArray) -> float:
    """Return λ_min of a symmetric matrix, of a large one component by component."""
    metric = as_symmetric("metric", metric)
    if len(metric) <= LARGEST_DENSE:
        return _smallest(metric)
    return float(component_eigenvalues(metric).min())


def component_eigenvalues(metric: FloatArray) -> FloatArray:
    """Return for each feature λ_min of the component that it is in, connected by entries ≠ 0."""
    metric = as_symmetric("metric", metric)
    values = np.diagonal(metric).copy()  # right if a component is a single feature
    for index in connected_features(metric):
        values[index] = _smallest(metric[np.ix_(index, index)])
    return values


def is_at_least(metric: FloatArray, bound: float) -> bool:
    """Say whether Cholesky factors prove, up to round-off, that no eigenvalue is below a bound."""
    if len(metric) <= LARGEST_DENSE:
        return shifted_factor(metric, bound) is not None
    return bool(np.diagonal(metric).min() >= bound) and all(
        shifted_factor(metric[np.ix_(index, index)], bound) is not None
        for index in connected_features(metric)
    )


def shifted_factor(matrix: FloatArray, sigma: float) -> FloatArray | None:
    """Return Cholesky's factor of ``M - σI`` in the lower triangle, None if it has none."""
    shifted = matrix.T.copy(order="F")  # as LAPACK stores it
    shifted.flat[:: len(shifted) + 1] -= sigma
    factor: FloatArray
    factor, failed = dpotrf(shifted, lower=1, clean=0, overwrite_a=1)
    return None if failed else factor


def _smallest(matrix: FloatArray) -> float:
    _check_time_for(len(matrix))
    unit = _unit(matrix)
    # What `eigh` calls, too; for small matrices most of its time goes into getting there.
    values, *_, failed = dsyevr(
        (matrix / unit).T,
        compute_v=0,
        range="I",
        il=1,
        iu=1,
        lower=1,
        lwork=_WORK * len(matrix),
        overwrite_a=1,
    )
    if failed:
        raise LinAlgError(f"LAPACK's dsyevr failed with code {failed}")
    return float(values[0]) * unit


def _check_time_for(size: int, share: float = 1.0) -> None:
    """Raise `TimeLimitError` when the time left is less than a share of the expected."""
    if size > _LARGE:
        check_time_for(share * _UNCACHED * (size / _TIMED) ** 3 * _seconds())


@cache
def _seconds() -> float:
    """Return how long the smallest eigenvalue of a matrix of `_TIMED` features takes here."""
    matrix = np.random.default_rng(0).standard_normal((_TIMED, _TIMED))
    matrix += matrix.T
    durations = []
    for _ in range(2):  # the first one also loads the library
        start = time.perf_counter()
        eigh(matrix, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)
        durations.append(time.perf_counter() - start)
    return min(durations)


def _unit(matrix: FloatArray) -> float:
    """Return a power of two near the largest entry: of tiny ones LAPACK loses digits."""
    return math.ldexp(1.0, math.frexp(largest_entry(matrix))[1] - 1)


def smallest_eigenpairs(
    matrix: FloatArray, count: int, guess: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the smallest eigenvalues of a symmetric matrix, ascending, and eigenvectors as rows.

    LOBPCG starts at the guess, rows of approximate eigenvectors, when the matrix is large. A
    Cholesky factor then proves the first value; the others may be any eigenvalues.
    """
    matrix = as_symmetric("matrix", matrix)
    size = len(matrix)
    if guess is not None:
        guess = finite_array("guess", guess, ndim=2)
        if guess.shape[1] != size:
            raise InvalidInputError(f"guess must have {size} columns, got shape {guess.shape}")
    count = min(integer("count", count, at_least=1), size)
    if size > LARGEST_DENSE and guess is not None and 5 * count < size:
        pairs = _warm_eigenpairs(matrix, count, guess)
        if pairs is not None:
            return pairs
    _check_time_for(size)
    unit = _unit(matrix)
    values, vectors = eigh(matrix / unit, subset_by_index=[0, count - 1], check_finite=False)
    return values * unit, np.ascontiguousarray(vectors.T)


def _warm_eigenpairs(
    matrix: FloatArray, count: int, guess: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return the eigenpairs by LOBPCG, or None when it did not find the smallest one."""
    size = len(matrix)
    unit = largest_entry(matrix) or 1.0
    scaled = matrix / unit
    guesses = np.empty((size, count))
    n_guesses = min(len(guess), count)
    guesses[:, :n_guesses] = guess[:n_guesses].T
    guesses[:, n_guesses:] = np.random.default_rng(0).standard_normal((size, count - n_guesses))

    # An inexact vector is an atom as well; the factor below proves the bound on the value.
    pairs = eigenpairs_by_lobpcg(scaled, guesses, _LOBPCG_TOLERANCE, _LOBPCG_ITERATIONS)
    if pairs is None:
        return None
    order = np.argsort(pairs[0])
    values, vectors = pairs[0][order], pairs[1][:, order]
    margin = _MARGIN * float(np.abs(np.diagonal(scaled)).sum())
    _check_time_for(size, _FACTOR)
    if shifted_factor(scaled, float(values[0]) - margin) is None:
        return None
    values[0] -= margin  # the factor proves this lower bound
    return values * unit, np.ascontiguousarray(vectors.T)


def eigenpairs_by_lobpcg(
    matrix: FloatArray,
    guesses: FloatArray,
    tolerance: float,
    iterations: int,
    preconditioner: Callable[[FloatArray], FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray, int] | None:
    """Return eigenvalues, eigenvectors and iterations, to be checked; None if it breaks down."""
    from scipy.sparse.linalg import lobpcg  # on demand: only large matrices need it

    def product(vectors: FloatArray) -> FloatArray:
        check_time()  # once in each iteration
        _check_time_for(len(matrix), 0.0)
        return matrix @ vectors

    try:
        with ignoring(module=r"gdaopt\.linalg\."):  # its warnings of inexact vectors
            values, vectors, history = lobpcg(
                product,
                guesses,
                M=preconditioner,
                tol=tolerance,
                maxiter=iterations,
                largest=False,
                retLambdaHistory=True,
            )
    except (LinAlgError, ValueError):
        return None  # its Gram matrices are not positive definite
    return np.asarray(values), np.asarray(vectors, dtype=np.float64), len(history) - 1
