"""A race of candidates over folds, by the scores of the held-out samples, and what it proves.

Candidates are compared on the same samples: all standard errors are those of paired differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from gdaopt.support.validation import FloatArray

_NEIGHBORS = 5
_BATCH_ENTRIES = 2**17  # distances at a time: 1 MB, which stays in cache
_BOOTSTRAPS = 400
_ROUND_OFF = 1e-12  # scores that differ by less count as equal


class Race:
    """The scores of candidates so far, and which of them are not dropped.

    Attributes
    ----------
    is_in : ndarray of bool, shape (n_candidates,)
        Whether a candidate is still in the race.
    """

    def __init__(self, n_candidates: int, n_samples: int) -> None:
        self.is_in = np.full(n_candidates, True)
        self._totals, self._counts = np.zeros((2, n_candidates, n_samples))

    def add(self, candidate: int, samples: npt.NDArray[np.intp], scores: FloatArray) -> None:
        """Take the scores of a candidate on samples that were held out."""
        self._totals[candidate, samples] += scores
        self._counts[candidate, samples] += 1

    @property
    def scores(self) -> FloatArray:
        """The mean score of each sample, shape (n_candidates, n_samples); NaN without any."""
        scores = np.full(self._totals.shape, np.nan)
        np.divide(self._totals, self._counts, out=scores, where=self._counts > 0)
        return scores

    @property
    def best(self) -> int:
        """The candidate of the best mean score among those in the race; of several the first."""
        return self._best_among(np.arange(len(self.is_in)))

    def _best_among(self, candidates: npt.NDArray[np.intp]) -> int:
        mean = np.where(self.is_in, means(self.scores), -np.inf)[candidates]
        return int(candidates[(mean >= mean.max() - _ROUND_OFF).argmax()])

    def keep_best(self, groups: npt.NDArray[np.intp]) -> None:
        """Drop all but the best candidate of each group, whose numbers have shape (n_candidates,).

        Of several best ones it is the first.
        """
        for group in range(groups.max() + 1):
            members = np.flatnonzero(groups == group)
            self.is_in[members] &= members == self._best_among(members)

    def drop(self, errors: float, spared: int | None = None) -> None:
        """Drop those that are more than so many standard errors behind the best, but for one."""
        scores = self.scores
        behind = scores[self.best] - scores
        self.is_in &= means(behind) <= errors * standard_errors(behind) + _ROUND_OFF
        if spared is not None:
            self.is_in[spared] = True


def means(rows: FloatArray) -> FloatArray:
    """Return the mean of each row's numbers, -inf for a row of NaN."""
    counts = np.isfinite(rows).sum(axis=1)
    mean = np.full(len(rows), -np.inf)
    np.divide(np.nansum(rows, axis=1), counts, out=mean, where=counts > 0)
    return mean


def standard_errors(rows: FloatArray) -> FloatArray:
    """Return the standard error of each row's mean, 0 of a single number."""
    counts = np.isfinite(rows).sum(axis=1)
    squares = np.nansum((rows - means(rows)[:, None]) ** 2, axis=1)
    errors: FloatArray = np.sqrt(squares / np.maximum((counts - 1) * counts, 1))
    return errors


def chance(gains: FloatArray) -> float:
    """Return how likely the best of candidates without a gain is as good as here.

    The statistic is the largest t: the mean of a candidate's gains in units of its standard error.
    Bootstraps of the samples say how it is distributed where no candidate has a gain (max-t), so
    that the best of many is compared as the best of many.

    Parameters
    ----------
    gains : ndarray of shape (n_candidates, n_samples)
        The scores of each candidate less those of no learning; NaN where it has none.

    Returns
    -------
    float
        The share of bootstraps whose largest t is at least that of the gains; 1 where no mean gain
        is positive.
    """
    gains = gains[:, np.isfinite(gains).any(axis=0)]
    mean, error = means(gains), np.maximum(standard_errors(gains), _ROUND_OFF)
    if not mean.max(initial=0.0) > _ROUND_OFF:
        return 1.0
    has_score, size = np.isfinite(gains).astype(np.float64), gains.shape[1]
    rng = np.random.default_rng(0)
    drawn = rng.integers(size, size=(_BOOTSTRAPS, size)) + size * np.arange(_BOOTSTRAPS)[:, None]
    times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
    counts = times @ has_score.T
    means_drawn = np.full(counts.shape, -np.inf)
    np.divide(times @ np.nan_to_num(gains).T, counts, out=means_drawn, where=counts > 0)
    largest = ((means_drawn - mean) / error).max(axis=1)
    return float((largest >= (mean / error).max()).mean())


def shares_of_own_class(
    X: Any, y: npt.NDArray[Any], queries: Any, answers: npt.NDArray[Any]
) -> FloatArray:
    """Return the share of each query's 5 nearest samples that are of its class."""
    count, halves = min(_NEIGHBORS, len(y)), row_norms(X, squared=True) / 2
    shares = np.zeros(len(answers))
    for part in gen_batches(len(answers), max(1, _BATCH_ENTRIES // len(y))):
        # Half of the squared distances, less what all samples have in common.
        distances = halves - safe_sparse_dot(queries[part], X.T, dense_output=True)
        every = np.arange(len(distances))
        for _ in range(count):
            nearest = distances.argmin(axis=1)
            shares[part] += y[nearest] == answers[part]
            distances[every, nearest] = np.inf
    return shares / count
