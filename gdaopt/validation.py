"""Checks of arguments: each raises an InvalidInputError with the name, the value and a remedy."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError

__all__ = [
    "FloatArray",
    "finite_array",
    "integer",
    "number",
    "read_only",
    "shortened",
    "store_integer",
    "store_number",
    "symmetric_matrix",
]

_LONGEST = 60  # characters of a value that a message shows

_Scalar = TypeVar("_Scalar", bound=np.generic)

FloatArray = npt.NDArray[np.float64]
"""An array of float64."""


def finite_array(name: str, value: Any, ndim: int | tuple[int, ...]) -> FloatArray:
    """Return a value as a new float64 array; refuse other dimensions, text, NaN and infinities.

    Examples
    --------
    >>> finite_array("X", [[1, 2], [3, 4]], ndim=2)
    array([[1., 2.],
           [3., 4.]])
    """
    try:
        is_complex = np.iscomplexobj(value)
        array = np.array(None if is_complex else value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} cannot be read as an array of numbers: {error}") from error
    if is_complex:
        raise InvalidInputError(f"{name} is complex; pass real numbers")
    allowed = (ndim,) if isinstance(ndim, int) else ndim
    if array.ndim not in allowed:
        wanted = " or ".join(str(n) for n in allowed)
        raise InvalidInputError(f"{name} must have {wanted} dimension(s), got shape {array.shape}")
    if array.size == 0:
        raise InvalidInputError(f"{name} is empty (shape {array.shape})")
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise InvalidInputError(
            f"{name} holds {array[where]} at index {where}; "
            "remove or impute missing and infinite values first"
        )
    return array


def symmetric_matrix(name: str, value: Any, size: int | None = None) -> FloatArray:
    """Return a value as a new symmetric float64 matrix; refuse a matrix that is not symmetric.

    Where the two triangles differ by at most 1e-10 of the largest entry, their mean is taken.

    Examples
    --------
    >>> symmetric_matrix("M", [[2, -1], [-1, 2]])
    array([[ 2., -1.],
           [-1.,  2.]])
    """
    matrix = finite_array(name, value, ndim=2)
    if matrix.shape[0] != matrix.shape[1]:
        raise InvalidInputError(f"{name} must be square, got shape {matrix.shape}")
    if size is not None and len(matrix) != size:
        raise InvalidInputError(f"{name} must be {size}×{size}, got {len(matrix)}×{len(matrix)}")
    difference = np.abs(matrix - matrix.T)
    if difference.max() > 1e-10 * np.abs(matrix).max():
        i, j = np.unravel_index(int(difference.argmax()), difference.shape)
        raise InvalidInputError(
            f"{name} is not symmetric: [{i},{j}] is {matrix[i, j]:g}, [{j},{i}] is {matrix[j, i]:g}"
        )
    symmetric: FloatArray = (matrix + matrix.T) / 2
    return symmetric


def number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    allow_infinite: bool = False,
) -> float:
    """Return a value as a float within its bounds; refuse NaN, text and booleans.

    Examples
    --------
    >>> number("tolerance", 1e-6, at_least=0)
    1e-06
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise InvalidInputError(f"{name} must be a number, got {shortened(value)}")
    try:
        result = float(value)
    except OverflowError:  # a whole number or a fraction of more than 308 digits
        raise InvalidInputError(f"{name} is too large for a float of 64 bits") from None
    if math.isnan(result) or (math.isinf(result) and not allow_infinite):
        raise InvalidInputError(f"{name} must be finite, got {value!r}")
    if not result > above and above > -math.inf:
        raise InvalidInputError(f"{name} must be above {above:g}, got {value!r}")
    if result < at_least:
        raise InvalidInputError(f"{name} must be at least {at_least:g}, got {value!r}")
    return result


def integer(name: str, value: Any, *, at_least: int) -> int:
    """Return a value as an int of at least `at_least`; refuse other types.

    Examples
    --------
    >>> integer("block_iterations", 10, at_least=1)
    10
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidInputError(f"{name} must be a whole number, got {shortened(value)}")
    if value < at_least:
        raise InvalidInputError(f"{name} must be at least {at_least}, got {shortened(value)}")
    return int(value)


def store_number(
    owner: object, name: str, *, above: float = -math.inf, at_least: float = -math.inf
) -> None:
    """Replace a field of a frozen dataclass by the checked float.

    What has been validated is then what is used: a number of another type, such as one of NumPy's
    float32, would compute in its own precision.

    Parameters
    ----------
    owner : object
        The dataclass, in its ``__post_init__``.
    name : str
        Name of the field.
    above, at_least : float, optional
        The bounds of the number.
    """
    value = number(name, getattr(owner, name), above=above, at_least=at_least)
    object.__setattr__(owner, name, value)


def store_integer(owner: object, name: str, *, at_least: int) -> None:
    """Replace a field of a frozen dataclass by the checked int."""
    object.__setattr__(owner, name, integer(name, getattr(owner, name), at_least=at_least))


def shortened(value: object) -> str:
    """Return the representation of a value for a message, cut where it is long.

    Examples
    --------
    >>> shortened("trace"), len(shortened("a" * 1000))
    ("'trace'", 60)
    """
    try:
        text = repr(value)
    except Exception:  # whole numbers of over 4,300 digits, and objects that fail
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def read_only(array: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    """Return the array itself, made read-only: what was computed from it stays true."""
    array.flags.writeable = False
    return array
