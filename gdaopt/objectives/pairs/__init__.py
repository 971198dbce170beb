"""Pairs of samples: what objectives that are losses of distances are made of.

Such an objective is a function of the squared distances ``δ_p(M) = d_p' M d_p`` of pairs p of
samples, with the difference d_p. Whatever the function is, its value, its gradient and its second
derivatives need the same sums over the pairs, and those sums are here, behind one interface:

==============================================  =================================================
`Pairs`, `WeightedPairs`                        the interface: distances in, moments out
`RectanglePairs`, `ListedPairs`                 all pairs, or some rows × columns; those of a list
`SignalPairs`                                   all pairs that differ in a signal, with weights
`LabelledPairs`, `read_labelled_pairs`          pairs that are similar or dissimilar
`weighted_pairs`, `checked_samples`, …          pairs and samples from what users pass
`Block`, `Changes`                              a part of the pairs; how their distances change
`TransformedSamples`, `Moments`, `PairSums`     one pass over many pairs instead of several
`PairValues`, `BufferPool`                      numbers of all pairs, kept or recomputed
`distinct_differences`, `squared_distances`     the distances as CVXPY expressions
==============================================  =================================================

None of it knows an objective: `gdaopt.objectives.PairObjective` puts pairs and a loss together.
"""

from gdaopt.objectives.pairs.blocks import Block, CentredChanges, Changes, KnownChanges
from gdaopt.objectives.pairs.expressions import (
    distinct_differences,
    expression_bytes,
    n_coefficients,
    squared_distances,
)
from gdaopt.objectives.pairs.labelled_pairs import (
    Chosen,
    Codes,
    LabelledPairs,
    class_codes,
    read_labelled_pairs,
)
from gdaopt.objectives.pairs.listed_pairs import ListedPairs
from gdaopt.objectives.pairs.passes import (
    MANY_PAIRS,
    BufferPool,
    Moments,
    PairSums,
    PairValues,
    TransformedSamples,
    exponential,
    less,
)
from gdaopt.objectives.pairs.protocol import Pairs, WeightedPairs
from gdaopt.objectives.pairs.reading import (
    checked_pairs,
    checked_samples,
    checked_weights,
    weighted_pairs,
)
from gdaopt.objectives.pairs.rectangles import RectanglePairs
from gdaopt.objectives.pairs.signal_pairs import SignalPairs

__all__ = [
    "MANY_PAIRS",
    "Block",
    "BufferPool",
    "CentredChanges",
    "Changes",
    "Chosen",
    "Codes",
    "KnownChanges",
    "LabelledPairs",
    "ListedPairs",
    "Moments",
    "PairSums",
    "PairValues",
    "Pairs",
    "RectanglePairs",
    "SignalPairs",
    "TransformedSamples",
    "WeightedPairs",
    "checked_pairs",
    "checked_samples",
    "checked_weights",
    "class_codes",
    "distinct_differences",
    "exponential",
    "expression_bytes",
    "less",
    "n_coefficients",
    "read_labelled_pairs",
    "squared_distances",
    "weighted_pairs",
]
