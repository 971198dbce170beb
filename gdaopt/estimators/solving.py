"""Learners whose metric is the certified optimum of a problem, in the units of the features."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array, eye_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from gdaopt.errors import InvalidInputError, NothingLearnedWarning
from gdaopt.estimators.base import (
    BaseMetricLearner,
    MetricGraph,
    components_of,
    connected_part,
    metric_of,
)
from gdaopt.estimators.inputs import Interval, called
from gdaopt.linalg.samples import divided, is_sparse
from gdaopt.methods import METHODS
from gdaopt.objectives import Objective
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.scaling import TRACE_BOUNDS, auto_min_eigenvalue, feature_scales, read_trace_bound
from gdaopt.sets import SETS, EdgeMask, FeasibleSet, SDDMetrics
from gdaopt.solving import solve
from gdaopt.support.deadline import Deadline, unlimited, until
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_instance, number, read_only

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SetOfBounds = Callable[[float, float], FeasibleSet]
"""A function of the trace bound and of the smallest eigenvalue allowed."""

Metrics = str | FeasibleSet | SetOfBounds | None
"""The parameter `metrics`: which metrics to choose from."""

_NO_EDGES = (
    "edges go with metrics='graph', 'signed', 'sdd' or 'balanced', edge_floor with the first two; "
    "leave them out, or make a set with edges of its own"
)
_BALANCED = "balanced"  # metrics that are no convex set, of the method of this name
_ROUND_OFF = 1e-14  # of the mean: a feature that varies by less is constant
_ISOTROPIC = 1e-6  # of the mean of the diagonal: what differs by less is a multiple of the identity
_LARGEST = 1e150  # spread of a feature; the square of a larger one leaves float64


class OptimalMetricLearner(BaseMetricLearner):
    """Base of learners whose metric is the optimum of a problem of standardised features.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        M, symmetric and positive semidefinite, read-only. It acts on features as they are passed.
        Over graph metrics it is one, too, as ``S⁻¹ M S⁻¹`` is for each graph metric M and positive
        diagonal S, but its trace is another one.
    result_ : gdaopt.Result
        The result of the method: objective, certificate, status and trace. Its metric is that of
        the standardised features: ``metric_ = result_.metric / np.outer(scale_, scale_)``.
    scale_ : ndarray of shape (n_features,)
        What each feature was divided by: its standard deviation, or 1.
    n_iter_ : int
        Number of iterations of the method.
    trace_bound_, min_eigenvalue_ : float
        C and ρ.
    graph_ : MetricGraph
        The edges and self-loops of the metric of the standardised features, with the names of the
        features. In these units weights can be compared whatever the features measure.
    """

    result_: Result

    @property
    def graph_(self) -> MetricGraph:
        """The metric of the scaled features as a graph: edges and self-loops by features' names."""
        check_is_fitted(self)
        return MetricGraph.of_metric(metric_of(self.result_), self._feature_names())

    def plot_graph(self, ax: Axes | None = None) -> Axes:
        """Draw the graph of the scaled features, see ``graph_``, by `gdaopt.plotting.graph`.

        Edges of negative weight are orange; graph metrics have none. Of many features those with
        the strongest edges are drawn.
        """
        from gdaopt import plotting  # imported on demand: fitting draws nothing

        check_is_fitted(self)
        return plotting.graph(self.result_, self._feature_names(), ax=ax)


@dataclass(eq=False, repr=False, kw_only=True)
class SolvingLearner(OptimalMetricLearner):
    """Base of learners that minimise an objective over a feasible set.

    It divides the features by their spreads, solves the problem, and gives the metric back in the
    units of the features. A subclass writes its `fit`, which calls ``_solve``, and ``_objective``.

    Parameters
    ----------
    metrics : str, FeasibleSet or callable, optional
        The metrics to choose from: ``"graph"`` for `gdaopt.GraphMetrics`, ``"diagonal"`` for
        `gdaopt.DiagonalMetrics`, ``"definite"`` for `gdaopt.PositiveDefiniteMetrics`, ``"sdd"`` for
        `gdaopt.SDDMetrics`, ``"balanced"`` for the balanced signed graphs of all colours of the
        features (`gdaopt.methods.Balanced`), or for labelled samples of two classes ``"signed"``
        for `gdaopt.SignedGraphMetrics`, where the features have the signs of their correlation with
        the label. None stands for the set of the class: ``"graph"``, but for the shorthands
        `DiagonalMetricLearner` and `PositiveDefiniteMetricLearner`. Also taken are a set itself,
        whose bounds hold where `trace_bound` and `min_eigenvalue` are ``"auto"``; and a function of
        the trace bound and of the smallest eigenvalue allowed that returns a set.
    edges : array-like, sparse array, networkx.Graph or EdgeMask, optional
        For all names but ``"diagonal"`` and ``"definite"``: the only pairs of features that may
        have an edge, such as those of pixels side by side, in any form of
        `gdaopt.sets.EdgeMask.of`, by numbers or names.
    edge_floor : float, optional
        ε, for ``"graph"`` and ``"signed"``. If it is positive, edges of at least this weight
        connect all features. The methods with this option, ``"alternating"`` and ``"joint"``,
        choose the edges themselves. With any other method they are the edges of the path through
        the features in their order, or of a spanning tree of `edges`.
    method : str, optional
        Name of a method of `gdaopt.solve`; ``metrics="balanced"`` has its own.
    solver : str, optional
        Name of a solver, for methods that solve programs, such as ``"alternating"``.
    trace_bound : {"auto", "K"} or float, optional
        C. With ``"auto"`` it follows the scale of the features, see `gdaopt.scaling`; with ``"K"``
        it is the number of features. It bounds the trace of the metric of standardised features.
    min_eigenvalue : {"auto"} or float, optional
        ρ, less than C/K. With ``"auto"`` it is a tenth of C/K, so that M is a tenth the metric of
        no learning (see `gdaopt.scaling`).
    scale : {"auto", "none"}, optional
        With ``"auto"`` each feature is divided by its standard deviation over all samples given to
        `fit` before the problem is made, and the metric is given back in the units of the features;
        a feature that is constant is left as it is. With ``"none"`` all features are left as they
        are, which is right if they share a unit that matters.
    n_components : int, optional
        Number of coordinates that `transform` returns, for a metric of this rank: the metric of the
        standardised features keeps its largest eigenvalues only. By default it keeps all.
        ``result_`` and ``graph_`` are those of the whole metric.
    tolerance : float, optional
        The certified relative distance from the optimum at which the method stops. If the fit ends
        further away, for whatever reason, it warns (`sklearn.exceptions.ConvergenceWarning`).
    max_iterations : int, optional
        Most iterations of the method; no limit by default.
    time_limit : float, optional
        Seconds for the whole fit; no limit by default. The metric is then that of the method's last
        complete step. The first evaluations of the objective are completed whatever the limit is.
        If the time is up while neighbours are searched, `fit` raises a `TimeLimitError`.
    verbose : bool, optional
        Whether to print a line for each round of the method.
    """

    metrics: Metrics = None
    edges: Any = None
    edge_floor: float = 0.0
    method: str = "certified"
    solver: str | None = None
    trace_bound: str | float = "auto"
    min_eigenvalue: str | float = "auto"
    scale: str = "auto"
    n_components: int | None = None
    tolerance: float = 1e-4
    max_iterations: int | None = None
    time_limit: float | None = None
    verbose: bool = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "metrics": [StrOptions({*SETS, _BALANCED}), FeasibleSet, callable, None],
        "edges": "no_validation",
        "edge_floor": [Interval(Real, 0, None, closed="left")],
        "method": [StrOptions(set(METHODS))],
        "solver": [str, None],
        "trace_bound": [StrOptions(set(TRACE_BOUNDS)), Interval(Real, 0, None, closed="neither")],
        "min_eigenvalue": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "scale": [StrOptions({"auto", "none"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "max_iterations": [Interval(Integral, 0, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "verbose": ["boolean"],
    }

    _metrics: ClassVar[str] = "graph"  # what metrics=None stands for

    # --- The problem ------------------------------------------------------------------------------

    @abstractmethod
    def _objective(self, X: FloatArray, labels: Any) -> Objective:
        """Return the objective of scaled samples, from what `fit` has found out about them."""

    def _signal(self, labels: Any) -> FloatArray | None:  # noqa: ARG002 (for labelled samples)
        """Return the 0/1 signals of the classes, shape (N, m); None where there are none."""
        return None

    def _prepared(self, X: FloatArray, labels: Any) -> tuple[Objective, SetOfBounds]:
        """Return the objective of samples, and the set by its bounds; set ``scale_``."""
        if self.n_components is not None and self.n_components > X.shape[1]:
            raise InvalidInputError(
                f"n_components = {shortened(self.n_components)} exceeds the number of features, "
                f"{X.shape[1]}"
            )
        self.scale_ = self._spreads(X)
        scaled = divided(X, self.scale_)
        return self._objective(scaled, labels), self._sets(scaled, self._signal(labels))

    def _sets(self, X: FloatArray, signal: FloatArray | None) -> SetOfBounds:
        metrics = self._metrics if self.metrics is None else self.metrics
        if isinstance(metrics, str):
            return self._named_sets(metrics, X, signal)
        if self.edges is not None or self.edge_floor > 0:
            raise InvalidInputError(_NO_EDGES)
        if isinstance(metrics, FeasibleSet):
            return lambda trace_bound, min_eigenvalue: replace(
                metrics,  # type: ignore[type-var]  # sets are dataclasses
                trace_bound=trace_bound,
                min_eigenvalue=min_eigenvalue,
            )
        return partial(_returned_set, metrics)

    def _named_sets(self, name: str, X: FloatArray, signal: FloatArray | None) -> SetOfBounds:
        kind = SDDMetrics if name == _BALANCED else SETS[name]
        if name == _BALANCED and self.method not in ("certified", _BALANCED):
            raise InvalidInputError(
                f"metrics='balanced' are found by the method of this name, got method="
                f"{self.method!r}; leave the method out, or pass metrics='sdd'"
            )
        options: dict[str, Any] = {}
        if self.edges is not None:
            options["edges"] = EdgeMask.of(self.edges, self._feature_names())
        if self.edge_floor > 0:
            options["path_weight"] = 0.0 if self._floor_is_an_option else self.edge_floor
        if not options.keys() <= {field.name for field in fields(kind)}:  # type: ignore[arg-type]  # of subclasses
            raise InvalidInputError(_NO_EDGES)
        follows_signal = kind.for_signal.__func__ is not FeasibleSet.for_signal.__func__  # type: ignore[attr-defined]  # of class methods
        if follows_signal and (signal is None or signal.shape[1] > 1):
            found = "there are none" if signal is None else f"there are {signal.shape[1]}"
            raise InvalidInputError(
                f"metrics={name!r} follows the labels of two classes, and {found}; pass a set, "
                "such as gda.SignedGraphMetrics(colors, trace_bound), or a function of trace bound "
                "and smallest eigenvalue, such as functools.partial(gda.SignedGraphMetrics, colors)"
            )
        along = np.zeros(X.shape[0]) if signal is None else signal[:, 0]
        return lambda trace_bound, min_eigenvalue: kind.for_signal(
            X, along, trace_bound=trace_bound, min_eigenvalue=min_eigenvalue, **options
        )

    def _trace_bound(self, objective: Objective, sets: SetOfBounds) -> float:
        if isinstance(self.metrics, FeasibleSet) and self.trace_bound == "auto":
            return self.metrics.trace_bound
        return read_trace_bound(self.trace_bound, objective, sets(1.0, 0.0))

    def _min_eigenvalue(self, trace_bound: float, n_features: int) -> float:
        if self.min_eigenvalue != "auto":
            return number("min_eigenvalue", self.min_eigenvalue, at_least=0)
        if isinstance(self.metrics, FeasibleSet):
            return self.metrics.min_eigenvalue
        return auto_min_eigenvalue(trace_bound, n_features)

    # --- The fit ----------------------------------------------------------------------------------

    def _solve(self, X: FloatArray, labels: Any) -> Any:
        """Return the optimum in the units of the features; set ``result_`` and its like."""
        with until(self._deadline()):
            objective, sets = self._prepared(X, labels)
            with unlimited():  # it takes one evaluation, and the start of the run another
                self.trace_bound_ = self._trace_bound(objective, sets)
                self.min_eigenvalue_ = self._min_eigenvalue(self.trace_bound_, objective.n_features)
                feasible_set = sets(self.trace_bound_, self.min_eigenvalue_)
            method = _BALANCED if self.metrics == _BALANCED else self.method
            self.result_ = solve(
                MetricProblem(objective, feasible_set), method, **self._method_options()
            )
        self.n_iter_ = self.result_.iterations
        return self._in_units(metric_of(self.result_))

    def _deadline(self) -> Deadline | None:
        limit = self.time_limit
        return Deadline.after(None if limit is None else number("time_limit", limit, above=0))

    def _in_units(self, metric: Any) -> Any:
        if is_sparse(metric):
            return _divided_entries(metric, self.scale_)
        in_units: FloatArray = metric / np.outer(self.scale_, self.scale_)
        return in_units

    def _components(self, metric: Any) -> Any:
        """Return L of a metric in the features' units; of its largest eigenvalues if asked."""
        if self.n_components is None:
            return components_of(metric)
        if is_sparse(metric):
            return self._sparse_components(metric, self.n_components)
        scaled = metric * np.outer(self.scale_, self.scale_)
        return self._largest(scaled, self.n_components) / self.scale_

    @staticmethod
    def _largest(matrix: FloatArray, count: int) -> FloatArray:
        """Return eigenvectors as rows, times the roots of the largest eigenvalues."""
        first = len(matrix) - count
        values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[first, len(matrix) - 1])
        values, vectors = values[::-1], vectors[:, ::-1]
        largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
        roots = np.sqrt(np.maximum(values, 0.0)) * np.sign(largest[0])
        components: FloatArray = (vectors * roots).T
        return components

    def _sparse_components(self, metric: csr_array, count: int) -> csr_array:
        """Return components of the features of the largest eigenvalues, and of their neighbours."""
        scaled = _divided_entries(metric, 1 / self.scale_)
        connected, _ = connected_part(scaled)
        strongest = np.argsort(-scaled.diagonal(), kind="stable")[:count]
        index = np.union1d(connected, strongest)
        block = scaled[index][:, index].toarray()
        rows = self._largest(block, count) / self.scale_[index]
        places = np.repeat(np.arange(count), len(index)), np.tile(index, count)
        return csr_array((rows.ravel(), places), shape=(count, len(self.scale_)))

    def _set_metric(self, metric: Any, X: FloatArray) -> None:
        components = self._components(metric)
        if self.n_components is not None:
            product = components.T @ components
            metric = csr_array(product + product.T) / 2 if is_sparse(metric) else product
        self._set_factor(metric, components, X)

    def _spreads(self, X: FloatArray) -> FloatArray:
        """Return what the features are divided by: standard deviations, and 1 for constants."""
        if self.scale == "none":
            return read_only(np.ones(X.shape[1]))
        means, spreads = feature_scales(X, "zscore")
        varies = np.isfinite(spreads) & (spreads > _ROUND_OFF * np.abs(means))
        spreads = np.where(varies, spreads, 1.0)
        outside = (spreads > _LARGEST) | (spreads < 1 / _LARGEST)
        if outside.any():
            worst = int(outside.argmax())
            raise InvalidInputError(
                f"feature {self._feature_names()[worst]} varies by {spreads[worst]:.2g}, and the "
                "square of that leaves floating point; rescale the feature"
            )
        return read_only(spreads)

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


def _divided_entries(metric: csr_array, scale: FloatArray) -> csr_array:
    """Return the sparse matrix of ``M_ij / (s_i s_j)``."""
    entries = metric.tocoo()
    rows, columns = entries.coords
    values = entries.data / (scale[rows] * scale[columns])
    return csr_array((values, (rows, columns)), shape=metric.shape)


def _returned_set(make: SetOfBounds, trace_bound: float, min_eigenvalue: float) -> FeasibleSet:
    found: FeasibleSet = called("metrics", make, trace_bound, min_eigenvalue)
    check_instance("what metrics returns", found, FeasibleSet)
    return found


def warn_of_result(
    estimator: Any, result: Result, tolerance: float, objectives: Sequence[str]
) -> None:
    """Warn the caller of `fit` of a metric far from the optimum, or as without learning."""
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
            stacklevel=5,  # through _learn, fit and scikit-learn's decorator
        )
    elif objectives and result.n_features > 1 and _is_isotropic(metric_of(result)):
        warnings.warn(
            f"{name} learned nothing: its metric is a multiple of the identity, as without "
            f"learning; another objective may find more, such as {' or '.join(objectives)}",
            NothingLearnedWarning,
            stacklevel=5,
        )


def _is_isotropic(metric: Any) -> bool:
    size = metric.shape[0]
    mean = float(metric.trace()) / size
    identity = eye_array(size) if is_sparse(metric) else np.eye(size)
    return bool(abs(metric - mean * identity).max() <= _ISOTROPIC * mean)
