"""The gradient of an objective of pairs of samples, without its K×K entries.

It is ``G = X'SX``, where S is the gradient by the Gram matrix of the samples: minus or plus the
Laplacian of a graph on the N samples, whose edges are the pairs, weighted by the derivatives by
their distances ("Proposition: screened prices").
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from gdaopt.linalg.entries import Edges
from gdaopt.linalg.samples import Samples, column_forms, paired_sums, products_of
from gdaopt.support.validation import FloatArray

_MOST_DECOMPOSED = 500  # samples: of more the negative part is that of the pairs alone
_GATHERED = 2**18  # entries that are gathered at a time


class ScatterMatrix:
    """``G = X'SX`` for samples X and a symmetric S; -S ⪰ 0 if `is_negative`."""

    def __init__(self, samples: Samples, laplacian: FloatArray, is_negative: bool = False) -> None:
        self.samples = samples
        self._laplacian = laplacian
        self._is_negative = is_negative
        self.n_priced = 0  # entries that were computed to find the best pairs

    def __len__(self) -> int:
        return int(self.samples.shape[1])

    def less(self, other: ScatterMatrix) -> ScatterMatrix:
        """Return the difference from the matrix of other weights of the same samples."""
        return ScatterMatrix(self.samples, self._laplacian - other._laplacian)

    def products(self, columns: Samples) -> FloatArray:
        """Return ``S X_J`` for some columns of the samples, as a dense array."""
        return products_of(self._laplacian, columns)

    @cached_property
    def diagonal(self) -> FloatArray:
        """The diagonal, shape (K,)."""
        return column_forms(self._laplacian, self.samples)

    @cached_property
    def least_eigenvalues(self) -> FloatArray:
        """The diagonal of the negative part of G: no price of a pair is below ``-n_i - n_j``."""
        if self._is_negative:
            return -self.diagonal
        if len(self._laplacian) > _MOST_DECOMPOSED:
            weights = np.maximum(self._laplacian, 0.0)  # pairs that push, negative
            np.fill_diagonal(weights, 0.0)
            return column_forms(np.diag(weights.sum(axis=1)) - weights, self.samples)
        roots, signs = self.roots
        negative = roots[signs < 0]
        return column_forms(negative.T @ negative, self.samples)

    @cached_property
    def roots(self) -> tuple[FloatArray, FloatArray]:
        """R and signs ±1 with ``S = R' diag(signs) R``, both N×N and N."""
        values, vectors = np.linalg.eigh(self._laplacian)
        return np.sqrt(np.abs(values))[:, None] * vectors.T, np.where(values < 0, -1.0, 1.0)

    def __getitem__(self, index: Edges) -> FloatArray:
        """Return the entries of some rows and columns, given as two arrays of the same shape."""
        rows, columns = np.broadcast_arrays(*index)
        entries: FloatArray = self.diagonal[rows]  # a copy
        apart = np.nonzero(rows != columns)
        i, j = rows[apart], columns[apart]
        order, features = np.argsort(j, kind="stable"), np.unique(j)
        off_diagonal = np.empty(len(i))
        step = max(1, _GATHERED // len(self._laplacian))
        for start in range(0, len(features), step):  # each column meets S once
            run = features[start : start + step]
            pairs = order[slice(*np.searchsorted(j, [run[0], run[-1] + 1], sorter=order))]
            edges = i[pairs], np.searchsorted(run, j[pairs])
            products = self.products(self.samples[:, run])
            off_diagonal[pairs] = paired_sums(self.samples, products, edges)
        entries[apart] = off_diagonal
        return entries

    @cached_property
    def largest_entry(self) -> float:
        """A number that no magnitude of an entry is above; it may be somewhat larger."""
        sizes: FloatArray = np.abs(self.diagonal) + 2 * self.least_eigenvalues
        return float(np.max(sizes))
