"""Feasible sets of metric matrices."""

from gdaopt.sets.graph import GraphMetrics
from gdaopt.sets.protocol import FeasibleSet

__all__ = ["FeasibleSet", "GraphMetrics"]
