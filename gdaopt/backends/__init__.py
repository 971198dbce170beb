"""Solver backends: one protocol, a file for each kind, and which solvers work here."""

from gdaopt.backends.arrays import LinearArrays
from gdaopt.backends.catalogue import CATALOGUE, SolverEntry
from gdaopt.backends.protocol import Answer, StageSeconds, Stopwatch
from gdaopt.backends.registry import solvers

__all__ = [
    "CATALOGUE",
    "Answer",
    "LinearArrays",
    "SolverEntry",
    "StageSeconds",
    "Stopwatch",
    "solvers",
]
