"""Learners whose metric is the certified optimum of a problem, in the units of the features."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.base import MetricLearner
from gdaopt.estimators.metric_graph import MetricGraph
from gdaopt.estimators.parameters import Interval
from gdaopt.methods import METHODS, solve
from gdaopt.objectives import Objective
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.scaling import TRACE_BOUNDS, auto_min_eigenvalue, feature_scales, read_trace_bound
from gdaopt.sets import FeasibleSet
from gdaopt.support.deadline import Deadline, unlimited, until
from gdaopt.support.validation import FloatArray, number, read_only

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SolvingLearner", "feature_spreads", "warn_unless_converged"]

_ROUND_OFF = 1e-14  # of the mean: a feature that varies by less is constant
_LARGEST = 1e150  # spread of a feature; the square of a larger one leaves float64


class SolvingLearner(MetricLearner):
    """Base of learners that minimise an objective over a feasible set.

    It divides the features by their spreads, solves the problem, and gives the metric back in the
    units of the features. A subclass writes ``_feasible_set``, and a ``_learn``, which `fit` calls
    and which calls ``_solve`` with a function that makes the objective of the scaled samples.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "method": [StrOptions(set(METHODS))],
        "solver": [str, None],
        "trace_bound": [StrOptions(set(TRACE_BOUNDS)), Interval(Real, 0, None, closed="neither")],
        "min_eigenvalue": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "scale": [StrOptions({"auto", "none"})],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "max_iterations": [Interval(Integral, 0, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        *,
        method: str,
        solver: str | None,
        trace_bound: str | float,
        min_eigenvalue: str | float,
        scale: str,
        tolerance: float,
        max_iterations: int | None,
        time_limit: float | None,
        verbose: bool,
    ) -> None:
        self.method = method
        self.solver = solver
        self.trace_bound = trace_bound
        self.min_eigenvalue = min_eigenvalue
        self.scale = scale
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.time_limit = time_limit
        self.verbose = verbose

    @abstractmethod
    def _feasible_set(self, trace_bound: float, min_eigenvalue: float) -> FeasibleSet:
        """Return the feasible set with these bounds."""

    def _solve(self, X: FloatArray, make: Callable[[FloatArray], Objective]) -> FloatArray:
        """Return the optimum in the units of the features; set ``result_`` and its like.

        Parameters
        ----------
        X : ndarray of shape (N, K)
            Samples.
        make : callable
            Returns the objective of the scaled samples.
        """
        with until(self._deadline()):
            self.scale_ = self._spreads(X)
            objective = make(X / self.scale_)
            with unlimited():  # it takes one evaluation, and the start of the run another
                feasible_set = self._feasible_set(*self._bounds(objective))
            self.result_ = solve(
                MetricProblem(objective, feasible_set), self.method, **self._method_options()
            )
        self.n_iter_ = self.result_.iterations
        return self._in_units(self.result_.metric)

    def _deadline(self) -> Deadline | None:
        """Return when the time limit is over if it begins now."""
        limit = self.time_limit
        return Deadline.after(None if limit is None else number("time_limit", limit, above=0))

    def _in_units(self, metric: FloatArray) -> FloatArray:
        """Return a metric of the scaled features as one of the features."""
        in_units: FloatArray = metric / np.outer(self.scale_, self.scale_)
        return in_units

    def _spreads(self, X: FloatArray) -> FloatArray:
        """Return what the features are divided by."""
        if self.scale == "none":
            return read_only(np.ones(X.shape[1]))
        spreads = feature_spreads(X)
        outside = (spreads > _LARGEST) | (spreads < 1 / _LARGEST)
        if outside.any():
            worst = int(outside.argmax())
            raise InvalidInputError(
                f"feature {self._feature_names()[worst]} varies by {spreads[worst]:.2g}, and the "
                "square of that leaves floating point; rescale the feature"
            )
        return read_only(spreads)

    def _bounds(self, objective: Objective) -> tuple[float, float]:
        """Return C and ρ."""
        self.trace_bound_ = read_trace_bound(
            self.trace_bound, objective, self._feasible_set(1.0, 0.0)
        )
        self.min_eigenvalue_ = (
            auto_min_eigenvalue(self.trace_bound_, objective.n_features)
            if self.min_eigenvalue == "auto"
            else number("min_eigenvalue", self.min_eigenvalue, at_least=0)
        )
        return self.trace_bound_, self.min_eigenvalue_

    def _method_options(self) -> dict[str, Any]:
        """Return the options of the method."""
        options = {
            "tolerance": self.tolerance,
            "max_iterations": self.max_iterations,
            "verbose": bool(self.verbose),
        }
        return options if self.solver is None else {**options, "solver": self.solver}

    @property
    def graph_(self) -> MetricGraph:
        """The metric of the scaled features as a graph: edges and self-loops by features' names."""
        check_is_fitted(self)
        return MetricGraph.of_metric(self.result_.metric, self._feature_names())

    def plot_graph(self, ax: Axes | None = None) -> Axes:
        """Draw the graph of the scaled features, see ``graph_``, by `gdaopt.plotting.graph`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default new axes are made.

        Returns
        -------
        matplotlib.axes.Axes
            The axes. Edges of negative weight are not drawn; graph metrics have none.
        """
        from gdaopt import plotting  # imported on demand: fitting draws nothing

        check_is_fitted(self)
        return plotting.graph(self.result_.metric, self._feature_names(), ax=ax)

    def _feature_names(self) -> list[str]:
        """Return the column names that `fit` was given, or else scikit-learn's x0, x1 and so on."""
        default = [f"x{number}" for number in range(self.n_features_in_)]
        return [str(name) for name in getattr(self, "feature_names_in_", default)]


def warn_unless_converged(estimator: Any, result: Result) -> None:
    """Warn the caller of `fit`, which calls ``_learn``, where this is called."""
    gap = result.relative_gap
    if gap is None or gap > estimator.tolerance:
        certified = "no gap is certified" if gap is None else f"the certified gap is {gap:.2g}"
        warnings.warn(
            f"{type(estimator).__name__} did not converge: {certified}, tolerance is "
            f"{estimator.tolerance:g} ({result.status}: {result.message})",
            ConvergenceWarning,
            stacklevel=5,  # through _learn, fit and scikit-learn's decorator
        )


def feature_spreads(X: FloatArray) -> FloatArray:
    """Return the standard deviation of each feature, and 1 for a feature that is constant.

    Parameters
    ----------
    X : ndarray of shape (N, K)
        Samples. A feature whose values differ by no more than round-off counts as constant.

    Returns
    -------
    ndarray of shape (K,)

    Examples
    --------
    >>> feature_spreads(np.array([[0.0, 7.0], [4.0, 7.0]]))
    array([2., 1.])
    """
    means, spreads = feature_scales(X, "zscore")
    varies = np.isfinite(spreads) & (spreads > _ROUND_OFF * np.abs(means))
    return np.where(varies, spreads, 1.0)
