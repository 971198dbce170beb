"""Objectives: convex functions of metric matrices, behind one interface."""

from gdaopt.objectives.check import check_objective
from gdaopt.objectives.dense import DenseObjective
from gdaopt.objectives.glr import GLR
from gdaopt.objectives.log_det import LogDet
from gdaopt.objectives.mcml import MCML
from gdaopt.objectives.protocol import AtomWeights, AtomWeightsPoint, Line, Objective, Point
from gdaopt.objectives.round_off import RoundOff, assumed_round_off

__all__ = [
    "GLR",
    "MCML",
    "AtomWeights",
    "AtomWeightsPoint",
    "DenseObjective",
    "Line",
    "LogDet",
    "Objective",
    "Point",
    "RoundOff",
    "assumed_round_off",
    "check_objective",
]
