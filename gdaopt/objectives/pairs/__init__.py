"""Weighted pairs of samples: what objectives that are sums over pairs are made of.

An objective over pairs is a function of the squared distances ``δ_p(M) = d_p' M d_p`` of pairs p of
samples, with the difference d_p. Whatever the function is, its value, its gradient and its second
derivatives need the same sums over the pairs, and those sums are here, behind one interface:

==============================================  =================================================
`WeightedPairs`                                 the interface: distances in, moments out
`SignalPairs`, `ListedPairs`                    all pairs that differ in a signal; those of a list
`weighted_pairs`                                either of the two from what users pass
`PairValues`, `Memory`                              numbers of all pairs, kept or recomputed
`distinct_differences`, `squared_distances`     the distances as CVXPY expressions
==============================================  =================================================

None of it knows an objective: see `WeightedPairs` for how to write one.
"""

from gdaopt.objectives.pairs.expressions import (
    distinct_differences,
    n_coefficients,
    squared_distances,
)
from gdaopt.objectives.pairs.listed_pairs import ListedPairs
from gdaopt.objectives.pairs.pair_values import Memory, PairValues
from gdaopt.objectives.pairs.protocol import WeightedPairs
from gdaopt.objectives.pairs.reading import weighted_pairs
from gdaopt.objectives.pairs.signal_pairs import SignalPairs

__all__ = [
    "ListedPairs",
    "Memory",
    "PairValues",
    "SignalPairs",
    "WeightedPairs",
    "distinct_differences",
    "n_coefficients",
    "squared_distances",
    "weighted_pairs",
]
