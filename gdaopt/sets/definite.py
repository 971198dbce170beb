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
from gdaopt.sets.protocol import FeasibleSet, PricedAtoms, checked_gradient
from gdaopt.validation import FloatArray

__all__ = ["PositiveDefiniteMetrics"]

_EDGE_COUNTS = 1e-9  # off-diagonals above this multiple of C/K connect


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

    trace_bound: float
    min_eigenvalue: float = 1e-6
    all_unit_vectors: ClassVar[bool] = True

    def best_atoms(
        self, gradient: FloatArray, count: int = 1, guess: Atoms | None = None
    ) -> PricedAtoms:
        """Return the eigenvectors of the smallest eigenvalues; `guess` warm-starts large ones."""
        gradient = checked_gradient(gradient)
        start = None if guess is None else guess.dense(len(gradient))
        prices, vectors = smallest_eigenpairs(gradient, count, start)
        return PricedAtoms(Atoms.of_vectors(vectors), prices)

    def centre(self, n_features: int) -> tuple[Atoms, FloatArray]:
        """Return atoms and weights of ``B + (τ/K) I``, in the middle of the set."""
        _, weights = super().centre(n_features)
        return Atoms.of_vectors(np.eye(n_features)), weights

    def _decomposed(self, metric: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return the eigenvectors, and the eigenvalues above ρ as weights."""
        values, vectors = eigh(metric)
        weights = np.maximum(values - self.min_eigenvalue, 0.0)
        return Atoms.of_vectors(np.ascontiguousarray(vectors.T)), weights

    def _projected(
        self,
        above: FloatArray,
        budget: float,
        accuracy: float,  # noqa: ARG002 (closed form)
        correction: FloatArray | None,  # noqa: ARG002 (closed form)
    ) -> Projection:
        nearest = project_spectrum(above, lambda values: project_on_bounded_sum(values, budget))
        return Projection(nearest, eigen_decompositions=1)

    def n_components(self, metric: FloatArray) -> int:
        """Return the number of components of the graph of off-diagonals of either sign."""
        return laplacian.n_components(
            -np.abs(metric), _EDGE_COUNTS * self.trace_bound / len(metric)
        )
