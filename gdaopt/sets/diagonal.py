"""Diagonal metrics: weights of the features, without edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.projection import Projection, project_on_bounded_sum
from gdaopt.sets.protocol import FeasibleSet, PricedAtoms, checked_gradient
from gdaopt.validation import FloatArray

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["DiagonalMetrics"]


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

    trace_bound: float
    min_eigenvalue: float = 1e-6

    def best_atoms(
        self,
        gradient: FloatArray,
        count: int = 1,
        guess: Atoms | None = None,  # noqa: ARG002 (closed form)
    ) -> PricedAtoms:
        """Return the unit vectors of the smallest diagonal entries."""
        prices = np.diagonal(checked_gradient(gradient))
        best = np.argsort(prices, kind="stable")[:count]
        return PricedAtoms(Atoms.of_features(best), prices[best])

    def _decomposed(self, metric: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return all unit vectors, and the diagonal above ρ as weights."""
        weights = np.maximum(np.diagonal(metric) - self.min_eigenvalue, 0.0)
        return Atoms.of_features(np.arange(len(metric))), weights

    def n_components(self, metric: FloatArray) -> int:
        """Return K: there are no edges."""
        return len(metric)

    def _entry_violations(self, metric: FloatArray, slack: float) -> list[str]:
        magnitudes = np.abs(metric - np.diag(np.diagonal(metric)))
        if magnitudes.max() <= slack:
            return []
        i, j = (int(n) for n in np.unravel_index(magnitudes.argmax(), metric.shape))
        return [f"off-diagonal [{i},{j}] is not 0: {metric[i, j]:.6g}"]

    def entries_repaired(self, metric: FloatArray) -> FloatArray:
        """Return `metric` without its off-diagonals."""
        mended: FloatArray = np.diag(np.diagonal(metric))
        return mended

    def _projected(
        self,
        above: FloatArray,
        budget: float,
        accuracy: float,  # noqa: ARG002 (closed form)
        correction: FloatArray | None,  # noqa: ARG002 (closed form)
    ) -> Projection:
        return Projection(np.diag(project_on_bounded_sum(np.diagonal(above), budget)))

    def variable(self, n_features: int) -> cp.Expression:
        """Return a diagonal matrix of K variables."""
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        return cp.diag(cp.Variable(n_features))

    def _semidefinite(self, above: cp.Expression) -> list[cp.Constraint]:
        """Return ``M_ii ≥ ρ``: no cone is needed."""
        import cvxpy as cp

        return [cp.diag(above) >= 0]

    def _second_order(self, above: cp.Expression) -> list[cp.Constraint]:
        return self._semidefinite(above)

    def _entry_constraints(self, above: cp.Expression) -> list[cp.Constraint]:
        rows, columns = np.triu_indices(above.shape[0], 1)
        return [above[rows, columns] == 0] if len(rows) else []
