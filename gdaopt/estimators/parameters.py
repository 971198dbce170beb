"""What scikit-learn does not have for parameters: intervals of any numbers, calls of functions."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval as SklearnInterval

from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened

__all__ = ["Interval", "called"]


class Interval(SklearnInterval):
    """An interval of numbers of any type; that of scikit-learn fails at a `fractions.Fraction`.

    Examples
    --------
    >>> from fractions import Fraction
    >>> Interval(Real, 0, 1, closed="both").is_satisfied_by(Fraction(1, 3))
    True
    """

    def __contains__(self, value: Real) -> bool:
        try:
            compared = value if isinstance(value, Integral) else float(value)
        except OverflowError:
            return False
        is_inside: bool = super().__contains__(compared)
        return is_inside


def called(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function of the user's returns; refuse one that cannot be called so.

    Examples
    --------
    >>> called("preprocessor", lambda indices: indices, 1)
    1
    """
    try:
        return function(*arguments)
    except TypeError as error:
        raise InvalidInputError(
            f"{name} = {shortened(function)} cannot be called with {len(arguments)} argument(s): "
            f"{error}"
        ) from error
