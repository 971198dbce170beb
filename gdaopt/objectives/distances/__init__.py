"""Objectives of distances: a loss of squared distances plus a linear function of the metric.

==================================  ===============================================================
`DistanceObjective`                 the base: points, lines, weights of atoms, round-off, memory
`DistanceLoss`, `BlockLoss`         the interface of losses, block by block
`RowSoftmax`                        all distances of a sample, in a softmax: MCML
==================================  ===============================================================

An objective is a subclass of `DistanceObjective` with a file of its own in `gdaopt.objectives`.
"""

from gdaopt.objectives.distances.labels import class_codes, same_class
from gdaopt.objectives.distances.loss import BlockLoss, DistanceLoss
from gdaopt.objectives.distances.objective import DistanceObjective
from gdaopt.objectives.distances.softmax import RowSoftmax

__all__ = [
    "BlockLoss",
    "DistanceLoss",
    "DistanceObjective",
    "RowSoftmax",
    "class_codes",
    "same_class",
]
