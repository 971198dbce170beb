"""Diagonal metrics: weights of the features, without edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import Edges, no_edges
from gdaopt.linalg.masked import Symmetric
from gdaopt.linalg.projection import Projection, project_on_bounded_sum
from gdaopt.objectives.protocol import Point
from gdaopt.sets.family import AtomFamily, PricedAtoms
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray

__all__ = ["DiagonalMetrics", "FeatureAtoms"]


class FeatureAtoms(AtomFamily):
    """The unit vectors ``e_i``: their cone is the set of diagonal matrices with entries ≥ 0."""

    def gradient_at(self, point: Point) -> Symmetric:
        """Return the diagonal of the gradient."""
        return point.gradient_entries(no_edges())

    def best_atoms(
        self,
        gradient: Symmetric,
        count: int = 1,
        _guess: Atoms | None = None,
        /,
    ) -> PricedAtoms:
        """Return the unit vectors of the smallest diagonal entries."""
        prices = gradient.diagonal()
        best = np.argsort(prices, kind="stable")[:count]
        return PricedAtoms(Atoms.of_features(best), prices[best])

    def least_price(self, price: float, _gradient: Symmetric, errors: FloatArray, /) -> float:
        """Return the price less the largest round-off of a diagonal entry."""
        return price - float(errors.max() ** 2)

    def decomposed(self, beyond_base: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return all unit vectors, with the diagonal as weights."""
        return self.basis(len(beyond_base)), np.maximum(np.diagonal(beyond_base), 0.0)

    def edges_of(self, _n_features: int, /) -> Edges:
        """Return no pairs."""
        return no_edges()

    def entry_violations(self, beyond_base: FloatArray, slack: float) -> list[str]:
        """Return a sentence on the largest off-diagonal, if it exceeds the slack."""
        magnitudes = np.abs(beyond_base - np.diag(np.diagonal(beyond_base)))
        if magnitudes.max() <= slack:
            return []
        i, j = (int(n) for n in np.unravel_index(magnitudes.argmax(), beyond_base.shape))
        return [f"off-diagonal [{i},{j}] is not 0: {beyond_base[i, j]:.6g}"]

    def with_feasible_entries(self, beyond_base: FloatArray) -> FloatArray:
        """Return the matrix without its off-diagonals."""
        feasible: FloatArray = np.diag(np.diagonal(beyond_base))
        return feasible

    def projected(
        self,
        beyond_base: FloatArray,
        budget: float,
        _accuracy: float,
        _correction: FloatArray | None,
        /,
    ) -> Projection:
        """Project the diagonal on the entries ≥ 0 whose sum is at most τ."""
        return Projection(np.diag(project_on_bounded_sum(np.diagonal(beyond_base), budget)))

    def variable(self, n_features: int) -> cp.Expression:
        """Return a diagonal matrix of K variables."""
        return cp.diag(cp.Variable(n_features))

    def semidefinite(self, beyond_base: cp.Expression) -> list[cp.Constraint]:
        """Return ``N_ii ≥ 0``: no cone is needed."""
        return [cp.diag(beyond_base) >= 0]

    def second_order(self, beyond_base: cp.Expression) -> list[cp.Constraint]:
        """Return the same inequalities."""
        return self.semidefinite(beyond_base)

    def entry_constraints(self, beyond_base: cp.Expression) -> list[cp.Constraint]:
        """Return ``N_ij = 0`` for i ≠ j."""
        rows, columns = np.triu_indices(beyond_base.shape[0], 1)
        return [beyond_base[rows, columns] == 0] if len(rows) else []


@dataclass(frozen=True)
class DiagonalMetrics(FeasibleSet):
    """The set ``{M diagonal, M_ii ≥ ρ, tr M ≤ C}``; its atoms are the unit vectors ``e_i``.

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
    >>> feasible_set = DiagonalMetrics(trace_bound=3.0, min_eigenvalue=0.5)
    >>> feasible_set.minimize_linear(np.array([[1.0, 9.0], [9.0, -1.0]])).vertex
    array([[0.5, 0. ],
           [0. , 2.5]])
    """

    name: ClassVar[str] = "diagonal"

    trace_bound: float
    min_eigenvalue: float = 1e-6

    @cached_property
    def family(self) -> FeatureAtoms:
        """The unit vectors ``e_i``."""
        return FeatureAtoms()
