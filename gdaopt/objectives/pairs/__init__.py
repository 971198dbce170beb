"""Pairs of samples, behind the interface `Pairs`: the sums that all losses of distances need."""

from gdaopt.objectives.pairs.listed_pairs import ListedPairs
from gdaopt.objectives.pairs.pairs import Pairs
from gdaopt.objectives.pairs.reading import read_labelled_pairs
from gdaopt.objectives.pairs.rectangles import RectanglePairs

__all__ = [
    "ListedPairs",
    "Pairs",
    "RectanglePairs",
    "read_labelled_pairs",
]
