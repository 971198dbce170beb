"""Sets of metrics for CVXPY: which cones say ``M ⪰ ρI``, and which expressions are metrics.

A positive semidefinite matrix that becomes one with non-positive off-diagonals when some features
change their sign is a sum of positive semidefinite 2×2 blocks, one for each pair of features
("Proposition: second-order cone form"; Boman, Chen, Parekh, Toledo, *On factor width and symmetric
H-matrices*, 2005).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from gdaopt.linalg.entries import Edges

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["CONES", "is_symmetric", "pair_cones"]

CONES = ("semidefinite", "second-order")
"""The cones that can say ``M ⪰ ρI`` to a conic solver."""


def pair_cones(matrix: cp.Expression, edges: Edges) -> list[cp.Constraint]:
    """Return ``N ⪰ 0`` as a second-order cone for each edge and K inequalities.

    Each edge i < j has a block ``[[p, N_ij], [N_ij, q]]`` with ``p q ≥ N_ij²``; the diagonals of
    all blocks add up to at most the diagonal of N.

    Parameters
    ----------
    matrix : cvxpy.Expression of shape (K, K)
        N, symmetric. Exact only beside constraints on the signs of its entries.
    edges : tuple of two ndarrays of int
        Rows and columns of the pairs whose entries may differ from 0.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from gdaopt.linalg.entries import all_edges
    >>> N = cp.Variable((2, 2), symmetric=True)
    >>> constraints = [*pair_cones(N, all_edges(2)), cp.trace(N) <= 2, N[0, 1] <= 0]
    >>> round(float(cp.Problem(cp.Minimize(N[0, 1]), constraints).solve("CLARABEL")), 6)
    -1.0
    """
    import cvxpy as cp  # on demand: importing gdaopt loads no solver

    size = matrix.shape[0]
    rows, columns = edges
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


def is_symmetric(metric: cp.Expression) -> bool:
    """Say whether an affine K×K expression is symmetric, whatever its variables' values are."""
    import cvxpy as cp

    if metric.is_symmetric() or isinstance(metric, cp.Variable):
        return bool(metric.is_symmetric())
    # CVXPY does not know it for most expressions; random values show it.
    rng = np.random.default_rng(0)
    held = [(variable, variable.value) for variable in metric.variables()]
    for variable, _ in held:
        value = rng.standard_normal(variable.shape)
        symmetric = variable.ndim == 2 and variable.is_symmetric()
        variable.save_value(value + value.T if symmetric else value)
    found = metric.value
    for variable, value in held:
        variable.save_value(value)
    return found is None or bool(np.allclose(found, found.T))  # None: parameters without values
