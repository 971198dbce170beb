"""Losses that see one distance at a time: a sum over pairs of samples.

A pair is similar, of one class, or dissimilar, of two classes. Each kind has a term
``w ψ(s (δ - t))`` with a weight w, a sign s, a threshold t and a convex function ψ of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.distances.labels import Codes, class_codes
from gdaopt.objectives.distances.scalar import ScalarFunction, Values
from gdaopt.objectives.pairs import (
    Block,
    Changes,
    ListedPairs,
    Pairs,
    RectanglePairs,
    checked_pairs,
    checked_samples,
    squared_distances,
)
from gdaopt.validation import FloatArray

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["LabelledPairs", "Separable", "Term"]

_NEGLIGIBLE = 1e-9  # of the largest in a block: second derivatives that hardly change a Newton step

Mask = npt.NDArray[np.bool_]

Chosen = Mask | EllipsisType
"""Some entries of a block, or all."""


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Pairs of samples, of which it is known whether they are of one class.

    Attributes
    ----------
    pairs : Pairs
        The pairs.
    codes : ndarray of int, shape (N,)
        The classes of the samples.
    listed : ndarray of int, shape (n, 2), or None
        The pairs one by one; None for all pairs.
    places : ndarray of int, shape (N,), or None
        Where pairs of two classes that coincide are left out: samples that coincide have the same
        number.
    """

    pairs: Pairs
    codes: Codes
    listed: npt.NDArray[np.intp] | None
    places: npt.NDArray[np.intp] | None = None

    @cached_property
    def n_dissimilar(self) -> int:
        """How many pairs are of two classes, with those that are left out."""
        return self.count(similar=False)

    @classmethod
    def read(cls, X: Any, y: Any, pairs: Any) -> LabelledPairs:
        """Return the pairs of samples with labels, or those of a list.

        Raises
        ------
        InvalidInputError
            For samples, labels or pairs that are not valid, or where no pair is of two classes.
        """
        features = checked_samples(X)
        codes = class_codes(y, len(features))
        if pairs is None:
            order = np.argsort(codes, kind="stable")
            codes = codes[order]
            return cls(RectanglePairs.by_class(features[order], codes), codes, None)
        listed = checked_pairs(pairs, len(features))
        listed = listed[listed[:, 0] != listed[:, 1]]
        found = cls(
            ListedPairs(features, listed[:, 0], listed[:, 1], np.ones(len(listed))), codes, listed
        )
        if not found.count(similar=False):
            raise InvalidInputError("pairs holds no two samples of different classes")
        return found

    def without_equal(self) -> LabelledPairs:
        """Return these pairs without those of two classes whose samples coincide.

        Raises
        ------
        InvalidInputError
            Where no pair of two classes is left.
        """
        _, places = np.unique(self.pairs.features, axis=0, return_inverse=True)
        left = replace(self, places=places.ravel())
        if not left.count(similar=False):
            raise InvalidInputError(
                "all pairs of samples of different classes coincide: no metric tells them apart"
            )
        vars(left)["n_dissimilar"] = self.n_dissimilar
        return left

    def need_similar(self) -> None:
        """Raise an `InvalidInputError` where no pair is of one class."""
        if not self.count(similar=True):
            where = "X" if self.listed is None else "pairs"
            raise InvalidInputError(
                f"{where} holds no two samples of one class; such pairs pull the metric together"
            )

    def count(self, *, similar: bool) -> int:
        """Return how many pairs are of one class, or of two classes."""
        return sum(int(self.mask(block, similar).sum()) for block in self.pairs.blocks())

    def mean_squares(self, *, similar: bool) -> FloatArray:
        """Return the mean squared differences of the features, of one kind of pairs, shape (K,)."""
        masks = (self.mask(block, similar).astype(np.float64) for block in self.pairs.blocks())
        squares: FloatArray = self.pairs.scatter_diagonal(masks) / self.count(similar=similar)
        return squares

    def chosen(self, block: Block, similar: bool) -> Chosen | None:
        """Return an index of those entries of a block, None where there are none of them."""
        if self.listed is None and self.places is None:
            rows, columns = self.codes[block.rows], self.codes[block.columns]
            if rows[-1] < columns[0]:  # classes ascend
                return None if similar else ...
            is_one = rows[0] == columns[-1]
            if is_one and not similar:
                return None
            if is_one and block.columns.start >= block.rows.stop:
                return ...
        mask = self.mask(block, similar)
        return mask if mask.any() else None

    def mask(self, block: Block, similar: bool) -> Mask:
        """Return which entries of a block are pairs of one class, or of two; each pair once."""
        if self.listed is not None:
            left, right = self.listed[block.rows].T
            listed: Mask = (self.codes[left] == self.codes[right]) == similar
            if self.places is not None and not similar:
                listed &= self.places[left] != self.places[right]
            return listed
        compare = np.equal if similar else np.not_equal
        mask: Mask = compare.outer(self.codes[block.rows], self.codes[block.columns])
        if block.columns.start < block.rows.stop:
            # Rows meet the samples of their own run twice, and themselves.
            rows = np.arange(block.rows.start, block.rows.stop)
            mask &= np.less.outer(rows, np.arange(block.columns.start, block.columns.stop))
        if self.places is not None and not similar:
            mask &= np.not_equal.outer(self.places[block.rows], self.places[block.columns])
        return mask

    def one_by_one(self, *, similar: bool) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return both samples of the pairs of one class, or of two."""
        if self.listed is None:
            left, right = np.triu_indices(len(self.codes), 1)
        else:
            left, right = self.listed.T
        chosen = (self.codes[left] == self.codes[right]) == similar
        if self.places is not None and not similar:
            chosen &= self.places[left] != self.places[right]
        return left[chosen], right[chosen]


@dataclass(frozen=True, eq=False)
class Term:
    """The term ``w ψ(s (δ - t))`` of one kind of pairs.

    Attributes
    ----------
    similar : bool
        Whether it is that of pairs of one class.
    function : ScalarFunction
        ψ.
    weight : float
        w > 0.
    sign : float
        s, 1 or -1.
    threshold : float
        t.
    """

    similar: bool
    function: ScalarFunction
    weight: float
    sign: float = 1.0
    threshold: float = 0.0


class Separable:
    """``Σ_p w_p ψ(s_p (δ_p - t_p))``: a `DistanceLoss`.

    Parameters
    ----------
    pairs : LabelledPairs
        The pairs.
    terms : tuple of Term
        Those of pairs of one class, or of two, or of both.
    """

    value_roundings = 24.0
    coefficient_roundings = 16.0

    def __init__(self, pairs: LabelledPairs, terms: tuple[Term, ...]) -> None:
        self.pairs = pairs
        self.terms = terms
        self.curved_everywhere = not any(term.function.is_flat_beyond for term in terms)

    def offsets(self, block: Block) -> None:
        """Return None: no derivative is a difference."""

    def at(self, block: Block, distances: FloatArray) -> _Pairs:
        """Return the loss at the distances of a block."""
        return _Pairs(
            [
                (term, chosen)
                for term in self.terms
                if (chosen := self.pairs.chosen(block, term.similar)) is not None
            ],
            distances,
        )

    def to_cvxpy(
        self, metric: cp.Expression, function: Callable[[cp.Expression], cp.Expression]
    ) -> tuple[cp.Expression, list[cp.Constraint]]:
        """Return the loss for CVXPY.

        Parameters
        ----------
        metric : cvxpy.Expression of shape (K, K)
            The metric.
        function : callable
            ψ of CVXPY, entry by entry, where all terms have the same.
        """
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        expression: cp.Expression = cp.Constant(0.0)
        constraints: list[cp.Constraint] = []
        for term in self.terms:
            left, right = self.pairs.one_by_one(similar=term.similar)
            features = self.pairs.pairs.features
            distances, equations = squared_distances(features, left, right, metric)
            losses = function(term.sign * (distances - term.threshold))
            expression += term.weight * cp.sum(losses)
            constraints += equations
        return expression, constraints

    def lipschitz(self, squares: Iterator[FloatArray]) -> float:
        """Return ``Σ_p w_p max ψ'' ‖d_p‖⁴``, for ``‖d_p‖²`` block by block."""
        total = 0.0
        for block, square in zip(self.pairs.pairs.blocks(), squares, strict=True):
            for term in self.terms:
                fourth = float((square[self.pairs.mask(block, term.similar)] ** 2).sum())
                total += term.weight * term.function.max_curvature * fourth
        return total


class _Pairs:
    """The loss at the distances of some pairs: a `BlockLoss`."""

    def __init__(self, parts: list[tuple[Term, Chosen]], distances: FloatArray) -> None:
        self._shape = distances.shape
        self._parts: list[tuple[Term, Chosen, FloatArray, Values]] = []
        for term, chosen in parts:
            z = term.sign * (distances[chosen] - term.threshold)
            self._parts.append((term, chosen, z, term.function(z)))

    @cached_property
    def value(self) -> float:
        return sum(term.weight * float(values.sum()) for term, _, _, (values, _) in self._parts)

    @property
    def magnitude(self) -> float:
        total = 0.0
        for term, _, z, (values, first) in self._parts:
            sizes = np.abs(values).sum() + np.abs(np.vdot(np.abs(first), np.abs(z)))
            total += term.weight * float(sizes)
        return total

    def coefficients(self) -> FloatArray:
        coefficients = np.zeros(self._shape)
        for term, chosen, _, (_, first) in self._parts:
            coefficients[chosen] = term.weight * term.sign * first
        return coefficients

    def factors(self, changes: Changes) -> FloatArray:
        """Return ``√(w ψ'') φ`` of the pairs where the second derivative counts."""
        found = []
        for term, chosen, z, _ in self._parts:
            second = np.zeros(self._shape)
            second[chosen] = term.function.second(z)
            pairs = np.nonzero(second > _NEGLIGIBLE * second.max())
            found.append(changes.at(*pairs) * np.sqrt(term.weight * second[pairs]))
        return np.concatenate(found, axis=1) if found else changes.at(*_nothing(self._shape))


def _nothing(shape: tuple[int, ...]) -> tuple[npt.NDArray[np.intp], ...]:
    """Return the indices of no entry of an array."""
    return tuple(np.empty(0, dtype=np.intp) for _ in shape)
