"""What baselines of feature weights share: labels predicted under weights, and the regulariser."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.harmonic import full_graph_shares
from gdaopt.estimators.inputs import Codes, Mask, one_hot
from gdaopt.linalg.atoms import Atoms
from gdaopt.master.master_point import MasterPoint
from gdaopt.objectives import GLR
from gdaopt.support.validation import FloatArray

_LARGEST_SPREAD = 1e70  # second derivatives contain the fourth power of it or of its inverse


def check_spread(X: FloatArray) -> None:
    """Refuse samples that are all the same, or whose distances leave floating point."""
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

    The edges have the weights ``w_ij = exp(-Σ_k c_k (x_ik - x_jk)²)`` with the feature weights c.
    The classes are those that `gdaopt.GraphClassifier` finds: the class with the largest share
    wins, which for two classes is the sign of ``z_U`` in ``L_UU z_U = -L_UF z_F``. A sample that no
    path of weights above 1e-300 joins to a labelled sample gets the class of the nearest one.
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


def regulariser_of_weights(X: FloatArray, signal: FloatArray, weights: FloatArray) -> MasterPoint:
    """Return ``log Σ_ij exp(-Σ_k c_k (x_ik - x_jk)²) ‖z_i - z_j‖²`` at the feature weights c.

    The signals z have the shape (N, m).
    """
    size = X.shape[1]
    features = Atoms.of_features(np.arange(size))
    return MasterPoint(GLR(X, signal).at(np.zeros((size, size))), features, weights, log=True)
