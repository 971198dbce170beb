"""Atoms of one or two features: those of graph metrics, of signed ones, and of their hulls."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import (
    Atoms,
    MatrixT,
    best_pairs,
    decomposition,
    least_pair_price,
    pair_atoms,
)
from gdaopt.linalg.entries import (
    Edges,
    IndexArray,
    all_edges,
    entries_of,
    matrix_of,
    no_edges,
    placement,
)
from gdaopt.linalg.gershgorin import align, comparison_matrix
from gdaopt.linalg.masked import MaskedMatrix, Symmetric, dense, largest_entry
from gdaopt.linalg.projection import Projection, project_on_bounded_sum
from gdaopt.linalg.scatter import ScatterMatrix
from gdaopt.linalg.screening import best_screened
from gdaopt.objectives.protocol import Point
from gdaopt.objectives.round_off import UNIT
from gdaopt.sets.family import AtomFamily, PricedAtoms
from gdaopt.sets.mask import EdgeMask
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray

_PRICE_ROUNDINGS = 16  # of the closed form of a pair's price, in units of its largest entry


class TwoSparseAtoms(AtomFamily):
    """The vectors ``e_i`` and ``a e_i - s b e_j`` with a, b ≥ 0 and a² + b² = 1.

    The sign s = ±1 of a pair of features is the product ``c_i c_j`` of their colours; where one of
    the colours is 0, not known, the atoms of both signs are in the family. The cone of the atoms
    holds the matrices N whose comparison matrix is positive semidefinite, and whose entries have
    ``s N_ij ≤ 0`` where s is given ("Theorem: factor width two", "Theorem: hull of all
    colourings"). Where all signs are given, N is positive semidefinite itself, and where they are
    all 1 it is a graph metric. Under a mask of edges the cone holds the matrices of this kind that
    are 0 outside of the mask, and only pairs of it have atoms ("Proposition: masks of edges").

    Parameters
    ----------
    mask : EdgeMask, optional
        The pairs that may have an edge; all by default.
    colors : number or array-like of shape (K,), optional
        +1, -1 or 0 for each feature, or one number for all.
    """

    def __init__(self, mask: EdgeMask | None = None, colors: npt.ArrayLike = 1.0) -> None:
        self._mask = mask
        self._colors = np.asarray(colors, dtype=np.float64)

    def check_size(self, n_features: int) -> None:
        if self._colors.shape not in ((), (n_features,)):
            raise InvalidInputError(
                f"colors has {self._colors.size} entries for {n_features} features; give one each"
            )
        if self._mask is not None:
            self._mask.check_size(n_features)

    def edges_of(self, n_features: int) -> Edges:
        return all_edges(n_features) if self._mask is None else self._mask.edges_of(n_features)

    def _leaves_out(self, n_features: int) -> bool:
        """Whether the mask leaves out a pair."""
        if self._mask is None:
            return False
        return len(self.edges_of(n_features)[0]) < n_features * (n_features - 1) // 2

    # --- signs ---------------------------------------------------------------------------------

    @cached_property
    def _signs(self) -> FloatArray:
        """Signs s of all pairs, 0 where both are possible: K×K, or one number for all."""
        return np.asarray(np.multiply.outer(self._colors, self._colors))

    @property
    def _all_positive(self) -> bool:
        return self._signs.ndim == 0 and bool(self._signs == 1)

    @cached_property
    def _some_are_free(self) -> bool:
        return not self._colors.all()

    @property
    def is_entrywise(self) -> bool:
        return not self._some_are_free

    def signs_of(self, edges: Edges) -> FloatArray:
        """Return s for pairs of features, 0 where both signs are possible."""
        if self._signs.ndim == 0:
            return np.full(len(edges[0]), float(self._signs))
        return self._colors[edges[0]] * self._colors[edges[1]]

    def _of_graph(self, entries: FloatArray, rows: IndexArray, columns: IndexArray) -> FloatArray:
        """Return ``s G_ij`` or ``|G_ij|`` for some entries of a gradient, of any shape."""
        if not self._colors.ndim:
            return entries if self._colors else np.abs(entries)
        signs = self._colors[rows] * self._colors[columns]
        return np.where(signs, signs * entries, np.abs(entries))

    def with_signs(self, pairs: Edges) -> tuple[IndexArray, FloatArray]:
        """Return the variables of pairs, two for a free sign: indices of pairs, and signs in M."""
        signs = self.signs_of(pairs)
        free = np.flatnonzero(signs == 0)
        index = np.concatenate([np.arange(len(signs)), free])
        return index, np.concatenate([np.where(signs, -signs, -1.0), np.ones(len(free))])

    def allows(self, atoms: Atoms) -> npt.NDArray[np.bool_]:
        """Say which two-sparse atoms have the sign that the colours give their pair."""
        signs = self.signs_of((atoms.support[:, 0], atoms.support[:, 1]))
        return np.asarray(signs * atoms.values.prod(axis=1) <= 0)

    def _flips(self, atomic_part: FloatArray) -> FloatArray:
        """Return ±1 for each entry of N: what changes its signs to those of a graph metric."""
        self.check_size(len(atomic_part))
        if self._all_positive:
            return np.ones(())
        flips = np.where(self._signs, self._signs, np.copysign(1.0, -atomic_part))
        np.fill_diagonal(flips, 1.0)
        return flips

    def as_of_graph(self, gradient: Symmetric) -> Symmetric:
        """Return ``s G_ij`` or ``|G_ij|``, of which graph atoms have the same prices."""
        self.check_size(len(gradient))
        if self._all_positive:
            return gradient
        if isinstance(gradient, MaskedMatrix):
            on_edges, signs = gradient.on_edges, self.signs_of(gradient.edges)
            return replace(gradient, on_edges=np.where(signs, signs * on_edges, np.abs(on_edges)))
        gradient = dense(gradient)
        changed: FloatArray = np.abs(gradient)
        if self._signs.ndim:
            np.multiply(self._signs, gradient, out=changed, where=self._signs != 0)
        np.fill_diagonal(changed, np.diagonal(gradient))
        return changed

    # --- atoms ---------------------------------------------------------------------------------

    def gradient_at(self, point: Point) -> Symmetric:
        if self._leaves_out(size := len(point.known_metric)):
            return point.gradient_entries(self.edges_of(size))
        found = point.scattered_gradient()
        return super().gradient_at(point) if found is None else found

    def best_atoms(
        self,
        gradient: Symmetric,
        count: int = 1,
        guess: Atoms | None = None,
    ) -> PricedAtoms:
        """Return the best atoms ("Theorem: exact linear minimisation oracle").

        That takes O(K²), or O(K + n) for a mask of n pairs. Of the gradient of many features only
        atoms that are better than the worst of the guess are looked for, by screened prices.
        """
        diagonal = gradient.diagonal()
        single = np.argsort(diagonal, kind="stable")[:count]
        if isinstance(gradient, ScatterMatrix) and self._leaves_out(len(gradient)):
            gradient = gradient.under(self.edges_of(len(gradient)))
        if isinstance(gradient, ScatterMatrix):
            found = self._best_screened(gradient, count, guess)
        else:
            edges = self.edges_of(len(gradient))
            found = best_pairs(self.as_of_graph(gradient), count, edges)
        rows, columns, pair_prices = found
        atoms = Atoms.of_features(single).joined(pair_atoms(gradient, rows, columns))
        prices = np.concatenate([diagonal[single], pair_prices])
        best = np.argsort(prices, kind="stable")[:count]
        return PricedAtoms(atoms[best], prices[best])

    def _best_screened(
        self, gradient: ScatterMatrix, count: int, guess: Atoms | None
    ) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Return the best pairs, and their prices."""
        pairs, worst = no_edges(), np.inf
        if guess is not None and len(guess):
            rows, columns = np.sort(guess.support[(guess.values != 0).all(axis=1)], axis=1).T
            pairs, worst = (rows, columns), float(guess.quadratic_forms(gradient).max())
        known = gradient.screened
        found, known[self] = best_screened(
            gradient, count, pairs, self._of_graph, worst, known.get(self)
        )
        return found

    def least_price(self, price: float, gradient: Symmetric, errors: FloatArray) -> float:
        """Return the price less the largest round-off that a pair of features can have.

        Where no pair is an atom, the price is an entry of the gradient, with its round-off alone.
        """
        if self._mask is not None and not len(self._mask):
            return price - float(errors.max() ** 2)
        of_gradient = float(np.sort(errors**2)[-2:].sum())
        own = _PRICE_ROUNDINGS * UNIT * largest_entry(gradient)
        if own <= of_gradient or isinstance(gradient, ScatterMatrix):
            return price - of_gradient - own
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

    def comparison(self, atomic_part: Any) -> Any:
        return comparison_matrix(atomic_part) if self._some_are_free else atomic_part

    def entry_violations(self, atomic_part: Symmetric, slack: float) -> list[str]:
        """Return a sentence on the largest wrong sign, and on the largest outside of the mask."""
        if isinstance(atomic_part, MaskedMatrix):
            return self._masked_violations(atomic_part, slack)
        assert isinstance(atomic_part, np.ndarray)
        wrong = self._flips(atomic_part) * atomic_part
        np.fill_diagonal(wrong, 0.0)
        breaches = {"": wrong}
        if self._leaves_out(len(wrong)):
            outside = np.abs(wrong)
            for pairs in (self.edges_of(len(wrong)), self.edges_of(len(wrong))[::-1]):
                outside[pairs] = 0.0
            wrong[outside > 0] = 0.0
            breaches["not among the edges"] = outside
        found = []
        for what, excesses in breaches.items():
            if excesses.max() > slack:
                i, j = (int(n) for n in np.unravel_index(excesses.argmax(), wrong.shape))
                entry = float(atomic_part[i, j])
                what = what or ("positive" if entry > 0 else "negative")
                found.append(f"off-diagonal [{i},{j}] is {what}: {entry:.6g}")
        return found

    def _masked_violations(self, atomic_part: MaskedMatrix, slack: float) -> list[str]:
        (rows, columns), entries = atomic_part.edges, atomic_part.on_edges
        is_outside = np.zeros(len(entries), dtype=bool)
        if self._leaves_out(len(atomic_part)):
            allowed = np.column_stack(self.edges_of(len(atomic_part))) @ [len(atomic_part), 1]
            is_outside = ~np.isin(rows * len(atomic_part) + columns, allowed)
        found = []
        for what, sizes in (
            ("", self.signs_of(atomic_part.edges) * entries),
            ("not among the edges", np.where(is_outside, np.abs(entries), 0.0)),
        ):
            if sizes.max(initial=0.0) > slack:
                worst = int(sizes.argmax())
                i, j, entry = rows[worst], columns[worst], entries[worst]
                what = what or ("positive" if entry > 0 else "negative")
                found.append(f"off-diagonal [{i},{j}] is {what}: {entry:.6g}")
        return found

    def with_feasible_entries(self, atomic_part: MatrixT) -> MatrixT:
        """Return the matrix with off-diagonals set to 0 of a wrong sign or not in the mask."""
        if isinstance(atomic_part, MaskedMatrix):
            signs = self.signs_of(atomic_part.edges)
            wrong = signs * atomic_part.on_edges > 0
            kept = np.where(wrong, 0.0, atomic_part.on_edges)
            return cast(MatrixT, replace(atomic_part, on_edges=kept))
        assert isinstance(atomic_part, np.ndarray)
        flips = self._flips(atomic_part)
        feasible = np.minimum(flips * atomic_part, 0.0)
        if self._leaves_out(len(atomic_part)):
            edges = self.edges_of(len(atomic_part))
            feasible = matrix_of(entries_of(feasible, edges), len(atomic_part), edges)
        feasible *= flips
        np.fill_diagonal(feasible, np.diagonal(atomic_part))
        return cast(MatrixT, feasible)

    def projected(
        self, atomic_part: FloatArray, budget: float, accuracy: float, correction: FloatArray | None
    ) -> Projection:
        """Return the nearest matrix: with its signs, also free ones, that of graph metrics."""
        if not len(self.edges_of(len(atomic_part))[0]):
            diagonal = project_on_bounded_sum(np.diagonal(atomic_part), budget)
            return Projection(np.diag(diagonal))
        if not self._some_are_free:
            return super().projected(atomic_part, budget, accuracy, correction)
        flips = self._flips(atomic_part)
        correction = None if correction is None else flips * correction
        graph = TwoSparseAtoms(self._mask)
        found = graph.projected(flips * atomic_part, budget, accuracy, correction)
        back = None if found.correction is None else flips * found.correction
        return replace(found, point=flips * found.point, correction=back)

    # --- for CVXPY -------------------------------------------------------------------------------

    def variable(self, n_features: int) -> cp.Expression:
        if not self._leaves_out(n_features):
            return super().variable(n_features)
        edges = self.edges_of(n_features)
        entries = cp.Variable(n_features + len(edges[0]))
        placed = placement(n_features, edges) @ entries
        return cp.reshape(placed, (n_features, n_features), order="C")

    def semidefinite(self, atomic_part: cp.Expression) -> list[cp.Constraint]:
        """Return ``N ⪰ 0``; second-order cones where some signs are free, or no pairs are there."""
        if self._some_are_free or not len(self.edges_of(atomic_part.shape[0])[0]):
            return self.second_order(atomic_part)
        return super().semidefinite(atomic_part)

    def second_order(self, atomic_part: cp.Expression) -> list[cp.Constraint]:
        """Return a second-order cone for each pair of the mask, and K inequalities.

        Each pair i < j has a block ``[[p, N_ij], [N_ij, q]]`` with ``p q ≥ N_ij²``; the diagonals
        of all blocks add up to at most the diagonal of N. With the signs of `entry_constraints`
        that is exact ("Proposition: second-order cone form"; Boman, Chen, Parekh, Toledo, *On
        factor width and symmetric H-matrices*, 2005).
        """
        size = atomic_part.shape[0]
        rows, columns = self.edges_of(size)
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

    def entry_constraints(self, atomic_part: cp.Expression) -> list[cp.Constraint]:
        """Return ``s N_ij ≤ 0`` for the pairs of the mask, and ``N_ij = 0`` for all others."""
        size = atomic_part.shape[0]
        edges = self.edges_of(size)
        signs = self.signs_of(edges)
        given = edges[0][signs != 0], edges[1][signs != 0]
        constraints = []
        if len(given[0]):
            constraints.append(cp.multiply(signs[signs != 0], atomic_part[given]) <= 0)
        if self._leaves_out(size):
            is_outside = np.triu(np.ones((size, size), dtype=bool), 1)
            is_outside[edges] = False
            constraints.append(atomic_part[is_outside.nonzero()] == 0)
        return constraints
