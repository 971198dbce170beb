"""How large matrices are, entry by entry: what their round-off is relative to.

Sums of magnitudes are taken over runs of rows that stay in cache, because an array of all
magnitudes would leave it.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dlange
from scipy.sparse import csr_array, issparse

from gdaopt.support.validation import FloatArray

_RUN_ENTRIES = 2**18  # entries of a run of rows: 2 MB


def norm(matrix: FloatArray) -> float:
    """Return the Frobenius norm; LAPACK scales, so that squares neither under- nor overflow."""
    return float(dlange("F", matrix.T)) if matrix.size else 0.0  # type: ignore[call-arg]


def largest_entry(matrix: FloatArray) -> float:
    """Return the largest magnitude of an entry."""
    return max(float(matrix.max()), -float(matrix.min()))


def magnitude_inner(first: FloatArray, second: FloatArray) -> float:
    """Return ``⟨|G|, |H|⟩``."""
    step, total = max(1, _RUN_ENTRIES // len(first)), 0.0
    for start in range(0, len(first), step):
        run = slice(start, start + step)
        total += float(np.vdot(np.abs(first[run]), np.abs(second[run])))
    return total


def magnitude_form(matrix: FloatArray | csr_array, vector: FloatArray) -> float:
    """Return ``v'|G|v`` for an array or a sparse matrix G."""
    if issparse(matrix):
        return float(vector @ (abs(matrix) @ vector))
    step, total = max(1, _RUN_ENTRIES // len(matrix)), 0.0
    for start in range(0, len(matrix), step):
        run = slice(start, start + step)
        total += float(vector[run] @ (np.abs(matrix[run]) @ vector))
    return total
