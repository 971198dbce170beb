"""Two-sparse vectors: the best ones for a symmetric matrix, and matrices as sums of them.

The extreme points of the sets of metrics stand on vectors ``u = a e_i - b e_j`` with ``a, b ≥ 0``
and ``a² + b² = 1`` ("Lemma: two-sparse extreme points"). For a symmetric matrix G the least value
of ``u'Gu`` over those of a pair (i, j) is the smaller eigenvalue of G's 2×2 block if ``G_ij > 0``,

    λ_ij = (G_ii + G_jj)/2 - √( ((G_ii - G_jj)/2)² + G_ij² ),

and the smaller diagonal entry otherwise ("Theorem: exact linear minimisation oracle").
"""

from __future__ import annotations

import math

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import Edges, IndexArray
from gdaopt.linalg.gershgorin import left_ends
from gdaopt.linalg.known_entries import KnownEntries, Symmetric
from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray, as_symmetric, positive_vector

__all__ = ["best_pairs", "decomposition", "least_pair_price", "pair_atoms"]

_ROUNDINGS = 16 * 2.0**-53  # of a price, relative to its terms
_BLOCK_ENTRIES = 2**16  # entries that are priced at a time: they stay in cache


def best_pairs(
    gradient: Symmetric, count: int, edges: Edges | None = None
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the pairs i < j with ``G_ij > 0`` that have the least prices λ_ij, best first.

    Parameters
    ----------
    gradient : ndarray of shape (K, K)
        G, symmetric and finite; only its diagonal and upper triangle are read. With `edges` it may
        be `KnownEntries` of them.
    count : int
        How many to return at most.
    edges : tuple of two ndarrays of int, optional
        Rows and columns of the only pairs to look at, in O(K + n) for n of them; all pairs when
        left out.

    Returns
    -------
    rows, columns : ndarray of int, shape (n,)
        The pairs.
    prices : ndarray of shape (n,)
        λ_ij.

    Examples
    --------
    >>> rows, columns, prices = best_pairs(np.array([[-2.0, 1.0], [1.0, -2.0]]), count=5)
    >>> rows, columns, prices
    (array([0]), array([1]), array([-3.]))
    """
    size = len(gradient)
    if edges is not None and _are_listed(gradient, edges):
        return _best_listed(gradient, count, edges)
    assert isinstance(gradient, np.ndarray)
    # In units of the largest entry the squares can neither under- nor overflow.
    unit = max(float(gradient.max()), -float(gradient.min()))
    diagonal = np.diagonal(gradient) / (2 * unit) if unit else np.zeros(size)
    found: list[tuple[IndexArray, IndexArray, FloatArray]] = []
    cutoff = np.inf
    step = max(1, _BLOCK_ENTRIES // size)
    for start in range(0, size - 1, step):
        check_time()
        stop = min(start + step, size)
        entries = gradient[start:stop, start:]
        prices = np.subtract.outer(diagonal[start:stop], diagonal[start:])
        prices *= prices
        scaled = entries / unit if unit else entries
        prices += scaled * scaled
        np.sqrt(prices, out=prices)
        np.subtract(np.add.outer(diagonal[start:stop], diagonal[start:]), prices, out=prices)
        candidates = np.flatnonzero((prices < cutoff) & (entries > 0))
        rows, columns = np.divmod(candidates, prices.shape[1])
        above = columns > rows  # the triangle above the diagonal
        rows, columns, candidates = rows[above], columns[above], candidates[above]
        kept = _least(prices.ravel()[candidates], count)
        found.append((rows[kept] + start, columns[kept] + start, prices.ravel()[candidates[kept]]))
        if len(kept) == count:
            cutoff = min(cutoff, float(found[-1][2].max()))
    if not found:
        return np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0)
    rows, columns, prices = (np.concatenate(parts) for parts in zip(*found, strict=True))
    kept = _best(rows, columns, prices, count)
    return rows[kept], columns[kept], prices[kept] * unit


def least_pair_price(gradient: Symmetric, edges: Edges | None = None) -> float:
    """Return a number that no price λ_ij of a pair with ``G_ij > 0`` is below, tight to round-off.

    The pairs are all, or those of `edges`, see `best_pairs`.
    Where the mean m of both diagonal entries is positive, ``λ_ij = (G_ii G_jj - G_ij²) / (m + r)``
    with the root r, so that the round-off is relative to the terms of the numerator. That of
    ``m - r``, which `best_pairs` takes, is relative to the largest of the three entries.

    Examples
    --------
    >>> gradient = np.array([[1e9, 1e-3], [1e-3, 1e-15]])
    >>> bool(abs(least_pair_price(gradient)) < 1e-29), best_pairs(gradient, 1)[2]
    (True, array([0.]))
    """
    size, diagonal = len(gradient), gradient.diagonal()
    if edges is not None and _are_listed(gradient, edges):
        useful = gradient[edges] > 0
        return _least_exact(
            diagonal[edges[0][useful]], diagonal[edges[1][useful]], gradient[edges][useful]
        )
    assert isinstance(gradient, np.ndarray)
    least = math.inf
    step = max(1, _BLOCK_ENTRIES // size)
    for start in range(0, size - 1, step):
        stop = min(start + step, size)
        rows, columns = np.nonzero(np.triu(gradient[start:stop, start:] > 0, 1))
        a, b = diagonal[rows + start], diagonal[columns + start]
        least = min(least, _least_exact(a, b, gradient[rows + start, columns + start]))
    return least


def _least_exact(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    """Return a number that no price of blocks ``[[a, c], [c, b]]`` with c > 0 is below."""
    mean = a / 2 + b / 2
    radius = np.hypot(a / 2 - b / 2, c)
    total = np.abs(mean) + radius
    # In units of the pair's own, so that no product under- or overflows.
    products, squares = (a / total) * b, (c / total) * c
    prices = np.where(mean > 0, products - squares, mean - radius)
    terms = np.where(mean > 0, np.abs(products) + squares, total)
    return float((prices - _ROUNDINGS * terms).min(initial=math.inf))


def _are_listed(gradient: Symmetric, edges: Edges) -> bool:
    """Say whether pairs are looked at one by one: where they are not all, or others not known."""
    size = len(gradient)
    return isinstance(gradient, KnownEntries) or len(edges[0]) < size * (size - 1) // 2


def _best_listed(
    gradient: Symmetric, count: int, edges: Edges
) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the best of some pairs, reading no other entries of the gradient."""
    rows, columns = edges
    diagonal, entries = gradient.diagonal(), gradient[edges]
    unit = max(float(np.abs(diagonal).max()), float(np.abs(entries).max(initial=0.0))) or 1.0
    useful = entries > 0
    rows, columns, entries = rows[useful], columns[useful], entries[useful] / unit
    first, second = diagonal[rows] / (2 * unit), diagonal[columns] / (2 * unit)
    prices = first + second - np.sqrt((first - second) ** 2 + entries**2)
    kept = _best(rows, columns, prices, count)
    return rows[kept], columns[kept], prices[kept] * unit


def pair_atoms(gradient: Symmetric, rows: IndexArray, columns: IndexArray) -> Atoms:
    """Return the minimisers ``u = a e_i - b e_j`` of ``u'Gu`` for pairs with ``G_ij > 0``.

    Examples
    --------
    >>> atoms = pair_atoms(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([0]), np.array([1]))
    >>> atoms.values.round(4)
    array([[ 0.7071, -0.7071]])
    """
    diagonal = gradient.diagonal()
    half = diagonal[rows] / 2 - diagonal[columns] / 2
    off = gradient[rows, columns]
    unit = np.maximum(np.abs(half), off)  # neither squares nor norms can then under- or overflow
    half, off = half / unit, off / unit
    radius = np.hypot(half, off)
    # Of the two rows of (G - λI)u = 0 the one without cancellation.
    first = np.where(half >= 0, off, radius - half)
    second = np.where(half >= 0, half + radius, off)
    norm = np.hypot(first, second)
    return Atoms(np.column_stack([rows, columns]), np.column_stack([first / norm, -second / norm]))


def decomposition(matrix: FloatArray, v: FloatArray) -> tuple[Atoms, FloatArray]:
    """Return a matrix with non-positive off-diagonals as a sum of weighted two-sparse atoms.

    Parameters
    ----------
    matrix : ndarray of shape (K, K)
        N, symmetric, ``N_ij ≤ 0`` for i ≠ j.
    v : ndarray of shape (K,)
        Positive, with ``N v ≥ 0``, such as N's first eigenvector.

    Returns
    -------
    atoms : Atoms
        ``e_i`` for each feature, then one atom for each edge, which has v in its kernel.
    weights : ndarray of shape (n,)
        ``(N v)_i / v_i`` and ``|N_ij| (v_j/v_i + v_i/v_j)``.

    Notes
    -----
    See "Theorem: factor width two" in ``docs/theory.md``. That a symmetric H-matrix is such a sum
    is due to Boman, Chen, Parekh, Toledo, *On factor width and symmetric H-matrices*, 2005.

    Examples
    --------
    >>> N = np.array([[2.0, -1.0], [-1.0, 3.0]])
    >>> atoms, weights = decomposition(N, np.ones(2))
    >>> weights
    array([1., 2., 2.])
    >>> atoms.added_to(np.zeros((2, 2)), weights).round(12)
    array([[ 2., -1.],
           [-1.,  3.]])
    """
    matrix = as_symmetric("matrix", matrix)
    v = positive_vector("v", v, len(matrix))
    rows, columns = np.nonzero(np.triu(matrix, 1))
    ratio = v[columns] / v[rows]
    total = ratio + 1 / ratio
    edges = Atoms(
        np.column_stack([rows, columns]),
        np.column_stack([np.sqrt(ratio / total), -np.sqrt(1 / (ratio * total))]),
    )
    atoms = Atoms.of_features(np.arange(len(matrix))).joined(edges)
    return atoms, np.concatenate([left_ends(matrix, v), -matrix[rows, columns] * total])


def _best(rows: IndexArray, columns: IndexArray, prices: FloatArray, count: int) -> IndexArray:
    """Return the indices of the `count` least prices, best first; ties in the order of pairs."""
    kept = _least(prices, count)
    order: IndexArray = kept[np.lexsort((columns[kept], rows[kept], prices[kept]))]
    return order


def _least(values: FloatArray, count: int) -> IndexArray:
    """Return the indices of the `count` smallest values, in any order."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.argpartition(values, count - 1)[:count]
