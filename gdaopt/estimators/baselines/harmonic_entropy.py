"""Feature scales that make harmonic labels certain (Zhu, Ghahramani, Lafferty 2003)."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from sklearn.exceptions import ConvergenceWarning

from gdaopt.estimators.base import TransductiveMetricLearner
from gdaopt.estimators.baselines.label_entropy import LabelEntropy
from gdaopt.estimators.baselines.predicted_labels import check_spread
from gdaopt.estimators.labels import Codes, Mask
from gdaopt.estimators.parameters import Interval
from gdaopt.support.validation import FloatArray, integer, number, read_only

__all__ = ["HarmonicEntropyWeights"]

_AT_A_LIMIT = 1  # the status of SciPy's L-BFGS-B when a limit ended it


class HarmonicEntropyWeights(TransductiveMetricLearner):
    """Learn feature weights by the minimum entropy of predicted labels (Zhu et al. 2003).

    The graph of all samples has the edge weights ``w_ij = exp(-Σ_d (x_id - x_jd)²/σ_d²)``, so that
    the metric is ``diag(1/σ²)``. The learner finds the scales σ under which the harmonic solution
    is most certain of the labels that it predicts for unlabelled samples.

    Parameters
    ----------
    eta : float, default=0.01
        Probability, between 0 and 1, that a step of the random walk goes to any sample. This
        smoothing is necessary: without it the entropy goes to its minimum as σ goes to 0, which
        says nothing about the features.
    max_log_scale : float, default=3.0
        Bound of each ``|log σ_d|``.
    tolerance : float, default=1e-5
        The method stops when all derivatives of the entropy by log σ, projected on the bounds, are
        at most this large. It also stops when a step lowers the entropy by less than 2e-9.
    max_iterations : int, default=500
        Limit of the number of steps of L-BFGS-B. If it ends the fit, the fit warns.
    missing_label : object, default=-1
        The value that stands for "no label" in `y`.

    Attributes
    ----------
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`.
    length_scales_ : ndarray of shape (n_features,)
        σ.
    entropy_ : ndarray of shape (n_steps + 1,)
        The entropy H at the start and after each step. It never rises.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        The class shares f at the end: 0 and 1 for given labels, else the smoothed harmonic
        solution.
    n_iter_ : int
        Number of steps.

    Notes
    -----
    Source: X. Zhu, Z. Ghahramani, J. Lafferty, *Semi-Supervised Learning Using Gaussian Fields and
    Harmonic Functions* (ICML 2003), section 6.

    * *Published:* the weights; ``P = D⁻¹W``, smoothed to ``P̃ = η/N + (1-η)P``; the harmonic
      solution ``f_U = (I - P̃_UU)⁻¹ P̃_UF f_F``, where U and F are the samples without and with
      labels; for two classes, the mean entropy ``H = -mean_U [f ln f + (1-f) ln(1-f)]`` and its
      gradient. Here one adjoint solve gives the gradient for all features.
    * *Reconstructed:* L-BFGS-B minimises H over log σ, from σ = 1 and within ``|log σ| ≤ 3``. This
      is meant for standardised features: if the features have a far smaller or larger spread, H is
      flat at the start, and σ stays near 1. With more than two classes, f has one column for each
      class and ``H = -mean_U Σ_c f_c ln f_c``, which for two classes is the published H. If all
      samples have labels, each one's label is predicted from the labels of the others:
      ``f_i = Σ_j p̃_ij f_j`` over j ≠ i.

    The trace of the metric is not bounded. The harmonic solution of `gdaopt.GraphClassifier` under
    this metric is not smoothed.

    Examples
    --------
    The first feature tells the classes apart:

    >>> X = [[0.0, 2.0], [0.2, 0.1], [0.1, 1.0], [1.0, 0.0], [1.1, 1.1], [0.9, 2.1]]
    >>> learner = HarmonicEntropyWeights().fit(X, ["a", "a", -1, "b", "b", -1])
    >>> weights = learner.metric_.diagonal()
    >>> bool(weights[0] > 10 * weights[1])
    True
    >>> learner.label_distributions_.argmax(axis=1).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TransductiveMetricLearner._parameter_constraints,
        "eta": [Interval(Real, 0, 1, closed="neither")],
        "max_log_scale": [Interval(Real, 0, 100, closed="right")],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "max_iterations": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        eta: float = 0.01,
        max_log_scale: float = 3.0,
        tolerance: float = 1e-5,
        max_iterations: int = 500,
        missing_label: Any = -1,
    ) -> None:
        self.eta = eta
        self.max_log_scale = max_log_scale
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.missing_label = missing_label

    def _learn(self, X: FloatArray, codes: Codes, labelled: Mask) -> FloatArray:
        check_spread(X)
        max_log_scale = number("max_log_scale", self.max_log_scale, above=0)
        entropy = LabelEntropy(X, codes, labelled, number("eta", self.eta, above=0))
        start = np.zeros(X.shape[1])
        history = [entropy.value_and_gradient(start)[0]]

        def note(intermediate_result: OptimizeResult) -> None:  # SciPy reads the argument's name
            history.append(float(intermediate_result.fun))

        found = minimize(
            entropy.value_and_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-max_log_scale, max_log_scale)] * len(start),
            callback=note,
            options={
                "maxiter": integer("max_iterations", self.max_iterations, at_least=1),
                "gtol": number("tolerance", self.tolerance, at_least=0),
            },
        )
        self.n_iter_ = int(found.nit)
        self.entropy_ = read_only(np.array(history))
        self.length_scales_ = read_only(np.exp(found.x))
        self.label_distributions_ = read_only(entropy.shares(found.x))
        if found.status == _AT_A_LIMIT:
            warnings.warn(
                f"HarmonicEntropyWeights did not converge in {self.n_iter_} steps; raise "
                f"max_iterations (now {self.max_iterations}) or tolerance",
                ConvergenceWarning,
                stacklevel=4,  # the caller of fit, through scikit-learn's decorator
            )
        metric: FloatArray = np.diag(np.exp(-2 * found.x))
        return metric
