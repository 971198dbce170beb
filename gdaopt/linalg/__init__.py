"""Linear algebra of metric matrices: graphs, Gershgorin discs, eigenvectors, directions."""

from gdaopt.linalg.atoms import Atoms, best_pairs, decomposition, dual_alignment, pair_atoms
from gdaopt.linalg.directions import (
    AtomsDirection,
    ColumnDirection,
    DenseDirection,
    DiagonalDirection,
    Direction,
)
from gdaopt.linalg.entries import entries_of, matrix_of
from gdaopt.linalg.geodesic import geometric_mean, geometric_mean_of_inverse
from gdaopt.linalg.gershgorin import Alignment, align, discs, left_ends
from gdaopt.linalg.laplacian import (
    EDGE_THRESHOLD,
    edge_weights,
    generalized_laplacian,
    maximum_spanning_tree,
    n_components,
    path_laplacian,
    self_loops,
    spanning_forest,
)
from gdaopt.linalg.masked import MaskedMatrix
from gdaopt.linalg.spectrum import smallest_eigenpairs, smallest_eigenvalue

__all__ = [
    "EDGE_THRESHOLD",
    "Alignment",
    "Atoms",
    "AtomsDirection",
    "ColumnDirection",
    "DenseDirection",
    "DiagonalDirection",
    "Direction",
    "MaskedMatrix",
    "align",
    "best_pairs",
    "decomposition",
    "discs",
    "dual_alignment",
    "edge_weights",
    "entries_of",
    "generalized_laplacian",
    "geometric_mean",
    "geometric_mean_of_inverse",
    "left_ends",
    "matrix_of",
    "maximum_spanning_tree",
    "n_components",
    "pair_atoms",
    "path_laplacian",
    "self_loops",
    "smallest_eigenpairs",
    "smallest_eigenvalue",
    "spanning_forest",
]
