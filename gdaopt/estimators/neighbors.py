"""How many of the nearest neighbours of samples are of their class."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from sklearn.neighbors import NearestNeighbors

from gdaopt.support.validation import FloatArray

_NEIGHBORS = 5


def shares_of_own_class(
    X: Any, y: npt.NDArray[Any], queries: Any, answers: npt.NDArray[Any]
) -> FloatArray:
    """Return the share of each query's 5 nearest samples that are of its class."""
    search = NearestNeighbors(n_neighbors=min(_NEIGHBORS, len(y)), algorithm="brute").fit(X)
    nearest = search.kneighbors(queries, return_distance=False)
    shares: FloatArray = (y[nearest] == answers[:, None]).mean(axis=1)
    return shares
