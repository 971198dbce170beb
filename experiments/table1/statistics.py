"""Statistics of numbers over seeds and folds: means, standard errors, comparisons, ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdaopt.support.validation import FloatArray

__all__ = [
    "Comparison",
    "corrected_test",
    "mean_and_error",
    "mean_ranks",
    "n_within",
    "seed_errors",
]

Counts = npt.NDArray[np.intp]


def seed_errors(wrong: Counts, sizes: Counts) -> FloatArray:
    """Return the error of each seed in per cent, pooled over its folds.

    Parameters
    ----------
    wrong, sizes : ndarray of int, shape (n_seeds, n_folds)
        Wrong labels and test samples.

    Examples
    --------
    >>> seed_errors(np.array([[1, 2], [0, 0]]), np.array([[10, 20], [10, 20]]))
    array([10.,  0.])
    """
    errors: FloatArray = 100 * wrong.sum(axis=1) / sizes.sum(axis=1)
    return errors


def mean_and_error(values: FloatArray) -> tuple[float, float | None]:
    """Return the mean, and its standard error; None with a single value.

    The halves of different seeds overlap, so that the standard error is that of the seeds alone: it
    says how far the mean is from the mean over all splits of these samples, not of other samples.

    Examples
    --------
    >>> mean_and_error(np.array([1.0, 3.0])), mean_and_error(np.array([1.0]))
    ((2.0, 1.0), (1.0, None))
    """
    mean = float(values.mean())
    if len(values) < 2:
        return mean, None
    return mean, float(values.std(ddof=1)) / math.sqrt(len(values))


@dataclass(frozen=True)
class Comparison:
    """Two rows on the same folds.

    Attributes
    ----------
    difference : float
        The mean over folds of the first row's error less the second's, per cent.
    t, p : float or None
        The statistic of the corrected test and its two-sided p; None where there is no variance,
        or a single fold.
    """

    difference: float
    t: float | None
    p: float | None


def corrected_test(differences: FloatArray, ratio: float) -> Comparison:
    """Compare two rows by the t-test corrected for resampling (Nadeau and Bengio 2003).

    Parameters
    ----------
    differences : ndarray of shape (n,)
        Differences of error rates, one for each seed and fold.
    ratio : float
        The number of test samples over that of training samples: 1 for two folds.

    Returns
    -------
    Comparison

    Notes
    -----
    The differences of n folds share samples, so that the variance of their mean is above σ²/n, with
    σ² their own variance: ``t = mean / √((1/n + ratio) σ²)`` with n - 1 degrees of freedom, n the
    number of folds of all seeds together (Bouckaert and Frank 2004 for repeated cross-validation).
    With two folds the factor is above 1 whatever n: the test is a cautious one.

    Examples
    --------
    >>> corrected_test(np.array([1.0, 2.0, 3.0]), ratio=1.0).t
    1.7320508075688774
    """
    n, mean = len(differences), float(differences.mean())
    deviation = float(differences.std(ddof=1)) if n > 1 else 0.0
    if deviation == 0:
        return Comparison(mean, None, None)
    from scipy.stats import t as student  # on demand: it is slow to import

    t = mean / (math.sqrt(1 / n + ratio) * deviation)
    return Comparison(mean, t, 2 * float(student.sf(abs(t), n - 1)))


def mean_ranks(errors: npt.ArrayLike) -> FloatArray:
    """Return the mean rank of each row over columns, 1 the smallest error; ties share theirs.

    Parameters
    ----------
    errors : array-like of shape (n_rows, n_columns)
        The errors, rounded as tables show them, or not.

    Examples
    --------
    >>> mean_ranks([[1.0, 5.0], [2.0, 5.0], [3.0, 9.0]])
    array([1.25, 1.75, 3.  ])
    """
    from scipy.stats import rankdata  # on demand: it is slow to import

    ranks: FloatArray = rankdata(np.asarray(errors, dtype=float), axis=0).mean(axis=1)
    return ranks


def n_within(differences: Iterable[float], limits: Sequence[float] = (1.0, 2.0)) -> list[int]:
    """Return how many differences are at most so large, in the two decimals of the paper.

    Examples
    --------
    >>> n_within([-1.004, 1.2, 3.0])
    [1, 2]
    """
    rounded = [round(abs(difference), 2) for difference in differences]
    return [sum(value <= limit for value in rounded) for limit in limits]
