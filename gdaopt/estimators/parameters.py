"""Constraints of parameters that scikit-learn does not have."""

from __future__ import annotations

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval as SklearnInterval

__all__ = ["Interval"]


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
