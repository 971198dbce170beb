"""Feasible sets of metric matrices."""

from gdaopt.sets.definite import PositiveDefiniteMetrics
from gdaopt.sets.diagonal import DiagonalMetrics
from gdaopt.sets.graph import GraphMetrics
from gdaopt.sets.protocol import FeasibleSet, LinearMinimum, PricedAtoms
from gdaopt.sets.signed import SignedGraphMetrics

__all__ = [
    "DiagonalMetrics",
    "FeasibleSet",
    "GraphMetrics",
    "LinearMinimum",
    "PositiveDefiniteMetrics",
    "PricedAtoms",
    "SignedGraphMetrics",
]
