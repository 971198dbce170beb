"""The largest distance at which a pair is called similar: chosen by labelled pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError
from gdaopt.support.validation import FloatArray

__all__ = ["STRATEGIES", "best_threshold"]

STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")
"""What a threshold may be the best for, see `best_threshold`."""


def best_threshold(
    distances: FloatArray,
    similar: npt.NDArray[np.bool_],
    strategy: str = "accuracy",
    min_rate: float | None = None,
    beta: float = 1.0,
) -> float:
    """Return a threshold between two distances; of several that are as good, the smallest.

    Parameters
    ----------
    distances : ndarray of shape (n,)
        Of pairs.
    similar : ndarray of bool, shape (n,)
        Which pairs are similar; some are, and some are not.
    strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}
        Most right answers; the largest F-score; most similar pairs that are called similar, while
        at least `min_rate` of the dissimilar ones are not; or most dissimilar pairs that are not
        called similar, while at least `min_rate` of the similar ones are.
    min_rate : float, optional
        From 0 to 1, for the last two.
    beta : float, optional
        How much the similar pairs that are found weigh in the F-score, for the second.

    Raises
    ------
    InvalidInputError
        If all pairs are similar, or all are dissimilar.

    Examples
    --------
    >>> distances, similar = np.array([1.0, 2.0, 4.0, 3.0]), np.array([True, True, False, False])
    >>> best_threshold(distances, similar)
    2.5
    >>> best_threshold(distances, similar, "max_tpr", min_rate=0.5)
    2.5
    """
    if similar.all() or not similar.any():
        raise InvalidInputError(
            f"all {len(similar)} pairs are {'similar' if similar.all() else 'dissimilar'}; a "
            "threshold needs pairs of both kinds"
        )
    distinct, places = np.unique(distances, return_inverse=True)
    # With the threshold k, the pairs at the k smallest distances are called similar.
    found = np.concatenate([[0], np.cumsum(np.bincount(places, weights=similar))])
    wrong = np.concatenate([[0], np.cumsum(np.bincount(places, weights=~similar))])
    thresholds = np.concatenate(
        [[distinct[0] - 1], (distinct[:-1] + distinct[1:]) / 2, [distinct[-1]]]
    )
    n_similar, n_dissimilar = found[-1], wrong[-1]
    if strategy == "accuracy":
        goodness = found - wrong
    elif strategy == "f_beta":
        goodness = (1 + beta**2) * found / (found + wrong + beta**2 * n_similar)
    elif strategy == "max_tpr":
        goodness = np.where(n_dissimilar - wrong >= min_rate * n_dissimilar, found, -1.0)
    else:
        goodness = np.where(found >= min_rate * n_similar, -wrong, -np.inf)
    return float(thresholds[goodness.argmax()])
