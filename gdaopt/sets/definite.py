"""Positive definite metrics: no condition on single entries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.masked import Symmetric
from gdaopt.linalg.projection import Projection, project_on_bounded_sum, project_spectrum
from gdaopt.linalg.spectrum import smallest_eigenpairs
from gdaopt.objectives.round_off import UNIT
from gdaopt.sets.family import AtomFamily, PricedAtoms
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.support.validation import FloatArray

_SHARES = (1e-12, 1e-8, 1e-4, 1e-2)  # of the round-off of an eigenvalue


class AllUnitVectors(AtomFamily):
    """All unit vectors: their cone is the cone of the positive semidefinite matrices."""

    all_unit_vectors: ClassVar[bool] = True

    def best_atoms(
        self, gradient: Symmetric, count: int = 1, guess: Atoms | None = None
    ) -> PricedAtoms:
        """Return the eigenvectors of the smallest eigenvalues; `guess` warm-starts large ones."""
        assert isinstance(gradient, np.ndarray)  # as `gradient_at` returns it
        start = guess[:count].dense(len(gradient)) if guess is not None and len(guess) else None
        prices, vectors = smallest_eigenpairs(gradient, count, start)
        return PricedAtoms(Atoms.of_vectors(vectors), prices)

    def least_price(self, price: float, gradient: Symmetric, errors: FloatArray) -> float:
        """Return it for eigenvalues: their round-off is relative to the norm of G.

        Where that is more than the errors of the gradient, numbers are tried that are closer to the
        price: -σ is one if ``G + σI`` less a little of its diagonal has a Cholesky factor, whose
        round-off is relative to the diagonal, entry by entry.
        """
        assert isinstance(gradient, np.ndarray)  # as `gradient_at` returns it
        of_gradient, default = float(errors @ errors), super().least_price(price, gradient, errors)
        own = price - default - of_gradient
        if own <= of_gradient:
            return default
        size = len(gradient)
        for share in _SHARES:
            shifted = gradient + (max(-price, 0.0) + share * own) * np.eye(size)
            shifted[np.diag_indices(size)] *= 1 - 2 * size * (size + 3) * UNIT
            _, failed = dpotrf(shifted, lower=1, overwrite_a=1)
            if not failed:
                return -max(-price, 0.0) - share * own - of_gradient
        return default

    def decomposed(self, beyond_base: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return the eigenvectors, with the eigenvalues as weights."""
        values, vectors = eigh(beyond_base)
        return Atoms.of_vectors(np.ascontiguousarray(vectors.T)), np.maximum(values, 0.0)

    def basis(self, n_features: int) -> Atoms:
        """Return the unit vectors ``e_i``; dense ones would take products of K×K matrices."""
        if n_features == 1:  # beside dense atoms of a single entry
            return Atoms.of_vectors(np.eye(1))
        return super().basis(n_features)

    def projected(
        self,
        beyond_base: FloatArray,
        budget: float,
        _accuracy: float,
        _correction: FloatArray | None,
        /,
    ) -> Projection:
        """Project the eigenvalues on the values ≥ 0 whose sum is at most τ."""
        nearest = project_spectrum(
            beyond_base, lambda values: project_on_bounded_sum(values, budget)
        )
        return Projection(nearest, eigen_decompositions=1)


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

    @cached_property
    def family(self) -> AllUnitVectors:
        return AllUnitVectors()
