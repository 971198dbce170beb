"""Linear algebra of metric matrices: graphs, Gershgorin discs, eigenvectors, directions."""

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import (
    AtomsDirection,
    ColumnDirection,
    DenseDirection,
    DiagonalDirection,
    Direction,
)
from gdaopt.linalg.dual import dual_alignment
from gdaopt.linalg.eigen import Alignment, align
from gdaopt.linalg.geodesic import geometric_mean, geometric_mean_of_inverse
from gdaopt.linalg.gershgorin import discs, left_ends
from gdaopt.linalg.laplacian import (
    edge_weights,
    generalized_laplacian,
    maximum_spanning_tree,
    n_components,
    path_laplacian,
    self_loops,
)
from gdaopt.linalg.pairs import best_pairs
from gdaopt.linalg.spectrum import smallest_eigenpairs, smallest_eigenvalue

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
    "discs",
    "dual_alignment",
    "edge_weights",
    "generalized_laplacian",
    "geometric_mean",
    "geometric_mean_of_inverse",
    "left_ends",
    "maximum_spanning_tree",
    "n_components",
    "path_laplacian",
    "self_loops",
    "smallest_eigenpairs",
    "smallest_eigenvalue",
]
