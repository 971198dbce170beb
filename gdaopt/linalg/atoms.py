"""Atoms: the unit vectors u of the rank-one matrices ``uu'`` that metric matrices are made of.

The extreme points of the sets of metrics are ``B + τ uu'`` with a base B, and most of the vectors u
have two entries at most ("Lemma: two-sparse extreme points"). Whatever is computed for many atoms
at once is here, so that dense K-vectors appear only where the atoms are dense.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gdaopt.linalg.known_entries import Symmetric
from gdaopt.support.validation import FloatArray, read_only

__all__ = ["Atoms", "ProjectedAtoms"]

_SPARSE = 2  # up to so many entries an atom, gathering them is faster than products of matrices


@dataclass(frozen=True, eq=False)
class Atoms:
    """n unit vectors of K entries, each zero outside of a support of s indices.

    Attributes
    ----------
    support : ndarray of int, shape (n, s)
        Indices; an atom with fewer entries repeats one, with value 0.
    values : ndarray of shape (n, s)
        The entries there.

    Examples
    --------
    >>> atoms = Atoms(np.array([[0, 1], [2, 2]]), np.array([[0.6, -0.8], [1.0, 0.0]]))
    >>> atoms.dense(3)
    array([[ 0.6, -0.8,  0. ],
           [ 0. ,  0. ,  1. ]])
    >>> atoms.added_to(np.zeros((3, 3)), np.array([100.0, 2.0]))
    array([[ 36., -48.,   0.],
           [-48.,  64.,   0.],
           [  0.,   0.,   2.]])
    """

    support: npt.NDArray[np.intp]
    values: FloatArray

    @classmethod
    def of_vectors(cls, vectors: FloatArray) -> Atoms:
        """Return dense atoms, the rows of `vectors` of shape (n, K)."""
        return cls(np.broadcast_to(np.arange(vectors.shape[1]), vectors.shape), vectors)

    @classmethod
    def of_features(cls, features: npt.NDArray[np.intp]) -> Atoms:
        """Return the unit vectors ``e_i`` of the given features, as two-sparse atoms."""
        values = np.zeros((len(features), 2))
        values[:, 0] = 1.0
        return cls(np.column_stack([features, features]), values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: npt.NDArray[np.intp] | npt.NDArray[np.bool_] | slice) -> Atoms:
        return Atoms(self.support[index], self.values[index])

    def joined(self, others: Atoms) -> Atoms:
        """Return these atoms and then the others; sparse atoms become dense beside dense ones."""
        width, other_width = self.values.shape[1], others.values.shape[1]
        if width != other_width:
            size = max(width, other_width)
            return Atoms.of_vectors(np.concatenate([self.dense(size), others.dense(size)]))
        return Atoms(
            np.concatenate([self.support, others.support]),
            np.concatenate([self.values, others.values]),
        )

    def magnitude(self) -> Atoms:
        """Return the vectors ``|u_k|``."""
        return Atoms(self.support, np.abs(self.values))

    @property
    def _is_sparse(self) -> bool:
        return bool(self.values.shape[1] <= _SPARSE)

    def dense(self, n_features: int) -> FloatArray:
        """Return the vectors with all their entries, shape (n, K)."""
        if not self._is_sparse:
            return self.values
        vectors = np.zeros((len(self), n_features))
        np.add.at(vectors, (np.arange(len(self))[:, None], self.support), self.values)
        return vectors

    def projected(self, features: FloatArray) -> FloatArray:
        """Return ``X U``: the samples' coordinates along each atom, N×n for X of N×K."""
        if not self._is_sparse:
            return features @ self.values.T
        coordinates = features[:, self.support[:, 0]]
        coordinates *= self.values[:, 0]
        for entry in range(1, self.values.shape[1]):
            coordinates += features[:, self.support[:, entry]] * self.values[:, entry]
        return coordinates

    def products(self, others: Atoms) -> FloatArray:
        """Return ``u_k'v_l`` with n other atoms, shape (len(self), n)."""
        if not self._is_sparse:
            return others.projected(self.values)
        if not others._is_sparse:
            return self.projected(others.values).T
        total = np.zeros((len(self), len(others)))
        for i in range(self.values.shape[1]):
            for j in range(others.values.shape[1]):
                meets = np.equal.outer(self.support[:, i], others.support[:, j])
                total += meets * np.multiply.outer(self.values[:, i], others.values[:, j])
        return total

    def quadratic_forms(self, matrix: Symmetric) -> FloatArray:
        """Return ``u_k' G u_k`` for each atom, shape (n,), for a symmetric K×K matrix G.

        Of a matrix of `KnownEntries` those are needed that the atoms meet.
        """
        if not self._is_sparse and isinstance(matrix, np.ndarray):
            forms: FloatArray = ((self.values @ matrix) * self.values).sum(axis=1)
            return forms
        entries = matrix[self.support[:, :, None], self.support[:, None, :]]
        sums: FloatArray = np.einsum("kf,kfg,kg->k", self.values, entries, self.values)
        return sums

    def added_to(self, matrix: FloatArray, weights: FloatArray) -> FloatArray:
        """Return ``B + Σ_k w_k u_k u_k'`` for a K×K matrix B, exactly symmetric if B is."""
        if not self._is_sparse:
            root = self.values.T * np.sqrt(np.abs(weights))
            total: FloatArray = matrix + (root * np.sign(weights)) @ root.T
            return (total + total.T) / 2
        total = matrix.copy()
        for i in range(self.values.shape[1]):
            own = self.support[:, i]
            np.add.at(total, (own, own), weights * self.values[:, i] ** 2)
            for j in range(i):
                entries = weights * (self.values[:, i] * self.values[:, j])
                # The same order on both sides of the diagonal, for the same round-off.
                low, high = np.minimum(own, self.support[:, j]), np.maximum(own, self.support[:, j])
                np.add.at(total, (low, high), entries)
                np.add.at(total, (high, low), entries)
        return total


@dataclass(frozen=True, eq=False)
class ProjectedAtoms(Atoms):
    """Atoms that keep the coordinates along them of the samples that they have met.

    They are for as long as the same atoms meet the same samples again and again, as in a master
    problem.
    """

    _kept: dict[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, atoms: Atoms) -> ProjectedAtoms:
        """Return the same atoms, which keep their coordinates."""
        return atoms if isinstance(atoms, ProjectedAtoms) else cls(atoms.support, atoms.values)

    def projected(self, features: FloatArray) -> FloatArray:
        """Return ``X U``, read-only; it is computed once for each array of samples."""
        samples, coordinates = self._kept.get(id(features), (None, features))
        if samples is not features:  # the kept array is still there, so that its id is its own
            coordinates = read_only(super().projected(features))
            self._kept[id(features)] = features, coordinates
        return coordinates
