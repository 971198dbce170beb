"""The three learners: graph metrics, diagonal metrics, positive definite metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from gdaopt.estimators.problem_learner import ProblemLearner
from gdaopt.methods import METHODS
from gdaopt.objectives import Objective
from gdaopt.sets import DiagonalMetrics, GraphMetrics, PositiveDefiniteMetrics
from gdaopt.validation import FloatArray

__all__ = ["DiagonalMetricLearner", "GraphMetricLearner", "PositiveDefiniteMetricLearner"]


class GraphMetricLearner(ProblemLearner):
    """Learn a graph metric: a generalised Laplacian of a graph between the features.

    It minimises the graph Laplacian regulariser of the class labels, `gdaopt.GLR`, over
    `gdaopt.GraphMetrics`: samples of different classes get far apart, within a bounded trace.
    The problem is convex, and ``result_`` holds the certified distance from its optimum.

    Features of very different units want a `sklearn.preprocessing.StandardScaler` before it: the
    trace is shared between them, and what is small in numbers can get no more than all of it.

    Parameters
    ----------
    objective : {"glr"} or callable, optional
        Or an objective of one's own: called with the samples (N×K) and the 0/1 signals of the
        classes (N×m, one column for two classes), it returns a `gdaopt.objectives.Objective`.
    method : str, optional
        Name of a method of `gdaopt.solve`.
    solver : str, optional
        For methods that have programs to solve, such as ``"alternating"``.
    trace_bound : {"auto", "K"} or float, optional
        C. By ``"auto"`` it follows the scale of the features, see `gdaopt.scaling`; by ``"K"`` it
        is the number of features.
    min_eigenvalue : {"auto"} or float, optional
        ρ, below C/K. By ``"auto"`` a thousandth of that.
    edge_floor : float, optional
        ε; when positive, edges of at least that weight connect all features. Methods with such an
        option (``"alternating"``, ``"joint"``) choose the edges; with any other method they are the
        edges of the path through the features in their order.
    multiclass : {"joint"}, optional
        What to learn from more than two classes: one metric for the sum of their 0/1 signals, so
        that each pair of different classes counts alike. With two classes there is one signal.
    class_weight : {"balanced"} or dict, optional
        Positive weights of the classes, as scikit-learn's classifiers take them; a pair of samples
        weighs the product of theirs.
    n_neighbors : int, optional
        Only sum over the pairs of each sample with so many of its nearest of other classes, in the
        given features; all pairs when left out. It saves time and memory where N is in the
        thousands; with fewer than about 50, what is learned is another metric.
    tolerance : float, optional
        Certified relative distance from the optimum at which to stop.
    max_iterations, time_limit : int and float (seconds), optional
        Limits, none by default; a fit that ends at one warns.
    verbose : bool, optional
        Print a line for each round of the method.

    Attributes
    ----------
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`.
    result_ : gdaopt.Result
        What the method returned: objective, certificate, status, trace.
    n_iter_ : int
        Its iterations.
    trace_bound_, min_eigenvalue_ : float
        C and ρ.
    graph_ : MetricGraph
        Edges and self-loops with the names of the features.

    Notes
    -----
    Source: Yang, Cheung, Hu, *Graph Metric Learning via Gershgorin Disc Alignment* (ICASSP 2020),
    for the problem with two classes; the sum over classes and the rule for C are this package's.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> scaler = StandardScaler().set_output(transform="pandas")
    >>> pipeline = make_pipeline(scaler, GraphMetricLearner()).fit(X, y)
    >>> learner = pipeline[-1]
    >>> learner.result_.status, learner.result_.relative_gap <= 1e-4
    ('converged', True)
    >>> learner.graph_.named_edges()[0][:2]
    ('alcalinity_of_ash', 'proline')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ProblemLearner._parameter_constraints,
        "edge_floor": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        objective: str | Callable[[FloatArray, FloatArray], Objective] = "glr",
        *,
        method: str = "certified",
        solver: str | None = None,
        trace_bound: str | float = "auto",
        min_eigenvalue: str | float = "auto",
        edge_floor: float = 0.0,
        multiclass: str = "joint",
        class_weight: str | dict[Any, float] | None = None,
        n_neighbors: int | None = None,
        tolerance: float = 1e-4,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            objective,
            method=method,
            solver=solver,
            trace_bound=trace_bound,
            min_eigenvalue=min_eigenvalue,
            multiclass=multiclass,
            class_weight=class_weight,
            n_neighbors=n_neighbors,
            tolerance=tolerance,
            max_iterations=max_iterations,
            time_limit=time_limit,
            verbose=verbose,
        )
        self.edge_floor = edge_floor

    def _feasible_set(self, trace_bound: float, min_eigenvalue: float) -> GraphMetrics:
        feasible_set = GraphMetrics(trace_bound, min_eigenvalue)
        if self.edge_floor > 0 and not self._floor_is_an_option:
            return feasible_set.containing_path(self.edge_floor)
        return feasible_set

    @property
    def _floor_is_an_option(self) -> bool:
        """Whether the method itself can keep a graph connected."""
        return "edge_floor" in {field.name for field in fields(METHODS[self.method])}

    def _method_options(self) -> dict[str, Any]:
        options = super()._method_options()
        if self.edge_floor > 0 and self._floor_is_an_option:
            options["edge_floor"] = self.edge_floor
        return options


class DiagonalMetricLearner(ProblemLearner):
    """Learn a diagonal metric: weights of the features.

    As `GraphMetricLearner`, over `gdaopt.DiagonalMetrics`.

    Parameters
    ----------
    objective, method, solver, trace_bound, min_eigenvalue
        See `GraphMetricLearner`.
    multiclass, class_weight, n_neighbors
        See `GraphMetricLearner`.
    tolerance, max_iterations, time_limit, verbose
        See `GraphMetricLearner`.

    Attributes
    ----------
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`.
    result_, n_iter_, trace_bound_, min_eigenvalue_, graph_
        See `GraphMetricLearner`.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [0.1, 2.0], [1.0, 0.1], [1.1, 2.1]], ["a", "a", "b", "b"]
    >>> DiagonalMetricLearner().fit(X, y).metric_.round(3)
    array([[1.699, 0.   ],
           [0.   , 0.291]])
    """

    def _feasible_set(self, trace_bound: float, min_eigenvalue: float) -> DiagonalMetrics:
        return DiagonalMetrics(trace_bound, min_eigenvalue)


class PositiveDefiniteMetricLearner(ProblemLearner):
    """Learn any positive definite metric, without signs of its entries.

    As `GraphMetricLearner`, over `gdaopt.PositiveDefiniteMetrics`. Edges of its ``graph_`` may have
    negative weights.

    Parameters
    ----------
    objective, method, solver, trace_bound, min_eigenvalue
        See `GraphMetricLearner`.
    multiclass, class_weight, n_neighbors
        See `GraphMetricLearner`.
    tolerance, max_iterations, time_limit, verbose
        See `GraphMetricLearner`.

    Attributes
    ----------
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`.
    result_, n_iter_, trace_bound_, min_eigenvalue_, graph_
        See `GraphMetricLearner`.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 0.5], [1.0, 1.5]], ["a", "a", "b", "b"]
    >>> learner = PositiveDefiniteMetricLearner().fit(X, y)
    >>> learner.pair_distance([[X[0], X[1]], [X[0], X[2]]]).round(3)
    array([2.814, 1.118])
    """

    def _feasible_set(self, trace_bound: float, min_eigenvalue: float) -> PositiveDefiniteMetrics:
        return PositiveDefiniteMetrics(trace_bound, min_eigenvalue)
