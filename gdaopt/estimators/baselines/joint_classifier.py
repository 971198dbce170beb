"""Feature weights by Newton steps after one prediction of labels (Mao, Cheung, Lin, Ji 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from gdaopt.estimators.base import TransductiveMetricLearner
from gdaopt.estimators.baselines.feature_weights import (
    check_spread,
    harmonic_codes,
    regulariser_of_weights,
)
from gdaopt.estimators.inputs import Codes, Interval, Mask, one_hot
from gdaopt.master.master_point import MasterPoint
from gdaopt.support.validation import FloatArray, integer, read_only

_RIDGE = 1e-6  # added share of the Hessian's diagonal, so that copies of a feature share a step
_MOST_HALVINGS = 60


@dataclass(eq=False, repr=False, kw_only=True)
class JointClassifierWeights(TransductiveMetricLearner):
    """Learn feature weights together with a graph classifier (Mao et al. 2016).

    The graph of all samples has the edge weights ``w_ij = exp(-Σ_k c_k (x_ik - x_jk)²)``, so that
    the metric is ``diag(c)`` with the feature weights c. The missing labels are predicted once,
    under c = 1. A few Newton steps on c then make the edge weights between samples of different
    labels small.

    Parameters
    ----------
    n_steps : int, default=4
        Number of Newton steps. The sum of these edge weights has no minimum, since it goes to 0 as
        c grows. So the number of steps determines the scale of c.

    Attributes
    ----------
    objective_ : ndarray of shape (n_steps + 1,)
        Logarithm of the sum of ``exp(-Σ_k c_k d_k)`` over the pairs of different labels, at the
        start and after each step. It never rises.
    transduction_ : ndarray of shape (n_samples,)
        The labels, given or predicted.
    n_iter_ : int
        Number of steps, always `n_steps`.

    Notes
    -----
    Source: Y. Mao, G. Cheung, C.-W. Lin, Y. Ji, *Joint Learning of Similarity Graph and Image
    Classifier from Partial Labels* (APSIPA 2016). Only the abstract was available, so that all
    formulas are reconstructed from it.

    * *Published,* in words: the edge weights of the graph are exponentials of weighted differences
      of features; the smoothness of the labels on the graph refines the feature weights by Newton
      steps to a local optimum.
    * *Reconstructed:* The predicted labels are the sign of the harmonic solution under c = 1. Let
      ``d_k = (x_ik - x_jk)²`` for each pair of different labels, and ``g = -Σ d exp(-c·d)`` and
      ``H = Σ dd' exp(-c·d)`` over these pairs. A step is ``c ← max(c - H⁻¹g, 0)``, where 10⁻⁶ of
      the diagonal of H is added to H. Four steps after one prediction came closest to the published
      error rates. A full Newton step can raise the sum; it is then halved until the sum does not
      rise. Setting negative weights to 0 does not raise the sum, since the sum decreases in each
      weight. With more than two classes, the class with the largest share wins, and all pairs of
      different labels count alike. If all samples have labels, nothing is predicted.

    A step does not depend on the units of the features, but the start c = 1 does: the method is
    meant for standardised features. The exponentials are divided by the largest of them, so that
    no step underflows. The trace of the metric is not bounded.

    Examples
    --------
    >>> X = [[0.0, 2.0], [0.2, 0.1], [0.1, 1.0], [1.0, 0.0], [1.1, 1.1], [0.9, 2.1]]
    >>> learner = JointClassifierWeights().fit(X, ["a", "a", -1, "b", "b", -1])
    >>> learner.metric_.diagonal().round(2)
    array([5.37, 3.64])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TransductiveMetricLearner._parameter_constraints,
        "n_steps": [Interval(Integral, 1, None, closed="left")],
    }

    n_steps: int = 4

    def _learn(self, X: FloatArray, codes: Codes, labelled: Mask) -> FloatArray:
        check_spread(X)
        weights = np.ones(X.shape[1])
        everyone = harmonic_codes(X, weights, codes, labelled)
        self.transduction_ = self.classes_[everyone]
        # For different labels ‖z_i - z_j‖² is 2, and each pair occurs in both orders: a factor 4.
        point = regulariser_of_weights(X, one_hot(everyone), weights)
        history = [point.value]
        self.n_iter_ = integer("n_steps", self.n_steps, at_least=1)
        for _ in range(self.n_iter_):
            point = newton_step(point)
            history.append(point.value)
        self.objective_ = read_only(np.array(history) - np.log(4))
        metric: FloatArray = np.diag(point.weights)
        return metric


def newton_step(point: MasterPoint) -> MasterPoint:
    """Return the point after ``c ← max(c - t H⁻¹g, 0)``.

    t is 1, or halved until Q does not rise. Such a t exists: an entry of c that has to stay at 0
    has a negative entry of ``-H⁻¹g``, and g is nowhere positive. Leaving that entry out makes the
    slope along the step only more negative.
    """
    slope = point.gradient()  # of log Q: g/Q
    # H/Q, with the term gg'/Q² that the Hessian of log Q lacks.
    curvature = point.hessian() + np.outer(slope, slope)
    diagonal = np.diagonal(curvature)
    # In these units the diagonal of H is 1, so that features of any scale keep their digits.
    units = np.where(diagonal > 0, np.sqrt(diagonal), 1.0)
    scaled = curvature / units[:, None] / units
    np.fill_diagonal(scaled, 1 + _RIDGE)
    step = -scipy.linalg.solve(scaled, slope / units, assume_a="pos") / units
    for _ in range(_MOST_HALVINGS):
        moved = point.at(np.maximum(point.weights + step, 0.0))
        if moved.value <= point.value:
            return moved
        step /= 2
    return point  # only round-off is left of the slope
