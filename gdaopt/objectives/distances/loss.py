"""The interface of losses: functions of squared distances, block by block.

A loss is a sum of convex functions, each of which sees the distances of one row of a block or of
several: all pairs of one sample, one pair, or the pairs of one group. So it is evaluated on any
rows of a block alone, and needs no sample, only their distances.
"""

from __future__ import annotations

from typing import Protocol

from gdaopt.objectives.pairs import Block, Changes
from gdaopt.support.validation import FloatArray

__all__ = ["NEGLIGIBLE", "BlockLoss", "DistanceLoss"]

NEGLIGIBLE = 1e-9
"""Second derivatives hardly change a Newton step by this share of the largest in a block."""


class BlockLoss(Protocol):
    """A loss f at the distances δ of one block, or of some of its rows."""

    @property
    def value(self) -> float:
        """``f(δ)``."""

    @property
    def magnitude(self) -> float:
        """What the round-off of `value` is relative to, at least its magnitude."""

    def coefficients(self) -> FloatArray:
        """Return ``∂f/∂δ``, with the shape of δ.

        It may take the memory of what the loss knows, which is asked nothing afterwards.
        """

    def factors(self, changes: Changes) -> FloatArray:
        """Return F, of shape (n, m), such that ``F F'`` are the second derivatives.

        Parameters
        ----------
        changes : Changes
            By how much δ changes along n directions.
        """


class DistanceLoss(Protocol):
    """A convex function of the squared distances of pairs."""

    @property
    def value_roundings(self) -> float:
        """By how many u times its magnitude a value can be off, for the distances as given."""

    @property
    def coefficient_roundings(self) -> float:
        """r: a derivative c by a distance can be off by ``r u (|c| + t)``; t is `offsets`."""

    @property
    def curved_everywhere(self) -> bool:
        """Whether nearly all pairs have second derivatives, so that some rows tell of all."""

    def offsets(self, block: Block) -> FloatArray | None:
        """Return t ≥ 0 for the pairs of a block; None for 0.

        These are the sizes of terms that cancel in the derivatives.
        """

    def at(self, block: Block, distances: FloatArray) -> BlockLoss:
        """Return the loss at the distances of a block.

        Where their array is writeable, nobody else needs it, and it may be overwritten.
        """
