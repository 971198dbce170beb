"""Discs as constraints and as expressions of CVXPY, for who writes a model of one's own."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError
from gdaopt.lmi.graphs import IntArray, incidence
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
        if diagonal.ndim != 2 or diagonal.shape[0] != diagonal.shape[1]:
            raise InvalidInputError(
                f"a matrix that stands alone must be n×n, got the shape {diagonal.shape}; else "
                "give edges and values"
            )
        matrix, size = diagonal, diagonal.shape[0]
        pairs = np.stack(np.triu_indices(size, 1), axis=1)
        diagonal, values = cp.diag(matrix), matrix[pairs[:, 0], pairs[:, 1]]
    else:
        pairs, values = _as_edges(edges, diagonal), cp.Expression.cast_to_const(values)
        if values.shape != (len(pairs),):
            raise InvalidInputError(
                f"values have the shape {values.shape}; with {len(pairs)} edges it must be "
                f"({len(pairs)},)"
            )
    return edge_cones(diagonal, pairs, values)


def _as_edges(edges: npt.ArrayLike, diagonal: cp.Expression) -> IntArray:
    pairs = np.asarray(edges)
    if pairs.ndim != 2 or pairs.shape[1:] != (2,) or pairs.dtype.kind not in "iu":
        raise InvalidInputError(
            f"edges must be whole numbers of shape (m, 2), got the shape {pairs.shape} of "
            f"{pairs.dtype}"
        )
    if diagonal.ndim != 1:
        raise InvalidInputError(
            f"the diagonal must be a vector where edges are given, got the shape {diagonal.shape}"
        )
    size = diagonal.size
    wrong = np.flatnonzero((pairs.min(axis=1) < 0) | (pairs.max(axis=1) >= size))
    wrong = wrong if len(wrong) else np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(wrong):
        raise InvalidInputError(
            f"edge {wrong[0]} is {pairs[wrong[0]].tolist()}; edges are pairs of different nodes "
            f"from 0 to {size - 1}"
        )
    ordered = np.sort(pairs, axis=1)
    distinct, first = np.unique(ordered, axis=0, return_index=True)
    if len(distinct) < len(pairs):
        again = np.setdiff1d(np.arange(len(pairs)), first)[0]
        raise InvalidInputError(
            f"edge {again}, {pairs[again].tolist()}, is there twice; give the sum of its values"
        )
    return pairs.astype(np.intp)


def edge_cones(
    diagonal: cp.Expression, edges: IntArray, values: cp.Expression
) -> list[cp.Constraint]:
    """Return the cones of edges, where there are any, and the rows of nodes; see `sdd`."""
    count = len(edges)
    if not count:
        return [diagonal >= 0]
    p, q = cp.Variable(count, name="p"), cp.Variable(count, name="q")
    cones = cp.SOC(p + q, cp.vstack([p - q, 2 * values]), axis=0)
    first, second = (incidence(edges[:, side], diagonal.size) for side in (0, 1))
    return [cones, diagonal - first @ p - second @ q >= 0]


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
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidInputError(f"the matrix must be n×n, got the shape {matrix.shape}")
    weights = positive_vector("v", v, matrix.shape[0])
    ratios = weights[None, :] / weights[:, None]
    np.fill_diagonal(ratios, 0.0)
    ends: cp.Expression = cp.diag(matrix) - cp.sum(cp.multiply(ratios, cp.abs(matrix)), axis=1)
    return ends
