"""The base of objectives that are a loss of distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from gdaopt.objectives.distances.atom_weights import DistanceAtomWeights
from gdaopt.objectives.distances.loss import DistanceLoss
from gdaopt.objectives.distances.pair_loss import PairLoss
from gdaopt.objectives.distances.point import DistancePoint
from gdaopt.objectives.many_pairs import SweptAtomWeights, model_size, sample_size
from gdaopt.objectives.pairs import Pairs, expression_bytes
from gdaopt.objectives.protocol import AtomWeights
from gdaopt.objectives.sums import Summable
from gdaopt.support.validation import FloatArray, symmetric_matrix
from gdaopt.support.warning_filters import underflow_ignored

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["DistanceObjective"]

_ORDERS = 2  # in which the pairs of a sample that tells second derivatives can be


class DistanceObjective(Summable, ABC):
    """``Q(M) = f(δ(M))`` with a convex loss f of the squared distances of pairs.

    Points, lines, weights of atoms, round-off and memory are here, for every loss. A subclass makes
    the pairs and the loss in its ``__init__``, and writes `to_cvxpy`; see
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
    tested = True

    def __init__(self, pairs: Pairs, loss: DistanceLoss, memory_limit: int) -> None:
        self.pairs = pairs
        self.loss = loss
        self._pair_loss = PairLoss(pairs, loss, memory_limit)

    @property
    def keeps_pairs(self) -> bool:
        """Whether the numbers of all pairs fit into the memory limit."""
        return self._pair_loss.keeps_pairs

    @property
    def n_features(self) -> int:
        """K, the size of the metric matrices."""
        return int(self.pairs.features.shape[1])

    def at(self, metric: FloatArray) -> DistancePoint:
        """Return the point at a symmetric K×K matrix; everything else is evaluated from it."""
        return DistancePoint(self._pair_loss, symmetric_matrix("metric", metric, self.n_features))

    def atom_weights(
        self,
        base: FloatArray,
        log: bool = False,  # noqa: ARG002 (log Q is not convex)
    ) -> AtomWeights:
        """Return Q as a function of the weights of atoms, around a K×K base."""
        if self._model is None:
            return DistanceAtomWeights(DistancePoint(self._pair_loss, base))
        model = DistanceAtomWeights(DistancePoint(self._model._pair_loss, base))
        return SweptAtomWeights(self, base, False, model)

    @cached_property
    def _model(self) -> DistanceObjective | None:
        """The objective of so few samples as are enough for second derivatives."""
        return self._of_samples(model_size(len(self.pairs.features)) // _ORDERS)

    def coarser(self) -> DistanceObjective | None:
        """Return the objective of a sample of the samples.

        None where there are few enough, or where the loss does not say how to take a sample.
        """
        size = sample_size(len(self.pairs.features))
        sample = None if size is None else self._of_samples(size)
        if sample is not None:
            sample._pair_loss.stands_for_more = True
        return sample

    def _of_samples(self, size: int) -> DistanceObjective | None:  # noqa: ARG002 (for subclasses)
        """Return the objective of about so many samples, None where they are as good as all."""
        return None

    @underflow_ignored()
    def value(self, metric: FloatArray) -> float:
        """Return ``Q(M)``."""
        return self.at(metric).value

    @underflow_ignored()
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

    def conic_bytes(self) -> float:
        """Return an estimate of the memory of the expression, CVXPY's own copies of it included."""
        return expression_bytes(self.pairs)
