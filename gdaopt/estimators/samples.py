"""Samples at the door of the estimators: scikit-learn's checks, and what these let through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, refuse_masked

__all__ = ["read_labelled_samples", "read_samples"]

_SHOWN = 5  # names of columns in a message
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
        Whether they are the samples of `fit`.

    Raises
    ------
    InvalidInputError
        If the samples are masked, are dates, have columns of text, or hold whole numbers that are
        too large for floats.

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
    except (TypeError, ValueError) as error:
        _refuse_text(X, error)
        raise
    return samples


def read_labelled_samples(estimator: Any, X: Any, y: Any) -> tuple[FloatArray, npt.NDArray[Any]]:
    """Return samples and their labels, all of which are there; see `read_samples`."""
    _refuse_hidden("X", X)
    _refuse_hidden("y", y)
    try:
        samples, labels = validate_data(estimator, X, y, dtype=np.float64)
    except OverflowError as error:
        raise _too_large() from error
    except (TypeError, ValueError) as error:
        _refuse_text(X, error)
        raise
    return samples, labels


def _refuse_text(X: Any, error: Exception) -> None:
    """Raise an error with the names of the columns that hold text, if there are some."""
    texts = {name: text for name, values in _columns(X) if (text := _text(values)) is not None}
    if not texts:
        return
    which, holds, them = (
        ("column", "holds", "it") if len(texts) == 1 else ("columns", "hold", "them")
    )
    raise InvalidInputError(
        f"{which} {_listed(list(texts))} of X {holds} text, such as "
        f"{shortened(next(iter(texts.values())))}; turn {them} into numbers, such as by "
        f"sklearn.preprocessing.OneHotEncoder, or drop {them}"
    ) from error


def _columns(X: Any) -> Iterator[tuple[Any, npt.NDArray[Any]]]:
    """Yield the names and values of columns: of a data frame, or of rows, by their numbers."""
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        for number, name in enumerate(X.columns):
            yield name, np.asarray(X.iloc[:, number])
        return
    try:
        values = np.asarray(X)
    except ValueError:  # rows of different lengths
        return
    if values.ndim == 2 and values.dtype.kind in "OUS":
        yield from enumerate(values.T)


def _text(values: npt.NDArray[Any]) -> str | None:
    """Return the first text that is no number; None if there is none."""
    if values.dtype.kind in "OUS":
        for value in values:
            if isinstance(value, str):
                try:
                    float(value)
                except ValueError:
                    return str(value)
    return None


def _listed(names: list[Any]) -> str:
    """Return names for a message."""
    shown = ", ".join(shortened(name) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _refuse_hidden(name: str, value: Any) -> None:
    """Refuse arrays that become other numbers than they show."""
    refuse_masked(name, value)
    if getattr(getattr(value, "dtype", None), "kind", "") in _DATES:
        raise InvalidInputError(f"{name} holds dates or times; pass numbers")


def _too_large() -> InvalidInputError:
    """Return the error for numbers that are no floats."""
    return InvalidInputError("X holds a number that is too large for a float of 64 bits")
