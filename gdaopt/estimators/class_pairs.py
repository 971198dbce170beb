"""Pairs of samples of different classes: the signals that tell them apart, and the nearest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import NearestNeighbors

from gdaopt.validation import FloatArray

__all__ = ["class_signal", "nearest_of_other_classes", "one_hot"]

Codes = npt.NDArray[np.intp]


def one_hot(codes: Codes) -> FloatArray:
    """Return the 0/1 indicators of the classes, shape (N, n_classes).

    Examples
    --------
    >>> one_hot(np.array([1, 0]))
    array([[0., 1.],
           [1., 0.]])
    """
    shares: FloatArray = np.eye(codes.max() + 1)[codes]
    return shares


def class_signal(codes: Codes) -> FloatArray:
    """Return the 0/1 signals of the classes: one for two classes, else one for each.

    Parameters
    ----------
    codes : ndarray of int, shape (N,)
        Class of each sample, from 0 on.

    Returns
    -------
    ndarray of shape (N, m)

    Examples
    --------
    >>> class_signal(np.array([0, 1, 1])).T
    array([[0., 1., 1.]])
    """
    indicators = one_hot(codes)
    return indicators[:, 1:] if indicators.shape[1] == 2 else indicators


def nearest_of_other_classes(X: FloatArray, codes: Codes, n_neighbors: int) -> Codes:
    """Return the pairs of each sample with its nearest samples of other classes, each pair once.

    Parameters
    ----------
    X : ndarray of shape (N, K)
        Samples.
    codes : ndarray of int, shape (N,)
        Class of each sample, from 0 on.
    n_neighbors : int
        How many of them, all classes but its own together; fewer where there are fewer.

    Returns
    -------
    ndarray of int, shape (n, 2)
        The smaller index first, in ascending order.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0]])
    >>> nearest_of_other_classes(X, np.array([0, 0, 1, 1]), 1).tolist()
    [[0, 2], [1, 2], [1, 3]]
    """
    found = []
    for code in range(codes.max() + 1):
        own, others = np.flatnonzero(codes == code), np.flatnonzero(codes != code)
        search = NearestNeighbors(n_neighbors=min(n_neighbors, len(others))).fit(X[others])
        nearest = others[search.kneighbors(X[own], return_distance=False)]
        found.append(np.column_stack([np.repeat(own, nearest.shape[1]), nearest.ravel()]))
    pairs: Codes = np.unique(np.sort(np.concatenate(found), axis=1), axis=0)
    return pairs
