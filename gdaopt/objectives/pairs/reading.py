"""Weighted pairs from samples, signals, sample weights and a list of pairs, as users pass them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.pairs.base import Indices, Pairs
from gdaopt.objectives.pairs.listed_pairs import ListedPairs
from gdaopt.objectives.pairs.signal_pairs import SignalPairs
from gdaopt.support.validation import FloatArray, finite_array, refuse_masked

__all__ = ["checked_pairs", "checked_samples", "checked_weights", "weighted_pairs"]

_LEAST_SPREAD = 1e-100  # products of its squares do not underflow
_LARGEST_SPREAD = 1e150  # its square, summed up, is finite; that of its inverse is not 0


def weighted_pairs(X: Any, z: Any, sample_weight: Any = None, pairs: Any = None) -> Pairs:
    """Return the pairs of samples with the weights ``2 s_i s_j Σ_m (z_im - z_jm)²``.

    Parameters
    ----------
    X : array-like of shape (N, K)
        Samples.
    z : array-like of shape (N,) or (N, m)
        Signals.
    sample_weight : array-like of shape (N,), optional
        s; all 1 when left out.
    pairs : array-like of int, shape (n, 2), optional
        The pairs to take; all when left out.

    Returns
    -------
    Pairs
        `SignalPairs` of all pairs that differ in the signal, or `ListedPairs` of those that are
        given.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, lengths that differ, fewer than two samples, a signal that is
        the same for all samples or in all pairs, sample weights that are not positive, pairs that
        refer to samples that X does not have, or values so large or small that their squares leave
        float64.

    Examples
    --------
    >>> weighted_pairs([[0.0], [1.0], [3.0]], [1, -1, -1]).n_pairs
    2
    """
    features = finite_array("X", X, ndim=2, is_data=True)
    signal = finite_array("z", z, ndim=(1, 2), is_data=True)
    if len(features) != len(signal):
        raise InvalidInputError(
            f"X has {len(features)} samples and z has {len(signal)}; they must be as many"
        )
    if len(features) < 2:
        raise InvalidInputError("X has 1 sample; pairs need at least 2")
    signal = signal.reshape(len(signal), -1)
    if (signal == signal[0]).all():
        raise InvalidInputError(
            f"z is {signal[0].squeeze().tolist()} for all {len(signal)} samples; "
            "the signal must take at least two values"
        )
    _check_spread("X", features, least=0.0)
    _check_spread("z", signal, least=1 / _LARGEST_SPREAD)
    weights = checked_weights(sample_weight, len(signal))
    if pairs is None:
        return SignalPairs(features, signal, weights)
    listed = ListedPairs.of_signal(features, signal, weights, checked_pairs(pairs, len(signal)))
    if not listed.n_pairs:
        raise InvalidInputError("pairs holds no two samples with different signals")
    return listed


def checked_samples(X: Any) -> FloatArray:
    """Return samples as an array of shape (N, K); refuse what has no distances.

    Raises
    ------
    InvalidInputError
        For NaN or infinite values, fewer than two samples, samples that all coincide, or values so
        large or small that their squares leave float64.
    """
    features = finite_array("X", X, ndim=2, is_data=True)
    if len(features) < 2:
        raise InvalidInputError(f"X has {len(features)} sample(s); pairs need at least 2")
    if (features == features[0]).all():
        raise InvalidInputError(
            f"all {len(features)} samples of X coincide: no metric tells them apart"
        )
    _check_spread("X", features, least=_LEAST_SPREAD)
    return features


def checked_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return weights as an array, 1 for None; refuse other lengths, and what is not positive."""
    if sample_weight is None:
        return np.ones(n_samples)
    weights = finite_array("sample_weight", sample_weight, ndim=1)
    if len(weights) != n_samples:
        raise InvalidInputError(f"sample_weight has {len(weights)} entries for {n_samples} samples")
    if weights.min() <= 0:
        raise InvalidInputError(
            f"sample_weight holds {weights.min():g} at index {int(weights.argmin())}; weights must "
            "be positive: leave samples without weight out"
        )
    return weights


def checked_pairs(pairs: Any, n_samples: int, name: str = "pairs", width: int = 2) -> Indices:
    """Return pairs as an array of indices; refuse other shapes, and indices without a sample."""
    refuse_masked(name, pairs)
    try:
        indices = np.asarray(pairs)
    except ValueError:  # rows of different lengths
        indices = np.asarray(pairs, dtype=object)
    is_whole = np.issubdtype(indices.dtype, np.integer)
    if indices.ndim != 2 or indices.shape[1] != width or not is_whole:
        raise InvalidInputError(
            f"{name} must be whole numbers of shape (n, {width}), got {indices.dtype} of "
            f"{indices.shape}"
        )
    if indices.size and not (indices.min() >= 0 and indices.max() < n_samples):
        raise InvalidInputError(
            f"{name} refers to samples {indices.min()} to {indices.max()}; X has 0 to "
            f"{n_samples - 1}"
        )
    return indices.astype(np.intp)


def _check_spread(name: str, values: FloatArray, least: float) -> None:
    """Refuse values whose squared differences under- or overflow."""
    spread = float(np.abs(values / 2 - values[0] / 2).max())
    if not least <= spread <= _LARGEST_SPREAD:
        raise InvalidInputError(
            f"{name} spans about {spread:.2g}, and the square of that leaves floating point; "
            f"rescale {name} to values of about 1"
        )
