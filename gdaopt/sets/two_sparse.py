"""Atoms of one or two features: those of graph metrics, of signed ones, and of their hulls."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.linalg.atoms import (
    Atoms,
    best_pairs,
    decomposition,
    least_pair_price,
    pair_atoms,
)
from gdaopt.linalg.entries import Edges, IndexArray, all_edges, no_edges, pairs_of
from gdaopt.linalg.gershgorin import align
from gdaopt.linalg.magnitudes import largest_entry
from gdaopt.linalg.projection import Projection, project_on_bounded_sum
from gdaopt.objectives.protocol import Point
from gdaopt.objectives.round_off import UNIT
from gdaopt.sets.family import AtomFamily, PricedAtoms
from gdaopt.sets.mask import EdgeMask
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray, check_finite

_PRICE_ROUNDINGS = 16  # round-offs of a pair's price, in units of its largest entry


class TwoSparseAtoms(AtomFamily):
    """The vectors ``e_i``, and ``a e_i + σ b e_j`` with a, b ≥ 0 and a² + b² = 1.

    The sets of entries differ in the signs σ that an off-diagonal may have, and in the pairs of
    features that have one at all. With the sign -1 alone the cone of the atoms holds the graph
    metrics, with both signs the matrices N whose comparison matrix is positive semidefinite, and
    without any the diagonal ones ("Theorem: factor width two", "Theorem: hull of all colourings").
    Colours of the features decide for each pair: σ is ``-c_i c_j`` if both are ±1, and either
    sign if one is 0, not known. If all pairs have one sign, N is positive semidefinite
    itself. Under a mask of edges only its pairs have atoms, and N is 0 outside of it
    ("Proposition: masks of edges").

    Parameters
    ----------
    signs : tuple of int
        The signs of an off-diagonal: ``(-1,)``, ``(-1, 1)`` or ``()``.
    mask : EdgeMask, optional
        The pairs that may have an off-diagonal; all by default.
    colors : array-like of shape (K,), optional
        +1, -1 or 0 for each feature: they decide in place of `signs`.
    """

    def __init__(
        self,
        signs: tuple[int, ...],
        mask: EdgeMask | None = None,
        colors: npt.ArrayLike | None = None,
    ) -> None:
        self._mask = mask if signs else EdgeMask(*no_edges())
        self._sign = float(sum(signs))  # that entries must have: 0 if both are possible
        self._colors = None if colors is None else np.asarray(colors, dtype=np.float64)
        self._is_of_graphs = colors is None and signs == (-1,)
        is_free = self._sign == 0 if self._colors is None else not self._colors.all()
        self.is_entrywise = not (signs and is_free)

    def edges_of(self, n_features: int) -> Edges:
        return all_edges(n_features) if self._mask is None else self._mask.edges_of(n_features)

    def leaves_out(self, n_features: int) -> bool:
        """Whether the mask leaves out a pair."""
        if self._mask is None:
            return False
        return len(self.edges_of(n_features)[0]) < n_features * (n_features - 1) // 2

    # --- signs ---------------------------------------------------------------------------------

    def signs_of(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        """Return the sign that entries must have, 0 if both are possible.

        It is an array of the shape of the indices, or one number for all.
        """
        if self._colors is None:
            return np.asarray(self._sign)
        return np.asarray(-self._colors[rows] * self._colors[columns])

    def _all_signs(self) -> FloatArray:
        """Return the signs of all pairs: K×K, or one number."""
        if self._colors is None:
            return np.asarray(self._sign)
        return np.asarray(-np.multiply.outer(self._colors, self._colors))

    def edge_variables(self, pairs: Edges) -> tuple[IndexArray, FloatArray]:
        """Return the edges of pairs, two if both signs are possible: indices, and signs."""
        signs = np.broadcast_to(self.signs_of(*pairs), pairs[0].shape)
        free = np.flatnonzero(signs == 0)
        index = np.concatenate([np.arange(len(signs)), free])
        return index, np.concatenate([np.where(signs, signs, -1.0), np.ones(len(free))])

    def graph_entries(
        self, entries: FloatArray, rows: IndexArray, columns: IndexArray
    ) -> FloatArray:
        """Return ``-σ G_ij`` or ``|G_ij|`` for some entries of a gradient, of any shape."""
        if self._is_of_graphs:
            return entries
        signs = self.signs_of(rows, columns)
        if not signs.any():
            return np.abs(entries)
        return np.where(signs == 0, np.abs(entries), -signs * entries)

    def as_of_graph(self, gradient: FloatArray) -> FloatArray:
        """Return ``-σ G_ij`` or ``|G_ij|``, for which graph atoms have the same prices."""
        if self._is_of_graphs:
            return gradient
        every = np.arange(len(gradient))
        entries = self.graph_entries(gradient, every[:, None], every)
        np.fill_diagonal(entries, gradient.diagonal())
        return entries

    # --- atoms ---------------------------------------------------------------------------------

    def gradient_at(self, point: Point) -> FloatArray:
        """Return an objective's gradient: under a mask its diagonal and entries there alone."""
        size = len(point.metric)
        if not self.leaves_out(size):
            return point.gradient()
        edges, gradient = self.edges_of(size), np.zeros((size, size))
        entries = point.gradient_entries(*pairs_of(size, edges))
        gradient[edges] = gradient[edges[::-1]] = entries[size:]
        np.fill_diagonal(gradient, entries[:size])
        return gradient

    def best_atoms(
        self,
        gradient: FloatArray,
        count: int = 1,
        _guess: Atoms | None = None,
        /,
    ) -> PricedAtoms:
        """Return the best atoms ("Theorem: exact linear minimisation oracle").

        That takes O(K²), or O(K + n) for a mask of n pairs.
        """
        check_finite("gradient", gradient)
        diagonal = gradient.diagonal()
        single = np.argsort(diagonal, kind="stable")[:count]
        edges = self.edges_of(len(gradient))
        first, second, of_pairs = best_pairs(self.as_of_graph(gradient), count, edges)
        rows, columns = np.concatenate([single, first]), np.concatenate([single, second])
        prices = np.concatenate([diagonal[single], of_pairs])
        best = np.argsort(prices, kind="stable")[:count]
        return PricedAtoms(pair_atoms(gradient, rows[best], columns[best]), prices[best])

    def all_supports(self, n_features: int) -> Atoms:
        """Return ``e_i`` for each feature, and ``(e_i + σ e_j)/√2`` for each pair and sign."""
        rows, columns = self.edges_of(n_features)
        index, signs = self.edge_variables((rows, columns))
        values = np.column_stack([np.ones(len(index)), signs]) / math.sqrt(2)
        pairs = Atoms(np.column_stack([rows[index], columns[index]]), values)
        return Atoms.of_features(np.arange(n_features)).joined(pairs)

    def least_price(self, price: float, gradient: FloatArray, errors: FloatArray) -> float:
        """Return the price less the largest round-off that a pair of features can have.

        If no pair is an atom, the price is an entry of the gradient, with its round-off alone.
        """
        if self._mask is not None and not len(self._mask):
            return price - float(errors.max() ** 2)
        of_gradient = float(np.sort(errors**2)[-2:].sum())
        of_formula = _PRICE_ROUNDINGS * UNIT * largest_entry(gradient)
        if of_formula <= of_gradient:
            return price - of_gradient - of_formula
        # A second, tighter bound: prices near 0 often belong to a large and a small entry.
        least = min(
            float(gradient.diagonal().min()),
            least_pair_price(self.as_of_graph(gradient), self.edges_of(len(gradient))),
        )
        return least - of_gradient

    def decomposed(self, atomic_part: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return an atom for each feature and each edge ("Theorem: factor width two")."""
        atomic_part = self.with_feasible_entries(atomic_part)
        has_edges = np.count_nonzero(atomic_part) > np.count_nonzero(np.diagonal(atomic_part))
        v = align(atomic_part, 0.0).v if has_edges else np.ones(len(atomic_part))
        atoms, weights = decomposition(atomic_part, v)
        return atoms, np.maximum(weights, 0.0)

    # --- the matrices of the cone ----------------------------------------------------------------

    def with_feasible_entries(self, atomic_part: FloatArray) -> FloatArray:
        """Return the matrix with off-diagonals 0 if of a wrong sign or outside of the mask."""
        size = len(atomic_part)
        is_feasible = self._all_signs() * atomic_part >= 0
        if self.leaves_out(size):
            is_edge = np.zeros((size, size), dtype=bool)
            rows, columns = self.edges_of(size)
            is_edge[rows, columns] = is_edge[columns, rows] = True
            is_feasible &= is_edge
        np.fill_diagonal(is_feasible, val=True)
        return atomic_part * is_feasible

    def projected(
        self, atomic_part: FloatArray, budget: float, accuracy: float, correction: FloatArray | None
    ) -> Projection:
        """Return the nearest matrix: with its signs, also free ones, that of graph metrics."""
        if not len(self.edges_of(len(atomic_part))[0]):
            diagonal = project_on_bounded_sum(np.diagonal(atomic_part), budget)
            return Projection(np.diag(diagonal))
        if self.is_entrywise:
            return super().projected(atomic_part, budget, accuracy, correction)
        signs = self._all_signs()
        flips = np.where(signs, -signs, np.copysign(1.0, -atomic_part))
        np.fill_diagonal(flips, 1.0)
        correction = None if correction is None else flips * correction
        graph = TwoSparseAtoms((-1,), self._mask)
        projection = graph.projected(flips * atomic_part, budget, accuracy, correction)
        back = None if projection.correction is None else flips * projection.correction
        return replace(projection, nearest=flips * projection.nearest, correction=back)

    # --- for CVXPY -------------------------------------------------------------------------------

    def to_cvxpy(self, atomic_part: cp.Expression, cone: str) -> list[cp.Constraint]:
        """Return the cone, ``σ N_ij ≥ 0`` for the pairs of the mask, and ``N_ij = 0`` for others.

        If some signs are free, or there are no pairs, the cone is always of second order.
        """
        size = atomic_part.shape[0]
        edges = self.edges_of(size)
        semidefinite = cone == "semidefinite" and self.is_entrywise and len(edges[0])
        constraints = [atomic_part >> 0] if semidefinite else _second_order(atomic_part, edges)
        signs = np.broadcast_to(self.signs_of(*edges), edges[0].shape)
        signed = edges[0][signs != 0], edges[1][signs != 0]
        if len(signed[0]):
            constraints.append(cp.multiply(-signs[signs != 0], atomic_part[signed]) <= 0)
        if self.leaves_out(size):
            is_outside = np.triu(np.ones((size, size), dtype=bool), 1)
            is_outside[edges] = False
            constraints.append(atomic_part[is_outside.nonzero()] == 0)
        return constraints


def _second_order(atomic_part: cp.Expression, edges: Edges) -> list[cp.Constraint]:
    """Return a second-order cone for each pair i < j that has an edge, and K inequalities.

    Each pair has a block ``[[p, N_ij], [N_ij, q]]`` with ``p q ≥ N_ij²``; the diagonals of all
    blocks add up to at most the diagonal of N. With the signs of the entries that is exact
    ("Proposition: second-order cone form"; Boman, Chen, Parekh, Toledo, *On factor width and
    symmetric H-matrices*, 2005).
    """
    (rows, columns), size = edges, atomic_part.shape[0]
    n_pairs = len(rows)
    if n_pairs == 0:
        return [cp.diag(atomic_part) >= 0]
    first, second = cp.Variable(n_pairs), cp.Variable(n_pairs)
    total = sum(
        csr_array((np.ones(n_pairs), (ends, np.arange(n_pairs))), shape=(size, n_pairs)) @ block
        for ends, block in ((rows, first), (columns, second))
    )
    off_diagonal = cp.vstack([2 * atomic_part[rows, columns], first - second])
    cones = cp.SOC(first + second, off_diagonal, axis=0)
    return [cones, cp.diag(atomic_part) >= total]
