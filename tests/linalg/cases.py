"""What tests of linear algebra share."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gdaopt.support.validation import FloatArray
from tests.helpers import path_laplacian


def uniform_path(size: int, weight: float) -> FloatArray:
    """Return a path with a constant diagonal of 1, the start of the alternation."""
    metric = weight * path_laplacian(size)
    np.fill_diagonal(metric, 1.0)
    return metric


def raises(error: Exception) -> Callable[..., Any]:
    """Return a function that raises."""

    def function(*_: Any, **__: Any) -> Any:
        raise error

    return function


def definite(rng: np.random.Generator, size: int, decades: float = 1.0) -> FloatArray:
    """Return a matrix of random eigenvectors, with eigenvalues over so many decades."""
    vectors = np.linalg.qr(rng.standard_normal((size, size)))[0]
    values = 10 ** rng.uniform(-decades / 2, decades / 2, size)
    matrix = (vectors * values) @ vectors.T
    symmetric: FloatArray = (matrix + matrix.T) / 2
    return symmetric
