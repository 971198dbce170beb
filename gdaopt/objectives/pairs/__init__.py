"""Weighted pairs of samples: what objectives that are sums over pairs are made of.

An objective over pairs is a function of the squared distances ``δ_p(M) = d_p' M d_p`` of pairs p of
samples, with the difference d_p. Whatever the function is, its value, its gradient and its second
derivatives need the same sums over the pairs, and those sums are here, behind one interface:

==============================================  =================================================
`Pairs`, `WeightedPairs`                        the interface: distances in, moments out
`RectanglePairs`, `ListedPairs`                 all pairs, or some rows × columns; those of a list
`SignalPairs`                                   all pairs that differ in a signal
`weighted_pairs`                                pairs with weights from what users pass
`Block`, `Changes`                              a part of the pairs; how their distances change
`Frame`, `Moments`, `PairSums`, `MANY_PAIRS`    one pass over many pairs instead of several
`PairValues`, `Memory`                          numbers of all pairs, kept or recomputed
`distinct_differences`, `squared_distances`     the distances as CVXPY expressions
==============================================  =================================================

None of it knows an objective: see `WeightedPairs` for how to write one.
"""

from gdaopt.objectives.pairs.blocks import Block, Changes, KnownChanges
from gdaopt.objectives.pairs.expressions import (
    distinct_differences,
    expression_bytes,
    n_coefficients,
    squared_distances,
)
from gdaopt.objectives.pairs.listed_pairs import ListedPairs
from gdaopt.objectives.pairs.pair_values import Memory, PairValues
from gdaopt.objectives.pairs.protocol import Pairs, WeightedPairs
from gdaopt.objectives.pairs.reading import (
    checked_pairs,
    checked_samples,
    checked_weights,
    weighted_pairs,
)
from gdaopt.objectives.pairs.rectangles import RectanglePairs
from gdaopt.objectives.pairs.signal_pairs import SignalPairs
from gdaopt.objectives.pairs.sweeps import MANY_PAIRS, Frame, Moments, PairSums, exponential

__all__ = [
    "MANY_PAIRS",
    "Block",
    "Changes",
    "Frame",
    "KnownChanges",
    "ListedPairs",
    "Memory",
    "Moments",
    "PairSums",
    "PairValues",
    "Pairs",
    "RectanglePairs",
    "SignalPairs",
    "WeightedPairs",
    "checked_pairs",
    "checked_samples",
    "checked_weights",
    "distinct_differences",
    "exponential",
    "expression_bytes",
    "n_coefficients",
    "squared_distances",
    "weighted_pairs",
]
