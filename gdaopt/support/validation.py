"""Checks of arguments: each raises an InvalidInputError with the name, the value and a remedy."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from gdaopt.errors import InvalidInputError
from gdaopt.support.text import cut, plain, reason, shortened

_BLOCK = 256  # rows and columns of a matrix that stay in cache
_LARGEST = 2**63 - 1  # whole numbers above do not fit into 64 bits
_NO_NUMBERS = (bool, np.bool_, np.timedelta64)  # though Python and NumPy count them as numbers
_MOST_NAMES = 12  # known names that a message lists
_LONGEST_NAME = 40  # characters of each
_MISSING = "remove or impute missing and infinite values first"

_Scalar = TypeVar("_Scalar", bound=np.generic)

FloatArray = npt.NDArray[np.float64]
"""An array of float64."""


def finite_array(
    name: str, value: Any, ndim: int | tuple[int, ...], *, is_data: bool = False
) -> FloatArray:
    """Return a new float64 array; refuse other dimensions, text, NaN and infinities.

    In data, from measurements, a number that is not finite is a missing one.
    """
    array = _as_floats(name, value)
    allowed = (ndim,) if isinstance(ndim, int) else ndim
    if array.ndim not in allowed:
        wanted = " or ".join(str(n) for n in allowed)
        raise InvalidInputError(f"{name} must have {wanted} dimension(s), got shape {array.shape}")
    if array.size == 0:
        raise InvalidInputError(f"{name} is empty (shape {array.shape})")
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        remedy = _MISSING if is_data else "all of its entries must be finite numbers"
        raise InvalidInputError(f"{name} holds {array[where]} at index {where}; {remedy}")
    return array


def _as_floats(name: str, value: Any) -> FloatArray:
    refuse_masked(name, value)
    if issparse(value):
        raise InvalidInputError(f"{name} is sparse; pass a dense array, as by its toarray()")
    try:
        array = np.asarray(value)
    except (ArithmeticError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} cannot be read as an array of numbers: {reason(error)}"
        ) from error
    if array.dtype.kind == "c":
        raise InvalidInputError(f"{name} is complex; pass real numbers")
    if array.dtype.kind not in "biuf":
        for where, entry in np.ndenumerate(array):
            if not where:
                raise InvalidInputError(
                    f"{name} cannot be read as an array of numbers: it is {shortened(value)}"
                )
            if isinstance(entry, np.timedelta64) or not isinstance(entry, Real | Decimal):
                shown = shortened(entry.item() if isinstance(entry, np.generic) else entry)
                raise InvalidInputError(
                    f"{name} cannot be read as an array of numbers: it holds {shown} at index "
                    f"{where}; {_MISSING if entry is None else 'pass numbers'}"
                )
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite
            return np.array(array, dtype=np.float64)
    except OverflowError:
        raise InvalidInputError(
            f"{name} holds a number that is too large for a float of 64 bits"
        ) from None


def refuse_masked(name: str, value: Any) -> None:
    """Refuse masked values of NumPy's masked arrays, which a conversion would lay open."""
    for part in value if isinstance(value, list | tuple) else (value,):
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            raise InvalidInputError(
                f"{name} has {np.ma.getmaskarray(part).sum()} masked value(s); remove them, or "
                "replace them by its method filled"
            )


def symmetric_matrix(name: str, value: Any, size: int | None = None) -> FloatArray:
    """Return a new symmetric matrix: the mean of triangles that differ by round-off."""
    is_exact = _is_exactly_symmetric(value)  # most are, in each step, and it is found out quickly
    matrix = value.copy() if is_exact else finite_array(name, value, ndim=2)
    if matrix.shape[0] != matrix.shape[1]:
        raise InvalidInputError(f"{name} must be square, got shape {matrix.shape}")
    if size is not None and len(matrix) != size:
        raise InvalidInputError(f"{name} must be {size}×{size}, got {len(matrix)}×{len(matrix)}")
    if is_exact:
        return matrix
    difference = np.abs(matrix - matrix.T)
    if difference.max() > 1e-10 * np.abs(matrix).max():
        i, j = np.unravel_index(int(difference.argmax()), difference.shape)
        raise InvalidInputError(
            f"{name} is not symmetric: [{i},{j}] is {matrix[i, j]:g}, [{j},{i}] is {matrix[j, i]:g}"
        )
    return (matrix + matrix.T) / 2


def symmetric_sparse(name: str, matrix: Any, size: int) -> csr_array:
    """Return a K×K matrix as a sparse one; refuse one that is not symmetric and finite."""
    entries = csr_array(matrix).astype(np.float64)
    if entries.shape != (size, size):
        raise InvalidInputError(f"{name} must be {size}×{size}, got {entries.shape}")
    if not np.isfinite(entries.data).all() or (entries - entries.T).count_nonzero():
        raise InvalidInputError(f"{name} must be symmetric, and all entries finite")
    return entries


def returned_numbers(value: Any) -> FloatArray:
    """Return what a user's function returned as new floats; refuse texts, dates and the like."""
    array = np.asarray(value)
    if array.dtype.kind in "cmMOSU":
        raise TypeError(f"{array.dtype} is no type of real numbers")
    return np.array(array, dtype=np.float64)


def is_finite(array: FloatArray) -> bool:
    """Say whether all entries are finite: of small arrays in half the time of `numpy.all`."""
    return bool(np.count_nonzero(np.isfinite(array)) == array.size)


def check_finite(name: str, array: FloatArray) -> None:
    """Refuse an array with entries that are not finite."""
    if not is_finite(array):
        finite_array(name, array, ndim=array.ndim)


def as_symmetric(name: str, value: Any, size: int | None = None) -> FloatArray:
    """Return a value as a symmetric float64 matrix, without a copy if it is one already."""
    matrix: FloatArray = value
    if not _is_exactly_symmetric(value) or size not in (None, len(value)):
        checked = symmetric_matrix(name, value, size)
        if type(value) is not np.ndarray or value.dtype != np.float64:
            matrix = checked  # else round-off is all that is wrong with the value
    return matrix


def _is_exactly_symmetric(value: Any) -> bool:
    if type(value) is not np.ndarray or value.dtype != np.float64 or value.ndim != 2:
        return False
    size = len(value)
    if not 0 < size == value.shape[1]:
        return False
    if size <= _BLOCK:
        return not np.count_nonzero(value != value.T) and is_finite(value)
    # By blocks, as transposing leaves the cache.
    return is_finite(value) and all(
        np.array_equal(
            value[i : i + _BLOCK, j : j + _BLOCK], value[j : j + _BLOCK, i : i + _BLOCK].T
        )
        for i in range(0, size, _BLOCK)
        for j in range(0, i + 1, _BLOCK)
    )


def as_vector(name: str, value: Any, size: int | None = None) -> FloatArray:
    """Return a value as a float64 vector, of a given length, without a copy if it is one."""
    array: FloatArray = value
    if (
        type(value) is not np.ndarray
        or value.dtype != np.float64
        or value.ndim != 1
        or not is_finite(value)
    ):
        array = finite_array(name, value, ndim=1)
    if size is not None and len(array) != size:
        raise InvalidInputError(f"{name} must have {size} entries, got {len(array)}")
    return array


def positive_vector(name: str, value: Any, size: int | None = None) -> FloatArray:
    """Return a value as `as_vector` does; refuse entries that are not positive."""
    array = as_vector(name, value, size)
    if not array.min(initial=np.inf) > 0:
        raise InvalidInputError(
            f"{name} must be positive, got {array.min():g} at index {int(array.argmin())}; raise "
            "that entry, or leave out what it belongs to"
        )
    return array


def number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> float:
    """Return a value as a float within its bounds; refuse NaN, text and booleans."""
    if isinstance(value, _NO_NUMBERS) or not isinstance(value, Real | Decimal):
        raise InvalidInputError(f"{name} must be a number, got {shortened(value)}")
    try:
        result = float(value)
    except OverflowError:  # a whole number or a fraction of more than 308 digits
        raise InvalidInputError(f"{name} is too large for a float of 64 bits") from None
    if not math.isfinite(result):
        raise InvalidInputError(f"{name} must be finite, got {shortened(value)}")
    if not result > above and above > -math.inf:
        raise InvalidInputError(f"{name} must be above {above:g}, got {shortened(value)}")
    if result < at_least:
        raise InvalidInputError(f"{name} must be at least {at_least:g}, got {shortened(value)}")
    if result > at_most:
        raise InvalidInputError(f"{name} must be at most {at_most:g}, got {shortened(value)}")
    return result


def integer(name: str, value: Any, *, at_least: int) -> int:
    """Return a value as an int of at least `at_least`; refuse other types."""
    if isinstance(value, _NO_NUMBERS) or not isinstance(value, Integral):
        raise InvalidInputError(f"{name} must be a whole number, got {shortened(value)}")
    if value < at_least:
        raise InvalidInputError(f"{name} must be at least {at_least}, got {shortened(value)}")
    result = int(value)
    if result > _LARGEST:
        raise InvalidInputError(f"{name} must fit into 64 bits, got {shortened(value)}")
    return result


def flag(name: str, value: Any) -> bool:
    """Return a truth value; refuse other types, which would all count as true or false."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInputError(f"{name} must be True or False, got {shortened(value)}")
    return bool(value)


def store_checked(owner: Any, check: Callable[..., Any], *names: str, **bounds: Any) -> None:
    """Replace fields of a frozen dataclass by what a check returns; None stays a default."""
    for name in names:
        value = getattr(owner, name)
        if value is not None or getattr(type(owner), name, ...) is not None:
            object.__setattr__(owner, name, check(name, value, **bounds))


def as_path(name: str, value: Any) -> Path:
    """Return a path-like value as a path; a ``~`` at its start is the home directory."""
    if not isinstance(value, str | os.PathLike):
        raise InvalidInputError(f"{name} must be a path, got {shortened(value)}")
    return Path(os.path.expanduser(os.fsdecode(value)))


def options_mapping(name: str, value: Any) -> dict[str, Any]:
    """Return options by their names as a new dict; none for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInputError(
            f"{name} must be a dict of options by their names, got {shortened(value)}"
        )
    return dict(value)


def as_tuple(name: str, values: Any, words: str = "a list") -> tuple[Any, ...]:
    """Return values as a tuple; refuse a text, which would be read letter by letter."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{name} must be {words}, got {shortened(values)}")
    return tuple(values)


def check_instance(name: str, value: Any, kind: type) -> None:
    """Refuse a value that is not of a class."""
    if not isinstance(value, kind):
        raise InvalidInputError(f"{name} must be a {kind.__name__}, got {shortened(value)}")


def read_only(array: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    """Return the array itself, made read-only: what was computed from it stays true."""
    array.flags.writeable = False
    return array


def nearest_name(name: object, known: Iterable[str], cutoff: float = 0.5) -> str | None:
    """Return the known name that is most like another, in any case; None if none is like it."""
    by_lower = {each.lower(): each for each in known}
    text = name.lower() if isinstance(name, str) else ""
    near = difflib.get_close_matches(text, by_lower, n=1, cutoff=cutoff)
    return by_lower[near[0]] if near else None


def unknown_name(what: str, name: object, known: Iterable[str]) -> InvalidInputError:
    """Return the error for an unknown name; its message suggests the nearest known name."""
    names = sorted(known)
    near = nearest_name(name, names)
    hint = f"; did you mean {shortened(near)}?" if near else ";"
    listed = ", ".join(cut(plain(each), _LONGEST_NAME) for each in names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return InvalidInputError(f"unknown {what} {shortened(name)}{hint} Known: {listed}{more}")


def check_name(what: str, name: object, known: Collection[str]) -> None:
    """Raise the error of `unknown_name` for anything but one of the known names."""
    if not isinstance(name, str) or name not in known:
        raise unknown_name(what, name, known)
