"""The trace bound of a learner, and its objective, chosen by cross-validation along paths."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from inspect import signature
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn import config_context
from sklearn.base import MetaEstimatorMixin, _fit_context, clone
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.base import BaseMetricLearner
from gdaopt.estimators.draws import stratified_sample
from gdaopt.estimators.folds import Fold, FoldsMixin, in_fold
from gdaopt.estimators.inputs import (
    Codes,
    Interval,
    called,
    read_classes,
    read_weighted_samples,
)
from gdaopt.estimators.metric_graph import MetricGraph
from gdaopt.estimators.metric_learner import (
    HELPFUL_OBJECTIVES,
    MetricLearner,
    ObjectiveName,
    Weights,
)
from gdaopt.estimators.solving import warn_of_result
from gdaopt.objectives import OBJECTIVES
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.sets import FeasibleSet
from gdaopt.solving import solve
from gdaopt.support.deadline import Deadline, until
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, finite_array, number
from gdaopt.support.warning_filters import ignoring
from gdaopt.wide import has_many_features

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FOR_PATHS = 0.75  # of a time limit; the rest is for the last fit
_NEIGHBORS = 5
_OBJECTIVES = ("mcml", "nca", "lmnn", "glr", "none")
_OF_OBJECTIVES: dict[str, Any] = {  # which no learning has no use for
    "class_weight": None,
    "n_neighbors": None,
    "max_pairs": None,
    "edge_floor": 0.0,
    "method": "certified",
    "solver": None,
}
_MOST_TRAINED = 800  # samples of a fold: of 1000 samples all that five folds leave
_LARGE_CLASS = 8  # samples: LMNN wants four of each class, also without those of a fold
_ROUND_OFF = 1e-12  # of scores that are to count as equal
_SMALLEST, _LARGEST = 1 / 16, 3.0  # of the learner's trace bound
_BINDING = 1e-6  # of the trace bound: with less of it left, it binds


@dataclass(eq=False, repr=False, kw_only=True)
class MetricLearnerCV(FoldsMixin, MetaEstimatorMixin, BaseMetricLearner):
    """Learn a metric whose trace bound, and objective, are chosen by cross-validation.

    On the training samples of each fold, metrics are learned for a path of trace bounds, each from
    the one before, and scored by the neighbours of the held-out samples. The metric is then learned
    from all samples with the bound of the best mean score. No learning, ``"none"``, is one of the
    choices, and is taken where its score is within one standard error of the best: on few samples
    small differences are mostly luck. Without a learner, the objective is chosen, too. It stands to
    `MetricLearner` as `sklearn.linear_model.LassoCV` to `Lasso`.

    Parameters
    ----------
    learner : MetricLearner, optional
        What to learn, over which metrics, and how: a `MetricLearner`, by default, or one of its
        shorthands. Clones of it are fitted. Its tolerance is that of the last fit, and its time
        limit that of the whole search, three quarters of it for the paths: where the share of one
        is over, its last metric stands for the missing metrics.
    trace_bounds : int or array-like of shape (n_bounds,), optional
        How many bounds the path has, 5 by default, evenly spaced in the logarithm from a sixteenth
        to three times the learner's own; or the bounds themselves.
    objectives : list of str or callable, optional
        Objectives to choose from, see `MetricLearner`. By default that of the learner and
        ``"none"``; without a learner ``"mcml"``, ``"nca"``, ``"lmnn"``, ``"glr"`` and ``"none"``,
        as far as they take `sample_weight` where that is given and the classes are large enough.
    cv : int, cross-validation generator or iterable, optional
        The folds, as in `sklearn.model_selection.GridSearchCV`: 5 stratified folds by default. The
        groups of a splitter, such as `sklearn.model_selection.GroupKFold`, go to `fit`. Of
        the training samples of a fold at most about 800 are used, drawn in the proportions of the
        classes.
    scoring : str or callable, optional
        A scorer of scikit-learn for `classifier`. By default the mean probability of the right
        class, which tells metrics apart that lead to the same answers; without `predict_proba` the
        accuracy.
    classifier : estimator, optional
        What classifies samples after `transform`: best the classifier that follows the learner in
        a pipeline. None stands for `sklearn.neighbors.KNeighborsClassifier`.
    rule : {"one-standard-error", "best"}, optional
        How to choose: with the first, no learning if it is within one standard error over the
        folds, and else, as with ``"best"``, the best mean score; of several the first.
    path_tolerance : float, optional
        The tolerance of the fits on folds, which are only scored.
    n_jobs : int, optional
        Number of paths that are computed in parallel, as in scikit-learn.

    Attributes
    ----------
    trace_bound_, objective_ : float and str or callable
        The choice.
    best_objective_ : str or callable
        The same as ``objective_``.
    cv_results_, best_index_, best_score_ : dict, int and float
        As in `sklearn.model_selection.GridSearchCV`; an entry for each objective and bound.
    learner_ : MetricLearner
        The learner that was fitted to all samples.
    metric_, components_, feature_importances_, classes_, n_features_in_, feature_names_in_
        Those of ``learner_``, see `MetricLearner`.
    result_, scale_, n_iter_, min_eigenvalue_, graph_, sample_indices_, full_objective_
        Those of ``learner_``, see `MetricLearner`.

    Notes
    -----
    The rule of one standard error is from Breiman, Friedman, Olshen, Stone, *Classification and
    Regression Trees* (1984). It, the score and the paths were chosen on synthetic families by a
    rule stated before (``figures/learner_families.md``).

    Examples
    --------
    >>> import gdaopt as gda
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = MetricLearnerCV(trace_bounds=5, objectives=["mcml", "glr"]).fit(X, y)
    >>> search.objective_, len(search.cv_results_["mean_test_score"])
    ('mcml', 10)
    >>> weights = gda.DiagonalMetricLearner(tolerance=1e-6)
    >>> MetricLearnerCV(weights, trace_bounds=[0.1, 1.0, 10.0]).fit(X, y).best_score_ > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "learner": [MetricLearner, None],
        "trace_bounds": [Interval(Integral, 1, 10_000, closed="both"), "array-like"],
        "objectives": [list, tuple, None],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "classifier": [HasMethods(["fit", "predict"]), None],
        "rule": [StrOptions({"one-standard-error", "best"})],
        "path_tolerance": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Interval(Integral, -10_000, 10_000, closed="both"), None],
    }

    learner: MetricLearner | None = field(default=None, kw_only=False)
    trace_bounds: Any = 5
    objectives: Sequence[ObjectiveName] | None = None
    cv: Any = None
    scoring: Any = None
    classifier: Any = None
    rule: str = "one-standard-error"
    path_tolerance: float = 3e-2
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._given).input_tags.sparse
        return tags

    @property
    def _given(self) -> MetricLearner:
        return MetricLearner() if self.learner is None else self.learner

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose the trace bound and the objective, and learn the metric from all samples.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Samples; sparse ones where the learner takes them.
        y : array-like of shape (n_samples,)
            Labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            See `MetricLearner.fit`. Folds are made of the samples that are not left out, but for
            lists of folds, whose indices are those of all samples. The samples of a fold that are
            held out count alike.
        **params : dict
            ``groups``, of shape (n_samples,), for a `cv` such as
            `sklearn.model_selection.GroupKFold`; with scikit-learn's metadata routing whatever `cv`
            asks for.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            For parameters, samples, labels or folds that do not fit; it is a `ValueError`.

        Warns
        -----
        ConvergenceWarning, NothingLearnedWarning
            See `MetricLearner.fit`.
        """
        passed = self._for_splitter(params)
        samples, labels, weights, has_weight = read_weighted_samples(self, X, y, sample_weight)
        self.classes_, codes = read_classes(labels)
        folds = self._folds(samples, labels, passed, has_weight, stratified=True)
        learner = self._given
        learner._validate_params()
        limit = learner.time_limit
        seconds = None if limit is None else number("time_limit", limit, above=0)
        deadline = Deadline.after(seconds)
        tolerance = number("path_tolerance", self.path_tolerance, at_least=0)
        learners = [
            self._copy(learner, objective=objective, tolerance=tolerance, verbose=False)
            for objective in self._objectives(learner, codes, weights)
        ]
        paths = [self._path(learner, samples, codes, weights) for learner in learners]
        self._search(learners, paths, samples, labels, weights, folds, seconds)
        chosen = self.cv_results_["params"][self.best_index_]
        self.objective_ = self.best_objective_ = chosen["objective"]
        if deadline is not None:
            chosen = chosen | {"time_limit": max(deadline.left, 1e-9)}
        # The warnings are of this fit, and follow.
        with ignoring(f"{type(learner).__name__} (did not converge|learned nothing)"):
            self.learner_: MetricLearner = self._copy(learner, **chosen).fit(X, y, sample_weight)
        for name, value in vars(self.learner_).items():
            if name.endswith("_"):
                setattr(self, name, value)
        warn_of_result(self, self.result_, learner.tolerance, self.objective_, HELPFUL_OBJECTIVES)
        return self

    @property
    def graph_(self) -> MetricGraph:
        """The graph of ``learner_``: edges and self-loops by features' names."""
        check_is_fitted(self)
        return self.learner_.graph_

    def plot_graph(self, ax: Axes | None = None) -> Axes:
        """Draw the graph of ``learner_``, see `MetricLearner.plot_graph`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; in a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self)
        return self.learner_.plot_graph(ax)

    def _copy(self, learner: MetricLearner, **options: Any) -> MetricLearner:
        """Return a clone of a learner with options, which knows the features and classes."""
        if options["objective"] == "none":
            options |= _OF_OBJECTIVES
        made: MetricLearner = clone(learner).set_params(**options)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(made, name, getattr(self, name))
        return made

    def _objectives(
        self, learner: MetricLearner, codes: Codes, weights: Weights
    ) -> list[ObjectiveName]:
        if self.objectives is None and self.learner is not None:
            return list(dict.fromkeys((learner.objective, "none")))
        if self.objectives is None:
            is_large = np.bincount(codes).min() >= _LARGE_CLASS
            return [
                name
                for name in _OBJECTIVES
                if (name != "lmnn" or is_large)
                and (weights is None or "sample_weight" in signature(OBJECTIVES[name]).parameters)
            ]
        for objective in self.objectives:
            is_name = isinstance(objective, str) and objective in OBJECTIVES
            if not is_name and not callable(objective):
                raise InvalidInputError(
                    f"objectives must be functions or names of {', '.join(OBJECTIVES)}, got "
                    f"{shortened(objective)} in it"
                )
        if not self.objectives:
            raise InvalidInputError("objectives is an empty list; name at least one")
        return list(self.objectives)

    def _path(
        self, learner: MetricLearner, X: FloatArray, codes: Codes, weights: Weights
    ) -> FloatArray:
        """Return ascending trace bounds for an objective; one if nothing is learned."""
        objective, set_of, _ = learner._make_problem(X, codes, weights)
        if learner.objective == "none" or isinstance(self.trace_bounds, Integral):
            middle = learner._bound(objective, set_of).trace_bound
            if learner.objective == "none":
                return np.array([middle])
            return middle * np.geomspace(_SMALLEST, _LARGEST, int(self.trace_bounds))
        bounds = np.unique(finite_array("trace_bounds", self.trace_bounds, ndim=1))
        if not bounds[0] > 0:
            raise InvalidInputError(f"trace_bounds must be positive, got {bounds[0]:g}")
        learner._bound(objective, set_of, float(bounds[0]))  # refused before a fold is learned
        return bounds

    def _search(
        self,
        learners: list[MetricLearner],
        paths: list[FloatArray],
        X: FloatArray,
        y: npt.NDArray[Any],
        weights: Weights,
        folds: Sequence[Fold],
        limit: float | None,
    ) -> None:
        """Score each learner along its path, and set ``cv_results_`` and what is best in it."""
        folds = [(_some(train, y), test) for train, test in folds]
        classifier = self.classifier
        if classifier is None:
            fewest = min(len(train) for train, _ in folds)
            classifier = KNeighborsClassifier(min(_NEIGHBORS, fewest), algorithm="brute")
        scoring = self.scoring
        if scoring is None and hasattr(classifier, "predict_proba"):
            scoring = _probability_of_the_class
        scorer = check_scoring(classifier, scoring)
        n_tasks = len(learners) * len(folds)
        seconds = None
        if limit is not None:
            turns = -(-n_tasks // min(n_tasks, effective_n_jobs(self.n_jobs)))
            seconds = _FOR_PATHS * limit / turns
        answers = Parallel(n_jobs=self.n_jobs)(
            delayed(_fold_scores)(
                learner, path, classifier, scorer, X, y, weights, folds, fold, seconds
            )
            for learner, path in zip(learners, paths, strict=True)
            for fold in range(len(folds))
        )
        per_learner = [np.array(answers[n : n + len(folds)]) for n in range(0, n_tasks, len(folds))]
        scores, times = np.concatenate(per_learner, axis=2).transpose(1, 0, 2)
        objectives = [
            learner.objective for learner, path in zip(learners, paths, strict=True) for _ in path
        ]
        self.cv_results_ = _results(objectives, np.concatenate(paths), scores, times)
        self.best_index_ = _choice(scores, objectives, self.rule)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])


def _some(train: npt.NDArray[np.intp], y: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    if len(train) <= _MOST_TRAINED:
        return train
    codes = np.unique(y[train], return_inverse=True)[1]
    return np.asarray(train[stratified_sample(codes, _MOST_TRAINED, seed=0)])


def path_results(
    learner: MetricLearner,
    X: FloatArray,
    y: npt.NDArray[Any],
    trace_bounds: FloatArray,
    weights: Weights = None,
) -> Iterator[Result]:
    """Yield the results for ascending trace bounds; each run starts from the last one's metric."""
    learner.classes_, codes = read_classes(y)
    objective, set_of, _ = learner._make_problem(X, codes, weights)
    last: Result | None = None
    for bound in trace_bounds.tolist():
        feasible_set = learner._bound(objective, set_of, bound)
        problem = MetricProblem(objective, feasible_set)
        # Of many features a start would be a K×K array, and runs find one of their own.
        start = None if last is None or has_many_features(problem) else _moved(last, feasible_set)
        last = solve(problem, learner.method, **learner._method_options(), initial=start)
        yield last


def _moved(result: Result, feasible_set: FeasibleSet) -> FloatArray:
    size, before = result.n_features, result.feasible_set
    weights = result.metric - before.base(size)
    if np.trace(result.metric) >= (1 - _BINDING) * before.trace_bound:
        weights = weights * (feasible_set.budget(size) / before.budget(size))
    start: FloatArray = feasible_set.base(size) + weights
    return start


def _fold_scores(
    learner: MetricLearner,
    trace_bounds: FloatArray,
    classifier: Any,
    scorer: Any,
    X: FloatArray,
    y: npt.NDArray[Any],
    weights: Weights,
    folds: Sequence[Fold],
    fold: int,
    seconds: float | None,
) -> FloatArray:
    """Return scores on held-out samples and seconds for each bound; a late one as the last."""
    train, test = folds[fold]
    learner = copy(learner)
    scored: list[tuple[float, float]] = []
    weights = None if weights is None else weights[train]
    start = time.perf_counter()
    with until(Deadline.after(seconds)):
        results = path_results(learner, X[train], y[train], trace_bounds, weights)
        for result in in_fold(fold, results):
            taken = time.perf_counter() - start
            _, components = learner._in_units(result)
            # What scikit-learn would look at again and again is known to be finite.
            with until(None), config_context(assume_finite=True):
                fitted = clone(classifier).fit(X[train] @ components.T, y[train])
                score = called("scoring", scorer, fitted, X[test] @ components.T, y[test])
            scored.append((number("what scoring returns", score), taken))
            start = time.perf_counter()
    return np.array(scored).T


def _results(
    objectives: list[Any], bounds: FloatArray, scores: FloatArray, times: FloatArray
) -> dict[str, Any]:
    mean = scores.mean(axis=0)
    return {
        "param_objective": objectives,
        "param_trace_bound": bounds,
        "params": [
            {"objective": objective, "trace_bound": bound}
            for objective, bound in zip(objectives, bounds.tolist(), strict=True)
        ],
        **{f"split{n}_test_score": row for n, row in enumerate(scores)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": (mean[None] > mean[:, None] + _ROUND_OFF).sum(axis=1) + 1,
        "mean_fit_time": times.mean(axis=0),
        "std_fit_time": times.std(axis=0),
    }


def _probability_of_the_class(classifier: Any, X: FloatArray, y: npt.NDArray[Any]) -> float:
    is_own = classifier.classes_ == y[:, None]
    return float((classifier.predict_proba(X) * is_own).sum(axis=1).mean())


def _choice(scores: FloatArray, objectives: list[Any], rule: str) -> int:
    means = scores.mean(axis=0)
    best = int((means >= means.max() - _ROUND_OFF).argmax())
    if rule == "one-standard-error" and "none" in objectives and len(scores) > 1:
        plain = objectives.index("none")
        error = float(scores[:, best].std(ddof=1) / np.sqrt(len(scores)))
        if means[plain] >= means[best] - error - _ROUND_OFF:
            return plain
    return best
