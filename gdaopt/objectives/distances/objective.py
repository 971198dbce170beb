"""The base of objectives that are a loss of distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.objectives.distances.atom_weights import DistanceAtomWeights
from gdaopt.objectives.distances.loss import DistanceLoss
from gdaopt.objectives.distances.point import DistancePoint
from gdaopt.objectives.pairs import Memory, Pairs, PairValues
from gdaopt.objectives.sums import Summable
from gdaopt.validation import FloatArray, integer, symmetric_matrix

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["DistanceObjective"]

_ARRAYS_KEPT = 7  # distances at a base and at three points, coefficients at two, rates of a line


class DistanceObjective(Summable, ABC):
    """``Q(M) = f(δ(M))`` with a convex loss f of the squared distances of pairs.

    Points, lines, weights of atoms, round-off and memory are here, for every loss. A subclass makes
    the pairs and the loss in its ``__init__``, and writes `to_cvxpy` and `conic_bytes`; see
    "Definition: losses of distances" in ``docs/theory.md``.

    Parameters
    ----------
    pairs : Pairs
        The pairs whose distances the loss sees.
    loss : DistanceLoss
        f.
    memory_limit : int
        Bytes that the numbers of all pairs may take. Where they need more, they are recomputed
        block by block in each pass instead of being kept.
    """

    log_convex = False

    def __init__(self, pairs: Pairs, loss: DistanceLoss, memory_limit: int) -> None:
        limit = integer("memory_limit", memory_limit, at_least=1)
        self.pairs = pairs
        self.loss = loss
        self.keeps_pairs = pairs.n_pairs * 8 * _ARRAYS_KEPT <= limit
        self._memory = Memory(pairs.n_pairs, _ARRAYS_KEPT) if self.keeps_pairs else None

    @property
    def n_features(self) -> int:
        """K, the size of the metric matrices."""
        return int(self.pairs.features.shape[1])

    @cached_property
    def n_blocks(self) -> int:
        """How many blocks the pairs have."""
        return sum(1 for _ in self.pairs.blocks())

    @cached_property
    def offset_sizes(self) -> FloatArray:
        """What the round-off of terms that cancel in the derivatives is relative to, shape (K,)."""
        offsets = [self.loss.offsets(block) for block in self.pairs.blocks()]
        if all(offset is None for offset in offsets):
            return np.zeros(self.n_features)
        return self.pairs.squared_sizes(offset for offset in offsets if offset is not None)

    def pair_values(self, compute: Callable[[], Iterator[FloatArray]]) -> PairValues:
        """Return numbers of all pairs, which are kept where memory allows it."""
        return PairValues(compute, self._memory)

    def at(self, metric: FloatArray) -> DistancePoint:
        """Return the point at a symmetric K×K matrix; everything else is evaluated from it."""
        return DistancePoint(self, symmetric_matrix("metric", metric, self.n_features))

    def atom_weights(
        self,
        base: FloatArray,
        log: bool = False,  # noqa: ARG002 (log Q is not convex)
    ) -> DistanceAtomWeights:
        """Return Q as a function of the weights of atoms, around a K×K base."""
        return DistanceAtomWeights(DistancePoint(self, base))

    def value(self, metric: FloatArray) -> float:
        """Return ``Q(M)``."""
        return self.at(metric).value

    def gradient(self, metric: FloatArray) -> FloatArray:
        """Return ``∇Q(M) = Σ_p ∂f/∂δ_p d_p d_p'``, shape (K, K)."""
        return self.at(metric).gradient()

    def squares(self) -> Iterator[FloatArray]:
        """Yield ``‖d_p‖²`` for the pairs of each block."""
        return self.pairs.products(self.pairs.features, self.pairs.features)

    def lipschitz(self, min_eigenvalue: float) -> float | None:  # noqa: ARG002 (for subclasses)
        """Return None: no Lipschitz constant over ``M ⪰ ρI`` is known."""
        return None

    @abstractmethod
    def to_cvxpy(
        self, metric: cp.Expression, log: bool = False
    ) -> tuple[cp.Expression, list[cp.Constraint]]:
        """Return Q for CVXPY."""

    @abstractmethod
    def conic_bytes(self) -> float:
        """Return an estimate of the memory of the expression, CVXPY's own copies of it included."""
