"""Labels predicted by the harmonic solution under feature weights, and a check of the samples."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.harmonic import full_graph_shares
from gdaopt.estimators.labels import Codes, Mask, one_hot
from gdaopt.support.validation import FloatArray

__all__ = ["check_spread", "harmonic_codes"]

_LARGEST_SPREAD = 1e70  # second derivatives contain the fourth power of it or of its inverse


def check_spread(X: FloatArray) -> None:
    """Refuse samples that are all the same, or whose distances leave the range of floating point.

    Parameters
    ----------
    X : ndarray of shape (N, K)
        Samples.

    Raises
    ------
    InvalidInputError
        If the samples are such.

    Examples
    --------
    >>> check_spread(np.array([[0.0, 7.0], [1.0, 7.0]]))
    """
    spread = float(np.abs(X / 2 - X[0] / 2).max()) * 2  # halved, since differences can overflow
    if spread == 0:
        raise InvalidInputError(
            f"X holds {len(X)} samples that are all the same, so that no metric tells them apart; "
            "pass samples that differ"
        )
    if not 1 / _LARGEST_SPREAD <= spread <= _LARGEST_SPREAD:
        raise InvalidInputError(
            f"X spans about {spread:.2g}, and powers of that leave the range of floating point; "
            "rescale X to values of about 1"
        )


def harmonic_codes(X: FloatArray, weights: FloatArray, codes: Codes, labelled: Mask) -> Codes:
    """Return the class of each sample: the given one, or that of the harmonic solution.

    Parameters
    ----------
    X : ndarray of shape (N, K)
        Samples.
    weights : ndarray of shape (K,)
        c ≥ 0 of ``w_ij = exp(-Σ_k c_k (x_ik - x_jk)²)``.
    codes : ndarray of int, shape (n_labelled,)
        Classes of the labelled samples, from 0 on.
    labelled : ndarray of bool, shape (N,)
        Which samples have a label.

    Returns
    -------
    ndarray of int, shape (N,)
        The same classes that `gdaopt.GraphClassifier` finds. The class with the largest share
        wins, which for two classes is the sign of ``z_U`` in ``L_UU z_U = -L_UF z_F``. A sample
        that no path of weights above 1e-300 joins to a labelled sample gets the class of the
        nearest labelled sample.

    Examples
    --------
    >>> X, labelled = np.array([[0.0], [1.0], [5.0]]), np.array([True, False, True])
    >>> harmonic_codes(X, np.ones(1), np.array([1, 0]), labelled).tolist()
    [1, 1, 0]
    """
    everyone = np.empty(len(X), dtype=np.intp)
    everyone[labelled] = codes
    if labelled.all():
        return everyone
    coordinates = (X - X[0]) * np.sqrt(weights)
    own, others = coordinates[~labelled], coordinates[labelled]
    towards = cdist(own, others, "sqeuclidean")
    shares, cut_off = full_graph_shares(cdist(own, own, "sqeuclidean"), towards, one_hot(codes))
    predicted = shares.argmax(axis=1)
    predicted[cut_off] = codes[towards[cut_off].argmin(axis=1)]
    everyone[~labelled] = predicted
    return everyone
