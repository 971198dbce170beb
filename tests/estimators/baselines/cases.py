"""Samples with and without labels for the learners of the literature."""

from typing import Any

import numpy as np
import pytest

from gdaopt.support.validation import FloatArray

CLASSES_AND_LABELS = [
    pytest.param(classes, some, id=f"{classes} classes, {'some' if some else 'all'} labelled")
    for classes in (2, 3)
    for some in (True, False)
]
"""Parameters of tests: how many classes, and whether some or all samples have labels."""


def blobs(classes: int, n: int = 40, size: int = 4) -> tuple[FloatArray, Any]:
    """Return samples of classes that differ in the first two features, with some overlap."""
    rng = np.random.default_rng(classes)
    codes = np.arange(n) % classes
    X = rng.standard_normal((n, size))
    X[:, 0] += 3.0 * (codes == 1)
    X[:, 1] += 3.0 * (codes == classes - 1)
    return X, codes


def partly_labelled(classes: int, n: int = 40, size: int = 4) -> tuple[FloatArray, Any]:
    """Return the same samples; more than half of them have no label, which is -1 in y."""
    X, codes = blobs(classes, n, size)
    hidden = np.random.default_rng(0).permutation(n) >= 18
    return X, np.where(hidden, -1, codes)
