"""The semidefinite cone in second-order cones, where the signs of the edges are given.

A positive semidefinite matrix that becomes one with non-positive off-diagonals when some features
change their sign is a sum of positive semidefinite 2×2 blocks, one for each pair of features
("Proposition: second-order cone form"; Boman, Chen, Parekh, Toledo, *On factor width and symmetric
H-matrices*, 2005).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["pair_cones"]


def pair_cones(matrix: cp.Expression) -> list[cp.Constraint]:
    """Return ``N ⪰ 0`` as K(K-1)/2 second-order cones and K inequalities.

    Each pair i < j has a block ``[[p, N_ij], [N_ij, q]]`` with ``p q ≥ N_ij²``; the diagonals of
    all blocks add up to at most that of N.

    Parameters
    ----------
    matrix : cvxpy.Expression of shape (K, K)
        N, symmetric. Exact only beside constraints on the signs of its entries.

    Examples
    --------
    >>> import cvxpy as cp
    >>> N = cp.Variable((2, 2), symmetric=True)
    >>> constraints = [*pair_cones(N), cp.trace(N) <= 2, N[0, 1] <= 0]
    >>> round(float(cp.Problem(cp.Minimize(N[0, 1]), constraints).solve("CLARABEL")), 6)
    -1.0
    """
    import cvxpy as cp  # on demand: importing gdaopt loads no solver

    size = matrix.shape[0]
    rows, columns = np.triu_indices(size, 1)
    n_pairs = len(rows)
    if n_pairs == 0:
        return [cp.diag(matrix) >= 0]
    first, second = cp.Variable(n_pairs), cp.Variable(n_pairs)
    total = sum(
        csr_array((np.ones(n_pairs), (nodes, np.arange(n_pairs))), shape=(size, n_pairs)) @ block
        for nodes, block in ((rows, first), (columns, second))
    )
    off_diagonal = cp.vstack([2 * matrix[rows, columns], first - second])
    return [cp.SOC(first + second, off_diagonal, axis=0), cp.diag(matrix) >= total]
