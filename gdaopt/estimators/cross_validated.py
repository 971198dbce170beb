"""The trace bound of a learner, and its objective, chosen by a race over folds."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn import config_context
from sklearn.base import MetaEstimatorMixin, _fit_context, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils._param_validation import HasMethods

from gdaopt.errors import InvalidInputError, TimeLimitError
from gdaopt.estimators.base import BaseMetricLearner
from gdaopt.estimators.draws import stratified_sample
from gdaopt.estimators.folds import Fold, FoldsMixin, in_fold
from gdaopt.estimators.inputs import (
    Codes,
    Interval,
    check_classes,
    read_classes,
    read_weighted_samples,
    warn_of_numbers,
)
from gdaopt.estimators.metric_learner import (
    HELPFUL_OBJECTIVES,
    MetricLearner,
    ObjectiveName,
    Weights,
)
from gdaopt.estimators.racing import Race, chance, means, shares_of_own_class
from gdaopt.estimators.solving import HasGraph, Start, deadline_of, warn_of_result
from gdaopt.methods.solve import find_end
from gdaopt.methods.starts import Optimum
from gdaopt.objectives import OBJECTIVES
from gdaopt.problem import MetricProblem
from gdaopt.solving import solve
from gdaopt.support.deadline import check_time, until
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, finite_array
from gdaopt.wide import has_many_features

_FOLDS = 2
_MOST_TRAINED = 400  # samples of a fold
SEARCHED = ("mcml", "nca", "none")  # the objectives that are compared by default
_MULTIPLES = (1.0, 4.0)  # times the automatic trace bound
_FOLD_TOLERANCE = 3e-2  # for fits that are only scored
_ROUGH_TOLERANCE = 0.1  # where the objective is not convex: what quasi-Newton steps reach
_LAST_TOLERANCE = 1e-2  # that of the fits by which the numbers here were chosen
_ERRORS = 0.5  # standard errors behind the best one at which a candidate is dropped
_CHANCE = 0.05  # less likely than that without any gain: no learning can be left
_FOR_FOLDS = 0.75  # the share of a time limit; the rest is for the last fit
_OF_OBJECTIVES: dict[str, Any] = {  # which no learning has no use for
    "class_weight": None,
    "n_neighbors": None,
    "max_pairs": None,
    "edge_floor": 0.0,
    "method": "certified",
    "solver": None,
}


@dataclass(eq=False, repr=False, kw_only=True)
class MetricLearnerCV(FoldsMixin, HasGraph, MetaEstimatorMixin, BaseMetricLearner):
    """Learn a metric whose trace bound, and objective, are chosen by a race over folds.

    **The rule.** Each candidate is an objective with a trace bound. By default they are
    `gdaopt.MCML` and `gdaopt.NCA` with their automatic bounds and 4 times these, and no learning,
    ``"none"``. On each of two folds the candidates learn from at most 400 samples, and the score of
    a held-out sample is the share of its 5 nearest neighbours that are of its class. After each
    fold, each objective goes on with its best bound alone. If that is more than half a standard
    error behind the best candidate, by the paired differences of all samples so far, it leaves the
    race. At the end, the search chooses a metric only if the gains over no learning are more than
    chance. The test is max-t: of 400 bootstraps of the samples, in which no candidate has a gain,
    fewer than 5 % may exceed the largest t of the candidates. If it is passed, the candidate of the
    best mean score learns from all samples; otherwise the choice is ``"none"``. These numbers were
    chosen on synthetic families and noise, see ``figures/learner_families.md``.

    The best of several candidates always looks good on few samples, even if features and labels
    have nothing to do with each other. The test takes this into account. In pure noise the search
    nearly always chooses ``"none"``; it also does so if few samples show only a small effect.

    Parameters
    ----------
    learner : MetricLearner, optional
        The learner, with its metrics and options: a `MetricLearner`, by default, or one of its
        shorthands. Clones of it are fitted; the last fit has its tolerance.
    trace_bounds : array-like of shape (n_bounds,), optional
        The bounds to choose from, for each objective; by default its automatic one, or that of the
        learner, and 4 times that.
    objectives : list of str or callable, optional
        Objectives to choose from, see `MetricLearner`. By default the objective of the learner and
        ``"none"``; without a learner ``"mcml"``, ``"nca"`` and ``"none"``. If the list lacks
        ``"none"``, a metric is always learned.
    cv : int, cross-validation generator or iterable, optional
        The folds, as in `sklearn.model_selection.GridSearchCV`: 2 stratified folds by default. The
        groups of a splitter, such as `sklearn.model_selection.GroupKFold`, go to `fit`.
    classifier : estimator, optional
        The classifier of samples after `transform`; the best choice is the one that follows the
        learner in a pipeline. None stands for `sklearn.neighbors.KNeighborsClassifier`. The score
        of a sample is the probability of its class; without ``predict_proba`` it is 1 if the answer
        is right.
    time_limit : float, optional
        Seconds for the whole search, three quarters of them for the race; no limit by default. When
        the time of the race is up, the scores so far decide.
    verbose : bool, optional
        Whether to print a line for each fold, with the candidates that are left.

    Attributes
    ----------
    trace_bound_, objective_ : float and str or callable
        The choice.
    p_value_ : float or None
        The probability that chance alone gives gains as large as those of the candidates. None if
        ``"none"`` is not among the candidates, or is the only one.
    cv_results_, best_index_, best_score_ : dict, int and float
        As in `sklearn.model_selection.GridSearchCV`; an entry for each objective and bound. Scores
        of folds that a candidate has not reached are NaN, and candidates that left the race have
        the last ranks.
    learner_ : MetricLearner
        The learner that was fitted to all samples, from the metric of the last fold on. Without a
        learner of your own its tolerance is 0.01, with which the numbers of the rule were chosen:
        ``result_`` says how far it is from the optimum, or from a stationary point.
    metric_, components_, feature_importances_, classes_, n_features_in_, feature_names_in_
        Those of ``learner_``, see `MetricLearner`.
    result_, scale_, n_iter_, min_eigenvalue_, graph_, sample_indices_, full_objective_
        Those of ``learner_``, see `MetricLearner`.

    Notes
    -----
    The race is that of Maron, Moore, *Hoeffding races* (1994), with paired standard errors. The
    largest t under the bootstrap is from Westfall, Young, *Resampling-based multiple testing*
    (1993). Its results in noise and its cost are in ``figures/search.md``.

    Examples
    --------
    >>> import gdaopt as gda
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> search = MetricLearnerCV(objectives=["mcml", "glr"]).fit(X, y)
    >>> search.objective_ in ("mcml", "glr"), len(search.cv_results_["mean_test_score"])
    (True, 4)
    >>> weights = gda.DiagonalMetricLearner(tolerance=1e-6)
    >>> MetricLearnerCV(weights, trace_bounds=[0.1, 1.0, 10.0]).fit(X, y).best_score_ > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "learner": [MetricLearner, None],
        "trace_bounds": ["array-like", None],
        "objectives": [list, tuple, None],
        "cv": ["cv_object"],
        "classifier": [HasMethods(["fit", "predict"]), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "verbose": ["boolean"],
    }

    learner: MetricLearner | None = field(default=None, kw_only=False)
    trace_bounds: Any = None
    objectives: Sequence[ObjectiveName] | None = None
    cv: Any = _FOLDS
    classifier: Any = None
    time_limit: float | None = None
    verbose: bool = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        learner = MetricLearner() if self.learner is None else self.learner
        tags.input_tags.sparse = get_tags(learner).input_tags.sparse
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose the trace bound and the objective, and learn the metric from all samples.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_features)
            Samples; sparse ones if the learner takes them.
        y : array-like of shape (n_samples,)
            Labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            See `MetricLearner.fit`. Folds consist of the samples that are not left out; but if `cv`
            is a list of folds, its indices refer to all samples. All held-out samples of a fold
            count alike.
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
        UserWarning
            If the labels are over 20 different numbers that do not count classes.
        """
        passed = self._for_splitter(params)
        samples, labels, weights, has_weight = read_weighted_samples(self, X, y, sample_weight)
        self.classes_, codes = read_classes(labels)
        folds = self._folds(samples, labels, passed, has_weight, stratified=True)
        if self.learner is not None:
            self.learner._validate_params()
        deadline = deadline_of(self.time_limit)
        paths = self._paths(samples, codes, weights)
        with until(deadline_of(self.time_limit, _FOR_FOLDS)):
            start = self._race(paths, samples, labels, weights, folds)
        chosen = self.cv_results_["params"][self.best_index_]
        self.objective_ = chosen["objective"]
        if self.learner is None:
            chosen = chosen | {"tolerance": _LAST_TOLERANCE}
        self.learner_: MetricLearner = self._copy(**chosen)
        with until(deadline):
            self.learner_._fit_read(samples, labels, weights, has_weight, start)
        for name, value in vars(self.learner_).items():
            if name.endswith("_"):
                setattr(self, name, value)
        if self.verbose:
            print(f"learned from all samples: {self.result_.message}", flush=True)
        tolerance = self.learner_.tolerance
        warn_of_numbers(self.classes_)
        warn_of_result(self, self.result_, tolerance, self.objective_, HELPFUL_OBJECTIVES)
        return self

    def _copy(self, **options: Any) -> MetricLearner:
        """Return such a learner with options, which knows the features and the classes."""
        if options["objective"] == "none":
            options |= _OF_OBJECTIVES
        if self.learner is None:
            made = MetricLearner(**options)
        else:
            made = clone(self.learner).set_params(**options)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(made, name, getattr(self, name))
        return made

    def _list_objectives(self) -> list[ObjectiveName]:
        if self.objectives is None:
            every = SEARCHED if self.learner is None else (self.learner.objective, "none")
            return list(dict.fromkeys(every))
        for objective in self.objectives:
            is_name = isinstance(objective, str) and objective in OBJECTIVES
            if not callable(objective) and not is_name:
                raise InvalidInputError(
                    f"objectives must be functions or names of {', '.join(OBJECTIVES)}, got "
                    f"{shortened(objective)} in it"
                )
        if not self.objectives:
            raise InvalidInputError("objectives is an empty list; name at least one")
        return list(self.objectives)

    def _paths(
        self, X: Any, codes: Codes, weights: Weights
    ) -> list[tuple[MetricLearner, FloatArray]]:
        """Return a learner for each objective, with ascending trace bounds; one if none learns."""
        chosen_bounds = None
        if self.trace_bounds is not None:
            chosen_bounds = np.unique(finite_array("trace_bounds", self.trace_bounds, ndim=1))
            if not chosen_bounds[0] > 0:
                raise InvalidInputError(f"trace_bounds must be positive, got {chosen_bounds[0]:g}")
        some = _some(np.arange(len(codes)), codes)
        weights = None if weights is None else weights[some]
        paths = []
        for objective in self._list_objectives():
            learner = self._copy(objective=objective, verbose=False)
            of_some, set_of, _ = learner._make_problem(X[some], codes[some], weights)
            learner.tolerance = _FOLD_TOLERANCE if of_some.convex else _ROUGH_TOLERANCE
            # Here a set is made, and refused where it has to be, before a fold is learned.
            if chosen_bounds is None or objective == "none":
                multiples = (1.0,) if objective == "none" else _MULTIPLES
                bounds = learner._bound(of_some, set_of).trace_bound * np.array(multiples)
            else:
                learner._bound(of_some, set_of, float(chosen_bounds[0]))
                bounds = chosen_bounds
            paths.append((learner, bounds))
        return paths

    def _race(
        self,
        paths: Sequence[tuple[MetricLearner, FloatArray]],
        X: Any,
        y: npt.NDArray[Any],
        weights: Weights,
        folds: Sequence[Fold],
    ) -> Start | None:
        """Score the bounds of all learners fold by fold, drop those behind, and choose.

        Set ``cv_results_`` and what follows from it. Return where the last fit can begin, if known.
        """
        owners = np.repeat(np.arange(len(paths)), [len(bounds) for _, bounds in paths])
        bounds = np.concatenate([bounds for _, bounds in paths])
        objectives = [learner.objective for learner, bounds in paths for _ in bounds]
        plain = objectives.index("none") if "none" in objectives else None
        race, starts = Race(len(bounds), len(y)), dict[int, Start | None]()
        of_folds, seconds = np.full((2, len(folds), len(bounds)), np.nan)
        with suppress(TimeLimitError):
            for fold, (train, test) in enumerate(folds):
                some = _some(train, y)
                of_some = None if weights is None else weights[some]
                for owner, (learner, _) in enumerate(paths):
                    racing = np.flatnonzero(race.is_in & (owners == owner)).tolist()
                    if not racing:
                        continue
                    fits = path_fits(learner, X[some], y[some], bounds[racing], of_some)
                    for place, fit in zip(racing, in_fold(fold, fits), strict=True):
                        check_time()  # a metric that is late is not that of its bound
                        scores = self._scores(fit.components, X, y, train, test)
                        race.add(place, test, scores)
                        of_folds[fold, place], seconds[fold, place] = scores.mean(), fit.seconds
                        starts[place] = fit.start
                race.keep_best(owners)
                race.drop(_ERRORS, spared=plain)
                if self.verbose:
                    standing = ", ".join(
                        f"{shortened(objectives[place])} C = {bounds[place]:.3g}: {mean:.4f}"
                        for place, mean in enumerate(means(race.scores))
                        if race.is_in[place]
                    )
                    print(f"fold {fold + 1} of {len(folds)}: {standing}", flush=True)
        best, self.p_value_ = race.best, None
        if plain is not None and len(bounds) > 1:
            self.p_value_ = chance(np.delete(race.scores, plain, axis=0) - race.scores[plain])
            if self.p_value_ >= _CHANCE:
                best = plain
        mean = means(race.scores)
        order = np.where(race.is_in, mean, mean - 2)  # those that were dropped come last
        self.cv_results_ = {
            "param_objective": objectives,
            "param_trace_bound": bounds,
            "params": [
                {"objective": objective, "trace_bound": bound}
                for objective, bound in zip(objectives, bounds.tolist(), strict=True)
            ],
            **{f"split{fold}_test_score": row for fold, row in enumerate(of_folds)},
            "mean_test_score": mean,
            "rank_test_score": rankdata(-order.round(12), "min").astype(int),
            "fit_time": np.nansum(seconds, axis=0),
        }
        self.best_index_, self.best_score_ = best, float(mean[best])
        return starts.get(best)

    def _scores(
        self, components: Any, X: Any, y: npt.NDArray[Any], train: Any, test: Any
    ) -> FloatArray:
        """Return the probability of the right class of each held-out sample under a metric.

        Without `predict_proba` it is 1 where the answer is right, else 0.
        """
        samples, queries = X[train] @ components.T, X[test] @ components.T
        # What scikit-learn would look at again and again is known to be finite.
        with until(None), config_context(assume_finite=True):
            if self.classifier is None:
                return shares_of_own_class(samples, y[train], queries, y[test])
            fitted = clone(self.classifier).fit(samples, y[train])
            if not hasattr(fitted, "predict_proba"):
                return np.asarray(fitted.predict(queries) == y[test], dtype=np.float64)
            is_own = fitted.classes_ == y[test][:, None]
            return np.asarray((fitted.predict_proba(queries) * is_own).sum(axis=1))


def _some(train: npt.NDArray[np.intp], y: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    if len(train) <= _MOST_TRAINED:
        return train
    codes = np.unique(y[train], return_inverse=True)[1]
    return np.asarray(train[stratified_sample(codes, _MOST_TRAINED, seed=0)])


class Fit(NamedTuple):
    """A metric of the samples of a fold: L with ``M = L'L``, and where another fit can begin."""

    components: Any
    start: Start | None
    seconds: float


def path_fits(
    learner: MetricLearner,
    X: Any,
    y: npt.NDArray[Any],
    trace_bounds: FloatArray,
    weights: Weights = None,
) -> Iterator[Fit]:
    """Yield fits for ascending trace bounds; each starts from the one before."""
    begun = time.perf_counter()
    learner.classes_, codes = np.unique(y, return_inverse=True)
    check_classes(learner.classes_)
    objective, set_of, _ = learner._make_problem(X, codes, weights)
    metric: Any
    start: Start | None = None
    for bound in trace_bounds.tolist():
        problem = MetricProblem(objective, learner._bound(objective, set_of, bound))
        if has_many_features(problem):
            start = solve(problem, learner._make_method(problem, start, trace_every=0))
            metric = start.sparse_metric
        else:
            options: dict[str, Any] = {}
            if start is None and not objective.convex:
                options["initial"] = problem.central_metric()  # one start, not two
            end = find_end(learner._make_method(problem, start, **options), problem)
            metric, start = end.metric, Optimum.of_state(end, problem)
        components = learner._in_units(metric)[1]
        yield Fit(components, start, time.perf_counter() - begun)
        begun = time.perf_counter()
