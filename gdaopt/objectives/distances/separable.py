"""Losses that see one distance at a time: a sum over pairs of samples.

A pair is similar, of one class, or dissimilar, of two classes. Each kind has a term
``w ψ(s (δ - t))`` with a weight w, a sign s, a threshold t and a convex function ψ of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdaopt.objectives.distances.labelled_pairs import Chosen, LabelledPairs
from gdaopt.objectives.distances.loss import NEGLIGIBLE
from gdaopt.objectives.distances.scalar import ScalarFunction, Values
from gdaopt.objectives.pairs import Block, Changes, squared_distances
from gdaopt.support.validation import FloatArray

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["Separable", "Term"]


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

    def to_cvxpy(self, metric: cp.Expression) -> tuple[cp.Expression, list[cp.Constraint]]:
        """Return the loss of a metric for CVXPY."""
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        expression: cp.Expression = cp.Constant(0.0)
        constraints: list[cp.Constraint] = []
        for term in self.terms:
            left, right = self.pairs.one_by_one(similar=term.similar)
            features = self.pairs.pairs.features
            distances, equations = squared_distances(features, left, right, metric)
            losses = term.function.to_cvxpy(term.sign * (distances - term.threshold))
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
            pairs = np.nonzero(second > NEGLIGIBLE * second.max())
            found.append(changes.at(*pairs) * np.sqrt(term.weight * second[pairs]))
        return np.concatenate(found, axis=1) if found else changes.at(*_nothing(self._shape))


def _nothing(shape: tuple[int, ...]) -> tuple[npt.NDArray[np.intp], ...]:
    """Return the indices of no entry of an array."""
    return tuple(np.empty(0, dtype=np.intp) for _ in shape)
