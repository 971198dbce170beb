"""Pairs and triplets of samples as users pass them: the samples themselves, or their indices."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.parameters import called
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, refuse_masked

__all__ = ["read_tuples"]


def read_tuples(
    name: str, tuples: Any, size: int, preprocessor: Any = None, n_features: int | None = None
) -> FloatArray:
    """Return tuples of samples as an array of shape (n, size, K).

    Parameters
    ----------
    name : str
        What messages call them, such as "pairs".
    tuples : array-like of shape (n, size, K), or (n, size)
        Samples; or, with a preprocessor, what it takes for them.
    size : int
        How many samples a tuple has.
    preprocessor : array-like of shape (N, K), callable, or None
        The samples that the tuples index; or a function of an array of indices, of shape
        (n,), that returns their samples, of shape (n, K). It may take indices of any kind, such as
        names of files.
    n_features : int, optional
        K, where it is known.

    Raises
    ------
    InvalidInputError
        If the tuples have another shape, or there is no sample for an index.
    ValueError
        If samples are not finite.

    Examples
    --------
    >>> read_tuples("pairs", [[0, 2]], 2, [[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
    array([[[1., 5.],
            [3., 7.]]])
    """
    refuse_masked(name, tuples)
    if preprocessor is not None and _dimensions(name, tuples) == 2:
        found = _preprocessed(name, tuples, size, preprocessor)
    else:
        found = _floats(name, tuples, ensure_2d=False, allow_nd=True)
    width = "n_features" if n_features is None else str(n_features)
    expected = (size, found.shape[-1] if found.ndim and n_features is None else n_features)
    if found.ndim != 3 or found.shape[1:] != expected:
        features = "" if n_features is None else f" with {n_features} features"
        hint = "" if found.ndim != 2 else "; indices of samples need a preprocessor"
        raise InvalidInputError(
            f"{name} has shape {found.shape}; {name} of samples{features} have shape "
            f"(n_{name}, {size}, {width}){hint}"
        )
    return found


def _dimensions(name: str, tuples: Any) -> int:
    """Return how many dimensions an array-like has."""
    try:
        return np.ndim(tuples)
    except ValueError as error:  # rows of different lengths
        raise InvalidInputError(f"{name} has rows of different lengths") from error


def _preprocessed(name: str, tuples: Any, size: int, preprocessor: Any) -> FloatArray:
    """Return the samples that indices stand for."""
    indices = np.asarray(tuples)
    if indices.ndim != 2 or indices.shape[1] != size or not len(indices):
        raise InvalidInputError(
            f"{name} has shape {indices.shape}; {name} of indices have shape (n_{name}, {size}), "
            f"with at least one row"
        )
    try:
        distinct, places = np.unique(indices, return_inverse=True)
    except TypeError as error:
        raise InvalidInputError(
            f"{name} holds indices of mixed types; pass numbers or texts"
        ) from error
    if callable(preprocessor):
        returned = called("preprocessor", preprocessor, distinct)
        samples = _floats("what preprocessor returns", returned)
        if len(samples) != len(distinct):
            raise InvalidInputError(
                f"preprocessor returned {len(samples)} samples for {len(distinct)} indices"
            )
        chosen = samples
    else:
        samples = _floats("preprocessor", preprocessor)
        if not np.issubdtype(distinct.dtype, np.integer):
            raise InvalidInputError(
                f"{name} must hold whole numbers, the rows of the preprocessor, got "
                f"{shortened(distinct[0])}"
            )
        if not (distinct[0] >= 0 and distinct[-1] < len(samples)):
            raise InvalidInputError(
                f"{name} refers to samples {distinct[0]} to {distinct[-1]}; preprocessor has 0 to "
                f"{len(samples) - 1}"
            )
        chosen = samples[distinct]
    formed: FloatArray = chosen[places.reshape(indices.shape)]
    return formed


def _floats(name: str, values: Any, **options: Any) -> FloatArray:
    """Return an array of finite floats."""
    try:
        array: FloatArray = check_array(values, dtype=np.float64, input_name=name, **options)
    except OverflowError as error:
        raise InvalidInputError(
            f"{name} holds a number that is too large for a float of 64 bits"
        ) from error
    return array
