"""Samples at the door of the estimators: scikit-learn's checks, and what these let through."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from gdaopt.errors import InvalidInputError
from gdaopt.validation import FloatArray, refuse_masked

__all__ = ["read_labelled_samples", "read_samples"]

_DATES = ("m", "M")  # kinds of NumPy's times: a conversion to floats makes numbers of them


def read_samples(estimator: Any, X: Any, *, reset: bool = True) -> FloatArray:
    """Return samples as scikit-learn's `validate_data` reads them; refuse masks and dates as well.

    Parameters
    ----------
    estimator : estimator
        Whose samples they are.
    X : array-like of shape (n_samples, n_features)
        Samples.
    reset : bool, optional
        Whether they are those of `fit`.

    Raises
    ------
    InvalidInputError
        If the samples are masked, are dates, or hold whole numbers that are too large for floats.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> read_samples(StandardScaler(), [[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    _refuse_hidden("X", X)
    try:
        samples: FloatArray = validate_data(estimator, X, dtype=np.float64, reset=reset)
    except OverflowError as error:
        raise _too_large() from error
    return samples


def read_labelled_samples(estimator: Any, X: Any, y: Any) -> tuple[FloatArray, npt.NDArray[Any]]:
    """Return samples and their labels, all of which are there; see `read_samples`."""
    _refuse_hidden("X", X)
    _refuse_hidden("y", y)
    try:
        samples, labels = validate_data(estimator, X, y, dtype=np.float64)
    except OverflowError as error:
        raise _too_large() from error
    return samples, labels


def _refuse_hidden(name: str, value: Any) -> None:
    """Refuse arrays that become other numbers than they show."""
    refuse_masked(name, value)
    if getattr(getattr(value, "dtype", None), "kind", "") in _DATES:
        raise InvalidInputError(f"{name} holds dates or times; pass numbers")


def _too_large() -> InvalidInputError:
    """Return the error for numbers that are no floats."""
    return InvalidInputError("X holds a number that is too large for a float of 64 bits")
