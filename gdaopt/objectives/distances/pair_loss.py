"""A loss and the pairs whose distances it sees: what all points of an objective share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from gdaopt.objectives.distances.loss import DistanceLoss
from gdaopt.objectives.distances.loss_sum import loss_sums
from gdaopt.objectives.pairs import MANY_PAIRS, Memory, Pairs, PairSums, PairValues
from gdaopt.support.validation import FloatArray, integer
from gdaopt.support.workers import mapped

__all__ = ["PairLoss"]

_ARRAYS_KEPT = 7  # distances at a base and at three points, coefficients at two, rates of a line


class PairLoss:
    """A loss of the distances of pairs, and the memory for their numbers.

    Parameters
    ----------
    pairs : Pairs
        The pairs.
    loss : DistanceLoss
        The loss.
    memory_limit : int
        Bytes that the numbers of all pairs may take.
    """

    stands_for_more = False  # pairs, a sample of which these are

    def __init__(self, pairs: Pairs, loss: DistanceLoss, memory_limit: int) -> None:
        limit = integer("memory_limit", memory_limit, at_least=1)
        self.pairs = pairs
        self.loss = loss
        self.keeps_pairs = pairs.n_pairs * 8 * _ARRAYS_KEPT <= limit
        self._memory = Memory(pairs.n_pairs, _ARRAYS_KEPT) if self.keeps_pairs else None

    @property
    def has_many_pairs(self) -> bool:
        """Whether there are so many pairs that samples stand for them where that is enough."""
        return self.stands_for_more or self.pairs.n_pairs > MANY_PAIRS

    def swept(self, metric: FloatArray) -> PairSums:
        """Return value and moments from one pass over all pairs at a K×K metric."""
        frame = self.pairs.frame(metric)
        return PairSums.added(
            mapped(lambda portion: loss_sums(self.loss, portion, frame), self._portions)
        )

    @cached_property
    def _portions(self) -> Sequence[Pairs]:
        return self.pairs.portions()

    @cached_property
    def n_blocks(self) -> int:
        """How many blocks the pairs have."""
        return sum(1 for _ in self.pairs.blocks())

    @cached_property
    def offset_sizes(self) -> FloatArray:
        """What the round-off of terms that cancel in the derivatives is relative to, shape (K,)."""
        blocks = self.pairs.blocks()
        first = self.loss.offsets(next(blocks))
        if first is None:
            return np.zeros(self.pairs.features.shape[1])
        others = (t for block in blocks if (t := self.loss.offsets(block)) is not None)
        return self.pairs.squared_sizes(chain([first], others))

    def pair_values(self, compute: Callable[[], Iterator[FloatArray]]) -> PairValues:
        """Return numbers of all pairs, which are kept where memory allows it."""
        return PairValues(compute, self._memory)
