"""Positive definite metrics: no condition on single entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh

from gdaopt.linalg import laplacian
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.projection import Projection, project_on_bounded_sum, project_spectrum
from gdaopt.linalg.spectrum import smallest_eigenpairs
from gdaopt.sets.family import AtomFamily, PricedAtoms
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.validation import FloatArray

__all__ = ["AllUnitVectors", "PositiveDefiniteMetrics"]


class AllUnitVectors(AtomFamily):
    """All unit vectors: their cone is that of the positive semidefinite matrices."""

    all_unit_vectors: ClassVar[bool] = True

    def best_atoms(
        self, gradient: FloatArray, count: int = 1, guess: Atoms | None = None
    ) -> PricedAtoms:
        """Return the eigenvectors of the smallest eigenvalues; `guess` warm-starts large ones."""
        start = None if guess is None else guess.dense(len(gradient))
        prices, vectors = smallest_eigenpairs(gradient, count, start)
        return PricedAtoms(Atoms.of_vectors(vectors), prices)

    def decomposed(self, above: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return the eigenvectors, with the eigenvalues as weights."""
        values, vectors = eigh(above)
        return Atoms.of_vectors(np.ascontiguousarray(vectors.T)), np.maximum(values, 0.0)

    def basis(self, n_features: int) -> Atoms:
        """Return the unit vectors ``e_i``, as dense as all atoms of this family are."""
        return Atoms.of_vectors(np.eye(n_features))

    def projected(
        self,
        above: FloatArray,
        budget: float,
        accuracy: float,  # noqa: ARG002 (closed form)
        correction: FloatArray | None,  # noqa: ARG002 (closed form)
    ) -> Projection:
        """Project the eigenvalues on the values ≥ 0 whose sum is at most τ."""
        nearest = project_spectrum(above, lambda values: project_on_bounded_sum(values, budget))
        return Projection(nearest, eigen_decompositions=1)

    def n_components(self, metric: FloatArray, threshold: float) -> int:
        """Return the number of components of the graph of off-diagonals of either sign."""
        return laplacian.n_components(-np.abs(metric), threshold)


@dataclass(frozen=True)
class PositiveDefiniteMetrics(FeasibleSet):
    """The set ``{M symmetric, M ⪰ ρI, tr M ≤ C}``; every unit vector is an atom.

    Parameters
    ----------
    trace_bound : float
        C, above ``K ρ``.
    min_eigenvalue : float, optional
        ρ ≥ 0.

    Raises
    ------
    InvalidInputError
        For negative, infinite or NaN values.

    Examples
    --------
    >>> feasible_set = PositiveDefiniteMetrics(trace_bound=2.0, min_eigenvalue=0.0)
    >>> feasible_set.minimize_linear(np.diag([1.0, -3.0])).value
    -6.0
    """

    name: ClassVar[str] = "definite"

    trace_bound: float
    min_eigenvalue: float = 1e-6

    @property
    def family(self) -> AllUnitVectors:
        """All unit vectors."""
        return AllUnitVectors()
