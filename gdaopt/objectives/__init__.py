"""Objectives: convex functions of metric matrices, behind one evaluation seam."""

from gdaopt.objectives.check import check_objective
from gdaopt.objectives.dense import DenseObjective
from gdaopt.objectives.glr import GLR
from gdaopt.objectives.protocol import Line, Objective, Point

__all__ = ["GLR", "DenseObjective", "Line", "Objective", "Point", "check_objective"]
