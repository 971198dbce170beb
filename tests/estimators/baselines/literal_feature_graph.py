"""Feature graph learning written out by its formulas, as a reference."""

import math

import numpy as np
from scipy.optimize import bisect

from gdaopt.support.validation import FloatArray

LEAST = 1e-9  # lower bound of the eigenvalues, in units of C/K


def literal_fit(
    X: FloatArray, z: FloatArray, tolerance: float = 1e-5, inner_tolerance: float = 1e-3
) -> tuple[FloatArray, list[float]]:
    """Return M and the objective after each step, for labels ±1 and C = K."""
    n, size = X.shape
    M = np.eye(size) + 0.1 * np.eye(size, k=1) + 0.1 * np.eye(size, k=-1)
    rate = 0.1 / n
    history = [regulariser(X, z, M)]
    while True:
        before = history[-1]
        for row in [None, *range(size)]:
            while True:
                slopes = derivatives(X, z, M, row)
                first = True
                lower = None
                trial_rate = rate
                for _ in range(60):
                    candidate = moved(M, row, trial_rate * slopes)
                    if candidate is None:
                        break
                    value = regulariser(X, z, candidate)
                    if value <= history[-1]:
                        lower = candidate
                        break
                    if first and not allowed(M, row):
                        limit = moved(M, row, np.zeros(size))
                        if limit is None or regulariser(X, z, limit) > history[-1]:
                            break
                    first = False
                    trial_rate /= 2
                if lower is None:
                    break
                M = lower
                rate = trial_rate * 1.01
                history.append(value)
                if history[-2] - history[-1] <= inner_tolerance:
                    break
        if before - history[-1] <= tolerance:
            return M, history


def terms_of(X: FloatArray, z: FloatArray, M: FloatArray) -> FloatArray:
    """Return the terms of the regulariser, of all ordered pairs."""
    D = X[:, None] - X
    terms: FloatArray = np.exp(-np.einsum("ija,ab,ijb->ij", D, M, D)) * (z[:, None] - z) ** 2
    return terms


def regulariser(X: FloatArray, z: FloatArray, M: FloatArray) -> float:
    return float(terms_of(X, z, M).sum()) / 2


def derivatives(X: FloatArray, z: FloatArray, M: FloatArray, row: int | None) -> FloatArray:
    """Return the derivatives by the diagonal or by a row, of the sum over ordered pairs."""
    D = X[:, None] - X
    slopes: FloatArray = -np.einsum("ij,ija,ijb->ab", terms_of(X, z, M), D, D)
    if row is None:
        return np.diagonal(slopes)
    slopes[row, row] = 0.0
    return np.asarray(2 * slopes[row])


def off_diagonal(M: FloatArray) -> FloatArray:
    return M - np.diag(np.diagonal(M))


def radius(M: FloatArray, row: int) -> float:
    others = np.delete(np.delete(M, row, axis=0), row, axis=1)
    smallest = float(np.linalg.eigvalsh(others)[0])
    return math.sqrt((smallest - LEAST) * (float(M[row, row]) - LEAST))


def allowed(M: FloatArray, row: int | None) -> bool:
    if row is None:
        return bool((np.diagonal(M) >= np.abs(off_diagonal(M)).sum(axis=1) + LEAST).all())
    return float(np.linalg.norm(off_diagonal(M)[row])) <= radius(M, row)


def moved(M: FloatArray, row: int | None, step: FloatArray) -> FloatArray | None:
    """Return the metric with new entries, or None if its floors would exceed the bound."""
    size = len(M)
    new = M.copy()
    if row is None:
        floors = np.abs(off_diagonal(M)).sum(axis=1) + LEAST
        wanted = np.maximum(np.diagonal(M) - step, floors)
        if wanted.sum() > size:
            surplus = bisect(
                lambda x: np.maximum(wanted - x, floors).sum() - size, 0, wanted.max(), xtol=1e-15
            )
            wanted = np.maximum(wanted - surplus, floors)
        np.fill_diagonal(new, wanted)
        return new
    entries = off_diagonal(M)[row] - step
    entries *= min(1.0, radius(M, row) / max(float(np.linalg.norm(entries)), 1e-300))
    entries[row] = M[row, row]
    new[row] = new[:, row] = entries
    return None if np.abs(off_diagonal(new)).sum() > size * (1 - 2 * LEAST) else new
