"""Graph metrics: generalised Laplacians of graphs with positive edges (DESIGN section 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg import laplacian
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.eigen import align
from gdaopt.linalg.two_sparse import best_pairs, decomposition, pair_atoms
from gdaopt.sets.pair_cones import pair_cones
from gdaopt.sets.protocol import FeasibleSet, PricedAtoms, checked_gradient
from gdaopt.validation import FloatArray, number, symmetric_matrix

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["GraphMetrics"]

_FLOOR_SLACK = 1e-9  # relative to the edge floor
_EDGE_COUNTS = 1e-9  # without a floor: an edge counts above this multiple of C/K


@dataclass(frozen=True)
class GraphMetrics(FeasibleSet):
    """The set ``{M symmetric, M_ij ≤ 0 (i ≠ j), M ⪰ ρI, tr M ≤ C}``.

    Parameters
    ----------
    trace_bound : float
        C, above ``K ρ``.
    min_eigenvalue : float, optional
        ρ ≥ 0.
    edge_floor : float, optional
        ε ≥ 0. When positive, the edges of weight ≥ ε must connect all nodes; that set is not
        convex. With 0 the graph may fall apart.

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

    trace_bound: float
    min_eigenvalue: float = 1e-6
    edge_floor: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number("edge_floor", self.edge_floor, at_least=0)

    def check_size(self, n_features: int) -> None:
        """Raise InvalidInputError when no K×K metric fits, or only a single one."""
        super().check_size(n_features)
        needed = float(np.trace(self.base(n_features)))
        if self.trace_bound <= needed:
            raise InvalidInputError(
                f"edge_floor {self.edge_floor:g} leaves no budget: {n_features - 1} edges of that "
                f"weight need a trace of {needed:g}, trace_bound is {self.trace_bound:g}; "
                "lower edge_floor or raise trace_bound"
            )

    # --- the family of atoms, around the fixed path (DESIGN section 4) ----------------------

    @property
    def closed(self) -> GraphMetrics:
        """The set without the edge floor, which is convex and closed."""
        return replace(self, edge_floor=0.0)

    def base(self, n_features: int) -> FloatArray:
        """Return ``ρI`` and the Laplacian of a path whose edges weigh ε."""
        base = super().base(n_features)
        if self.edge_floor > 0:
            base += self.edge_floor * laplacian.path_laplacian(n_features)
        return base

    def budget(self, n_features: int) -> float:
        """Return ``τ = C - Kρ - 2ε(K - 1)``."""
        return super().budget(n_features) - 2 * self.edge_floor * (n_features - 1)

    def best_atoms(
        self,
        gradient: FloatArray,
        count: int = 1,
        guess: Atoms | None = None,  # noqa: ARG002 (closed form)
    ) -> PricedAtoms:
        """Return the best of the vectors ``e_i`` and ``a e_i - b e_j``, ``a, b ≥ 0``, in O(K²)."""
        gradient = checked_gradient(gradient)
        diagonal = np.diagonal(gradient)
        single = np.argsort(diagonal, kind="stable")[:count]
        rows, columns, pair_prices = best_pairs(gradient, count)
        atoms = Atoms.of_features(single).joined(pair_atoms(gradient, rows, columns))
        prices = np.concatenate([diagonal[single], pair_prices])
        best = np.argsort(prices, kind="stable")[:count]
        return PricedAtoms(atoms[best], prices[best])

    def _decomposed(self, metric: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return an atom for each feature and each edge: `linalg.two_sparse.decomposition`."""
        above = self.entries_repaired(metric - self.base(len(metric)))
        has_edges = np.count_nonzero(above) > np.count_nonzero(np.diagonal(above))
        v = align(above, 0.0).v if has_edges else np.ones(len(metric))
        atoms, weights = decomposition(above, v)
        return atoms, np.maximum(weights, 0.0)

    def hull_violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return what keeps `metric` out of the atoms' hull: with a floor, of the fixed path's."""
        if self.edge_floor == 0:
            return self.violations(metric)
        path, rest = self._path_and_rest(len(metric))
        found = rest._violations(symmetric_matrix("metric", metric) - path, self.trace_bound)
        return tuple(f"without the fixed path of edge_floor: {sentence}" for sentence in found)

    def hull_repaired(self, metric: FloatArray) -> FloatArray:
        """Return a member of that hull near `metric` (see `repaired`)."""
        path, rest = self._path_and_rest(len(metric))
        repaired: FloatArray = path + rest.repaired(metric - path)
        return repaired

    def _path_and_rest(self, n_features: int) -> tuple[FloatArray, GraphMetrics]:
        """Return the fixed path's Laplacian, and the set of what a metric may add to it."""
        path = self.edge_floor * laplacian.path_laplacian(n_features)
        return path, replace(self.closed, trace_bound=self.trace_bound - float(np.trace(path)))

    # --- membership --------------------------------------------------------------------------

    def edge_threshold(self, n_features: int) -> float:
        """Return the weight above which an edge counts as connecting its nodes."""
        if self.edge_floor > 0:
            return self.edge_floor * (1 - _FLOOR_SLACK)
        return _EDGE_COUNTS * self.trace_bound / n_features

    def n_components(self, metric: FloatArray) -> int:
        """Return the number of components of the graph of the edges that count."""
        return laplacian.n_components(metric, self.edge_threshold(len(metric)))

    def violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return a sentence for each condition that `metric` breaks; none for a member.

        With an edge floor the edges of weight ≥ ε have to connect all features.
        """
        found = super().violations(metric)
        if self.edge_floor == 0 or self.n_components(metric) == 1:
            return found
        return (
            *found,
            f"edges of weight ≥ {self.edge_floor:g} leave "
            f"{self.n_components(metric)} components, not 1",
        )

    def _entry_violations(self, metric: FloatArray, slack: float) -> list[str]:
        off_diagonal = metric - np.diag(np.diagonal(metric))
        if off_diagonal.max() <= slack:
            return []
        i, j = (int(n) for n in np.unravel_index(off_diagonal.argmax(), metric.shape))
        return [f"off-diagonal [{i},{j}] is positive: {metric[i, j]:.6g}"]

    def entries_repaired(self, metric: FloatArray) -> FloatArray:
        """Return `metric` with positive off-diagonals set to 0."""
        mended = np.minimum(metric, 0.0)
        np.fill_diagonal(mended, np.diagonal(metric))
        return mended

    def _entry_constraints(self, above: cp.Expression) -> list[cp.Constraint]:
        rows, columns = np.triu_indices(above.shape[0], 1)
        return [above[rows, columns] <= 0] if len(rows) else []

    def _second_order(self, above: cp.Expression) -> list[cp.Constraint]:
        return pair_cones(above)

    def largest_edge_weight(self, n_features: int) -> float:
        """Return the bound of the path start's edges: ``(C/K - ρ) / (2 cos(π/(K+1)))``.

        Beyond it the start's smallest eigenvalue is below ρ (erratum 3 of DESIGN section 2).

        Examples
        --------
        >>> round(GraphMetrics(trace_bound=4.0, min_eigenvalue=0.5).largest_edge_weight(2), 12)
        1.5
        """
        slack = self.trace_bound / n_features - self.min_eigenvalue
        return slack / (2 * math.cos(math.pi / (n_features + 1))) if n_features > 1 else math.inf

    def start(self, n_features: int, edge_weight: float | str = "auto") -> FloatArray:
        """Return the paper's start: C/K on the diagonal, a path of edges of one weight.

        Parameters
        ----------
        n_features : int
            K.
        edge_weight : float or "auto", optional
            Weight of the path's edges. ``"auto"`` is half of `largest_edge_weight`, but at least
            the edge floor.

        Returns
        -------
        ndarray of shape (K, K)

        Raises
        ------
        InvalidInputError
            When the weight is above `largest_edge_weight` or below the edge floor.

        Examples
        --------
        >>> GraphMetrics(trace_bound=4.0, min_eigenvalue=0.5).start(2)
        array([[ 2.  , -0.75],
               [-0.75,  2.  ]])
        """
        self.check_size(n_features)
        bound = self.largest_edge_weight(n_features)
        if isinstance(edge_weight, str):
            if edge_weight != "auto":
                raise InvalidInputError(
                    f"initial_edge_weight must be a number or 'auto', got {edge_weight!r}"
                )
            if self.edge_floor >= bound:
                # A constant diagonal cannot carry every floor that the set allows; this can.
                rest = self.budget(n_features) / n_features
                return self.base(n_features) + rest * np.eye(n_features)
            weight = max(bound / 2, self.edge_floor) if n_features > 1 else 0.0
        else:
            weight = number("initial_edge_weight", edge_weight, at_least=0)
            if weight > bound:
                raise InvalidInputError(
                    f"initial_edge_weight {weight:g} is above (C/K - ρ)/(2 cos(π/(K+1))) = "
                    f"{bound:.6g}, so that the start would not be a metric; lower it or pass 'auto'"
                )
            if n_features > 1 and weight < self.edge_floor:
                raise InvalidInputError(
                    f"initial_edge_weight {weight:g} is below edge_floor {self.edge_floor:g}; "
                    "raise it or pass 'auto'"
                )
        path = laplacian.path_laplacian(n_features)
        np.fill_diagonal(path, 0.0)
        metric: FloatArray = weight * path
        np.fill_diagonal(metric, self.trace_bound / n_features)
        return metric
