"""The three learners: graph metrics, diagonal metrics, positive definite metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from numbers import Real
from typing import Any, ClassVar

from gdaopt.estimators.parameters import Interval
from gdaopt.estimators.problem_learner import DEFAULT_OBJECTIVE, ProblemLearner
from gdaopt.methods import METHODS
from gdaopt.objectives import Objective
from gdaopt.sets import DiagonalMetrics, EdgeMask, GraphMetrics, PositiveDefiniteMetrics
from gdaopt.support.validation import FloatArray

__all__ = ["DiagonalMetricLearner", "GraphMetricLearner", "PositiveDefiniteMetricLearner"]


class GraphMetricLearner(ProblemLearner):
    """Learn a graph metric: a generalised Laplacian of a graph between the features.

    The learner minimises the objective of maximally collapsing metric learning, `gdaopt.MCML`, or
    another objective of labelled samples, over the set `gdaopt.GraphMetrics` (see "Definition:
    losses of distances" and "Definition: graph metric" in ``docs/theory.md``). Samples of one class
    move together, and those of different classes apart. The problem is convex, and ``result_``
    holds a certificate of how far the learned metric can be from the optimum.

    By default the problem is that of the features divided by their standard deviations, so that
    features of any units may be passed as they are (`scale`). The metric M acts on the features
    as they are passed, while ``result_``, the trace bound and the graph are those of the
    standardised features.

    Parameters
    ----------
    objective : {"mcml", "glr", "lmnn", "deml", "logistic-pairs", "pair-hinge"} or callable
        What to minimise: `gdaopt.MCML`, by default; the graph Laplacian regulariser `gdaopt.GLR`,
        `gdaopt.LMNN`, `gdaopt.DEML`, `gdaopt.LogisticPairs` or `gdaopt.PairHinge`, each with its
        defaults; or a function that returns another `gdaopt.objectives.Objective`. The function is
        called with the samples, of shape (N, K), and the 0/1 signals of the classes, of shape
        (N, m): one column for two classes, else one for each class. ``"glr"`` pushes samples of
        different classes apart and does not pull those of one class together; where most features
        are noise its metrics have far more errors (``figures/learner_defaults.md``).
    method : str, optional
        Name of a method of `gdaopt.solve`.
    solver : str, optional
        Name of a solver, for methods that solve programs, such as ``"alternating"``.
    trace_bound : {"auto", "K"} or float, optional
        C. With ``"auto"`` it follows the scale of the features, see `gdaopt.scaling`; with ``"K"``
        it is the number of features. It bounds the trace of the metric of standardised features.
    min_eigenvalue : {"auto"} or float, optional
        ρ, less than C/K. With ``"auto"`` it is a tenth of C/K, so that M is a
        tenth the metric of no learning (see `gdaopt.scaling`).
    scale : {"auto", "none"}, optional
        With ``"auto"`` each feature is divided by its standard deviation before the problem is
        made, as by a `sklearn.preprocessing.StandardScaler`, and the metric is given back in the
        units of the features; a feature that is constant is left as it is. With ``"none"`` all
        features are left as they are, which is right if they share a unit that matters.
    edge_floor : float, optional
        ε. If it is positive, edges of at least this weight connect all features. The methods with
        this option, ``"alternating"`` and ``"joint"``, choose the edges themselves. With any other
        method they are the edges of the path through the features in their order, or of a
        spanning tree of `edges`.
    edges : array-like, sparse array, networkx.Graph or EdgeMask, optional
        The only pairs of features that may have an edge, such as those of pixels side by side: a
        symmetric boolean K×K matrix, a sparse one, an array of shape (n, 2) of pairs of feature
        numbers or names, or a graph whose nodes are these. By default all pairs may. Without any
        pair the metrics are diagonal.
    multiclass : {"joint"}, optional
        How to learn from more than two classes. With ``"joint"`` there is one metric for all
        classes; ``"glr"`` then is the sum of the regularisers of the classes' 0/1 signals, so that
        all pairs of different classes count alike.
    class_weight : {"balanced"} or dict, optional
        Positive weights of the classes, as scikit-learn's classifiers take them; for ``"glr"`` and
        ``"mcml"``. With ``"glr"`` the weight of a pair of samples is the product of the weights of
        their classes.
    n_neighbors : int, optional
        For ``"lmnn"``, the number of target neighbours of each sample. For ``"glr"``, how many
        nearest samples of other classes to pair each sample with, by the distance in the given
        features; the objective then sums over these pairs only. By default it sums over all pairs.
        These pairs are others than most, and features that are noise have a say in which are near:
        to save time, prefer `max_samples` or `max_pairs`.
    max_pairs : int, optional
        Sum over at most so many pairs, drawn at random: for ``"glr"``, of pairs of different
        classes, and for ``"logistic-pairs"``, ``"pair-hinge"`` and ``"deml"``, of all pairs. By
        default it sums over all of them.
    max_samples : {"auto"} or int, optional
        Learn from at most about so many samples, drawn at random in the proportions of the
        classes; with ``"auto"`` 4000, and with None all. Standard deviations are those of all
        samples.
    random_state : int, optional
        Seed of these draws.
    tolerance : float, optional
        The certified relative distance from the optimum at which the method stops. If the fit ends
        further away, for whatever reason, it warns (`sklearn.exceptions.ConvergenceWarning`).
    max_iterations : int, optional
        Most iterations of the method; no limit by default.
    time_limit : float, optional
        Seconds for the whole fit; no limit by default. The metric is then that of the method's last
        complete step. The first evaluations of the objective, for the trace bound ``"auto"`` and
        for the start, are completed whatever the limit is. If the time is up while the neighbours
        are searched, `fit` raises `gdaopt.errors.TimeLimitError`.
    verbose : bool, optional
        Whether to print a line for each round of the method.

    Attributes
    ----------
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`. ``metric_`` acts on features as they are passed. It
        is a graph metric, too, as ``S⁻¹ M S⁻¹`` is for each graph metric M and positive diagonal
        S, but its trace is another one.
    sample_indices_ : ndarray of int, or None
        The samples that were learned from; None for all. ``result_`` is that of the problem of
        these samples, and of the pairs that were drawn: its certificate says nothing of the others.
    full_objective_ : float or None
        Where samples or pairs were drawn: the objective of all samples and pairs at the metric,
        which is evaluated once; None where there was no time for it, and where none were drawn.
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

    Notes
    -----
    The objective is from Globerson, Roweis, *Metric learning by collapsing classes* (NIPS 2005).
    The set, and the problem of ``"glr"`` with two classes, are from Yang, Cheung, Hu, *Graph Metric
    Learning via Gershgorin Disc Alignment* (ICASSP 2020). The sum of GLR over classes and the rules
    for C are this package's own.

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
    ('flavanoids', 'color_intensity')

    Only these two features may have an edge:

    >>> pipeline = pipeline.set_params(graphmetriclearner__edges=[("ash", "alcalinity_of_ash")])
    >>> [edge[:2] for edge in pipeline.fit(X, y)[-1].graph_.named_edges()]
    [('ash', 'alcalinity_of_ash')]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ProblemLearner._parameter_constraints,
        "edge_floor": [Interval(Real, 0, None, closed="left")],
        "edges": "no_validation",
    }

    def __init__(
        self,
        objective: str | Callable[[FloatArray, FloatArray], Objective] = DEFAULT_OBJECTIVE,
        *,
        method: str = "certified",
        solver: str | None = None,
        trace_bound: str | float = "auto",
        min_eigenvalue: str | float = "auto",
        scale: str = "auto",
        edge_floor: float = 0.0,
        edges: Any = None,
        multiclass: str = "joint",
        class_weight: str | dict[Any, float] | None = None,
        n_neighbors: int | None = None,
        max_pairs: int | None = None,
        max_samples: str | int | None = "auto",
        random_state: int = 0,
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
            scale=scale,
            multiclass=multiclass,
            class_weight=class_weight,
            n_neighbors=n_neighbors,
            max_pairs=max_pairs,
            max_samples=max_samples,
            random_state=random_state,
            tolerance=tolerance,
            max_iterations=max_iterations,
            time_limit=time_limit,
            verbose=verbose,
        )
        self.edge_floor = edge_floor
        self.edges = edges

    def _feasible_set(self, trace_bound: float, min_eigenvalue: float) -> GraphMetrics:
        mask = None
        if self.edges is not None:
            mask = EdgeMask.of(self.edges, self._feature_names())
        feasible_set = GraphMetrics(trace_bound, min_eigenvalue, edges=mask)
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

    The learner solves the problem of `GraphMetricLearner` over the set `gdaopt.DiagonalMetrics`.

    Parameters
    ----------
    objective, method, solver, trace_bound, min_eigenvalue, scale
        See `GraphMetricLearner`.
    multiclass, class_weight, n_neighbors, max_pairs, max_samples, random_state
        See `GraphMetricLearner`.
    tolerance, max_iterations, time_limit, verbose
        See `GraphMetricLearner`.

    Attributes
    ----------
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`.
    result_, n_iter_, trace_bound_, min_eigenvalue_, scale_, graph_
        See `GraphMetricLearner`.
    sample_indices_, full_objective_
        See `GraphMetricLearner`.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [0.1, 2.0], [1.0, 0.1], [1.1, 2.1]], ["a", "a", "b", "b"]
    >>> DiagonalMetricLearner().fit(X, y).metric_.diagonal().round(2)
    array([2.05, 0.03])
    """

    def _feasible_set(self, trace_bound: float, min_eigenvalue: float) -> DiagonalMetrics:
        return DiagonalMetrics(trace_bound, min_eigenvalue)


class PositiveDefiniteMetricLearner(ProblemLearner):
    """Learn a positive definite metric whose entries may have any sign.

    The learner solves the problem of `GraphMetricLearner` over the set
    `gdaopt.PositiveDefiniteMetrics`. Edges of its ``graph_`` may have negative weights.

    Parameters
    ----------
    objective, method, solver, trace_bound, min_eigenvalue, scale
        See `GraphMetricLearner`.
    multiclass, class_weight, n_neighbors, max_pairs, max_samples, random_state
        See `GraphMetricLearner`.
    tolerance, max_iterations, time_limit, verbose
        See `GraphMetricLearner`.

    Attributes
    ----------
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`.
    result_, n_iter_, trace_bound_, min_eigenvalue_, scale_, graph_
        See `GraphMetricLearner`.
    sample_indices_, full_objective_
        See `GraphMetricLearner`.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 0.5], [1.0, 1.5]], ["a", "a", "b", "b"]
    >>> learner = PositiveDefiniteMetricLearner().fit(X, y)
    >>> learner.pair_distance([[X[0], X[1]], [X[0], X[2]]]).round(3)
    array([0.349, 0.389])
    """

    def _feasible_set(self, trace_bound: float, min_eigenvalue: float) -> PositiveDefiniteMetrics:
        return PositiveDefiniteMetrics(trace_bound, min_eigenvalue)
