"""Learners from labelled samples: one class over any set of metrics, and names for three sets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import Tags, compute_class_weight
from sklearn.utils._param_validation import StrOptions

from gdaopt.errors import InvalidInputError, TimeLimitError
from gdaopt.estimators.components import metric_of
from gdaopt.estimators.draws import (
    Indices,
    nearest_of_other_classes,
    random_pairs,
    stratified_sample,
)
from gdaopt.estimators.inputs import (
    Codes,
    Interval,
    Mask,
    class_signal,
    read_classes,
    read_weighted_samples,
    warn_of_numbers,
)
from gdaopt.estimators.solving import (
    Metrics,
    SetOfBounds,
    SolvingLearner,
    Start,
    deadline_of,
    warn_of_result,
)
from gdaopt.linalg.samples import divided
from gdaopt.methods import Certified
from gdaopt.objectives import OBJECTIVES, Objective
from gdaopt.objectives.base import check_interface
from gdaopt.sets import SETS, FeasibleSet, PositiveDefiniteMetrics, has_sparse_members
from gdaopt.support.deadline import until
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, integer, number

ObjectiveName = str | Callable[[FloatArray, FloatArray], Objective]
"""An objective as learners take it: by its name, or as a function of samples and signals."""

DEFAULT_OBJECTIVE = "mcml"
"""What learners of labelled samples minimise by default, see ``figures/learner_families.md``."""

HELPFUL_OBJECTIVES = ("lmnn", "nca")
"""Objectives that may find something where another one finds nothing."""

Weights = FloatArray | None
"""How much each sample counts; None where all count alike."""

_AUTO_SAMPLES = 4000  # eight million pairs: a minute or less, and the metric hardly gains from more


@dataclass(eq=False, repr=False, kw_only=True)
class MetricLearner(SolvingLearner):
    """Learn a metric from labelled samples, over a set of metrics of your choice.

    The learner minimises the objective of maximally collapsing metric learning, `gdaopt.MCML`, or
    another objective of labelled samples (see "Definition: losses of distances" in ``docs/theory``)
    over graph metrics ("Definition: graph metric") or another set. Samples of one class move
    together, and samples of different classes move apart. The problem is convex, except with
    ``"nca"``, and ``result_`` holds a certificate: the most that the learned metric can be from the
    optimum.

    By default the features are divided by their standard deviations (`scale`). The metric M acts on
    the features as they are passed, but ``result_``, the trace bound and the graph belong to the
    standardised features.

    Parameters
    ----------
    objective : {"mcml", "nca", "glr", "lmnn", "deml", "logistic-pairs", "pair-hinge", "none"} or \
callable
        What to minimise: `gdaopt.MCML`, by default; neighbourhood components, `gdaopt.NCA`, which
        is not convex, so that ``result_`` is a stationary point without a certificate; the graph
        Laplacian regulariser `gdaopt.GLR`, which only pushes samples of different classes apart;
        `gdaopt.LMNN`, `gdaopt.DEML`, `gdaopt.LogisticPairs` or `gdaopt.PairHinge`, each with its
        defaults; ``"none"`` for no learning; or a function that returns another
        `gdaopt.objectives.Objective`, from the samples, of shape (N, K), and the 0/1 signals of the
        classes, of shape (N, m): one column for two classes, else one for each.
    metrics : str, FeasibleSet or callable, default="graph"
        The metrics to choose from: ``"graph"`` for `gdaopt.GraphMetrics`, ``"diagonal"`` for
        `gdaopt.DiagonalMetrics`, ``"definite"`` for `gdaopt.PositiveDefiniteMetrics`, ``"sdd"`` for
        `gdaopt.SDDMetrics`, ``"balanced"`` for the balanced signed graphs of all colours of the
        features (`gdaopt.methods.Balanced`), or for labelled samples of two classes ``"signed"``
        for `gdaopt.SignedGraphMetrics`, where the features have the signs of their correlation with
        the label. Or a set itself, whose bounds hold if `trace_bound` and `min_eigenvalue` are
        ``"auto"``; or a function of the trace bound and of the smallest allowed eigenvalue that
        returns a set.
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
        ρ, less than C/K. With ``"auto"`` it is a tenth of C/K, so that one tenth of M is the metric
        without learning (see `gdaopt.scaling`).
    scale : {"zscore", "unit", "none"}, optional
        With ``"zscore"`` each feature is divided by its standard deviation over all samples given
        to `fit` before the problem is made, and the metric is given back in the units of the
        features; a feature that is constant is left as it is. With ``"unit"`` it is also divided by
        √(2K), as in the paper; ``trace_bound="K"`` fits this scale. With ``"none"`` all features
        are left as they are, which is right if they share a unit that matters.
    n_components : int, optional
        Number of coordinates that `transform` returns, for a metric of this rank: the metric of the
        standardised features keeps its largest eigenvalues only. By default it keeps all.
        ``result_`` and ``graph_`` are those of the whole metric.
    tolerance : float, optional
        The certified relative distance from the optimum at which the method stops. If the fit ends
        further away, for any reason, it warns (`sklearn.exceptions.ConvergenceWarning`).
    max_iterations : int, optional
        Most iterations of the method; no limit by default.
    time_limit : float, optional
        Seconds for the whole fit; no limit by default. The metric is then that of the method's last
        complete step. The first evaluations of the objective are completed whatever the limit is.
        If the time is up while neighbours are searched, `fit` raises a `TimeLimitError`.
    verbose : bool, optional
        Whether to print a line for each round of the method.
    class_weight : {"balanced"} or dict, optional
        Positive weights of the classes, as scikit-learn's classifiers take them: each sample has
        the weight of its class, see `fit`. They are for ``"mcml"`` and ``"nca"``, and with three
        classes or more for ``"glr"``.
    n_neighbors : int, optional
        For ``"lmnn"``, the number of target neighbours of each sample. For ``"glr"``, how many
        nearest samples of other classes to pair each sample with; by default all. The distance that
        decides is the one in all given features, also in features that are noise. To save time,
        prefer `max_samples` or `max_pairs`.
    max_pairs : int, optional
        Sum over at most so many pairs, drawn at random: for ``"glr"``, of pairs of different
        classes, and for ``"logistic-pairs"``, ``"pair-hinge"`` and ``"deml"``, of all pairs.
    max_samples : {"auto"} or int, optional
        Learn from at most about so many samples, drawn at random in the proportions of the
        classes; with ``"auto"`` 4000, and with None all. Standard deviations are those of all
        samples.
    random_state : int, optional
        Seed of these draws.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        M, symmetric and positive semidefinite, read-only. It acts on features as they are passed.
        Over graph metrics it is a graph metric, too, because ``S⁻¹ M S⁻¹`` is one for each graph
        metric M and positive diagonal S, but its trace is another one. It and `components_` are
        sparse arrays for a certified metric of more than 1,000 features.
    components_, feature_importances_, classes_, n_features_in_, feature_names_in_
        As of `BaseMetricLearner`.
    result_ : gdaopt.Result
        The result of the method: objective, certificate, status and trace. Its metric is that of
        the standardised features: ``metric_ = result_.metric / np.outer(scale_, scale_)``.
    scale_ : ndarray of shape (n_features,)
        The divisor of each feature: its standard deviation, or 1.
    n_iter_ : int
        Number of iterations of the method.
    trace_bound_, min_eigenvalue_ : float
        C and ρ.
    graph_ : MetricGraph
        The edges and self-loops of the metric of the standardised features, with the names of the
        features. In these units weights can be compared whatever the features measure.
    sample_indices_ : ndarray of int, or None
        The samples that were used; None for all. ``result_`` belongs to the problem of these
        samples and of the drawn pairs: its certificate says nothing about the others.
    full_objective_ : float or None
        If samples or pairs were drawn: the objective of all samples and pairs at the metric, which
        is evaluated once. None if none were drawn, if there was no time for it, or with many
        features if there was no memory for N×N numbers.

    See Also
    --------
    MetricLearnerCV : Chooses the trace bound and the objective by cross-validation.
    PairMetricLearner : Learns from similar and dissimilar pairs.
    TripletMetricLearner : Learns from comparisons.

    Notes
    -----
    The objective is from Globerson, Roweis, *Metric learning by collapsing classes* (NIPS 2005).
    Graph metrics, and the problem of ``"glr"`` with two classes, are from Yang, Cheung, Hu, *Graph
    Metric Learning via Gershgorin Disc Alignment* (ICASSP 2020). With more classes ``"glr"`` is the
    sum of the regularisers of the classes' 0/1 signals. This sum and the rules for C are new in
    this package.

    Examples
    --------
    >>> import gdaopt as gda
    >>> from functools import partial
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 0.5], [1.0, 1.5]], ["a", "a", "b", "b"]
    >>> MetricLearner("glr", metrics="diagonal").fit(X, y).metric_.diagonal().round(2)
    array([0.69, 4.78])

    Metrics between features of two colours, with the automatic bounds and with bounds of their own:

    >>> two_colours = partial(gda.SignedGraphMetrics, [1, -1])
    >>> learner = MetricLearner("glr", metrics=two_colours).fit(X, y)
    >>> learner.result_.status, bool(learner.metric_[0, 1] >= 0)
    ('converged', True)
    >>> bounded = gda.SignedGraphMetrics([1, -1], 2.0, 0.1)
    >>> MetricLearner("glr", metrics=bounded).fit(X, y).trace_bound_
    2.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SolvingLearner._parameter_constraints,
        "objective": [StrOptions(set(OBJECTIVES)), callable],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "max_pairs": [Interval(Integral, 1, None, closed="left"), None],
        "max_samples": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left"), None],
        "random_state": [Interval(Integral, 0, 2**32 - 1, closed="both")],
    }

    objective: ObjectiveName = field(default=DEFAULT_OBJECTIVE, kw_only=False)
    class_weight: str | dict[Any, float] | None = None
    n_neighbors: int | None = None
    max_pairs: int | None = None
    max_samples: str | int | None = "auto"
    random_state: int = 0

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Sparse samples are for methods and sets that need no K×K array.
        metrics = SETS.get(self.metrics) if isinstance(self.metrics, str) else self.metrics
        needs_dense = metrics in (None, PositiveDefiniteMetrics) or self.edge_floor > 0
        if isinstance(metrics, FeasibleSet):
            needs_dense |= not has_sparse_members(metrics)
        tags.input_tags.sparse = self.method == Certified.name and not needs_dense
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the metric.

        Sparse samples are taken, and stay sparse, if no array of K×K numbers is needed: with the
        `method` ``"certified"``, with all `metrics` but ``"definite"`` and ``"balanced"``, and
        without `edge_floor`.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, for the objectives ``"mcml"``, ``"nca"`` and ``"glr"``: with the first two how
            much the neighbourhood of each sample counts, and with ``"glr"`` the weight of a pair is
            the product of two of them. The weights of `class_weight` multiply them. A sample of
            weight 0 is left out, as if it had not been given, and is no neighbour of others.
            Standard deviations are those of the other samples, without weights.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For parameters, samples or labels that do not fit. It is a `ValueError`, as in
            scikit-learn's own checks; sparse samples raise a `TypeError` if only dense ones are
            taken.

        Warns
        -----
        ConvergenceWarning
            If the fit ends further from the optimum than the tolerance.
        NothingLearnedWarning
            If the metric is a multiple of the identity, as without learning.
        UserWarning
            If the labels are over 20 different numbers that do not count classes.
        """
        self._fit_read(*read_weighted_samples(self, X, y, sample_weight))
        warn_of_numbers(self.classes_)
        warn_of_result(self, self.result_, self.tolerance, self.objective, HELPFUL_OBJECTIVES)
        return self

    def _fit_read(
        self, X: Any, y: Any, weights: Weights, has_weight: Mask, start: Start | None = None
    ) -> None:
        """Learn from samples that are read, from the metric of another result if it is given."""
        self.classes_, codes = read_classes(y)
        with until(deadline_of(self.time_limit)):
            objective, set_of, chosen = self._make_problem(X, codes, weights)
            self._solve(X, objective, set_of, start)
            self.full_objective_ = None
            if chosen is not None or self.max_pairs is not None:
                with suppress(TimeLimitError):
                    scaled = divided(X, self.scale_)
                    every = self._make_objective(scaled, codes, weights, every_pair=True)
                    with suppress(InvalidInputError):  # no memory for N×N numbers
                        self.full_objective_ = every.value(metric_of(self.result_))
        # Samples of weight 0 were left out, and count here.
        self.sample_indices_ = None if chosen is None else np.flatnonzero(has_weight)[chosen]

    def _make_problem(
        self, X: Any, codes: Codes, weights: Weights = None
    ) -> tuple[Objective, SetOfBounds, Indices | None]:
        """Return the objective, the set, and the samples of the objective, None for all."""
        X = self._standardise(X)
        set_of = partial(self._make_set, X, class_signal(codes))
        most = _AUTO_SAMPLES if isinstance(self.max_samples, str) else self.max_samples
        if most is None or len(codes) <= most:
            return self._make_objective(X, codes, weights), set_of, None
        seed = integer("random_state", self.random_state, at_least=0)
        chosen = stratified_sample(codes, int(most), seed)
        weights = None if weights is None else weights[chosen]
        return self._make_objective(X[chosen], codes[chosen], weights), set_of, chosen

    def _make_objective(
        self, X: FloatArray, codes: Codes, weights: Weights, every_pair: bool = False
    ) -> Objective:
        """Return the objective of all samples; of all pairs, or of the pairs asked for."""
        asked = {
            "class_weight": self.class_weight,
            "sample_weight": weights,
            "n_neighbors": self.n_neighbors,
            "max_pairs": self.max_pairs,
        }
        asked = {option: value for option, value in asked.items() if value is not None}
        if callable(self.objective):
            if asked:
                raise InvalidInputError(
                    "sample_weight, class_weight, n_neighbors and max_pairs are for objectives by "
                    "name; an objective that is a function weights and chooses the pairs itself"
                )
            objective = self.objective(X, class_signal(codes))
            check_interface(objective)
            return objective
        make, is_glr = OBJECTIVES[self.objective], self.objective == "glr"
        for option in asked:
            names = [name for name in OBJECTIVES if _takes(name, option)]
            if self.objective not in names:
                raise InvalidInputError(
                    f"{option} goes with the objectives {', '.join(names)}, and not with "
                    f"{self.objective}; leave it out, or pass objective={names[0]!r}"
                )
        options: dict[str, Any] = {}
        if self.class_weight is not None:
            if is_glr and len(self.classes_) == 2:
                raise InvalidInputError(
                    "class_weight changes nothing with objective='glr' and two classes, as each of "
                    "its pairs has a sample of both; leave it out, or pass objective='mcml'"
                )
            of_classes = self._class_weights(codes)[codes]
            weights = of_classes if weights is None else weights * of_classes
        if weights is not None:
            options["sample_weight"] = weights
        if self.n_neighbors is not None:
            n_neighbors = integer("n_neighbors", self.n_neighbors, at_least=1)
            if is_glr:
                options["pairs"] = nearest_of_other_classes(X, codes, n_neighbors)
            else:
                options["n_neighbors"] = n_neighbors
        if self.max_pairs is not None and not every_pair:
            if "pairs" in options:
                raise InvalidInputError("n_neighbors and max_pairs both choose pairs; pass one")
            seed = integer("random_state", self.random_state, at_least=0)
            options["pairs"] = random_pairs(codes, int(self.max_pairs), seed, differ=is_glr)
        return make(X, class_signal(codes) if is_glr else codes, **options)

    def _class_weights(self, codes: Codes) -> FloatArray:
        class_weight = self.class_weight
        if isinstance(class_weight, dict):
            class_weight = {
                label: number(f"class_weight of {shortened(label)}", weight, above=0)
                for label, weight in class_weight.items()
            }
            classes = self.classes_.tolist()
            unknown = [label for label in class_weight if label not in classes]
            without = [label for label in classes if label not in class_weight]
            if unknown and without:
                raise InvalidInputError(
                    f"class_weight has a weight for {shortened(unknown[0])}, which no sample has, "
                    f"and none for {shortened(without[0])}; correct the name, or give all "
                    "classes a weight"
                )
        weights: FloatArray = compute_class_weight(
            class_weight, classes=self.classes_, y=self.classes_[codes]
        )
        return weights


def _takes(objective: str, option: str) -> bool:
    """Say whether an option of `MetricLearner` goes with an objective of this name."""
    parameter = {"class_weight": "sample_weight", "max_pairs": "pairs"}.get(option, option)
    if option == "n_neighbors" and objective == "glr":  # whose pairs are pairs of neighbours
        return True
    return parameter in signature(OBJECTIVES[objective]).parameters


@dataclass(eq=False, repr=False, kw_only=True)
class GraphMetricLearner(MetricLearner):
    """Learn a graph metric: a generalised Laplacian of a graph between the features.

    Shorthand for `MetricLearner`, which explains all parameters and attributes, with
    ``metrics="graph"``, the set `gdaopt.GraphMetrics`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> learner = GraphMetricLearner().fit(X, y)
    >>> learner.result_.status, learner.graph_.named_edges()[0][:2]
    ('converged', ('flavanoids', 'color_intensity'))

    Only these two features may have an edge:

    >>> learner = GraphMetricLearner(edges=[("ash", "alcalinity_of_ash")]).fit(X, y)
    >>> [edge[:2] for edge in learner.graph_.named_edges()]
    [('ash', 'alcalinity_of_ash')]
    """

    metrics: Metrics = "graph"


@dataclass(eq=False, repr=False, kw_only=True)
class DiagonalMetricLearner(MetricLearner):
    """Learn a diagonal metric: weights of the features.

    Shorthand for `MetricLearner`, which explains all parameters and attributes, with
    ``metrics="diagonal"``, the set `gdaopt.DiagonalMetrics`.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [0.1, 2.0], [1.0, 0.1], [1.1, 2.1]], ["a", "a", "b", "b"]
    >>> DiagonalMetricLearner().fit(X, y).metric_.diagonal().round(2)
    array([2.05, 0.03])
    """

    metrics: Metrics = "diagonal"


@dataclass(eq=False, repr=False, kw_only=True)
class PositiveDefiniteMetricLearner(MetricLearner):
    """Learn a positive definite metric whose entries may have any sign.

    Shorthand for `MetricLearner`, which explains all parameters and attributes, with
    ``metrics="definite"``, the set `gdaopt.PositiveDefiniteMetrics`. Edges of its ``graph_`` may
    have negative weights.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 0.5], [1.0, 1.5]], ["a", "a", "b", "b"]
    >>> PositiveDefiniteMetricLearner().fit(X, y).pair_distance([X[:2], X[:3:2]]).round(3)
    array([0.349, 0.389])
    """

    metrics: Metrics = "definite"
