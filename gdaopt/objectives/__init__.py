"""Objectives: convex functions of metric matrices, behind one interface."""

from gdaopt.objectives.check import check_objective
from gdaopt.objectives.dense import DenseObjective
from gdaopt.objectives.expression import CvxpyObjective
from gdaopt.objectives.function import FunctionObjective
from gdaopt.objectives.glr import GLR
from gdaopt.objectives.gmml import GMML
from gdaopt.objectives.log_det import LogDet
from gdaopt.objectives.protocol import AtomWeights, AtomWeightsPoint, Line, Objective, Point
from gdaopt.objectives.quadratic import Linear, Ridge
from gdaopt.objectives.round_off import RoundOff, assumed_round_off
from gdaopt.objectives.sums import Summable, SumObjective

__all__ = [
    "GLR",
    "GMML",
    "AtomWeights",
    "AtomWeightsPoint",
    "CvxpyObjective",
    "DenseObjective",
    "FunctionObjective",
    "Line",
    "Linear",
    "LogDet",
    "Objective",
    "Point",
    "Ridge",
    "RoundOff",
    "SumObjective",
    "Summable",
    "assumed_round_off",
    "check_objective",
]
