"""Feature graph learning: projected gradient steps on the diagonal and on single rows."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.baselines.feature_graph_steps import FeatureGraphDescent, start_metric
from gdaopt.estimators.class_pairs import class_signal
from gdaopt.estimators.supervised import SupervisedMetricLearner
from gdaopt.objectives import GLR
from gdaopt.scaling import TRACE_BOUNDS, read_trace_bound
from gdaopt.sets import PositiveDefiniteMetrics
from gdaopt.validation import FloatArray

__all__ = ["FeatureGraphLearning"]


class FeatureGraphLearning(SupervisedMetricLearner):
    """Learn a positive definite metric of bounded trace by feature graph learning (FGL).

    It lowers the graph Laplacian regulariser of the labels, `gdaopt.GLR`, by projected gradient
    steps on the diagonal, then on each row, and so on. Gershgorin's discs keep M positive definite
    in steps on the diagonal, a Schur complement in those on a row. Both conditions are stricter
    than needed: the method stops well above the optimum over `gdaopt.PositiveDefiniteMetrics`.

    Parameters
    ----------
    trace_bound : {"auto", "K"} or float, default="auto"
        C. By "auto" it follows the scale of the features, see `gdaopt.scaling`; by "K" it is the
        number of features, as in the published comparisons, which have z-scores.
    tolerance : float, default=1e-5
        Stop when a round, the diagonal and all rows, lowers the objective by no more.
    inner_tolerance : float, default=1e-3
        Go on to the next row when a step lowers the objective by no more.
    max_iterations : int, default=1000
        Most rounds, and most steps on the diagonal or on a row in one round; a fit that meets
        either limit warns.

    Attributes
    ----------
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`.
    trace_bound_ : float
        C.
    objective_ : ndarray of shape (n_steps + 1,)
        ``z'L(M)z`` for labels z = ±1, at the start and after each step; it never rises. With more
        than two classes, the sum over "this class against the rest".
    n_iter_ : int
        Rounds.

    Notes
    -----
    Source: Hu, Gao, Cheung, Guo, *Feature Graph Learning for 3D Point Cloud Denoising* (IEEE
    Transactions on Signal Processing 2020; preprint 2019).

    Published: the problem, and steps on the diagonal and on rows in turn, with Gershgorin's and
    Schur's conditions.

    From the code that its authors compared with later: M starts as the identity with 0.1 at the
    entries (i, i ± 1). The first step size is ``0.1 / N``; it is halved when the objective rises,
    else multiplied by 1.01. A step on the diagonal is ``m ← max(m - lr·g, f)`` with the floors
    ``f_i = Σ_j |m_ij|``; where that exceeds the trace bound, all is lowered by one number, but no
    entry below its floor. A step on row i is ``s ← s - lr·g``, shortened to the length
    ``√(λ_min(M_-i) m_ii)``, with ``M_-i`` what is left of M without row and column i; where the
    floors would then add up to more than C, the row is left as it is. g are the derivatives of the
    sum over all ordered pairs, twice those of ``z'Lz``; a pair of entries of M counts as one
    variable. The tolerances and limits are the code's, too.

    Reconstructed: a step that raises the objective is taken back and tried with half the size; in
    the code it stays. Where the entries are outside of their own condition, because other entries
    have changed, a step that ends in a rise whatever its size is left out. All floors are those of
    the present M; in the code, those of other rows lag behind. Eigenvalues keep a distance of
    ``10⁻⁹ C/K`` from 0. The algorithm runs in units of C/K: on the features times ``√(C/K)`` with
    trace bound K, so that with "auto" the scale of the features drops out. With C = K that changes
    nothing. More than two classes are this package's sum of their signals.

    Each row of each round takes an eigenvalue of a matrix of size K - 1: at K = 100 a fit takes
    less than a second, at K = 1000 about ten minutes.

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

    def _learn(self, X: FloatArray, codes: npt.NDArray[np.intp]) -> FloatArray:
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
            objective, len(X), self.tolerance, self.inner_tolerance, self.max_iterations
        )
        self.objective_ = np.array([step.objective for step in descent.steps()])
        self.n_iter_ = descent.rounds
        if descent.n_limits:
            warnings.warn(
                "FeatureGraphLearning did not converge: "
                f"max_iterations = {self.max_iterations} was reached {descent.n_limits} times; "
                "raise it, or tolerance and inner_tolerance",
                ConvergenceWarning,
                stacklevel=4,  # the caller of fit, through scikit-learn's decorator
            )
        metric: FloatArray = unit * descent.point.metric
        return metric
