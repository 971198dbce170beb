"""Trace bounds by the rule "auto" for objectives of distances: traces of isotropic metrics.

An isotropic metric spreads its trace evenly over all features that vary. Each objective knows a
mean squared distance of samples of one class beyond which an isotropic metric is of no use
("Proposition: trace bounds of isotropic metrics"); the bound is the trace that takes it there. When
the features are multiplied by s, the bound is divided by s², and all distances stay as they were.
"""

from __future__ import annotations

from gdaopt.errors import InvalidInputError
from gdaopt.support.validation import FloatArray

__all__ = ["isotropic_trace", "nothing_pulls"]


def nothing_pulls(option: str) -> InvalidInputError:
    """Return the error of an objective that has no bound, because of an option."""
    return InvalidInputError(
        f"with {option} larger metrics are always better, and trace_bound='auto' makes no bound; "
        "pass a number, or 'K'"
    )


def isotropic_trace(distance: float, squares: FloatArray) -> float:
    """Return the trace of the isotropic metric under which the mean squared distance is as given.

    Parameters
    ----------
    distance : float
        The mean squared distance.
    squares : ndarray of shape (K,)
        The mean squared difference of each feature, over the same pairs of samples.

    Raises
    ------
    InvalidInputError
        When no feature varies.

    Examples
    --------
    >>> import numpy as np
    >>> isotropic_trace(3.0, np.array([2.0, 1.0, 0.0]))
    2.0
    """
    varying = squares[squares > 0]
    if not len(varying):
        raise InvalidInputError(
            "the samples of each class coincide, so that trace_bound='auto' has no value; pass a "
            "number, or 'K'"
        )
    return distance / float(varying.mean())
