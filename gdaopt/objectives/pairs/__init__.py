"""Pairs of samples: what objectives that are losses of distances are made of.

Such an objective is a function of the squared distances ``δ_p(M) = d_p' M d_p`` of pairs p of
samples, with the difference d_p. Whatever the function is, its value, its gradient and its second
derivatives need the same sums over the pairs, and those sums are here, behind one interface:

==============================================  =================================================
`Pairs`                                         the interface: distances in, sums out
`RectanglePairs`, `ListedPairs`                 all pairs, or some rows × columns; those of a list
`SignalPairs`                                   all pairs that differ in a signal, with weights
`LabelledPairs`, `read_labelled_pairs`          pairs that are similar or dissimilar
`weighted_pairs`, `checked_samples`, …          pairs and samples from what users pass
`Block`, `Changes`                              a part of the pairs; how their distances change
`squared_distances`                             the distances as a CVXPY expression
==============================================  =================================================

None of it knows an objective: `gdaopt.objectives.PairObjective` puts pairs and a loss together.
"""

from gdaopt.objectives.pairs.base import Changes, Indices, Pairs
from gdaopt.objectives.pairs.blocks import Block
from gdaopt.objectives.pairs.expressions import squared_distances
from gdaopt.objectives.pairs.labelled_pairs import (
    Chosen,
    Codes,
    LabelledPairs,
    class_codes,
    read_labelled_pairs,
)
from gdaopt.objectives.pairs.listed_pairs import ListedPairs
from gdaopt.objectives.pairs.reading import (
    checked_pairs,
    checked_samples,
    checked_weights,
    weighted_pairs,
)
from gdaopt.objectives.pairs.rectangles import RectanglePairs
from gdaopt.objectives.pairs.signal_pairs import SignalPairs

__all__ = [
    "Block",
    "Changes",
    "Chosen",
    "Codes",
    "Indices",
    "LabelledPairs",
    "ListedPairs",
    "Pairs",
    "RectanglePairs",
    "SignalPairs",
    "checked_pairs",
    "checked_samples",
    "checked_weights",
    "class_codes",
    "read_labelled_pairs",
    "squared_distances",
    "weighted_pairs",
]
