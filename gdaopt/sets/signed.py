"""Metrics of balanced signed graphs: graph metrics after some features change their sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import Edges
from gdaopt.linalg.masked import MaskedMatrix, Symmetric
from gdaopt.objectives.protocol import Point
from gdaopt.sets.family import AtomFamily, PricedAtoms
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.sets.graph import GraphMetrics
from gdaopt.sets.mask import store_mask
from gdaopt.support.validation import FloatArray, finite_array, store_number

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["FlippedAtoms", "SignedGraphMetrics"]


class FlippedAtoms(AtomFamily):
    """Another family after features of colour -1 have changed their sign.

    Each method flips its arguments, calls the other family, and flips the result back.

    Parameters
    ----------
    family : AtomFamily
        The family to flip.
    colors : sequence of K numbers
        +1 or -1 for each feature.
    """

    def __init__(self, family: AtomFamily, colors: Sequence[float]) -> None:
        self._family = family
        self._colors = np.array(colors, dtype=np.float64)

    def check_size(self, n_features: int) -> None:
        """Raise InvalidInputError when there are not as many features as colours."""
        if n_features != len(self._colors):
            raise InvalidInputError(
                f"colors has {len(self._colors)} entries for {n_features} features; give one each"
            )
        self._family.check_size(n_features)

    def flip(self, matrix: FloatArray) -> FloatArray:
        """Return the matrix with features of colour -1 taken with the other sign."""
        self.check_size(len(matrix))
        flipped: FloatArray = matrix * self._colors * self._colors[:, None]
        return flipped

    def _flip_gradient(self, gradient: Symmetric) -> Symmetric:
        if isinstance(gradient, MaskedMatrix):
            return gradient.congruent(self._colors)
        return self.flip(gradient)

    def _flip_atoms(self, atoms: Atoms) -> Atoms:
        return replace(atoms, values=atoms.values * self._colors[atoms.support])

    def gradient_at(self, point: Point) -> Symmetric:
        """Return as much of an objective's gradient as the other family needs."""
        return self._family.gradient_at(point)

    def best_atoms(
        self, gradient: Symmetric, count: int = 1, guess: Atoms | None = None
    ) -> PricedAtoms:
        """Return the best of the flipped atoms."""
        guess = None if guess is None else self._flip_atoms(guess)
        best = self._family.best_atoms(self._flip_gradient(gradient), count, guess)
        return replace(best, atoms=self._flip_atoms(best.atoms))

    def least_price(self, price: float, gradient: Symmetric, errors: FloatArray) -> float:
        """Return the least price of the other family for the flipped gradient."""
        return self._family.least_price(price, self._flip_gradient(gradient), errors)

    def decomposed(self, beyond_base: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return flipped atoms and weights whose sum is the matrix."""
        atoms, weights = self._family.decomposed(self.flip(beyond_base))
        return self._flip_atoms(atoms), weights

    def edges_of(self, n_features: int) -> Edges:
        """Return the pairs of the other family."""
        return self._family.edges_of(n_features)

    def entry_violations(self, beyond_base: FloatArray, slack: float) -> list[str]:
        """Return the sentences on the flipped matrix."""
        return self._family.entry_violations(self.flip(beyond_base), slack)

    def with_feasible_entries(self, beyond_base: FloatArray) -> FloatArray:
        """Return the matrix with off-diagonals of the wrong sign set to 0."""
        return self.flip(self._family.with_feasible_entries(self.flip(beyond_base)))

    def n_components(self, metric: FloatArray, threshold: float) -> int:
        """Return the number of components of the graph of edges above the threshold."""
        return self._family.n_components(self.flip(metric), threshold)

    def variable(self, n_features: int) -> cp.Expression:
        """Return the variable of the other family: the same zeros, and free signs."""
        return self._family.variable(n_features)

    def second_order(self, beyond_base: cp.Expression) -> list[cp.Constraint]:
        """Return ``N ⪰ 0`` in second-order cones, which do not see signs."""
        return self._family.second_order(beyond_base)

    def entry_constraints(self, beyond_base: cp.Expression) -> list[cp.Constraint]:
        """Return the conditions on single entries of the flipped matrix."""
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        signs = np.outer(self._colors, self._colors)
        return self._family.entry_constraints(cp.multiply(signs, beyond_base))


@dataclass(frozen=True)
class SignedGraphMetrics(FeasibleSet):
    """The set of all M for which ``diag(colors) M diag(colors)`` is a graph metric.

    Between features of the same colour edges are positive (``M_ij ≤ 0``), between features of
    different colours negative (``M_ij ≥ 0``): the signed graph is balanced.

    Parameters
    ----------
    colors : sequence of K numbers
        +1 or -1 for each feature.
    trace_bound : float
        C, above ``K ρ``.
    min_eigenvalue : float, optional
        ρ ≥ 0.
    path_weight : float, optional
        ε ≥ 0, see `GraphMetrics`; the edges of the path have the signs of their features.
    edges : EdgeMask, array-like, sparse array or networkx.Graph, optional
        The pairs of features that may have an edge, see `GraphMetrics`; all by default.

    Raises
    ------
    InvalidInputError
        For colours other than ±1, and for negative, infinite or NaN values and bad edges; when used
        with another number of features.

    Examples
    --------
    >>> feasible_set = SignedGraphMetrics([1, -1], trace_bound=4.0)
    >>> feasible_set.contains(np.array([[2.0, 1.0], [1.0, 2.0]]))
    True
    >>> feasible_set.contains(np.array([[2.0, -1.0], [-1.0, 2.0]]))
    False
    """

    name: ClassVar[str] = "signed"

    colors: Sequence[float]
    trace_bound: float
    min_eigenvalue: float = 1e-6
    path_weight: float = 0.0
    edges: Any = None

    def __post_init__(self) -> None:
        colors = finite_array("colors", self.colors, ndim=1)
        wrong = np.flatnonzero(np.abs(colors) != 1)
        if len(wrong):
            raise InvalidInputError(
                f"colors must be +1 or -1, got {colors[wrong[0]]:g} at index {wrong[0]}"
            )
        object.__setattr__(self, "colors", tuple(int(color) for color in colors))
        super().__post_init__()
        store_number(self, "path_weight", at_least=0)
        store_mask(self)

    @classmethod
    def for_signal(
        cls, features: FloatArray, signal: FloatArray, **bounds: Any
    ) -> SignedGraphMetrics:
        """Return the set in which features that correlate negatively with z have colour -1."""
        negative = (features - features.mean(axis=0)).T @ signal < 0
        return cls(np.where(negative, -1.0, 1.0).tolist(), **bounds)

    @cached_property
    def unsigned(self) -> GraphMetrics:
        """The graph metrics that this set becomes when features change their sign."""
        return GraphMetrics(self.trace_bound, self.min_eigenvalue, self.path_weight, self.edges)

    @cached_property
    def family(self) -> FlippedAtoms:
        """The atoms of graph metrics, flipped."""
        return FlippedAtoms(self.unsigned.family, self.colors)

    def fixed_part(self, n_features: int) -> FloatArray | None:
        """Return the signed Laplacian of the path; None without one."""
        path = self.unsigned.fixed_part(n_features)
        return None if path is None else self.family.flip(path)

    def check_size(self, n_features: int) -> None:
        """Raise InvalidInputError when no K×K metric fits, or K is not the number of colours."""
        self.family.check_size(n_features)
        self.unsigned.check_size(n_features)

    def start(self, n_features: int) -> FloatArray:
        """Return the start of `GraphMetrics`, with the signs of the features."""
        self.check_size(n_features)
        return self.family.flip(self.unsigned.start(n_features))
