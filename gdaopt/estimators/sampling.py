"""Some of many samples, and some of many pairs of samples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gdaopt.estimators.labels import Codes

__all__ = ["random_pairs", "stratified_sample"]

_FEWEST = 5  # samples of a class that are kept, where it has so many

Indices = npt.NDArray[np.intp]


def stratified_sample(codes: Codes, count: int, seed: int) -> Indices:
    """Return about so many samples in the proportions of the classes, ascending.

    Parameters
    ----------
    codes : ndarray of int, shape (N,)
        Class of each sample, from 0 on.
    count : int
        How many; a few more where classes are so small that at least 5 of theirs are kept.
    seed : int
        Of the draw.

    Examples
    --------
    >>> int((stratified_sample(np.repeat([0, 1], [90, 10]), 50, seed=0) < 90).sum())
    45
    """
    rng = np.random.default_rng(seed)
    chosen = []
    for code in range(codes.max() + 1):
        members = np.flatnonzero(codes == code)
        share = max(round(count * len(members) / len(codes)), _FEWEST)
        chosen.append(rng.permutation(members)[:share])
    found: Indices = np.sort(np.concatenate(chosen))
    return found


def random_pairs(codes: Codes, count: int, seed: int, *, differ: bool) -> Indices | None:
    """Return random pairs of samples, each at most once; None where that would be all of them.

    Parameters
    ----------
    codes : ndarray of int, shape (N,)
        Class of each sample, from 0 on.
    count : int
        How many.
    seed : int
        Of the draw.
    differ : bool
        Whether to draw pairs of different classes only.

    Returns
    -------
    ndarray of int, shape (count, 2), or None
        The smaller index first, in ascending order.

    Examples
    --------
    >>> random_pairs(np.array([0, 0, 1, 1]), 2, seed=0, differ=True).shape
    (2, 2)
    >>> random_pairs(np.array([0, 0, 1, 1]), 4, seed=0, differ=True) is None
    True
    """
    size, sizes = len(codes), np.bincount(codes)
    total = (size**2 - int((sizes**2).sum())) // 2 if differ else size * (size - 1) // 2
    if count >= total:
        return None
    rng = np.random.default_rng(seed)
    found = np.empty(0, dtype=np.intp)
    while len(found) < count:
        left, right = rng.integers(size, size=(2, 2 * count))
        smaller, larger = np.minimum(left, right), np.maximum(left, right)
        fits = codes[smaller] != codes[larger] if differ else smaller < larger
        drawn = smaller[fits] * size + larger[fits]
        _, first = np.unique(np.concatenate([found, drawn]), return_index=True)
        found = np.concatenate([found, drawn])[np.sort(first)][:count]  # in the order of the draw
    return np.column_stack(np.divmod(np.sort(found), size))
