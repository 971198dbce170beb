"""Feature graph learning: projected gradient steps on the diagonal and on single rows of M."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.base import SupervisedMetricLearner
from gdaopt.estimators.baselines.feature_graph_steps import FeatureGraphDescent, start_metric
from gdaopt.estimators.labels import Codes, class_signal
from gdaopt.estimators.parameters import Interval
from gdaopt.objectives import GLR
from gdaopt.scaling import TRACE_BOUNDS, read_trace_bound
from gdaopt.sets import PositiveDefiniteMetrics
from gdaopt.support.validation import FloatArray, integer, number

__all__ = ["FeatureGraphLearning"]


class FeatureGraphLearning(SupervisedMetricLearner):
    """Learn a positive definite metric of bounded trace by feature graph learning (FGL).

    The learner lowers the graph Laplacian regulariser of the labels, `gdaopt.GLR`, by projected
    gradient steps on the diagonal and then on each row, in rounds. Gershgorin's discs keep M
    positive definite in the steps on the diagonal, and a Schur complement in the steps on a row.
    Both conditions are stricter than necessary, so that the method stops well above the optimum
    over `gdaopt.PositiveDefiniteMetrics`.

    Parameters
    ----------
    trace_bound : {"auto", "K"} or float, default="auto"
        C. With ``"auto"`` it follows the scale of the features, see `gdaopt.scaling`; with ``"K"``
        it is the number of features, as in the published comparisons, which use z-scores.
    tolerance : float, default=1e-5
        The method stops when a round, over the diagonal and all rows, lowers the objective by at
        most this much.
    inner_tolerance : float, default=1e-3
        A round goes on to the next row when a step lowers the objective by at most this much.
    max_iterations : int, default=1000
        Limit of the number of rounds, and of the steps on the diagonal or on a row in one round. If
        a fit reaches either limit, it warns.

    Attributes
    ----------
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`.
    trace_bound_ : float
        C.
    objective_ : ndarray of shape (n_steps + 1,)
        ``z'L(M)z`` for labels z = ±1, at the start and after each step. It never rises. With more
        than two classes it is the sum over each class against the rest.
    n_iter_ : int
        Number of rounds.

    Notes
    -----
    Source: Hu, Gao, Cheung, Guo, *Feature Graph Learning for 3D Point Cloud Denoising* (IEEE
    Transactions on Signal Processing 2020; preprint 2019).

    * *Published:* the problem, and steps on the diagonal and on rows in turn, under Gershgorin's
      and Schur's conditions.
    * *From code* that the authors compared with later: M starts as the identity with 0.1 at the
      entries (i, i ± 1). The first step size lr is ``0.1 / N``. It is halved when the objective
      rises, and otherwise multiplied by 1.01. A step on the diagonal is ``m ← max(m - lr·g, f)``
      with the floors ``f_i = Σ_j |m_ij|``. If the new diagonal exceeds the trace bound, one number
      is subtracted from all its entries, but no entry goes below its floor. A step on row i is
      ``s ← s - lr·g``, shortened to the length ``√(λ_min(M_-i) m_ii)``, where ``M_-i`` is M without
      row and column i. If the floors would then add up to more than C, the row stays as it is. The
      g are the derivatives of the sum over all ordered pairs, twice those of ``z'Lz``, and the
      two equal entries of M off the diagonal count as one variable. The tolerances and limits are
      from the code, too.
    * *Reconstructed:* a step that raises the objective is undone and tried again with half the
      size; the code keeps it. Entries can violate their own condition after other entries have
      changed. If then steps of all sizes raise the objective, no step is taken. All floors are
      computed from the current M; in the code, the floors of other rows can be out of date. The
      eigenvalues stay at least ``10⁻⁹ C/K`` above 0. The algorithm runs in units of C/K, that is,
      on the features times ``√(C/K)`` with trace bound K, so that the result does not depend on the
      scale of the features with ``"auto"``. For C = K these units change nothing. The sum over more
      than two classes is this package's own.

    In each round, each row takes the smallest eigenvalue of a matrix of size K - 1. A fit takes
    less than a second for K = 100, and about ten minutes for K = 1000.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [0.1, 2.0], [1.0, 0.1], [1.1, 2.1]], ["a", "a", "b", "b"]
    >>> learner = FeatureGraphLearning().fit(X, y)
    >>> bool(np.linalg.eigvalsh(learner.metric_)[0] > 0)
    True
    >>> learner.objective_[[0, -1]].round(2)
    array([2.95, 1.95])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "trace_bound": [StrOptions(set(TRACE_BOUNDS)), Interval(Real, 0, None, closed="neither")],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "inner_tolerance": [Interval(Real, 0, None, closed="left")],
        "max_iterations": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        trace_bound: str | float = "auto",
        *,
        tolerance: float = 1e-5,
        inner_tolerance: float = 1e-3,
        max_iterations: int = 1000,
    ) -> None:
        self.trace_bound = trace_bound
        self.tolerance = tolerance
        self.inner_tolerance = inner_tolerance
        self.max_iterations = max_iterations

    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:
        signal = 2 * class_signal(codes) - 1
        self.trace_bound_ = read_trace_bound(
            self.trace_bound, GLR(X, signal), PositiveDefiniteMetrics(1.0, 0.0)
        )
        unit = self.trace_bound_ / X.shape[1]
        objective = GLR(np.sqrt(unit) * X, signal)
        problem = objective.at(start_metric(X.shape[1])).vanished()
        if problem is not None:
            raise InvalidInputError(f"trace_bound {self.trace_bound_:g}: {problem}")
        descent = FeatureGraphDescent(
            objective,
            len(X),
            number("tolerance", self.tolerance, at_least=0),
            number("inner_tolerance", self.inner_tolerance, at_least=0),
            integer("max_iterations", self.max_iterations, at_least=1),
        )
        self.objective_ = np.array([step.objective for step in descent.steps()])
        self.n_iter_ = descent.rounds
        if descent.n_limits:
            warnings.warn(
                "FeatureGraphLearning did not converge: "
                f"max_iterations = {self.max_iterations} was reached {descent.n_limits} times; "
                "raise max_iterations, or tolerance and inner_tolerance",
                ConvergenceWarning,
                stacklevel=4,  # the caller of fit, through scikit-learn's decorator
            )
        metric: FloatArray = unit * descent.point.metric
        return metric
