"""Class labels of samples, as objectives of distances read them."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened
from gdaopt.support.validation import refuse_masked

__all__ = ["Codes", "class_codes"]

Codes = npt.NDArray[np.intp]
"""Class of each sample, as an index from 0 on."""


def class_codes(y: Any, n_samples: int) -> Codes:
    """Return the class of each sample as an index from 0 on.

    Parameters
    ----------
    y : array-like of shape (N,)
        Labels: numbers, booleans or texts.
    n_samples : int
        N.

    Raises
    ------
    InvalidInputError
        For another shape or length, labels that are missing or of mixed types, or one class only.

    Examples
    --------
    >>> class_codes(["a", "b", "a"], 3)
    array([0, 1, 0])
    """
    refuse_masked("y", y)
    try:
        labels = np.asarray(y)
    except ValueError:  # rows of different lengths
        labels = np.empty((0, 0))
    if labels.ndim != 1 or labels.dtype.kind not in "biufUSO":
        raise InvalidInputError(f"y must have a label for each sample, got {shortened(y)}")
    if labels.dtype == object and not (
        all(isinstance(label, str) for label in labels)
        or all(isinstance(label, Real) for label in labels)
    ):
        raise InvalidInputError(
            f"the labels in y must be all numbers or all texts, got {shortened(y)}"
        )
    is_nan = labels != labels
    if is_nan.any():
        raise InvalidInputError(
            f"y is NaN at index {int(is_nan.argmax())}; leave samples without a label out"
        )
    if len(labels) != n_samples:
        raise InvalidInputError(
            f"X has {n_samples} samples and y has {len(labels)}; they must be as many"
        )
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"y is {classes[0]!s} for all {n_samples} samples; there must be at least two classes"
        )
    return codes.ravel()
