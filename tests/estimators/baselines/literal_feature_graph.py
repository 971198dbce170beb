"""Feature graph learning written out in loops over samples, pairs and rows, as a reference."""

from __future__ import annotations

import math

import numpy as np

from gdaopt.support.validation import FloatArray

LEAST = 1e-9  # lower bound of the eigenvalues, in units of C/K


def literal_fit(
    X: FloatArray, z: FloatArray, tolerance: float = 1e-5, inner_tolerance: float = 1e-3
) -> tuple[FloatArray, list[float]]:
    """Return M and the objective after each step, for labels ±1 and C = K."""
    n, size = X.shape
    M = np.eye(size)
    for i in range(size - 1):
        M[i, i + 1] = M[i + 1, i] = 0.1
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
                    candidate = moved(M, row, [trial_rate * slope for slope in slopes])
                    if candidate is None:
                        break
                    value = regulariser(X, z, candidate)
                    if value <= history[-1]:
                        lower = candidate
                        break
                    if first and not allowed(M, row):
                        limit = moved(M, row, [0.0] * size)
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


def weight(X: FloatArray, M: FloatArray, i: int, j: int) -> float:
    distance = 0.0
    for a in range(len(M)):
        for b in range(len(M)):
            distance += (X[i, a] - X[j, a]) * M[a, b] * (X[i, b] - X[j, b])
    return math.exp(-distance)


def regulariser(X: FloatArray, z: FloatArray, M: FloatArray) -> float:
    total = 0.0
    for i in range(len(X)):
        for j in range(len(X)):
            if z[i] != z[j]:
                total += weight(X, M, i, j) * float(z[i] - z[j]) ** 2 / 2
    return total


def derivatives(X: FloatArray, z: FloatArray, M: FloatArray, row: int | None) -> list[float]:
    """Return the derivatives by the diagonal or by a row, of the sum over ordered pairs."""
    slopes = [0.0] * len(M)
    for i in range(len(X)):
        for j in range(len(X)):
            if z[i] == z[j]:
                continue
            term = weight(X, M, i, j) * float(z[i] - z[j]) ** 2
            for a in range(len(M)):
                difference = float(X[i, a] - X[j, a])
                if row is None:
                    slopes[a] -= term * difference**2
                elif a != row:
                    slopes[a] -= 2 * term * difference * float(X[i, row] - X[j, row])
    return slopes


def floor(M: FloatArray, i: int) -> float:
    return sum(abs(float(M[i, j])) for j in range(len(M)) if j != i)


def radius(M: FloatArray, row: int) -> float:
    others = [i for i in range(len(M)) if i != row]
    smallest = float(np.linalg.eigvalsh(M[np.ix_(others, others)])[0])
    return math.sqrt((smallest - LEAST) * (float(M[row, row]) - LEAST))


def length(M: FloatArray, row: int) -> float:
    return math.sqrt(sum(float(M[row, j]) ** 2 for j in range(len(M)) if j != row))


def allowed(M: FloatArray, row: int | None) -> bool:
    if row is None:
        return all(M[i, i] >= floor(M, i) + LEAST for i in range(len(M)))
    return length(M, row) <= radius(M, row)


def moved(M: FloatArray, row: int | None, step: list[float]) -> FloatArray | None:
    """Return the metric with new entries, or None if its floors would exceed the bound."""
    size = len(M)
    new = M.copy()
    if row is None:
        floors = [floor(M, i) + LEAST for i in range(size)]
        wanted = [max(float(M[i, i]) - step[i], floors[i]) for i in range(size)]
        if sum(wanted) > size:
            low, high = 0.0, max(wanted)  # bisection finds the number to subtract from all of them
            for _ in range(200):
                middle = (low + high) / 2
                total = sum(max(w - middle, f) for w, f in zip(wanted, floors, strict=True))
                low, high = (middle, high) if total > size else (low, middle)
            wanted = [max(w - high, f) for w, f in zip(wanted, floors, strict=True)]
        for i in range(size):
            new[i, i] = wanted[i]
        return new
    for j in range(size):
        if j != row:
            new[row, j] = new[j, row] = M[row, j] - step[j]
    longest = radius(M, row)
    if length(new, row) > longest:
        factor = longest / length(new, row)
        for j in range(size):
            if j != row:
                new[row, j] = new[j, row] = new[row, j] * factor
    if sum(floor(new, i) for i in range(size)) > size * (1 - 2 * LEAST):
        return None
    return new
