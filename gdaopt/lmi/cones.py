"""Discs as constraints and as expressions of CVXPY, for who writes a model of one's own."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import Edges, all_edges, incidence
from gdaopt.support.validation import positive_vector


def sdd(
    diagonal: Any, edges: npt.ArrayLike | None = None, values: Any = None
) -> list[cp.Constraint]:
    """Return the constraints of scaled diagonally dominant matrices: a cone for each edge.

    They are ``p_e q_e ≥ F_e²`` for numbers ``p, q ≥ 0`` of each edge, and ``F_ii ≥ Σ p_e + Σ q_e``
    over the edges at node i. Such a matrix is positive semidefinite. The converse holds if every
    cycle of its graph has an even number of positive entries; else the constraints are an *inner
    approximation*, whose optimum may be wrong by any factor.

    Parameters
    ----------
    diagonal : cvxpy.Expression or array_like
        F_ii, n of them; or the whole n×n matrix F, symmetric, if it stands alone.
    edges : array_like of shape (m, 2), optional
        Pairs of nodes i ≠ j, counted from 0, each pair once.
    values : cvxpy.Expression or array_like, optional
        F_ij of each edge. Entries of other pairs are 0.

    Returns
    -------
    list of cvxpy.Constraint
        Of O(n + m) numbers: a second-order cone for each edge, then a row for each node.

    Raises
    ------
    InvalidInputError
        When the shapes do not fit together.

    References
    ----------
    Boman, Chen, Parekh, Toledo, *On factor width and symmetric H-matrices*, Linear Algebra and its
    Applications 405 (2005).

    Examples
    --------
    The largest t for which the matrix with the diagonal 2 and one entry -1 has no eigenvalue
    below t:

    >>> t = cp.Variable()
    >>> problem = cp.Problem(cp.Maximize(t), sdd(np.full(2, 2.0) - t, [[0, 1]], [-1.0]))
    >>> round(problem.solve(solver="CLARABEL"), 6)
    1.0
    """
    diagonal = cp.Expression.cast_to_const(diagonal)
    if edges is None:
        pairs = all_edges(_check_square(diagonal))
        return edge_cones(cp.diag(diagonal), pairs, diagonal[pairs])
    ends, values = np.asarray(edges), cp.Expression.cast_to_const(values)
    is_list = ends.ndim == 2 and ends.shape[1] == 2 and ends.dtype.kind in "iu"
    if not is_list or diagonal.ndim != 1 or values.shape != (len(ends),):
        raise InvalidInputError(
            "with edges, which are whole numbers of shape (m, 2), the diagonal is a vector, and "
            f"values are m numbers; got edges of the shape {ends.shape} of {ends.dtype}, a "
            f"diagonal of the shape {diagonal.shape}, and values of the shape {values.shape}"
        )
    is_wrong = (ends < 0).any(axis=1) | (ends >= diagonal.size).any(axis=1)
    is_wrong |= ends[:, 0] == ends[:, 1]
    _, places = np.unique(np.sort(ends, axis=1), axis=0, return_index=True)
    is_wrong |= ~np.isin(np.arange(len(ends)), places)
    if is_wrong.any():
        number = int(np.argmax(is_wrong))
        raise InvalidInputError(
            f"edge {number} is {ends[number].tolist()}; edges are pairs of different nodes from 0 "
            f"to {diagonal.size - 1}, and none is there twice: give the sum of its values"
        )
    first, second = ends.T.astype(np.intp)
    return edge_cones(diagonal, (first, second), values)


def _check_square(matrix: cp.Expression) -> int:
    """Return the size of a matrix; refuse one that is not square."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidInputError(f"a matrix must be n×n, got the shape {matrix.shape}")
    return int(matrix.shape[0])


def edge_cones(diagonal: cp.Expression, edges: Edges, values: cp.Expression) -> list[cp.Constraint]:
    """Return the cones of edges, where there are any, and the rows of nodes; see `sdd`."""
    count, size = len(edges[0]), diagonal.size
    if not count:
        return [diagonal >= 0]
    p, q = cp.Variable(count, name="p"), cp.Variable(count, name="q")
    first, second = (incidence(nodes, size) for nodes in edges)
    return [products(p, q, values), diagonal - first @ p - second @ q >= 0]


def products(p: cp.Expression, q: cp.Expression, values: cp.Expression) -> cp.SOC:
    """Return the cones ``p_e q_e ≥ F_e²`` for numbers ``p, q ≥ 0``."""
    return cp.SOC(p + q, cp.vstack([p - q, 2 * values]), axis=0)


def left_ends(matrix: Any, v: npt.ArrayLike) -> cp.Expression:
    """Return the left-ends of the Gershgorin discs of a matrix that is aligned by a vector.

    They are ``F_ii - Σ_j |F_ij| v_j / v_i``, concave in F. If none is negative, F is positive
    semidefinite, for any v > 0.

    Parameters
    ----------
    matrix : cvxpy.Expression or array_like of shape (n, n)
        F, symmetric.
    v : array_like of shape (n,)
        Positive numbers.

    Returns
    -------
    cvxpy.Expression of shape (n,)
        The left-ends.

    Raises
    ------
    InvalidInputError
        When v is not positive, or the shapes do not fit together.

    Examples
    --------
    >>> left_ends(np.array([[2.0, -1.0], [-1.0, 2.0]]), [1.0, 1.0]).value
    array([1., 1.])
    """
    matrix = cp.Expression.cast_to_const(matrix)
    weights = positive_vector("v", v, _check_square(matrix))
    others = cp.abs(matrix - cp.diag(cp.diag(matrix)))
    ends: cp.Expression = cp.diag(matrix) - cp.multiply(1 / weights, others @ weights)
    return ends
