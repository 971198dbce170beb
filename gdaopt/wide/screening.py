"""The best pairs of features for a gradient of many features: exact prices of a few of them.

No price is below ``-n_i - n_j`` (`ScatterMatrix.least_eigenvalues`). If some pair has the price
p, only pairs with ``n_i + n_j ≥ -p`` can be as good, and of these a pair is better if
``G_ij > r_i r_j`` with ``r_i = √(G_ii - p)``. Products of matrices of single precision find out
where that may be so ("Proposition: screened prices").
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gdaopt.linalg.entries import Edges, IndexArray
from gdaopt.linalg.samples import is_sparse
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray
from gdaopt.wide.scatter import ScatterMatrix

_TOP = 192  # features whose pairs are priced first
_ROWS, _COLUMNS = 512, 256  # sizes of a tile that stays in cache
_MANY = 1 / 64  # a share of a tile: of more candidates all entries are computed exactly
_ROUNDINGS = 16 * 2.0**-53  # round-off of a price, relative to the largest entry
_SINGLE = 2.0**-24  # the relative error of an operation in single precision
_MARGIN = 0.1  # a share of the price: pairs kept for the next gradient are that much worse at most
_MOST_KEPT = 2**17  # pairs
_FEW = 0.25  # a share of all pairs: with fewer to look at again, those that are kept stay

OfGraph = Callable[[FloatArray, IndexArray, IndexArray], FloatArray]
"""Takes entries of G with their rows and columns, and returns those for the atoms of graphs."""


@dataclass(frozen=True, eq=False)
class Screened:
    """Pairs for a gradient: all pairs of a price below `level` are among them."""

    gradient: ScatterMatrix
    level: float
    pairs: Edges


def best_screened(
    gradient: ScatterMatrix,
    count: int,
    guess: Edges,
    of_graph: OfGraph,
    ceiling: float,
    earlier: Screened | None = None,
) -> tuple[tuple[IndexArray, IndexArray, FloatArray], Screened]:
    """Return the pairs i < j with ``G_ij > 0`` of the least prices, best first, and their prices.

    Pairs above the ceiling are left out, unless no pair is below it. With the pairs comes what
    makes the search at a gradient nearby shorter, if one was `earlier`.
    """
    search = _Search(gradient, count, of_graph, ceiling)
    search.add_pairs(*guess)
    if earlier is not None:
        search.add_pairs(*earlier.pairs)
        change = gradient.less(earlier.gradient).least_eigenvalues
        if search.price_all(change, earlier.level - search.round_off, _FEW):
            return search.best(), earlier
    search.margin = _MARGIN
    search.price_all(gradient.least_eigenvalues, -search.round_off)
    return search.best(), search.screened()


class _Search:
    """Pairs so far; those that are not among them and count are below the price `most`.

    All pairs below that price times ``1 - margin`` are looked for, which makes it higher.
    """

    margin = 0.0

    def __init__(
        self, gradient: ScatterMatrix, count: int, of_graph: OfGraph, ceiling: float
    ) -> None:
        self._gradient, self._count, self._of_graph = gradient, count, of_graph
        self._diagonal = gradient.diagonal
        self._slack = _ROUNDINGS * gradient.largest_entry
        self.round_off = gradient.samples.shape[0] * self._slack  # round-off of prices and bounds
        self._rows = self._columns = np.zeros(0, np.intp)
        self._prices = np.zeros(0)
        self._pending: list[tuple[IndexArray, IndexArray, FloatArray]] = []
        self._n_pending = 0
        self._overflown = np.inf
        singles = np.sort(self._diagonal)[:count]
        # No pair that is worse than so many single features is one of the best atoms.
        self._ceiling = ceiling if len(singles) < count else min(ceiling, float(singles[-1]))
        self.most = self._ceiling

    def best(self) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Return the best pairs."""
        self._choose()
        chosen = slice(0, self._count)
        return self._rows[chosen], self._columns[chosen], self._prices[chosen]

    def screened(self) -> Screened:
        """Return what is known after all pairs have been priced."""
        return Screened(self._gradient, self.most, (self._rows, self._columns))

    def add_pairs(self, rows: IndexArray, columns: IndexArray) -> None:
        """Take note of pairs, by their entries."""
        self._add(rows, columns, self._of_graph(self._gradient[rows, columns], rows, columns))

    def _add(self, rows: IndexArray, columns: IndexArray, entries: FloatArray) -> None:
        useful = (entries > 0) & (rows != columns)
        rows, columns, entries = rows[useful], columns[useful], entries[useful]
        first, second = self._diagonal[rows] / 2, self._diagonal[columns] / 2
        prices = first + second - np.hypot(first - second, entries)
        self._pending.append((np.minimum(rows, columns), np.maximum(rows, columns), prices))
        self._n_pending += len(rows)
        if self._n_pending > _MOST_KEPT:
            self._choose()

    def _choose(self) -> None:
        """Keep the pairs so far that count, and lower the price that others have to beat."""
        if self._n_pending:
            parts = [(self._rows, self._columns, self._prices), *self._pending]
            rows, columns, prices = (np.concatenate(part) for part in zip(*parts, strict=True))
            _, first = np.unique(rows * len(self._diagonal) + columns, return_index=True)
            places = first[np.argsort(prices[first], kind="stable")]
            self._rows, self._columns, self._prices = rows[places], columns[places], prices[places]
            self._pending, self._n_pending = [], 0
        if len(self._prices) >= self._count:
            self._ceiling = min(self._ceiling, float(self._prices[self._count - 1]))
        best = float(self._prices[0]) if len(self._prices) else np.inf
        # The best pair is always looked for.
        level = max(self._ceiling, min(best, 0.0)) - self._slack
        self.most = max(level, min((1 - self.margin) * level, self._overflown))
        n_kept = max(int(np.searchsorted(self._prices, self.most)), self._count)
        if n_kept > max(_MOST_KEPT // 2, self._count):
            n_kept = max(_MOST_KEPT // 2, self._count)
            self._overflown = self.most = max(level, float(self._prices[n_kept]))
        self._rows, self._columns = self._rows[:n_kept], self._columns[:n_kept]
        self._prices = self._prices[:n_kept]

    def price_all(self, bounds: FloatArray, level: float, share: float = 1.0) -> bool:
        """Price all pairs that may be below the price `most`; say whether that was done.

        No price is below the level less the bounds of both features. Nothing is done if that
        leaves more than a share of all pairs.
        """
        order = np.argsort(-bounds, kind="stable")
        bounds = bounds[order]
        if share == 1:
            self._take(order[:_TOP], order[:_TOP])
        self._choose()
        # With the best feature, and with each other at least half of the bounds.
        n_useful = int(np.searchsorted(-bounds, self.most - level + bounds[0], side="right"))
        if share < 1:
            left = np.searchsorted(-bounds, self.most - level + bounds[:n_useful], side="right")
            if left.sum() > share * len(bounds) ** 2:
                return False
        order, bounds = order[:n_useful], bounds[:n_useful]
        screen = None
        for start in range(0, n_useful, _COLUMNS):
            partners = int(
                np.searchsorted(-bounds, self.most - level + bounds[start], side="right")
            )
            if not partners:
                break  # not even with the best feature
            if screen is None and not is_sparse(self._gradient.samples):
                screen = _Screen(self._gradient, order)
            stop = min(start + _COLUMNS, n_useful)
            for first in range(0, min(partners, stop), _ROWS):
                check_time()
                last = min(first + _ROWS, partners, stop)
                self._look(screen, order, slice(first, last), slice(start, stop))
            self._choose()
        return True

    def _look(self, screen: _Screen | None, order: IndexArray, left: slice, right: slice) -> None:
        """Price the pairs of two runs of features that may be below the price `most`."""
        rows, columns = order[left], order[right]
        if screen is None:
            self._take(rows, columns)
            return
        self._gradient.n_priced += len(rows) * len(columns)
        entries, error = screen.tile(left, right)
        entries = self._of_graph(entries, rows[:, None], columns[None])
        r, s = ((root / screen.unit).astype(np.float32) for root in self._roots(rows, columns))
        entries -= np.multiply.outer(r, s)
        if not entries.max() > -error:
            return
        i, j = np.nonzero(entries > -error)
        if len(i) > _MANY * entries.size:
            self._take(rows, columns)
        else:
            self.add_pairs(rows[i], columns[j])

    def _roots(self, *features: IndexArray) -> list[FloatArray]:
        """Return r: pairs with ``G_ij > r_i r_j`` are below the price `most`."""
        # 0 if a feature alone is as good.
        share = 1 - _ROUNDINGS
        return [
            share * np.sqrt(np.maximum(self._diagonal[ends] - self.most, 0.0)) for ends in features
        ]

    def _take(self, rows: IndexArray, columns: IndexArray) -> None:
        """Compute all entries of a tile, and take note of pairs below the price `most`."""
        samples = self._gradient.samples
        products = self._gradient.products(samples[:, columns])
        entries: FloatArray = samples[:, rows].T @ products
        self._gradient.n_priced += entries.size
        entries = self._of_graph(entries, rows[:, None], columns[None])
        i, j = np.nonzero(entries > np.multiply.outer(*self._roots(rows, columns)))
        self._add(rows[i], columns[j], entries[i, j])


class _Screen:
    """``G_ij = f_i' diag(σ) f_j`` in single precision, for the features of an order.

    In units of the largest entry, whose root is `unit`: products neither under- nor overflow.
    """

    def __init__(self, gradient: ScatterMatrix, order: IndexArray) -> None:
        roots, signs = gradient.roots
        self.unit = math.sqrt(gradient.largest_entry) or 1.0
        self._signs = signs.astype(np.float32)
        self._factors = np.empty((len(order), len(signs)), dtype=np.float32)
        self._sizes = np.empty(len(order))
        for start in range(0, len(order), _ROWS):
            part = slice(start, start + _ROWS)
            factors = gradient.samples[:, order[part]].T @ (roots.T / self.unit)
            self._factors[part], self._sizes[part] = factors, np.linalg.norm(factors, axis=1)
        self._right: tuple[slice, FloatArray] = slice(0), np.zeros(0)

    def tile(self, left: slice, right: slice) -> tuple[Any, float]:
        """Return the entries of some rows and columns, and how far rounding can be off.

        Also where ``r_i r_j`` is rounded: it is below ``G_ij``, for pairs that count.
        """
        if self._right[0] != right:
            self._right = right, np.ascontiguousarray((self._factors[right] * self._signs).T)
        largest = float(self._sizes[left].max() * self._sizes[right].max())
        return self._factors[left] @ self._right[1], (len(self._signs) + 8) * _SINGLE * largest
