"""Families of atoms: the unit vectors u that a set of metrics is made of.

A set of metrics is the convex hull of a base B and the points ``B + τ uu'``, where u runs through a
family of unit vectors and the budget τ is the trace bound less the trace of B
("Lemma: two-sparse extreme points"). The family decides what kind of metrics there are: which atom
is the best for a gradient, how a metric is written as a sum of atoms, and which matrices N = M - B
are such sums at all. A family does not depend on the bounds of the set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import Edges, all_edges
from gdaopt.linalg.magnitudes import norm
from gdaopt.linalg.projection import (
    Projection,
    project_on_bounded_sum,
    project_on_intersection,
    project_spectrum,
)
from gdaopt.linalg.spectrum import smallest_eigenpairs
from gdaopt.objectives.protocol import Point
from gdaopt.objectives.round_off import UNIT
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray, check_finite

_EIGENVALUE_ROUNDINGS = 8  # times K: the backward error of LAPACK's eigenvalues in units of u
_SHARES = (1e-12, 1e-8, 1e-4, 1e-2)  # a share of the round-off of an eigenvalue


@dataclass(frozen=True, eq=False)
class PricedAtoms:
    """n atoms u and their prices ``u'Gu``, ascending: the best first.

    The price of an atom is the slope of the objective along its weight. In the terms of linear
    programming it is the reduced cost of the column ``uu'``, before the multiplier of the trace
    bound is added. The first is never above the least price of all atoms of the family.
    """

    atoms: Atoms
    prices: FloatArray


class AtomFamily(ABC):
    """A family of unit vectors, and the cone of all sums ``N = Σ_k w_k u_k u_k'`` with w ≥ 0.

    A metric of the set is ``M = B + N``: N is its part beyond the base, `atomic_part` below.

    A subclass must write `best_atoms` and `decomposed`. Unless all positive semidefinite matrices
    are in the cone, it also writes the conditions on the off-diagonals of N twice: as the nearest
    matrix that keeps them (`with_feasible_entries`) and for CVXPY (`to_cvxpy`).

    Attributes
    ----------
    all_unit_vectors : bool
        Whether every unit vector is an atom, so that the atoms of an active set can be refined
        ("Algorithm: Burer–Monteiro refinement").
    is_entrywise : bool
        Whether N need only be positive semidefinite and keep the conditions on off-diagonals.
        Otherwise its comparison matrix has to be positive semidefinite.
    """

    all_unit_vectors: ClassVar[bool] = False
    is_entrywise: bool = True

    # --- atoms -------------------------------------------------------------------------------

    def gradient_at(self, point: Point) -> FloatArray:
        """Return an objective's gradient; entries that no atom meets may be 0 instead."""
        return point.gradient()

    @abstractmethod
    def best_atoms(
        self, gradient: FloatArray, count: int = 1, guess: Atoms | None = None, /
    ) -> PricedAtoms:
        """Return at most `count` atoms of the least prices ``u'Gu``, best first.

        G is as `gradient_at` returns it; one that is not finite is refused. The guess are good
        atoms for a gradient nearby, where an iterative search starts.
        """

    def least_price(self, price: float, gradient: FloatArray, errors: FloatArray, /) -> float:
        """Return a lower bound of all prices of the exact gradient.

        It is the computed price of the best atom, less its round-off ("Proposition: round-off of
        the certificate"). By `errors` g ≥ 0 the exact gradient is within ``g_i g_j`` of each entry.
        The default is right for all families whose least price is an eigenvalue of G or of one of
        its blocks.
        """
        backward = _EIGENVALUE_ROUNDINGS * len(gradient) * UNIT
        return price - float(errors @ errors) - backward * norm(gradient)

    @abstractmethod
    def decomposed(self, atomic_part: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return atoms and weights w ≥ 0 with ``N = Σ_k w_k u_k u_k'``, up to round-off."""

    def basis(self, n_features: int) -> Atoms:
        """Return K atoms that are orthogonal: the unit vectors ``e_i``."""
        return Atoms.of_features(np.arange(n_features))

    def all_supports(self, n_features: int, /) -> Atoms | None:  # noqa: ARG002
        """Return an atom of each support and each choice of signs; None for families without.

        All vectors of these supports and signs must be multiples of atoms: then quasi-Newton steps
        can change their entries ("Algorithm: fully corrective Frank–Wolfe without convexity").
        """
        return None

    # --- the matrices of the cone -------------------------------------------------------------

    def edges_of(self, n_features: int, /) -> Edges:
        """Return the pairs i < j of features whose entries N_ij may differ from 0, row by row."""
        return all_edges(n_features)

    def with_feasible_entries(self, atomic_part: FloatArray) -> FloatArray:
        """Return the nearest matrix that keeps the conditions on single off-diagonals."""
        return atomic_part

    def projected(
        self,
        atomic_part: FloatArray,
        budget: float,
        accuracy: float,
        correction: FloatArray | None,
        /,
    ) -> Projection:
        """Return the nearest matrix of the cone of trace ≤ τ, for ``M - B`` of a symmetric M.

        It may be outside of the semidefinite cone by the accuracy. The correction of the projection
        of a matrix nearby is a good guess.
        """

        def on_polyhedron(matrix: FloatArray) -> FloatArray:
            excess = (float(np.trace(matrix)) - budget) / len(matrix)
            nearest: FloatArray = self.with_feasible_entries(matrix)
            return nearest - max(excess, 0.0) * np.eye(len(matrix))

        return project_on_intersection(atomic_part, on_polyhedron, accuracy, correction)

    def to_cvxpy(self, atomic_part: cp.Expression, cone: str) -> list[cp.Constraint]:
        """Return the constraints that N is in the cone, by one of two kinds of conic constraints.

        These are ``"semidefinite"`` and ``"second-order"``. A family that has no form in one of
        them refuses it.
        """
        refuse_second_order(cone)
        return [atomic_part >> 0]


def refuse_second_order(cone: str) -> None:
    """Refuse second-order cones, in which most families have no form."""
    if cone == "second-order":
        raise InvalidInputError(
            "these metrics have no form in second-order cones; take cone='semidefinite' "
            "(method 'sdp')"
        )


class AllUnitVectors(AtomFamily):
    """All unit vectors: their cone is the cone of the positive semidefinite matrices."""

    all_unit_vectors: ClassVar[bool] = True

    def best_atoms(
        self, gradient: FloatArray, count: int = 1, guess: Atoms | None = None
    ) -> PricedAtoms:
        """Return the eigenvectors of the smallest eigenvalues; `guess` warm-starts large ones."""
        check_finite("gradient", gradient)
        start = guess[:count].dense(len(gradient)) if guess is not None and len(guess) else None
        prices, vectors = smallest_eigenpairs(gradient, count, start)
        return PricedAtoms(Atoms.of_vectors(vectors), prices)

    def least_price(self, price: float, gradient: FloatArray, errors: FloatArray) -> float:
        """Return it for eigenvalues: their round-off is relative to the norm of G.

        If that is more than the errors of the gradient, numbers are tried that are closer to the
        price: -σ is one if ``G + σI`` less a little of its diagonal has a Cholesky factor, whose
        round-off is relative to the diagonal, entry by entry.
        """
        of_gradient, default = float(errors @ errors), super().least_price(price, gradient, errors)
        of_eigenvalue = price - default - of_gradient
        if of_eigenvalue <= of_gradient:
            return default
        size = len(gradient)
        for share in _SHARES:
            shifted = gradient + (max(-price, 0.0) + share * of_eigenvalue) * np.eye(size)
            shifted[np.diag_indices(size)] *= 1 - 2 * size * (size + 3) * UNIT
            _, failed = dpotrf(shifted, lower=1, overwrite_a=1)
            if not failed:
                return -max(-price, 0.0) - share * of_eigenvalue - of_gradient
        return default

    def decomposed(self, atomic_part: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return the eigenvectors, with the eigenvalues as weights."""
        values, vectors = eigh(atomic_part)
        return Atoms.of_vectors(np.ascontiguousarray(vectors.T)), np.maximum(values, 0.0)

    def basis(self, n_features: int) -> Atoms:
        """Return the unit vectors ``e_i``; dense ones would take products of K×K matrices."""
        if n_features == 1:  # beside dense atoms of a single entry
            return Atoms.of_vectors(np.eye(1))
        return super().basis(n_features)

    def all_supports(self, n_features: int) -> Atoms:
        """Return as many dense vectors as a matrix can have directions."""
        return Atoms.of_vectors(np.eye(n_features))

    def projected(
        self,
        atomic_part: FloatArray,
        budget: float,
        _accuracy: float,
        _correction: FloatArray | None,
        /,
    ) -> Projection:
        """Project the eigenvalues on the values ≥ 0 whose sum is at most τ."""
        nearest = project_spectrum(
            atomic_part, lambda values: project_on_bounded_sum(values, budget)
        )
        return Projection(nearest, eigen_decompositions=1)
