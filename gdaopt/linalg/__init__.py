"""Linear algebra of metric matrices: graphs, Gershgorin discs, atoms, directions."""

from gdaopt.linalg.atoms import Atoms, decomposition, dual_alignment
from gdaopt.linalg.directions import (
    AtomsDirection,
    ColumnDirection,
    DenseDirection,
    DiagonalDirection,
    Direction,
)
from gdaopt.linalg.entries import entries_of, matrix_of
from gdaopt.linalg.gershgorin import Alignment, align, discs, left_ends
from gdaopt.linalg.laplacian import edge_weights, n_components, self_loops

__all__ = [
    "Alignment",
    "Atoms",
    "AtomsDirection",
    "ColumnDirection",
    "DenseDirection",
    "DiagonalDirection",
    "Direction",
    "align",
    "decomposition",
    "discs",
    "dual_alignment",
    "edge_weights",
    "entries_of",
    "left_ends",
    "matrix_of",
    "n_components",
    "self_loops",
]
