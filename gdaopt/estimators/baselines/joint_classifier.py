"""Mao, Cheung, Lin, Ji 2016: feature weights and labels together, by Newton's steps."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.utils._param_validation import Interval

from gdaopt.estimators.base import TransductiveMetricLearner
from gdaopt.estimators.baselines.feature_weights import regulariser_of_weights
from gdaopt.estimators.baselines.predicted_labels import check_spread, harmonic_codes
from gdaopt.estimators.labels import Codes, Mask, one_hot
from gdaopt.objectives.glr_face import GLRAtomWeightsPoint
from gdaopt.validation import FloatArray, read_only

__all__ = ["JointClassifierWeights"]

_RIDGE = 1e-6  # of the Hessian's diagonal: copies of a feature share its step
_MOST_HALVINGS = 60


class JointClassifierWeights(TransductiveMetricLearner):
    """Learn feature weights together with a graph classifier (Mao et al. 2016).

    The weights of the graph of all samples are ``w_ij = exp(-Σ_k c_k (x_ik - x_jk)²)``, so that the
    metric is ``diag(c)``. Labels are predicted once, under c = 1; a few of Newton's steps then make
    the weights between samples of different labels small.

    Parameters
    ----------
    n_steps : int, default=4
        Newton's steps. The sum of the weights has no smallest value, it goes to 0 as c grows; so
        the number of steps sets the scale of c.
    missing_label : object, default=-1
        What stands for "no label" in `y`.

    Attributes
    ----------
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`.
    objective_ : ndarray of shape (n_iter_ + 1,)
        Logarithm of the sum of ``exp(-Σ_k c_k d_k)`` over the pairs of different labels at the
        start and after each step, descending.
    transduction_ : ndarray of shape (n_samples,)
        Labels, given or predicted.
    n_iter_ : int
        Steps taken: `n_steps`.

    Notes
    -----
    Source: Y. Mao, G. Cheung, C.-W. Lin, Y. Ji, *Joint Learning of Similarity Graph and Image
    Classifier from Partial Labels* (APSIPA 2016). Its abstract only was to be had, so that all
    formulas are reconstructed from it.

    * *Published,* in words: weights of the graph are exponentials of weighted differences of
      features; the smoothness of the labels on the graph refines the weights by Newton's steps
      to a local optimum.
    * *Reconstructed:* from c = 1 the labels of unlabelled samples are the sign of the harmonic
      solution. Over the pairs of different labels with ``d_k = (x_ik - x_jk)²``,
      ``g = -Σ d exp(-c·d)`` and ``H = Σ dd' exp(-c·d)``, a step is ``c ← max(c - H⁻¹g, 0)``, with
      10⁻⁶ of its diagonal added to H. Four steps after one prediction came nearest to published
      error rates. Where a step would raise the sum, which Newton's can, it is halved until it does
      not; the clipping at 0 cannot raise it, since the sum falls in each weight. For more than two
      classes labels are those of the largest share, and all pairs of different labels count
      alike. Without unlabelled samples the labels are the given ones.

    A step does not depend on the features' units, but the start does: the method is meant for
    standardised features. Exponentials are taken in units of the largest, so that none of the
    steps underflows. The metric comes as it is, its trace unbounded.

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

    def __init__(self, *, n_steps: int = 4, missing_label: Any = -1) -> None:
        self.n_steps = n_steps
        self.missing_label = missing_label

    def _learn(self, X: FloatArray, codes: Codes, labelled: Mask) -> FloatArray:
        check_spread(X)
        weights = np.ones(X.shape[1])
        everyone = harmonic_codes(X, weights, codes, labelled)
        self.transduction_ = self.classes_[everyone]
        # Signals of all classes differ by √2 in each pair of different labels, in both orders.
        point = regulariser_of_weights(X, one_hot(everyone), weights)
        history = [point.value]
        for _ in range(self.n_steps):
            point = newton_step(point)
            history.append(point.value)
        self.n_iter_ = self.n_steps
        self.objective_ = read_only(np.array(history) - np.log(4))
        metric: FloatArray = np.diag(point.weights)
        return metric


def newton_step(point: GLRAtomWeightsPoint) -> GLRAtomWeightsPoint:
    """Return the point after ``c ← max(c - t H⁻¹g, 0)``: t is 1, or halved until Q does not rise.

    Where c has to stay at 0, ``-H⁻¹g`` is negative and g, as everywhere, is not positive: leaving
    such an entry out makes the slope along the step only more negative, so that a t is found.

    Examples
    --------
    >>> X, z = np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]])
    >>> newton_step(regulariser_of_weights(X, z, np.ones(1))).weights.round(4)
    array([1.25])
    """
    slope = point.gradient()  # of log Q: g/Q
    curvature = point.hessian() + np.outer(slope, slope)  # H/Q: that of log Q is without gg'/Q²
    diagonal = np.diagonal(curvature)
    # In units in which the diagonal is 1, features of any scale keep their digits.
    units = np.where(diagonal > 0, np.sqrt(diagonal), 1.0)
    scaled = curvature / units[:, None] / units
    np.fill_diagonal(scaled, 1 + _RIDGE)
    step = -scipy.linalg.solve(scaled, slope / units, assume_a="pos") / units
    for _ in range(_MOST_HALVINGS):
        moved = point.at(np.maximum(point.weights + step, 0.0))
        if moved.value <= point.value:
            return moved
        step /= 2
    return point  # the slope is round-off
