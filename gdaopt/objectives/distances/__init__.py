"""Objectives of distances: convex losses of the squared distances of pairs of samples.

==================================  ===============================================================
`DistanceObjective`                 the base: points, lines, weights of atoms, round-off, memory
`DistanceLoss`, `BlockLoss`         the interface of losses, block by block
`ClassCollapse`                     all distances of a sample in a softmax: MCML
==================================  ===============================================================

An objective is a subclass of `DistanceObjective` with a file of its own in `gdaopt.objectives`.
"""

from gdaopt.objectives.distances.collapse import ClassCollapse
from gdaopt.objectives.distances.labels import class_codes
from gdaopt.objectives.distances.loss import BlockLoss, DistanceLoss
from gdaopt.objectives.distances.objective import DistanceObjective

__all__ = [
    "BlockLoss",
    "ClassCollapse",
    "DistanceLoss",
    "DistanceObjective",
    "class_codes",
]
