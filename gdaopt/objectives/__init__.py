"""Objectives: convex functions of metric matrices, behind one interface."""

from collections.abc import Callable

from gdaopt.objectives.base import Objective
from gdaopt.objectives.check import check_objective
from gdaopt.objectives.comparisons import LSML, LogisticTriplets, TripletHinge, TripletLoss
from gdaopt.objectives.dense import DenseObjective, FunctionObjective
from gdaopt.objectives.expression import CvxpyObjective
from gdaopt.objectives.glr import GLR
from gdaopt.objectives.gmml import GMML
from gdaopt.objectives.lmnn import LMNN
from gdaopt.objectives.log_det import LogDet
from gdaopt.objectives.matrix_point import MatrixPoint
from gdaopt.objectives.pair_loss import DistanceLoss, LossValues
from gdaopt.objectives.pair_losses import (
    DEML,
    LogisticPairs,
    PairHinge,
    PairLoss,
    SeparablePairs,
    Term,
)
from gdaopt.objectives.pair_objective import PairObjective
from gdaopt.objectives.pair_point import PairPoint
from gdaopt.objectives.protocol import Line, Point
from gdaopt.objectives.quadratic import Linear, NoLearning, Ridge
from gdaopt.objectives.round_off import RoundOff
from gdaopt.objectives.scalar_functions import ScalarFunction
from gdaopt.objectives.softmax import MCML, NCA

OBJECTIVES: dict[str, Callable[..., Objective]] = {
    "glr": GLR,
    "mcml": MCML,
    "nca": NCA,
    "lmnn": LMNN,
    "deml": DEML,
    "logistic-pairs": LogisticPairs,
    "pair-hinge": PairHinge,
    "none": NoLearning,
}
"""Objectives of samples and labels by the names that options give them.

Each is called with the samples and their labels; `GLR` takes ±1 or 0/1 signals as labels.
"""

__all__ = [
    "DEML",
    "GLR",
    "GMML",
    "LMNN",
    "LSML",
    "MCML",
    "NCA",
    "OBJECTIVES",
    "CvxpyObjective",
    "DenseObjective",
    "DistanceLoss",
    "FunctionObjective",
    "Line",
    "Linear",
    "LogDet",
    "LogisticPairs",
    "LogisticTriplets",
    "LossValues",
    "MatrixPoint",
    "Objective",
    "PairHinge",
    "PairLoss",
    "PairObjective",
    "PairPoint",
    "Point",
    "Ridge",
    "RoundOff",
    "ScalarFunction",
    "SeparablePairs",
    "Term",
    "TripletHinge",
    "TripletLoss",
    "check_objective",
]
