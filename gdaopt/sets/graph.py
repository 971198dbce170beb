"""Graph metrics: generalised Laplacians of graphs with positive edges."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms, best_pairs, decomposition, least_pair_price, pair_atoms
from gdaopt.linalg.entries import Edges, all_edges, entries_of, matrix_of, placement
from gdaopt.linalg.gershgorin import align
from gdaopt.linalg.laplacian import n_components, path_edges, unit_laplacian
from gdaopt.linalg.masked import Symmetric, largest_entry
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.objectives.protocol import Point
from gdaopt.objectives.round_off import UNIT
from gdaopt.sets.family import AtomFamily, PricedAtoms
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.sets.mask import EdgeMask, store_mask
from gdaopt.support.validation import FloatArray, number, store_number

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["GraphAtoms", "GraphMetrics"]

_PRICE_ROUNDINGS = 16  # of the closed form of a pair's price, in units of its largest entry


class GraphAtoms(AtomFamily):
    """The vectors ``e_i`` and ``a e_i - b e_j`` with a, b ≥ 0 and a² + b² = 1.

    Their cone holds the positive semidefinite matrices with non-positive off-diagonals
    ("Theorem: factor width two", "Lemma: two-sparse extreme points"). Under a mask of edges it
    holds the matrices of this kind that are 0 outside of the mask, and only pairs of it have atoms
    ("Proposition: masks of edges").

    Parameters
    ----------
    mask : EdgeMask, optional
        The pairs that may have an edge; all by default.
    """

    def __init__(self, mask: EdgeMask | None = None) -> None:
        self._mask = mask

    def check_size(self, n_features: int) -> None:
        """Raise InvalidInputError when the mask is not one of K features."""
        if self._mask is not None:
            self._mask.check_size(n_features)

    def edges_of(self, n_features: int) -> Edges:
        """Return the pairs of the mask."""
        return all_edges(n_features) if self._mask is None else self._mask.edges_of(n_features)

    def _leaves_out(self, n_features: int) -> bool:
        """Whether the mask leaves out a pair."""
        return len(self.edges_of(n_features)[0]) < n_features * (n_features - 1) // 2

    def gradient_at(self, point: Point) -> Symmetric:
        """Return the gradient of an objective, under the mask where there is one."""
        size = len(point.metric)
        if not self._leaves_out(size):
            return super().gradient_at(point)
        return point.gradient_entries(self.edges_of(size))

    def best_atoms(
        self,
        gradient: Symmetric,
        count: int = 1,
        guess: Atoms | None = None,  # noqa: ARG002 (closed form)
    ) -> PricedAtoms:
        """Return the best atoms ("Theorem: exact linear minimisation oracle").

        That takes O(K²), or O(K + n) for a mask of n pairs.
        """
        diagonal = gradient.diagonal()
        single = np.argsort(diagonal, kind="stable")[:count]
        rows, columns, pair_prices = best_pairs(gradient, count, self.edges_of(len(gradient)))
        atoms = Atoms.of_features(single).joined(pair_atoms(gradient, rows, columns))
        prices = np.concatenate([diagonal[single], pair_prices])
        best = np.argsort(prices, kind="stable")[:count]
        return PricedAtoms(atoms[best], prices[best])

    def least_price(self, price: float, gradient: Symmetric, errors: FloatArray) -> float:
        """Return the price less the largest round-off that a pair of features can have."""
        of_gradient = float(np.sort(errors**2)[-2:].sum())
        own = _PRICE_ROUNDINGS * UNIT * largest_entry(gradient)
        if own <= of_gradient:
            return price - of_gradient - own
        # A second, tighter bound: prices near 0 often belong to a large and a small entry.
        least = min(
            float(gradient.diagonal().min()),
            least_pair_price(gradient, self.edges_of(len(gradient))),
        )
        return least - of_gradient

    def decomposed(self, beyond_base: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return an atom for each feature and each edge ("Theorem: factor width two")."""
        beyond_base = self.with_feasible_entries(beyond_base)
        has_edges = np.count_nonzero(beyond_base) > np.count_nonzero(np.diagonal(beyond_base))
        v = align(beyond_base, 0.0).v if has_edges else np.ones(len(beyond_base))
        atoms, weights = decomposition(beyond_base, v)
        return atoms, np.maximum(weights, 0.0)

    def entry_violations(self, beyond_base: FloatArray, slack: float) -> list[str]:
        """Return a sentence on the largest off-diagonal, and on the largest outside of the mask."""
        off_diagonal = beyond_base - np.diag(np.diagonal(beyond_base))
        found = []
        if off_diagonal.max() > slack:
            i, j = (int(n) for n in np.unravel_index(off_diagonal.argmax(), beyond_base.shape))
            found.append(f"off-diagonal [{i},{j}] is positive: {beyond_base[i, j]:.6g}")
        if self._leaves_out(len(beyond_base)):
            rows, columns = self.edges_of(len(beyond_base))
            off_diagonal[rows, columns] = off_diagonal[columns, rows] = 0.0
            outside = np.abs(off_diagonal)
            if outside.max() > slack:
                i, j = (int(n) for n in np.unravel_index(outside.argmax(), beyond_base.shape))
                found.append(
                    f"off-diagonal [{i},{j}] is not among the edges: {beyond_base[i, j]:.6g}"
                )
        return found

    def with_feasible_entries(self, beyond_base: FloatArray) -> FloatArray:
        """Return the matrix with off-diagonals set to 0 that are positive or not in the mask."""
        if self._leaves_out(len(beyond_base)):
            edges = self.edges_of(len(beyond_base))
            entries = entries_of(beyond_base, edges)
            entries[len(beyond_base) :] = np.maximum(entries[len(beyond_base) :], 0.0)
            return matrix_of(entries, len(beyond_base), edges)
        feasible = np.minimum(beyond_base, 0.0)
        np.fill_diagonal(feasible, np.diagonal(beyond_base))
        return feasible

    def n_components(self, metric: FloatArray, threshold: float) -> int:
        """Return the number of components of the graph of edges above the threshold."""
        return n_components(metric, threshold)

    def variable(self, n_features: int) -> cp.Expression:
        """Return a matrix of a variable for each diagonal entry and each pair of the mask."""
        if not self._leaves_out(n_features):
            return super().variable(n_features)
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        edges = self.edges_of(n_features)
        entries = cp.Variable(n_features + len(edges[0]))
        placed = placement(n_features, edges) @ entries
        return cp.reshape(placed, (n_features, n_features), order="C")

    def second_order(self, beyond_base: cp.Expression) -> list[cp.Constraint]:
        """Return ``N ⪰ 0`` as a second-order cone for each pair of the mask and K inequalities.

        Each pair i < j has a block ``[[p, N_ij], [N_ij, q]]`` with ``p q ≥ N_ij²``; the diagonals
        of all blocks add up to at most the diagonal of N. That is exact where the signs of the
        entries are constrained as well ("Proposition: second-order cone form"; Boman, Chen, Parekh,
        Toledo, *On factor width and symmetric H-matrices*, 2005).
        """
        import cvxpy as cp

        size = beyond_base.shape[0]
        rows, columns = self.edges_of(size)
        n_pairs = len(rows)
        if n_pairs == 0:
            return [cp.diag(beyond_base) >= 0]
        first, second = cp.Variable(n_pairs), cp.Variable(n_pairs)
        total = sum(
            csr_array((np.ones(n_pairs), (ends, np.arange(n_pairs))), shape=(size, n_pairs)) @ block
            for ends, block in ((rows, first), (columns, second))
        )
        off_diagonal = cp.vstack([2 * beyond_base[rows, columns], first - second])
        cones = cp.SOC(first + second, off_diagonal, axis=0)
        return [cones, cp.diag(beyond_base) >= total]

    def entry_constraints(self, beyond_base: cp.Expression) -> list[cp.Constraint]:
        """Return ``N_ij ≤ 0`` for the pairs of the mask, and ``N_ij = 0`` for all others."""
        size = beyond_base.shape[0]
        edges = self.edges_of(size)
        constraints = [beyond_base[edges] <= 0] if len(edges[0]) else []
        if self._leaves_out(size):
            is_outside = np.triu(np.ones((size, size), dtype=bool), 1)
            is_outside[edges] = False
            constraints.append(beyond_base[is_outside.nonzero()] == 0)
        return constraints


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
        ("Proposition: graph metrics that contain a path"). Under a mask of edges without this path
        it is a spanning tree of the mask, see `gdaopt.linalg.spanning_forest`.
    edges : EdgeMask, array-like, sparse array or networkx.Graph, optional
        The only pairs of features that may have an edge: a symmetric boolean K×K matrix, a sparse
        one, pairs of indices of shape (n, 2), or a graph on the nodes 0, …, K-1
        (see `gdaopt.sets.EdgeMask.of`). All pairs by default.

    Raises
    ------
    InvalidInputError
        For negative, infinite or NaN values, and for edges that are no mask.

    Examples
    --------
    >>> feasible_set = GraphMetrics(trace_bound=3.0, min_eigenvalue=0.1)
    >>> feasible_set.contains(np.eye(3))
    True
    >>> feasible_set.violations(np.diag([3.0, 1.0, 0.0]))
    ('trace 4 exceeds the bound 3', 'smallest eigenvalue 0 is below 0.1')

    Three pixels in a row: only neighbours may have an edge.

    >>> in_a_row = GraphMetrics(trace_bound=3.0, edges=[(0, 1), (1, 2)])
    >>> in_a_row
    GraphMetrics(trace_bound=3.0, min_eigenvalue=1e-06, path_weight=0.0, edges=EdgeMask(2 pairs))
    >>> in_a_row.violations(np.array([[1.0, 0.0, -0.5], [0.0, 1.0, 0.0], [-0.5, 0.0, 1.0]]))
    ('off-diagonal [0,2] is not among the edges: -0.5',)
    """

    name: ClassVar[str] = "graph"

    trace_bound: float
    min_eigenvalue: float = 1e-6
    path_weight: float = 0.0
    edges: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        store_number(self, "path_weight", at_least=0)
        store_mask(self)

    @cached_property
    def family(self) -> GraphAtoms:
        """The vectors ``e_i`` and ``a e_i - b e_j``."""
        return GraphAtoms(self.edges)

    def containing_path(self, weight: float) -> GraphMetrics:
        """Return the convex set of the members that contain a path of edges of some weight.

        Under a mask of edges without this path it is a spanning tree of the mask.

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
        """Raise InvalidInputError when no path of edges of some weight fits.

        It may leave no budget, or the mask of edges may not connect the features.

        Parameters
        ----------
        n_features : int
            K.
        weight : float
            Of each edge.
        name : str
            What messages call the weight.
        """
        self.check_connected(n_features, weight, name)
        needed = float(np.trace(self.containing_path(weight).base(n_features)))
        if self.trace_bound <= needed:
            raise InvalidInputError(
                f"{name} {weight:g} leaves no budget: {n_features - 1} edges of that weight need a "
                f"trace of {needed:g}, trace_bound is {self.trace_bound:g}; lower {name} or raise "
                "trace_bound"
            )

    def check_connected(self, n_features: int, weight: float, name: str) -> None:
        """Raise InvalidInputError when the weight is positive and the mask not connected.

        Parameters
        ----------
        n_features : int
            K.
        weight : float
            Of edges that are to connect all features; 0 for no such edges.
        name : str
            What messages call the weight.
        """
        n_parts = n_features - len(self._forest(n_features)[0])
        if weight > 0 and n_parts > 1:
            raise InvalidInputError(
                f"{name} {weight:g} asks for edges that connect all features, and the edges "
                f"of the mask leave {n_parts} components; allow more edges, or leave {name} out"
            )

    def _forest(self, n_features: int) -> Edges:
        """Return the path of all features, or the spanning forest of the mask."""
        return path_edges(n_features) if self.edges is None else self.edges.forest(n_features)

    def fixed_part(self, n_features: int) -> FloatArray | None:
        """Return the Laplacian of the path; None without one."""
        if self.path_weight == 0:
            return None
        path: FloatArray = self.path_weight * unit_laplacian(n_features, self._forest(n_features))
        return path

    def largest_edge_weight(self, n_features: int) -> float:
        """Return the bound of the start's edges: ``(C/K - ρ) / λ``.

        Here λ is the largest eigenvalue of the adjacency matrix of the path, ``2 cos(π/(K+1))``, or
        of the spanning forest that a mask has in its place. Beyond the bound the start's smallest
        eigenvalue is below ρ ("Erratum 3: bound of the path start").

        Examples
        --------
        >>> round(GraphMetrics(trace_bound=4.0, min_eigenvalue=0.5).largest_edge_weight(2), 12)
        1.5
        """
        slack = self.trace_bound / n_features - self.min_eigenvalue
        rows, columns = self._forest(n_features)
        if not len(rows):
            return math.inf
        if len(rows) == n_features - 1 and (columns - rows == 1).all():
            return slack / (2 * math.cos(math.pi / (n_features + 1)))
        entries = np.concatenate([np.zeros(n_features), np.ones(len(rows))])
        return slack / -smallest_eigenvalue(matrix_of(entries, n_features, (rows, columns)))

    def start(self, n_features: int, edge_weight: float | str = "auto") -> FloatArray:
        """Return the paper's start: C/K on the diagonal, a path of edges of one weight.

        Under a mask of edges without this path it is a spanning forest of the mask. Where the set
        contains a fixed path, the start is the middle of the set instead.

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
            weight = bound / 2 if bound < math.inf else 0.0
        else:
            weight = number("initial_edge_weight", edge_weight, at_least=0)
            if weight > bound:
                raise InvalidInputError(
                    f"initial_edge_weight {weight:g} is above (C/K - ρ)/λ = {bound:.6g}, where λ "
                    "is 2 cos(π/(K+1)) for a path, so that the start would not be a metric; lower "
                    "it or pass 'auto'"
                )
        metric: FloatArray = weight * unit_laplacian(n_features, self._forest(n_features))
        np.fill_diagonal(metric, self.trace_bound / n_features)
        return metric
