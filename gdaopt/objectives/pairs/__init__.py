"""Pairs of samples: what objectives that are losses of distances are made of.

Such an objective is a function of the squared distances ``δ_p(M) = d_p' M d_p`` of pairs p of
samples. Whatever the function is, its value, gradient and second derivatives need the same sums
over the pairs, which are here, behind the interface `Pairs`. `gdaopt.objectives.PairObjective` puts
pairs and a loss together.
"""

from gdaopt.objectives.pairs.base import Pairs
from gdaopt.objectives.pairs.listed_pairs import ListedPairs
from gdaopt.objectives.pairs.reading import read_labelled_pairs
from gdaopt.objectives.pairs.rectangles import RectanglePairs

__all__ = [
    "ListedPairs",
    "Pairs",
    "RectanglePairs",
    "read_labelled_pairs",
]
