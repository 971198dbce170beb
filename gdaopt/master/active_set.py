"""The active set: the atoms that a metric is a sum of, and their weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import IndexArray
from gdaopt.support.validation import FloatArray

Mask = npt.NDArray[np.bool_]

_SAME = 1e-7  # distance of two atoms that count as one; an objective changes by its square


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """Atoms and their weights w ≥ 0, of shape (n,)."""

    atoms: Atoms
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.weights.sum())

    def select(self, mask: Mask) -> ActiveSet:
        """Return the atoms for which a mask of shape (n,) is true."""
        return self if mask.all() else ActiveSet(self.atoms[mask], self.weights[mask])

    def without_zeros(self) -> ActiveSet:
        """Return the active set without the atoms of weight 0."""
        return self.select(self.weights > 0)

    def with_new(self, atoms: Atoms) -> ActiveSet:
        """Return the active set with new atoms, of weight 0; atoms it already has do not join."""
        if not len(self):
            return ActiveSet(atoms, np.zeros(len(atoms)))
        new = atoms[self.nearest(atoms)[1] > _SAME]
        return ActiveSet(self.atoms.joined(new), np.concatenate([self.weights, np.zeros(len(new))]))

    def on_the_way(self, other: ActiveSet, share: float) -> ActiveSet:
        """Return the metric that is a share of the way to another active set's."""
        joined = self.with_new(other.atoms)
        weights = (1 - share) * joined.weights
        np.add.at(weights, joined.nearest(other.atoms)[0], share * other.weights)
        return ActiveSet(joined.atoms, weights)

    def nearest(self, atoms: Atoms) -> tuple[IndexArray, FloatArray]:
        """Return for each atom the nearest of the active set, up to its sign, and its distance."""
        cosines = np.abs(atoms.products(self.atoms))
        nearest = cosines.argmax(axis=1)
        cosine = np.minimum(cosines[np.arange(len(atoms)), nearest], 1.0)
        return nearest, np.sqrt(2 * (1 - cosine))
