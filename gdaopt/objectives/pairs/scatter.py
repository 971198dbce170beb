"""Sums ``Σ_p c_p d_p d_p'`` over pairs of samples, whose K×K matrix is made on demand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.samples import paired_sums
from gdaopt.support.validation import FloatArray


@dataclass(eq=False)
class Scatter:
    """``Σ_p c_p d_p d_p' = X'Y + Y'X + R``: no K×K matrix is made until it is asked for.

    X are the samples and Y, of the same shape, half of the Laplacian of the coefficients times X. R
    is what has been added up otherwise, None if that is nothing.
    """

    samples: FloatArray
    half: FloatArray
    rest: FloatArray | None = None
    matrix: FloatArray | None = None  # all of it, if it has been made

    @classmethod
    def of(cls, matrix: FloatArray) -> Scatter:
        """Return a symmetric K×K matrix as a scatter."""
        nothing = np.zeros((0, len(matrix)))
        return cls(nothing, nothing, matrix=matrix)

    @property
    def dense(self) -> FloatArray:
        """The K×K matrix, exactly symmetric."""
        if self.matrix is None:
            total: FloatArray = self.samples.T @ self.half
            if self.rest is not None:
                total += self.rest / 2  # BLAS does not round products alike on both sides
            self.matrix = total + total.T
        return self.matrix

    def quadratic_forms(self, atoms: Atoms) -> FloatArray:
        """Return ``u_k' G u_k`` for n atoms."""
        if self.matrix is not None:
            return atoms.quadratic_forms(self.matrix)
        samples, half = atoms.projected(self.samples), atoms.projected(self.half)
        forms: FloatArray = 2 * np.einsum("ik,ik->k", samples, half)
        return forms if self.rest is None else forms + atoms.quadratic_forms(self.rest)

    def entries(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        """Return some entries, each in O(N)."""
        if self.matrix is not None:
            return self.matrix[rows, columns]
        if len(columns) and (columns == columns[0]).all():  # products with one column are faster
            of_column = self.samples.T @ self.half[:, columns[0]]
            of_column += self.half.T @ self.samples[:, columns[0]]
            return of_column[rows] + (0.0 if self.rest is None else self.rest[rows, columns])
        entries = paired_sums(self.samples, self.half, (rows, columns))
        entries += paired_sums(self.half, self.samples, (rows, columns))
        return entries if self.rest is None else entries + self.rest[rows, columns]
