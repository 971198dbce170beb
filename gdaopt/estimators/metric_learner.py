"""Learners from labelled samples: one class over any set of metrics, and names for three sets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import signature
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import Tags, compute_class_weight
from sklearn.utils._param_validation import StrOptions

from gdaopt.errors import InvalidInputError, TimeLimitError
from gdaopt.estimators.base import SupervisedMetricLearner, metric_of
from gdaopt.estimators.inputs import (
    Codes,
    Interval,
    Mask,
    class_signal,
    read_weighted_samples,
)
from gdaopt.estimators.solving import SolvingLearner, warn_of_result
from gdaopt.linalg.samples import divided
from gdaopt.methods import Certified
from gdaopt.objectives import GLR, OBJECTIVES, Objective
from gdaopt.objectives.base import check_interface
from gdaopt.sets import SETS, FeasibleSet, PositiveDefiniteMetrics, has_sparse_members
from gdaopt.support.deadline import check_time, until
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, integer, number

ObjectiveName = str | Callable[[FloatArray, FloatArray], Objective]
"""An objective as learners take it: by its name, or as a function of samples and signals."""

DEFAULT_OBJECTIVE = "mcml"
"""What learners of labelled samples minimise by default, see ``figures/learner_families.md``."""

Weights = FloatArray | None
"""How much each sample counts; None where all count alike."""

_AUTO_SAMPLES = 4000  # eight million pairs: a minute or less, and the metric hardly gains from more
_FEWEST = 5  # samples of a class that are kept, where it has so many
_QUERIES = 256  # samples whose neighbours are found at a time
Indices = npt.NDArray[np.intp]


@dataclass(eq=False, repr=False, kw_only=True)
class MetricLearner(SolvingLearner, SupervisedMetricLearner):
    """Learn a metric from labelled samples, over a set of metrics of your choice.

    The learner minimises the objective of maximally collapsing metric learning, `gdaopt.MCML`, or
    another objective of labelled samples (see "Definition: losses of distances" in
    ``docs/theory``) over graph metrics ("Definition: graph metric") or another set. Samples of
    one class move together, and those of different classes apart. The problem is convex but for
    ``"nca"``, and ``result_`` holds a certificate of how far the learned metric can be from the
    optimum.

    By default the problem is that of the features divided by their standard deviations (`scale`).
    The metric M acts on the features as they are passed, while ``result_``, the trace bound and the
    graph are those of the standardised features.

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
    class_weight : {"balanced"} or dict, optional
        Positive weights of the classes, as scikit-learn's classifiers take them: each sample has
        that of its class, see `fit`. They are for ``"mcml"`` and ``"nca"``, and with three classes
        or more for ``"glr"``.
    n_neighbors : int, optional
        For ``"lmnn"``, the number of target neighbours of each sample. For ``"glr"``, how many
        nearest samples of other classes to pair each sample with, by the distance in the given
        features, also those that are noise; by default with all. To save time, prefer `max_samples`
        or `max_pairs`.
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
    sample_indices_ : ndarray of int, or None
        The samples that were learned from; None for all. ``result_`` is that of the problem of
        these samples, and of the pairs that were drawn: its certificate says nothing of the others.
    full_objective_ : float or None
        Where samples or pairs were drawn: the objective of all samples and pairs at the metric,
        which is evaluated once; None where there was no time for it, of many features no memory
        for N×N numbers, and where none were drawn.

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
    sum of the regularisers of the classes' 0/1 signals. This sum and the rules for C are this
    package's own.

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
        tags.input_tags.sparse = self._takes_sparse
        return tags

    @property
    def _takes_sparse(self) -> bool:
        """Whether no K×K array is needed: by the method, and by the set as far as it is known."""
        metrics: Any = self._metrics if self.metrics is None else self.metrics
        if isinstance(metrics, str):
            metrics = SETS.get(metrics)
        if metrics in (None, PositiveDefiniteMetrics) or self.edge_floor > 0:
            return False
        if isinstance(metrics, FeasibleSet) and not has_sparse_members(metrics):
            return False
        return self.method == Certified.name

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the metric.

        Sparse samples are taken, and stay sparse, where no array of K×K numbers is needed: by the
        learner's `method`, which is ``"certified"``, and its `metrics`, all but ``"definite"`` and
        ``"balanced"``, without `edge_floor`.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,), optional
            Weights, for the objectives ``"mcml"``, ``"nca"`` and ``"glr"``: with the first
            two how much the neighbourhood of each sample counts, and with ``"glr"`` the weight of a
            pair is the product of two of them. Those of `class_weight` multiply them. A sample of
            weight 0 is left out, as if it had not been given, and is no neighbour of others.
            Standard deviations are those of the other samples without weights.

        Warns
        -----
        ConvergenceWarning
            If the fit ends further from the optimum than the tolerance.
        NothingLearnedWarning
            If the metric is a multiple of the identity, as without learning.
        """
        X, y, weights, kept = read_weighted_samples(self, X, y, sample_weight)
        metric = self._learn(X, self._codes(y), weights)
        self._count_left_out(kept)
        self._set_metric(metric, X)
        return self

    def _learn(self, X: FloatArray, codes: Codes, weights: Weights = None) -> FloatArray:
        metric: FloatArray = self._optimum(X, codes, weights)
        warn_of_result(self, self.result_, self.tolerance, helpful_objectives(self.objective))
        return metric

    def _optimum(self, X: FloatArray, codes: Codes, weights: Weights) -> Any:
        with until(self._deadline()):
            metric = self._solve(X, (codes, weights))
            self.full_objective_ = None
            if self.sample_indices_ is not None or self.max_pairs is not None:
                with suppress(TimeLimitError):
                    every = self._made(divided(X, self.scale_), codes, weights, every_pair=True)
                    with suppress(InvalidInputError):  # of many samples without memory for N×N
                        self.full_objective_ = every.value(metric_of(self.result_))
        return metric

    def _signal(self, labels: tuple[Codes, Weights]) -> FloatArray:
        return class_signal(labels[0])

    def _objective(self, X: FloatArray, labels: tuple[Codes, Weights]) -> Objective:
        codes, weights = labels
        most = _AUTO_SAMPLES if isinstance(self.max_samples, str) else self.max_samples
        self.sample_indices_: Indices | None = None
        if most is None or len(codes) <= most:
            return self._made(X, codes, weights)
        chosen = self.sample_indices_ = stratified_sample(codes, int(most), self._seed)
        return self._made(X[chosen], codes[chosen], None if weights is None else weights[chosen])

    def _count_left_out(self, kept: Mask) -> None:
        """Let `sample_indices_` count the samples of weight 0, too, which were left out."""
        if self.sample_indices_ is not None:
            self.sample_indices_ = np.flatnonzero(kept)[self.sample_indices_]

    @property
    def _seed(self) -> int:
        return integer("random_state", self.random_state, at_least=0)

    def _made(
        self, X: FloatArray, codes: Codes, weights: Weights, every_pair: bool = False
    ) -> Objective:
        """Return the objective of all samples; of all pairs, or of the pairs asked for."""
        if callable(self.objective):
            given = (weights, self.class_weight, self.n_neighbors, self.max_pairs)
            if any(option is not None for option in given):
                raise InvalidInputError(
                    "sample_weight, class_weight, n_neighbors and max_pairs are for objectives by "
                    "name; an objective that is a function weights and chooses the pairs itself"
                )
            objective = self.objective(X, class_signal(codes))
            check_interface(objective)
            return objective
        make = OBJECTIVES[self.objective]
        labels = class_signal(codes) if make is GLR else codes
        options: dict[str, Any] = {}
        if self.class_weight is not None:
            self._check_option("class_weight", "sample_weight")
            if make is GLR and len(self.classes_) == 2:
                raise InvalidInputError(
                    "class_weight changes nothing with objective='glr' and two classes, as each of "
                    "its pairs has a sample of both; leave it out, or pass objective='mcml'"
                )
            of_classes = self._class_weights(codes)[codes]
            weights = of_classes if weights is None else weights * of_classes
        if weights is not None:
            self._check_option("sample_weight", "sample_weight")
            options["sample_weight"] = weights
        if self.n_neighbors is not None:
            n_neighbors = integer("n_neighbors", self.n_neighbors, at_least=1)
            if make is GLR:
                options["pairs"] = nearest_of_other_classes(X, codes, n_neighbors)
            else:
                self._check_option("n_neighbors", "n_neighbors")
                options["n_neighbors"] = n_neighbors
        if self.max_pairs is not None and not every_pair:
            self._check_option("max_pairs", "pairs")
            if "pairs" in options:
                raise InvalidInputError("n_neighbors and max_pairs both choose pairs; pass one")
            drawn = random_pairs(codes, int(self.max_pairs), self._seed, differ=make is GLR)
            options["pairs"] = drawn
        return make(X, labels, **options)

    def _class_weights(self, codes: Codes) -> FloatArray:
        given = self.class_weight
        if isinstance(given, dict):
            given = {
                label: number(f"class_weight of {shortened(label)}", weight, above=0)
                for label, weight in given.items()
            }
            classes = self.classes_.tolist()
            unknown = [label for label in given if label not in classes]
            without = [label for label in classes if label not in given]
            if unknown and without:
                raise InvalidInputError(
                    f"class_weight has a weight for {shortened(unknown[0])}, of which there is no "
                    f"sample, and none for {shortened(without[0])}; correct the name, or give all "
                    "classes a weight"
                )
        weights: FloatArray = compute_class_weight(
            given, classes=self.classes_, y=self.classes_[codes]
        )
        return weights

    def _check_option(self, option: str, parameter: str) -> None:
        known = [
            name for name, make in OBJECTIVES.items() if parameter in signature(make).parameters
        ]
        if option == "n_neighbors":
            known.insert(0, "glr")  # whose pairs are pairs of neighbours
        if self.objective not in known:
            raise InvalidInputError(
                f"{option} goes with the objectives {', '.join(known)}, and not with "
                f"{self.objective}; leave it out, or pass objective={known[0]!r}"
            )


def helpful_objectives(objective: ObjectiveName) -> list[str]:
    """Return the objectives that may find something where another one finds nothing."""
    if objective == "none":
        return []
    return [f"{name!r}" for name in ("lmnn", "nca") if name != objective]


class GraphMetricLearner(MetricLearner):
    """Learn a graph metric: a generalised Laplacian of a graph between the features.

    Shorthand for `MetricLearner` with ``metrics="graph"``, the set `gdaopt.GraphMetrics`.

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


class DiagonalMetricLearner(MetricLearner):
    """Learn a diagonal metric: weights of the features.

    Shorthand for `MetricLearner` with ``metrics="diagonal"``, the set `gdaopt.DiagonalMetrics`.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [0.1, 2.0], [1.0, 0.1], [1.1, 2.1]], ["a", "a", "b", "b"]
    >>> DiagonalMetricLearner().fit(X, y).metric_.diagonal().round(2)
    array([2.05, 0.03])
    """

    _metrics = "diagonal"


class PositiveDefiniteMetricLearner(MetricLearner):
    """Learn a positive definite metric whose entries may have any sign.

    Shorthand for `MetricLearner` with ``metrics="definite"``, the set
    `gdaopt.PositiveDefiniteMetrics`. Edges of its ``graph_`` may have negative weights.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 0.5], [1.0, 1.5]], ["a", "a", "b", "b"]
    >>> PositiveDefiniteMetricLearner().fit(X, y).pair_distance([X[:2], X[:3:2]]).round(3)
    array([0.349, 0.389])
    """

    _metrics = "definite"


def stratified_sample(codes: Codes, count: int, seed: int) -> Indices:
    """Return about so many samples in the proportions of the classes, of small ones at least 5."""
    rng = np.random.default_rng(seed)
    chosen = []
    for code in range(codes.max() + 1):
        members = np.flatnonzero(codes == code)
        share = max(round(count * len(members) / len(codes)), _FEWEST)
        chosen.append(rng.permutation(members)[:share])
    found: Indices = np.sort(np.concatenate(chosen))
    return found


def random_pairs(codes: Codes, count: int, seed: int, *, differ: bool) -> Indices | None:
    """Return random pairs i < j, ascending, each once; None where that would be all of them."""
    size, sizes = len(codes), np.bincount(codes)
    total = (size**2 - int((sizes**2).sum())) // 2 if differ else size * (size - 1) // 2
    if count >= total:
        return None
    rng = np.random.default_rng(seed)
    found = np.empty(0, dtype=np.intp)
    while len(found) < count:
        left, right = rng.integers(size, size=(2, 2 * count))
        smaller, larger = np.minimum(left, right), np.maximum(left, right)
        fits = codes[smaller] != codes[larger] if differ else smaller < larger
        drawn = smaller[fits] * size + larger[fits]
        _, first = np.unique(np.concatenate([found, drawn]), return_index=True)
        found = np.concatenate([found, drawn])[np.sort(first)][:count]  # in the order of the draw
    return np.column_stack(np.divmod(np.sort(found), size))


def nearest_of_other_classes(X: FloatArray, codes: Codes, n_neighbors: int) -> Indices:
    """Return the pairs of each sample with its nearest of all other classes, each pair once."""
    found = []
    for code in range(codes.max() + 1):
        own, others = np.flatnonzero(codes == code), np.flatnonzero(codes != code)
        search = NearestNeighbors(n_neighbors=min(n_neighbors, len(others))).fit(X[others])
        for start in range(0, len(own), _QUERIES):
            try:
                check_time()
            except TimeLimitError as error:
                raise TimeLimitError(
                    f"{error} in the search for the neighbours of {len(codes)} samples, before "
                    "there was anything to learn; raise time_limit, or pass fewer samples"
                ) from None
            some = own[start : start + _QUERIES]
            nearest = others[search.kneighbors(X[some], return_distance=False)]
            found.append(np.column_stack([np.repeat(some, nearest.shape[1]), nearest.ravel()]))
    pairs: Indices = np.unique(np.sort(np.concatenate(found), axis=1), axis=0)
    return pairs
