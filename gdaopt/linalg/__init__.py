"""Linear algebra of metric matrices: graphs, Gershgorin discs, eigenvectors, directions."""

from gdaopt.linalg.directions import (
    ColumnDirection,
    DenseDirection,
    DiagonalDirection,
    Direction,
    RankOneDirection,
)
from gdaopt.linalg.dual import dual_alignment
from gdaopt.linalg.eigen import Alignment, align, smallest_eigenvalue
from gdaopt.linalg.gershgorin import discs, left_ends
from gdaopt.linalg.laplacian import (
    edge_weights,
    generalized_laplacian,
    maximum_spanning_tree,
    n_components,
    path_laplacian,
    self_loops,
)

__all__ = [
    "Alignment",
    "ColumnDirection",
    "DenseDirection",
    "DiagonalDirection",
    "Direction",
    "RankOneDirection",
    "align",
    "discs",
    "dual_alignment",
    "edge_weights",
    "generalized_laplacian",
    "left_ends",
    "maximum_spanning_tree",
    "n_components",
    "path_laplacian",
    "self_loops",
    "smallest_eigenvalue",
]
