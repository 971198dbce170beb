"""One pass over pairs of samples: value, gradient and what round-off is relative to.

If there are many pairs, they are split into chunks, which threads or other machines compute at
the same time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from operator import add, mul
from typing import Any

import numpy as np

from gdaopt.objectives.pair_loss import DistanceLoss
from gdaopt.objectives.pairs.pairs import Factors, Pairs, PairValues
from gdaopt.objectives.pairs.scatter import Scatter
from gdaopt.support.validation import FloatArray

Adjoint = Callable[[Iterable[FloatArray], FloatArray | None], Scatter]
"""Returns the sum over pairs, given their coefficients, and adds these to degrees, if any."""

_LARGEST_EXPONENT = 709.0  # exp of it is finite in float64
_LARGEST_SUM = 1e130  # in units of the shift: then the products of the terms are finite, too


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over pairs at a metric; c are the derivatives by distances.

    If the loss is exponential, they are in units of ``exp(shift)``: the largest term, or nearly.

    Attributes
    ----------
    shift : float
        The logarithm of the unit, in which nothing underflows.
    scaled : float
        The value.
    scatter : Scatter
        The gradient times the sign of the loss.
    degrees : ndarray of shape (N,)
        The sum of ``|c_p|`` over the pairs of each sample.
    """

    shift: float
    scaled: float
    scatter: Scatter
    degrees: FloatArray

    @property
    def scale(self) -> float:
        """``exp(shift)``, infinite if that overflows."""
        # Metrics far outside of the cone have distances below -709.
        return math.exp(self.shift) if self.shift < _LARGEST_EXPONENT else math.inf

    @property
    def value(self) -> float:
        """The value in units of 1."""
        return self.scale * self.scaled

    @property
    def log_value(self) -> float:
        """The logarithm of the value, -inf if it is 0."""
        return self.shift + math.log(self.scaled) if self.scaled > 0 else -math.inf


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def pair_sums(
    loss: DistanceLoss,
    pairs: Pairs,
    distances: Iterable[FloatArray],
    adjoint: Adjoint | None = None,
) -> PairSums:
    """Return the sums of a loss at the distances of all pairs, which may be gone through twice.

    The adjoint of the distances is `Pairs.scatter`, if it is left out.
    """
    adjoint = adjoint or pairs.scatter
    for n_tiles in (1, None):
        shift = 0.0
        if loss.is_exponential:  # its unit is the largest term, at first that of one tile
            shift = -float(min(map(np.min, islice(distances, n_tiles))))
        all_vanish = shift == -math.inf
        values: list[float] = []
        degrees = np.zeros(pairs.features.shape[0])
        unit = 0.0 if all_vanish else shift
        first = _derivatives(loss, pairs, distances, unit, values, degrees)
        scatter = adjoint(first, degrees if loss.sign < 0 else None)
        value = sum(values)
        if not loss.is_exponential or (value <= _LARGEST_SUM and not all_vanish):
            break
    return PairSums(shift, value, scatter, degrees)


def _derivatives(
    loss: DistanceLoss,
    pairs: Pairs,
    distances: Iterable[FloatArray],
    shift: float,
    values: list[float],
    degrees: FloatArray,
) -> Iterator[FloatArray]:
    """Yield the derivatives by the distances of each tile; append its value to the values.

    To the degrees of samples it adds the magnitudes of derivatives that can have both signs.
    """
    for tile, of_tile in zip(pairs.tiles, distances, strict=True):
        if shift:
            of_tile = np.add(of_tile, shift, out=of_tile if of_tile.flags.writeable else None)
        at = loss.at(tile, of_tile)
        values.append(at.value)
        first = at.first()
        if loss.sign > 0:
            pairs.add_degrees(degrees, tile, np.abs(first))
        yield first


def chunk_sums(
    loss: DistanceLoss, chunk: Pairs, metric: FloatArray, factors: Factors | None = None
) -> PairSums:
    """Return the sums over a chunk of the pairs, of which nothing is kept."""
    distances = PairValues(lambda: chunk.distances(metric, factors), is_kept=False)
    sums = pair_sums(loss, chunk, distances)
    return replace(sums, scatter=Scatter.of(sums.scatter.dense))


def add_sums(chunks: Sequence[PairSums]) -> PairSums:
    """Return the sums of all chunks together, in the largest of their units."""
    shift = max(chunk.shift for chunk in chunks)
    # 1 also if the shifts are -inf, since all terms vanish
    factors = [math.exp(chunk.shift - shift) if chunk.shift < shift else 1.0 for chunk in chunks]

    def total(number: Callable[[PairSums], Any]) -> Any:
        return reduce(add, map(mul, factors, map(number, chunks)))

    return PairSums(
        shift,
        total(lambda sums: sums.scaled),
        Scatter.of(total(lambda sums: sums.scatter.dense)),
        total(lambda sums: sums.degrees),
    )
