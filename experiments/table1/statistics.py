"""Statistics of numbers over seeds and folds: means, standard errors, comparisons, ranks."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gdaopt.support.validation import FloatArray

Counts = npt.NDArray[np.intp]


def seed_errors(wrong: Counts, sizes: Counts) -> FloatArray:
    """Return the error of each seed in per cent, pooled over its folds.

    Wrong labels and test samples have the shape (n_seeds, n_folds).
    """
    errors: FloatArray = 100 * wrong.sum(axis=1) / sizes.sum(axis=1)
    return errors


def mean_and_error(values: FloatArray) -> tuple[float, float | None]:
    """Return the mean, and its standard error; None with a single value.

    The halves of different seeds overlap, so that the standard error is that of the seeds alone: it
    says how far the mean is from the mean over all splits of these samples, not of other samples.
    """
    mean = float(values.mean())
    if len(values) < 2:
        return mean, None
    return mean, float(values.std(ddof=1)) / math.sqrt(len(values))


@dataclass(frozen=True)
class Comparison:
    """Two rows on the same folds."""

    difference: float  # the mean over folds of the first row's error less the second's, per cent
    t: float | None  # of the corrected test; None where there is no variance, or a single fold
    p: float | None  # two-sided


def corrected_test(differences: FloatArray, ratio: float) -> Comparison:
    """Compare two rows by the t-test corrected for resampling (Nadeau and Bengio 2003).

    The ratio is that of test samples to training samples, 1 for two folds. The differences of n
    folds share samples, so that the variance of their mean is above σ²/n, with σ² their own
    variance: ``t = mean / √((1/n + ratio) σ²)`` with n - 1 degrees of freedom, n the number of
    folds of all seeds together (Bouckaert and Frank 2004 for repeated cross-validation). With two
    folds the factor is above 1 whatever n: the test is a cautious one.
    """
    n, mean = len(differences), float(differences.mean())
    deviation = float(differences.std(ddof=1)) if n > 1 else 0.0
    if deviation == 0:
        return Comparison(mean, None, None)
    from scipy.stats import t as student  # on demand: it is slow to import

    t = mean / (math.sqrt(1 / n + ratio) * deviation)
    return Comparison(mean, t, 2 * float(student.sf(abs(t), n - 1)))


def mean_ranks(errors: npt.ArrayLike) -> FloatArray:
    """Return the mean rank of each row over columns, 1 the smallest error; ties share theirs."""
    from scipy.stats import rankdata  # on demand: it is slow to import

    ranks: FloatArray = rankdata(np.asarray(errors, dtype=float), axis=0).mean(axis=1)
    return ranks


def n_within(differences: Iterable[float], limits: Sequence[float] = (1.0, 2.0)) -> list[int]:
    """Return how many differences are at most so large, in the two decimals of the paper."""
    rounded = [round(abs(difference), 2) for difference in differences]
    return [sum(value <= limit for value in rounded) for limit in limits]
