"""Objectives of distances: convex losses of the squared distances of pairs of samples.

==================================  ===============================================================
`DistanceObjective`                 the base: points, lines, weights of atoms, round-off, memory
`DistanceLoss`, `BlockLoss`         the interface of losses, block by block
`ClassCollapse`                     all distances of a sample in a softmax: MCML
`NeighborTriplets`                  distances to target neighbours against those to impostors: LMNN
`Separable`, `LabelledPairs`        one distance at a time: LogisticPairs, PairHinge, DEML
`ListedTriplets`                    two distances of a sample: TripletHinge, LogisticTriplets
`Quadruplets`                       two distances at a time: LSML
==================================  ===============================================================

An objective is a subclass of `DistanceObjective` with a file of its own in `gdaopt.objectives`.
"""

from gdaopt.objectives.distances.collapse import ClassCollapse
from gdaopt.objectives.distances.even_metric import even_trace, nothing_pulls
from gdaopt.objectives.distances.labelled_pairs import LabelledPairs, read_labelled_pairs
from gdaopt.objectives.distances.labels import class_codes
from gdaopt.objectives.distances.listed_triplets import ListedTriplets
from gdaopt.objectives.distances.loss import BlockLoss, DistanceLoss
from gdaopt.objectives.distances.objective import DistanceObjective
from gdaopt.objectives.distances.quadruplets import Quadruplets
from gdaopt.objectives.distances.scalar import (
    Identity,
    Logistic,
    MinusRoot,
    ScalarFunction,
    SmoothHinge,
)
from gdaopt.objectives.distances.separable import Separable, Term
from gdaopt.objectives.distances.triplets import NeighborTriplets, target_neighbors

__all__ = [
    "BlockLoss",
    "ClassCollapse",
    "DistanceLoss",
    "DistanceObjective",
    "Identity",
    "LabelledPairs",
    "ListedTriplets",
    "Logistic",
    "MinusRoot",
    "NeighborTriplets",
    "Quadruplets",
    "ScalarFunction",
    "Separable",
    "SmoothHinge",
    "Term",
    "class_codes",
    "even_trace",
    "nothing_pulls",
    "read_labelled_pairs",
    "target_neighbors",
]
