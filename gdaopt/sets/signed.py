"""Metrics of balanced signed graphs: graph metrics after some features change their sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.sets.graph import GraphMetrics
from gdaopt.sets.pair_cones import pair_cones
from gdaopt.sets.protocol import FeasibleSet, PricedAtoms, checked_gradient
from gdaopt.validation import FloatArray, finite_array, number

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["SignedGraphMetrics"]


@dataclass(frozen=True)
class SignedGraphMetrics(FeasibleSet):
    """The set of all M for which ``diag(colors) M diag(colors)`` is a graph metric.

    Between features of the same colour edges are positive (``M_ij ≤ 0``), between those of
    different colours negative (``M_ij ≥ 0``): the signed graph is balanced.

    Parameters
    ----------
    colors : sequence of K numbers
        +1 or -1 for each feature.
    trace_bound : float
        C, above ``K ρ``.
    min_eigenvalue : float, optional
        ρ ≥ 0.
    edge_floor : float, optional
        ε ≥ 0, see `GraphMetrics`.

    Raises
    ------
    InvalidInputError
        For colours other than ±1, and for negative, infinite or NaN values; when used with
        another number of features.

    Examples
    --------
    >>> feasible_set = SignedGraphMetrics([1, -1], trace_bound=4.0)
    >>> feasible_set.contains(np.array([[2.0, 1.0], [1.0, 2.0]]))
    True
    >>> feasible_set.contains(np.array([[2.0, -1.0], [-1.0, 2.0]]))
    False
    """

    colors: Sequence[float]
    trace_bound: float
    min_eigenvalue: float = 1e-6
    edge_floor: float = 0.0

    def __post_init__(self) -> None:
        colors = finite_array("colors", self.colors, ndim=1)
        wrong = np.flatnonzero(np.abs(colors) != 1)
        if len(wrong):
            raise InvalidInputError(
                f"colors must be +1 or -1, got {colors[wrong[0]]:g} at index {wrong[0]}"
            )
        object.__setattr__(self, "colors", tuple(int(color) for color in colors))
        super().__post_init__()
        number("edge_floor", self.edge_floor, at_least=0)

    @cached_property
    def unsigned(self) -> GraphMetrics:
        """The graph metrics that this set becomes when features change their sign."""
        return GraphMetrics(self.trace_bound, self.min_eigenvalue, self.edge_floor)

    def _flipped(self, matrix: FloatArray) -> FloatArray:
        """Return the matrix with features of colour -1 taken with the other sign."""
        self._check_colors(len(matrix))
        colors = np.array(self.colors, dtype=np.float64)
        flipped: FloatArray = matrix * colors * colors[:, None]
        return flipped

    def _flipped_atoms(self, atoms: Atoms) -> Atoms:
        colors = np.array(self.colors, dtype=np.float64)
        return replace(atoms, values=atoms.values * colors[atoms.support])

    # --- the family of atoms -----------------------------------------------------------------

    @property
    def closed(self) -> SignedGraphMetrics:
        """The set without the edge floor, which is convex and closed."""
        return replace(self, edge_floor=0.0)

    def base(self, n_features: int) -> FloatArray:
        """Return ``ρI`` and the signed Laplacian of a path whose edges weigh ε."""
        return self._flipped(self.unsigned.base(n_features))

    def budget(self, n_features: int) -> float:
        """Return ``τ = C - tr B``."""
        return self.unsigned.budget(n_features)

    def best_atoms(
        self, gradient: FloatArray, count: int = 1, guess: Atoms | None = None
    ) -> PricedAtoms:
        """Return the best of ``e_i`` and ``a e_i - c_i c_j b e_j``, ``a, b ≥ 0``, in O(K²)."""
        best = self.unsigned.best_atoms(self._flipped(checked_gradient(gradient)), count, guess)
        return replace(best, atoms=self._flipped_atoms(best.atoms))

    def _decomposed(self, metric: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return an atom for each feature and each edge."""
        atoms, weights = self.unsigned.decomposed(self._flipped(metric))
        return self._flipped_atoms(atoms), weights

    # --- membership --------------------------------------------------------------------------

    def check_size(self, n_features: int) -> None:
        """Raise InvalidInputError when no K×K metric fits, or K is not the number of colours."""
        self._check_colors(n_features)
        self.unsigned.check_size(n_features)

    def _check_colors(self, n_features: int) -> None:
        if n_features != len(self.colors):
            raise InvalidInputError(
                f"colors has {len(self.colors)} entries for {n_features} features; give one each"
            )

    def violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return a sentence for each condition that `metric` breaks, its colours turned to +1."""
        return self.unsigned.violations(self._flipped(metric))

    def hull_violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return what keeps `metric`, its colours turned to +1, out of the hull of the atoms."""
        return self.unsigned.hull_violations(self._flipped(metric))

    def hull_repaired(self, metric: FloatArray) -> FloatArray:
        """Return a member of that hull near `metric` (see `repaired`)."""
        return self._flipped(self.unsigned.hull_repaired(self._flipped(metric)))

    def n_components(self, metric: FloatArray) -> int:
        """Return the number of components of the graph of the edges that count."""
        return self.unsigned.n_components(self._flipped(metric))

    def repaired(self, metric: FloatArray) -> FloatArray:
        """Return a member near `metric` (see `GraphMetrics.repaired`)."""
        return self._flipped(self.unsigned.repaired(self._flipped(metric)))

    def start(self, n_features: int) -> FloatArray:
        """Return the path start of `GraphMetrics`, with its signs."""
        self.check_size(n_features)
        return self._flipped(self.unsigned.start(n_features))

    def entries_repaired(self, metric: FloatArray) -> FloatArray:
        """Return `metric` with off-diagonals of the wrong sign set to 0."""
        return self._flipped(self.unsigned.entries_repaired(self._flipped(metric)))

    # --- for CVXPY ---------------------------------------------------------------------------

    def _second_order(self, above: cp.Expression) -> list[cp.Constraint]:
        return pair_cones(above)

    def _entry_constraints(self, above: cp.Expression) -> list[cp.Constraint]:
        import cvxpy as cp

        rows, columns = np.triu_indices(above.shape[0], 1)
        colors = np.array(self.colors)
        signs = colors[rows] * colors[columns]
        return [cp.multiply(signs, above[rows, columns]) <= 0] if len(rows) else []
