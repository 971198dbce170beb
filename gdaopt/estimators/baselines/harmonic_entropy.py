"""Zhu, Ghahramani, Lafferty 2003: feature scales that make harmonic labels certain."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from gdaopt.estimators.base import TransductiveMetricLearner
from gdaopt.estimators.baselines.label_entropy import LabelEntropy
from gdaopt.estimators.baselines.predicted_labels import check_spread
from gdaopt.estimators.labels import Codes, Mask
from gdaopt.validation import FloatArray, read_only

__all__ = ["HarmonicEntropyWeights"]

_AT_A_LIMIT = 1  # what SciPy's L-BFGS-B calls it


class HarmonicEntropyWeights(TransductiveMetricLearner):
    """Learn feature weights by minimum entropy of the harmonic solution (Zhu et al. 2003).

    The weights of the graph of all samples are ``w_ij = exp(-Σ_d (x_id - x_jd)²/σ_d²)``, so that
    the metric is ``diag(1/σ²)``. The scales σ are those under which the labels that the harmonic
    solution gives to unlabelled samples are least in doubt.

    Parameters
    ----------
    eta : float, default=0.01
        Share of moves to any sample in the smoothed walk; between 0 and 1. Without it the entropy
        is least, and of no use, as σ goes to 0.
    max_log_scale : float, default=3.0
        Each ``|log σ_d|`` stays within it.
    tolerance : float, default=1e-5
        Stop where no derivative of the entropy by log σ, projected on the bounds, is larger; also
        where a step gains less than 2e-9.
    max_iterations : int, default=500
        Limit of the steps of L-BFGS-B; a fit that ends there warns.
    missing_label : object, default=-1
        What stands for "no label" in `y`.

    Attributes
    ----------
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`.
    length_scales_ : ndarray of shape (n_features,)
        σ.
    entropy_ : ndarray of shape (n_iter_ + 1,)
        H at the start and after each step; none is above the one before.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        f at the end: of given labels 0 and 1, else the smoothed harmonic solution.
    n_iter_ : int
        Steps.

    Notes
    -----
    Source: X. Zhu, Z. Ghahramani, J. Lafferty, *Semi-Supervised Learning Using Gaussian Fields and
    Harmonic Functions* (ICML 2003), section 6.

    * *Published:* the weights; ``P = D⁻¹W``, smoothed to ``P̃ = η/N + (1-η)P``; the harmonic
      solution ``f_U = (I - P̃_UU)⁻¹ P̃_UF f_F``; for two classes the mean entropy
      ``H = -mean_U [f ln f + (1-f) ln(1-f)]``, and its gradient, which is here found by one
      adjoint solve for all features.
    * *Reconstructed:* the minimisation, by L-BFGS-B over log σ from σ = 1 within ``|log σ| ≤ 3``,
      which is meant for standardised features: with features of far smaller or larger spread the
      entropy is flat there, and σ stays near 1. For more than two classes f has one column for
      each and ``H = -mean_U Σ_c f_c ln f_c``, the published one for two. Without any unlabelled
      sample, labels are predicted from those of the others, ``f_i = Σ_j p̃_ij f_j`` over j ≠ i.

    The metric comes as it is, its trace unbounded; the harmonic solution of
    `gdaopt.GraphClassifier` under it is not smoothed.

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
        entropy = LabelEntropy(X, codes, labelled, self.eta)
        start = np.zeros(X.shape[1])
        history = [entropy.value_and_gradient(start)[0]]

        def note(intermediate_result: OptimizeResult) -> None:  # SciPy goes by the argument's name
            history.append(float(intermediate_result.fun))

        found = minimize(
            entropy.value_and_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-self.max_log_scale, self.max_log_scale)] * len(start),
            callback=note,
            options={"maxiter": self.max_iterations, "gtol": self.tolerance},
        )
        self.n_iter_ = int(found.nit)
        self.entropy_ = read_only(np.array(history))
        self.length_scales_ = read_only(np.exp(found.x))
        self.label_distributions_ = read_only(entropy.shares(found.x))
        if found.status == _AT_A_LIMIT:
            warnings.warn(
                f"HarmonicEntropyWeights did not converge in {self.n_iter_} steps: allow more by "
                f"max_iterations (now {self.max_iterations}), or raise tolerance",
                ConvergenceWarning,
                stacklevel=4,  # the caller of fit, through scikit-learn's decorator
            )
        metric: FloatArray = np.diag(np.exp(-2 * found.x))
        return metric
