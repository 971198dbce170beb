"""Learners whose metric is the certified optimum of a problem, in the units of the features."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, eye_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from gdaopt.errors import InvalidInputError, NothingLearnedWarning
from gdaopt.estimators.base import BaseMetricLearner
from gdaopt.estimators.components import components_of, largest_components, metric_of
from gdaopt.estimators.inputs import Interval, called, feature_names
from gdaopt.estimators.metric_graph import MetricGraph
from gdaopt.linalg.samples import divided, is_sparse
from gdaopt.methods import METHODS, Certified, Method
from gdaopt.methods.solve import make_method
from gdaopt.methods.starts import Optimum
from gdaopt.objectives import Objective
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.scaling import (
    SCALES,
    TRACE_BOUNDS,
    auto_min_eigenvalue,
    feature_scales,
    read_trace_bound,
)
from gdaopt.sets import SETS, EdgeMask, FeasibleSet, SDDMetrics
from gdaopt.solving import solve
from gdaopt.support.deadline import Deadline, unlimited
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_instance, number, read_only
from gdaopt.wide import has_many_features

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SetOfBounds = Callable[[float, float], FeasibleSet]
"""A function of the trace bound and of the smallest eigenvalue allowed."""

Start = Result | Optimum
"""What a fit may begin from: the atoms and weights of an earlier one."""

Metrics = str | FeasibleSet | SetOfBounds
"""The parameter `metrics`: which metrics to choose from."""

_NO_EDGES = (
    "edges go with metrics='graph', 'signed', 'sdd' or 'balanced', edge_floor with the first two; "
    "leave them out, or make a set with edges of its own"
)
_BALANCED = "balanced"  # metrics that are no convex set, of the method of this name
_ROUND_OFF = 1e-14  # share of the mean: a feature that varies by less is constant
_ISOTROPIC = 1e-6  # share of the mean diagonal: what differs by less is a multiple of the identity
_LARGEST = 1e150  # spread of a feature; the square of a larger one leaves float64


class HasGraph:
    """What learners with a ``result_`` of standardised features have in common."""

    result_: Result

    @property
    def graph_(self) -> MetricGraph:
        """The metric of the scaled features as a graph: edges and self-loops by features' names."""
        check_is_fitted(self)
        return MetricGraph.of_metric(metric_of(self.result_), feature_names(self))

    def plot_graph(self, ax: Axes | None = None) -> Axes:
        """Draw the graph of the scaled features, see ``graph_``, by `gdaopt.plotting.graph`.

        Edges of negative weight are orange; graph metrics have none. Of many features those with
        the strongest edges are drawn.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; in a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from gdaopt import plotting  # imported on demand: fitting draws nothing

        check_is_fitted(self)
        return plotting.graph(self.result_, feature_names(self), ax=ax)


@dataclass(eq=False, repr=False, kw_only=True)
class SolvingLearner(HasGraph, BaseMetricLearner):
    """Base of learners that minimise an objective of standardised features over a feasible set.

    `MetricLearner` explains these parameters and attributes. The `fit` of a subclass standardises
    the samples, makes an objective of them, and calls ``_solve``.
    """

    metrics: Metrics = "graph"
    edges: Any = None
    edge_floor: float = 0.0
    method: str = "certified"
    solver: str | None = None
    trace_bound: str | float = "auto"
    min_eigenvalue: str | float = "auto"
    scale: str = "zscore"
    n_components: int | None = None
    tolerance: float = 1e-4
    max_iterations: int | None = None
    time_limit: float | None = None
    verbose: bool = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "metrics": [StrOptions({*SETS, _BALANCED}), FeasibleSet, callable],
        "edges": "no_validation",
        "edge_floor": [Interval(Real, 0, None, closed="left")],
        "method": [StrOptions(set(METHODS))],
        "solver": [str, None],
        "trace_bound": [StrOptions(set(TRACE_BOUNDS)), Interval(Real, 0, None, closed="neither")],
        "min_eigenvalue": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "scale": [StrOptions(set(SCALES))],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "max_iterations": [Interval(Integral, 0, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "verbose": ["boolean"],
    }

    def _standardise(self, X: Any) -> Any:
        """Return samples divided by their spreads, 1 for constants; set ``scale_``."""
        if self.n_components is not None and self.n_components > X.shape[1]:
            raise InvalidInputError(
                f"n_components = {shortened(self.n_components)} exceeds the number of features, "
                f"{X.shape[1]}"
            )
        spreads = np.ones(X.shape[1])
        if self.scale != "none":
            means, spreads = feature_scales(X, self.scale)
            varies = np.isfinite(spreads) & (spreads > _ROUND_OFF * np.abs(means))
            spreads = np.where(varies, spreads, 1.0)
        outside = (spreads > _LARGEST) | (spreads < 1 / _LARGEST)
        if outside.any():
            worst = int(outside.argmax())
            raise InvalidInputError(
                f"feature {feature_names(self)[worst]} varies by {spreads[worst]:.2g}, and the "
                "square of that leaves floating point; rescale the feature"
            )
        self.scale_ = read_only(spreads)
        return divided(X, self.scale_)

    def _make_set(
        self, X: Any, signal: FloatArray | None, trace_bound: float, min_eigenvalue: float
    ) -> FeasibleSet:
        """Return the set of the parameter `metrics` for scaled samples, and for signals if any."""
        metrics, method = self.metrics, self.method
        bounds: Any = {"trace_bound": trace_bound, "min_eigenvalue": min_eigenvalue}
        if not isinstance(metrics, str):
            if self.edges is not None or self.edge_floor > 0:
                raise InvalidInputError(_NO_EDGES)
            if isinstance(metrics, FeasibleSet):
                return replace(metrics, **bounds)  # type: ignore[type-var]  # sets are dataclasses
            returned: FeasibleSet = called("metrics", metrics, trace_bound, min_eigenvalue)
            check_instance("what metrics returns", returned, FeasibleSet)
            return returned
        if metrics == _BALANCED and method not in ("certified", _BALANCED):
            raise InvalidInputError(
                f"metrics='balanced' are found by the method of this name, got method="
                f"{method!r}; leave the method out, or pass metrics='sdd'"
            )
        kind = SDDMetrics if metrics == _BALANCED else SETS[metrics]
        options: dict[str, Any] = {}
        if self.edges is not None:
            options["edges"] = EdgeMask.of(self.edges, feature_names(self))
        if self.edge_floor > 0:
            options["path_weight"] = 0.0 if self._floor_is_an_option else self.edge_floor
        if not options.keys() <= {field.name for field in fields(kind)}:  # type: ignore[arg-type]  # of subclasses
            raise InvalidInputError(_NO_EDGES)
        follows_signal = kind.for_signal.__func__ is not FeasibleSet.for_signal.__func__  # type: ignore[attr-defined]  # of class methods
        if follows_signal and (signal is None or signal.shape[1] > 1):
            count = "none" if signal is None else str(signal.shape[1])
            raise InvalidInputError(
                f"metrics={metrics!r} follows the labels of two classes, and there are {count}; "
                "pass a set, such as gda.SignedGraphMetrics(colors, trace_bound), or a function of "
                "trace bound and smallest eigenvalue, such as "
                "functools.partial(gda.SignedGraphMetrics, colors)"
            )
        along = np.zeros(X.shape[0]) if signal is None else signal[:, 0]
        return kind.for_signal(X, along, **bounds, **options)

    def _bound(
        self, objective: Objective, set_of: SetOfBounds, trace_bound: float | None = None
    ) -> FeasibleSet:
        """Return the set with its two bounds: as given, by a rule, or those of a set as it is."""
        metrics = self.metrics
        if trace_bound is None and isinstance(metrics, FeasibleSet) and self.trace_bound == "auto":
            trace_bound = metrics.trace_bound
        if trace_bound is None:
            trace_bound = read_trace_bound(self.trace_bound, objective, set_of(1.0, 0.0))
        if self.min_eigenvalue != "auto":
            min_eigenvalue = number("min_eigenvalue", self.min_eigenvalue, at_least=0)
        elif isinstance(metrics, FeasibleSet):
            min_eigenvalue = metrics.min_eigenvalue
        else:
            min_eigenvalue = auto_min_eigenvalue(trace_bound, objective.n_features)
        return set_of(trace_bound, min_eigenvalue)

    @property
    def _floor_is_an_option(self) -> bool:
        return "edge_floor" in {field.name for field in fields(METHODS[self.method])}

    def _method_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {
            "tolerance": self.tolerance,
            "max_iterations": self.max_iterations,
            "verbose": bool(self.verbose),
        }
        if self.solver is not None:
            options["solver"] = self.solver
        if self.edge_floor > 0 and self._floor_is_an_option:
            options["edge_floor"] = self.edge_floor
        return options

    def _make_method(self, problem: MetricProblem, start: Start | None, **options: Any) -> Method:
        """Return the method, from the metric of a problem nearby where it can begin there."""
        name = _BALANCED if self.metrics == _BALANCED else self.method
        # Problems of many features have starts of their own.
        if start is not None and name == Certified.name and not has_many_features(problem):
            options["warm_start"] = start
        return make_method(name, **(self._method_options() | options))

    def _solve(
        self, X: Any, objective: Objective, set_of: SetOfBounds, start: Start | None = None
    ) -> None:
        """Solve the problem of the scaled samples, and set what it says of X."""
        with unlimited():  # it takes one evaluation, and the start of the run another
            feasible_set = self._bound(objective, set_of)
        self.trace_bound_ = feasible_set.trace_bound
        self.min_eigenvalue_ = feasible_set.min_eigenvalue
        problem = MetricProblem(objective, feasible_set)
        self.result_ = solve(problem, self._make_method(problem, start))
        self.n_iter_ = self.result_.iterations
        metric, components = self._in_units(metric_of(self.result_))
        self._set_metric(metric, X, components)

    def _in_units(self, metric: Any) -> tuple[Any, Any]:
        """Return a metric of the scaled features in their own units, and its components."""
        if self.n_components is not None:
            components = divided(largest_components(metric, self.n_components), self.scale_)
            product = components.T @ components
            return (
                csr_array(product + product.T) / 2 if is_sparse(metric) else product
            ), components
        if is_sparse(metric):
            entries = metric.tocoo()
            rows, columns = entries.coords
            values = entries.data / (self.scale_[rows] * self.scale_[columns])
            metric = csr_array((values, (rows, columns)), shape=metric.shape)
        else:
            metric = metric / np.outer(self.scale_, self.scale_)
        return metric, components_of(metric)


def deadline_of(time_limit: float | None, share: float = 1.0) -> Deadline | None:
    """Return when a share of a learner's time limit is over, if it has one."""
    seconds = None if time_limit is None else number("time_limit", time_limit, above=0)
    return Deadline.after(None if seconds is None else share * seconds)


def warn_of_result(
    estimator: Any, result: Result, tolerance: float, objective: Any, others: Iterable[str]
) -> None:
    """Warn the caller of `fit` of a metric far from the optimum, or as without learning.

    Other objectives may find something where this one finds nothing.
    """
    gap, name = result.relative_gap, type(estimator).__name__
    kind = "certified"
    if result.frank_wolfe_gap is not None:  # not convex
        gap, kind = result.frank_wolfe_gap / (abs(result.objective) or 1.0), "Frank–Wolfe"
    if gap is None or gap > tolerance:
        certified = "no gap is certified" if gap is None else f"the {kind} gap is {gap:.2g}"
        warnings.warn(
            f"{name} did not converge: {certified}, tolerance is {tolerance:g} "
            f"({result.status}: {result.message})",
            ConvergenceWarning,
            stacklevel=4,  # through fit and scikit-learn's decorator
        )
    elif objective != "none" and result.n_features > 1 and _is_isotropic(metric_of(result)):
        advice = " or ".join(f"{other!r}" for other in others if other != objective)
        warnings.warn(
            f"{name} learned nothing: its metric is a multiple of the identity, as without "
            f"learning; another objective may find more, such as {advice}",
            NothingLearnedWarning,
            stacklevel=4,
        )


def _is_isotropic(metric: Any) -> bool:
    size = metric.shape[0]
    mean = float(metric.trace()) / size
    identity = eye_array(size) if is_sparse(metric) else np.eye(size)
    return bool(abs(metric - mean * identity).max() <= _ISOTROPIC * mean)
