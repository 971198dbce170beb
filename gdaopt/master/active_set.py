"""The active set: the atoms and weights of a metric ``B + Σ_k w_k u_k u_k'``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.support.validation import FloatArray

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

    def without_zeros(self) -> ActiveSet:
        """Return the active set without the atoms of weight 0."""
        kept = self.weights > 0
        return ActiveSet(self.atoms[kept], self.weights[kept])

    def with_new(self, atoms: Atoms) -> ActiveSet:
        """Return the active set with new atoms, of weight 0; atoms it already has do not join."""
        if not len(self):
            return ActiveSet(atoms, np.zeros(len(atoms)))
        new = atoms[self.nearest(atoms)[1] > _SAME]
        return ActiveSet(self.atoms.joined(new), np.concatenate([self.weights, np.zeros(len(new))]))

    def with_one(self, atom: Atoms) -> tuple[ActiveSet, int]:
        """Return the active set with an atom, and the atom's index; it joins if it is new."""
        if len(self):
            nearest, distance = self.nearest(atom)
            if distance[0] <= _SAME:
                return self, int(nearest[0])
        return self.with_new(atom), len(self)

    def on_the_way(self, other: ActiveSet, share: float) -> ActiveSet:
        """Return the metric that is a share of the way to another active set's."""
        joined = self.with_new(other.atoms)
        weights = (1 - share) * joined.weights
        np.add.at(weights, joined.nearest(other.atoms)[0], share * other.weights)
        return ActiveSet(joined.atoms, weights)

    def nearest(self, atoms: Atoms) -> tuple[np.ndarray, FloatArray]:
        """Return for each given atom the index of the nearest own atom, and the distance to it.

        u and -u are the same atom.
        """
        cosines = np.abs(atoms.products(self.atoms))
        nearest = cosines.argmax(axis=1)
        cosine = np.minimum(cosines[np.arange(len(atoms)), nearest], 1.0)
        return nearest, np.sqrt(2 * (1 - cosine))
