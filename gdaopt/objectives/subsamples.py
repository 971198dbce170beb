"""Subsamples: how many samples represent many, which ones, and how few of their terms are enough.

Newton's method needs second derivatives only as a model: a subsample of the pairs gives them.
Value, gradient and certificate are always computed from all pairs ("Algorithm: nested samples" in
``docs/theory``).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gdaopt.support.validation import FloatArray

__all__ = ["Thinning", "model_size", "stratified", "subsample_size"]

_MODEL_SAMPLES = 512, 2048  # in the subsample for second derivatives, at least and at most
_MODEL_SHARE = 1 / 8  # of all samples, in between
_MODEL_PAIRS = 32, 256  # of that subsample for each atom, at least and at most
_PAIRS_SHARE = 1 / 256  # of all pairs, in between
_SMALLEST = 1000  # samples; each next size is four times the last
_GROWTH = 4  # a subsample is at least that many times smaller than the samples it represents
_LEAST = 2  # samples of each class


def model_size(n_samples: int) -> int:
    """Return how many samples are enough for the second derivatives of `n_samples`."""
    least, most = _MODEL_SAMPLES
    return min(max(least, int(_MODEL_SHARE * n_samples)), most)


class Thinning:
    """Leaves out most of the small terms of a sum, always the same ones.

    The terms that are kept represent all terms: sums over them are right in the mean. There are
    enough of them for the second derivatives by the weights of `n_atoms` atoms, and they take
    little time beside a pass over the pairs that are represented.
    """

    def __init__(self, total: float, n_atoms: int, n_represented: int) -> None:
        fewest, most = _MODEL_PAIRS
        kept = min(max(fewest * n_atoms, _PAIRS_SHARE * n_represented), most * n_atoms)
        self._least = total / kept
        self._rng = np.random.default_rng(0)

    def __call__(self, terms: FloatArray) -> FloatArray:
        """Return the next terms, with 0 for each term that is left out."""
        is_left = self._rng.random(terms.shape) * self._least < terms
        return np.where(is_left, np.maximum(terms, self._least), 0.0)


def subsample_size(n_samples: int) -> int | None:
    """Return how many samples represent `n_samples`; None where these are few enough."""
    if n_samples < _GROWTH * _SMALLEST:
        return None
    size = _SMALLEST
    while _GROWTH**2 * size <= n_samples:
        size *= _GROWTH
    return size


def stratified(strata: npt.NDArray[np.intp], size: int) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Return about `size` samples, of each stratum its share, and how many each represents.

    The strata of all samples ascend, and so do the indices of the samples that are taken. Samples
    that are next to each other in a stratum may be alike: of each run of N/size samples one is
    taken, at random but always the same.
    """
    rng = np.random.default_rng(0)
    indices, counts = [], []
    starts = np.flatnonzero(np.diff(strata, prepend=strata[0] - 1))
    for start, stop in zip(starts, [*starts[1:], len(strata)], strict=True):
        n_all = int(stop - start)
        n_taken = min(max(round(size * n_all / len(strata)), _LEAST), n_all)
        bounds = start + np.arange(n_taken + 1) * n_all // n_taken
        indices.append(rng.integers(bounds[:-1], bounds[1:]))
        counts.append(np.full(n_taken, n_all / n_taken))
    return np.concatenate(indices), np.concatenate(counts)
