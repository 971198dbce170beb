"""Linear algebra of metric matrices: graphs, Gershgorin discs, atoms, directions."""

from gdaopt.linalg.atoms import Atoms, best_pairs, decomposition, dual_alignment, pair_atoms
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
    "best_pairs",
    "decomposition",
    "discs",
    "dual_alignment",
    "edge_weights",
    "entries_of",
    "left_ends",
    "matrix_of",
    "n_components",
    "pair_atoms",
    "self_loops",
]
