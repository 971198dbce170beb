"""Linear algebra of metric matrices: graphs, Gershgorin discs, eigenvectors, directions."""
