"""Graph metrics: generalised Laplacians of graphs with positive edges."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg import laplacian
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.eigen import align
from gdaopt.linalg.two_sparse import best_pairs, decomposition, least_pair_price, pair_atoms
from gdaopt.objectives.round_off import UNIT
from gdaopt.sets.cones import pair_cones
from gdaopt.sets.family import AtomFamily, PricedAtoms
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.validation import FloatArray, number, store_number

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["GraphAtoms", "GraphMetrics"]

_PRICE_ROUNDINGS = 16  # of the closed form of a pair's price, in units of its largest entry


class GraphAtoms(AtomFamily):
    """The vectors ``e_i`` and ``a e_i - b e_j`` with a, b ≥ 0 and a² + b² = 1.

    Their cone is that of the positive semidefinite matrices with non-positive off-diagonals
    ("Theorem: factor width two", "Lemma: two-sparse extreme points").
    """

    def best_atoms(
        self,
        gradient: FloatArray,
        count: int = 1,
        guess: Atoms | None = None,  # noqa: ARG002 (closed form)
    ) -> PricedAtoms:
        """Return the best atoms in O(K²) ("Theorem: exact linear minimisation oracle")."""
        diagonal = np.diagonal(gradient)
        single = np.argsort(diagonal, kind="stable")[:count]
        rows, columns, pair_prices = best_pairs(gradient, count)
        atoms = Atoms.of_features(single).joined(pair_atoms(gradient, rows, columns))
        prices = np.concatenate([diagonal[single], pair_prices])
        best = np.argsort(prices, kind="stable")[:count]
        return PricedAtoms(atoms[best], prices[best])

    def least_price(self, price: float, gradient: FloatArray, errors: FloatArray) -> float:
        """Return it for atoms of two features: those whose entries are the least exact."""
        of_gradient = float(np.sort(errors**2)[-2:].sum())
        own = _PRICE_ROUNDINGS * UNIT * float(np.abs(gradient).max())
        if own <= of_gradient:
            return price - of_gradient - own
        # Worth a second look: prices near 0 are often those of a large and a small entry.
        least = min(float(np.diagonal(gradient).min()), least_pair_price(gradient))
        return least - of_gradient

    def decomposed(self, above: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return an atom for each feature and each edge ("Theorem: factor width two")."""
        above = self.with_entries_repaired(above)
        has_edges = np.count_nonzero(above) > np.count_nonzero(np.diagonal(above))
        v = align(above, 0.0).v if has_edges else np.ones(len(above))
        atoms, weights = decomposition(above, v)
        return atoms, np.maximum(weights, 0.0)

    def entry_violations(self, above: FloatArray, slack: float) -> list[str]:
        """Return a sentence on the largest off-diagonal, if it exceeds the slack."""
        off_diagonal = above - np.diag(np.diagonal(above))
        if off_diagonal.max() <= slack:
            return []
        i, j = (int(n) for n in np.unravel_index(off_diagonal.argmax(), above.shape))
        return [f"off-diagonal [{i},{j}] is positive: {above[i, j]:.6g}"]

    def with_entries_repaired(self, above: FloatArray) -> FloatArray:
        """Return the matrix with positive off-diagonals set to 0."""
        repaired = np.minimum(above, 0.0)
        np.fill_diagonal(repaired, np.diagonal(above))
        return repaired

    def n_components(self, metric: FloatArray, threshold: float) -> int:
        """Return the number of components of the graph of edges above the threshold."""
        return laplacian.n_components(metric, threshold)

    def second_order(self, above: cp.Expression) -> list[cp.Constraint]:
        """Return ``N ⪰ 0`` as a second-order cone for each pair of features."""
        return pair_cones(above)

    def entry_constraints(self, above: cp.Expression) -> list[cp.Constraint]:
        """Return ``N_ij ≤ 0`` for i ≠ j."""
        rows, columns = np.triu_indices(above.shape[0], 1)
        return [above[rows, columns] <= 0] if len(rows) else []


@dataclass(frozen=True)
class GraphMetrics(FeasibleSet):
    """The set ``{M symmetric, M_ij ≤ 0 (i ≠ j), M ⪰ ρI, tr M ≤ C}`` of "Definition: graph metric".

    Parameters
    ----------
    trace_bound : float
        C, above ``K ρ``.
    min_eigenvalue : float, optional
        ρ ≥ 0.
    path_weight : float, optional
        ε ≥ 0. When positive, every member is a graph metric plus the Laplacian of the path
        1 – 2 – … – K with edges of this weight, so that its graph is connected
        ("Proposition: graph metrics that contain a path").

    Raises
    ------
    InvalidInputError
        For negative, infinite or NaN values.

    Examples
    --------
    >>> feasible_set = GraphMetrics(trace_bound=3.0, min_eigenvalue=0.1)
    >>> feasible_set.contains(np.eye(3))
    True
    >>> feasible_set.violations(np.diag([3.0, 1.0, 0.0]))
    ('trace 4 exceeds the bound 3', 'smallest eigenvalue 0 is below 0.1')
    """

    name: ClassVar[str] = "graph"

    trace_bound: float
    min_eigenvalue: float = 1e-6
    path_weight: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        store_number(self, "path_weight", at_least=0)

    @property
    def family(self) -> GraphAtoms:
        """The vectors ``e_i`` and ``a e_i - b e_j``."""
        return GraphAtoms()

    def containing_path(self, weight: float) -> GraphMetrics:
        """Return the convex set of those members that contain a path of edges of some weight.

        Examples
        --------
        >>> connected = GraphMetrics(trace_bound=4.0, min_eigenvalue=0.0).containing_path(0.5)
        >>> connected.base(2), connected.budget(2)
        (array([[ 0.5, -0.5],
               [-0.5,  0.5]]), 3.0)
        """
        return replace(self, path_weight=weight)

    def check_size(self, n_features: int) -> None:
        """Raise InvalidInputError when no K×K metric fits, or only a single one."""
        super().check_size(n_features)
        self.check_path(n_features, self.path_weight, "path_weight")

    def check_path(self, n_features: int, weight: float, name: str) -> None:
        """Raise InvalidInputError when a path of edges of some weight leaves no budget.

        Parameters
        ----------
        n_features : int
            K.
        weight : float
            Of each edge.
        name : str
            What messages call the weight.
        """
        needed = float(np.trace(self.containing_path(weight).base(n_features)))
        if self.trace_bound <= needed:
            raise InvalidInputError(
                f"{name} {weight:g} leaves no budget: {n_features - 1} edges of that weight need a "
                f"trace of {needed:g}, trace_bound is {self.trace_bound:g}; lower {name} or raise "
                "trace_bound"
            )

    def fixed_part(self, n_features: int) -> FloatArray | None:
        """Return the Laplacian of the path; None without one."""
        if self.path_weight == 0:
            return None
        path: FloatArray = self.path_weight * laplacian.path_laplacian(n_features)
        return path

    def largest_edge_weight(self, n_features: int) -> float:
        """Return the bound of the path start's edges: ``(C/K - ρ) / (2 cos(π/(K+1)))``.

        Beyond it the start's smallest eigenvalue is below ρ
        ("Erratum 3: bound of the path start").

        Examples
        --------
        >>> round(GraphMetrics(trace_bound=4.0, min_eigenvalue=0.5).largest_edge_weight(2), 12)
        1.5
        """
        slack = self.trace_bound / n_features - self.min_eigenvalue
        return slack / (2 * math.cos(math.pi / (n_features + 1))) if n_features > 1 else math.inf

    def start(self, n_features: int, edge_weight: float | str = "auto") -> FloatArray:
        """Return the paper's start: C/K on the diagonal, a path of edges of one weight.

        Where the set contains a fixed path, the start is the middle of the set instead.

        Parameters
        ----------
        n_features : int
            K.
        edge_weight : float or "auto", optional
            Weight of the path's edges. ``"auto"`` is half of `largest_edge_weight`.

        Returns
        -------
        ndarray of shape (K, K)

        Raises
        ------
        InvalidInputError
            When the weight is above `largest_edge_weight`.

        Examples
        --------
        >>> GraphMetrics(trace_bound=4.0, min_eigenvalue=0.5).start(2)
        array([[ 2.  , -0.75],
               [-0.75,  2.  ]])
        """
        if self.path_weight > 0:
            return super().start(n_features)
        self.check_size(n_features)
        bound = self.largest_edge_weight(n_features)
        if isinstance(edge_weight, str):
            if edge_weight != "auto":
                raise InvalidInputError(
                    f"initial_edge_weight must be a number or 'auto', got {edge_weight!r}"
                )
            weight = bound / 2 if n_features > 1 else 0.0
        else:
            weight = number("initial_edge_weight", edge_weight, at_least=0)
            if weight > bound:
                raise InvalidInputError(
                    f"initial_edge_weight {weight:g} is above (C/K - ρ)/(2 cos(π/(K+1))) = "
                    f"{bound:.6g}, so that the start would not be a metric; lower it or pass 'auto'"
                )
        path = laplacian.path_laplacian(n_features)
        np.fill_diagonal(path, 0.0)
        metric: FloatArray = weight * path
        np.fill_diagonal(metric, self.trace_bound / n_features)
        return metric
