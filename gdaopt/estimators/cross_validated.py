"""Learners that choose their trace bound, and objective, by cross-validation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.base import SupervisedMetricLearner
from gdaopt.estimators.labels import Codes
from gdaopt.estimators.metric_graph import MetricGraph
from gdaopt.estimators.parameters import Interval
from gdaopt.estimators.problem_learner import DEFAULT_OBJECTIVE, ProblemLearner
from gdaopt.estimators.solving import warn_unless_converged
from gdaopt.estimators.trace_bound_path import auto_path, fold_scores
from gdaopt.objectives import OBJECTIVES, Objective
from gdaopt.support.deadline import Deadline
from gdaopt.support.text import reason, shortened
from gdaopt.support.validation import FloatArray, finite_array, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CrossValidatedLearner", "ObjectiveName"]

_FOR_PATHS = 0.75  # of a time limit; the rest is for the last fit
_NEIGHBORS = 5
_SHARED = (  # parameters that every fit has
    "method",
    "solver",
    "min_eigenvalue",
    "scale",
    "multiclass",
    "class_weight",
    "n_neighbors",
    "max_pairs",
    "max_samples",
    "random_state",
    "max_iterations",
)
_FOUND = (  # what the last fit has found, and this one, too
    "result_",
    "n_iter_",
    "scale_",
    "min_eigenvalue_",
    "sample_indices_",
    "full_objective_",
)
_ROUND_OFF = 1e-12  # of scores that are to count as equal

ObjectiveName = str | Callable[[FloatArray, FloatArray], Objective]
"""An objective as learners take it: by its name, or as a function of samples and signals."""


class CrossValidatedLearner(SupervisedMetricLearner):
    """Base of learners that choose among the fits of a `ProblemLearner` on a path of trace bounds.

    A subclass writes ``_learner``, which returns such a learner for an objective, a trace bound and
    a tolerance.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: constraint
        for name, constraint in ProblemLearner._parameter_constraints.items()
        if name != "trace_bound"
    } | {
        "objective": [StrOptions(set(OBJECTIVES)), callable, list, tuple],
        "trace_bounds": [Interval(Integral, 1, 10_000, closed="both"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "classifier": [HasMethods(["fit", "predict"]), None],
        "rule": [StrOptions({"one-standard-error", "best"})],
        "path_tolerance": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Interval(Integral, -10_000, 10_000, closed="both"), None],
    }

    def __init__(
        self,
        objective: ObjectiveName | Sequence[ObjectiveName] = DEFAULT_OBJECTIVE,
        *,
        trace_bounds: Any = 10,
        cv: Any = None,
        scoring: Any = None,
        classifier: Any = None,
        rule: str = "one-standard-error",
        path_tolerance: float = 1e-2,
        n_jobs: int | None = None,
        method: str = "certified",
        solver: str | None = None,
        min_eigenvalue: str | float = "auto",
        scale: str = "auto",
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
        self.objective = objective
        self.trace_bounds = trace_bounds
        self.cv = cv
        self.scoring = scoring
        self.classifier = classifier
        self.rule = rule
        self.path_tolerance = path_tolerance
        self.n_jobs = n_jobs
        self.method = method
        self.solver = solver
        self.min_eigenvalue = min_eigenvalue
        self.scale = scale
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.n_neighbors = n_neighbors
        self.max_pairs = max_pairs
        self.max_samples = max_samples
        self.random_state = random_state
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.time_limit = time_limit
        self.verbose = verbose

    @abstractmethod
    def _learner(self, **options: Any) -> ProblemLearner:
        """Return a learner with options beside the options that it shares with this learner."""

    def _single(self, objective: Any, **options: Any) -> ProblemLearner:
        """Return a learner of one problem that knows the classes and features of this one."""
        shared = {name: getattr(self, name) for name in _SHARED}
        learner = self._learner(objective=objective, **shared, **options)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(learner, name, getattr(self, name))
        return learner

    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:
        limit = self.time_limit
        seconds = None if limit is None else number("time_limit", limit, above=0)
        deadline = Deadline.after(seconds)
        objectives = self._objectives()
        searched = [self._single(given, tolerance=self.path_tolerance) for given in objectives]
        paths = [self._path(learner, X, codes) for learner in searched]
        self._search(searched, paths, X, codes, seconds)
        objective, self.trace_bound_ = (
            self.cv_results_[f"param_{name}"][self.best_index_]
            for name in ("objective", "trace_bound")
        )
        self.objective_ = objective
        self.learner_ = self._single(
            objective,
            tolerance=self.tolerance,
            trace_bound=self.trace_bound_,
            time_limit=None if deadline is None else max(deadline.left, 1e-9),
            verbose=self.verbose,
        )
        metric = self.learner_._optimum(X, codes)
        for name in _FOUND:
            setattr(self, name, getattr(self.learner_, name))
        warn_unless_converged(self, self.result_)
        return metric

    def _objectives(self) -> list[ObjectiveName]:
        """Return the objectives to choose from."""
        given: Any = self.objective
        found = list(given) if isinstance(given, list | tuple) else [given]
        for objective in found:
            is_name = isinstance(objective, str) and objective in OBJECTIVES
            if not is_name and not callable(objective):
                raise InvalidInputError(
                    f"objective must be a function, one of {', '.join(OBJECTIVES)}, or a list of "
                    f"these, got {shortened(objective)} in it"
                )
        if not found:
            raise InvalidInputError("objective is an empty list; name at least one")
        return found

    def _path(self, learner: ProblemLearner, X: FloatArray, codes: Codes) -> FloatArray:
        """Return the trace bounds for an objective, ascending."""
        if isinstance(self.trace_bounds, Integral):
            return auto_path(learner, X, codes, int(self.trace_bounds))
        bounds = np.unique(finite_array("trace_bounds", self.trace_bounds, ndim=1))
        if not bounds[0] > 0:
            raise InvalidInputError(f"trace_bounds must be positive, got {bounds[0]:g}")
        return bounds

    def _search(
        self,
        learners: list[ProblemLearner],
        paths: list[FloatArray],
        X: FloatArray,
        codes: Codes,
        limit: float | None,
    ) -> None:
        """Score all objectives and trace bounds on all folds, and choose."""
        y = self.classes_[codes]
        folds = self._folds(X, y)
        classifier = self.classifier
        if classifier is None:
            classifier = KNeighborsClassifier(min(_NEIGHBORS, *(len(train) for train, _ in folds)))
        scorer = check_scoring(classifier, self.scoring)
        tasks = [(n, train, test) for n in range(len(learners)) for train, test in folds]
        seconds = None
        if limit is not None:
            turns = -(-len(tasks) // min(len(tasks), effective_n_jobs(self.n_jobs)))
            seconds = _FOR_PATHS * limit / turns
        answers = Parallel(n_jobs=self.n_jobs)(
            delayed(fold_scores)(
                learners[n], classifier, scorer, X, y, train, test, paths[n], seconds
            )
            for n, train, test in tasks
        )
        shape = (len(learners), len(folds), len(paths[0]))
        scores, times = (np.reshape([answer[k] for answer in answers], shape) for k in (0, 1))
        self.cv_results_ = _results(
            [learner.objective for learner in learners], paths, scores, times
        )
        means = scores.mean(axis=1)
        errors = np.zeros_like(means)
        if len(folds) > 1:
            errors = scores.std(axis=1, ddof=1) / np.sqrt(len(folds))
        self.best_index_ = _choice(means, errors, self.rule)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])

    def _folds(self, X: FloatArray, y: npt.NDArray[Any]) -> list[tuple[Any, Any]]:
        """Return the indices of training and test samples of each fold."""
        try:
            given = list(check_cv(self.cv, y, classifier=True).split(X, y))
            folds = [(np.arange(len(X))[train], np.arange(len(X))[test]) for train, test in given]
        except (TypeError, IndexError) as error:
            raise InvalidInputError(
                f"cv = {shortened(self.cv)} makes no folds: {reason(error)}"
            ) from error
        if not folds:
            raise InvalidInputError(f"cv = {shortened(self.cv)} makes no folds")
        return folds

    @property
    def graph_(self) -> MetricGraph:
        """The graph of the learned metric, see `GraphMetricLearner`."""
        return self._fitted().graph_

    def plot_graph(self, ax: Axes | None = None) -> Axes:
        """Draw ``graph_`` by `gdaopt.plotting.graph`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default new axes are made.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return self._fitted().plot_graph(ax)

    def _fitted(self) -> ProblemLearner:
        check_is_fitted(self)
        return self.learner_


def _results(
    objectives: list[Any], paths: list[FloatArray], scores: FloatArray, times: FloatArray
) -> dict[str, Any]:
    """Return the scores in the form of `sklearn.model_selection.GridSearchCV`.

    Scores and times have the shape (n_objectives, n_folds, n_bounds).
    """
    bounds = np.concatenate(paths)
    named = [objective for objective, path in zip(objectives, paths, strict=True) for _ in path]
    by_fold = scores.swapaxes(0, 1).reshape(scores.shape[1], -1)
    seconds = times.swapaxes(0, 1).reshape(scores.shape[1], -1)
    mean = by_fold.mean(axis=0)
    return {
        "param_objective": named,
        "param_trace_bound": bounds,
        "params": [
            {"objective": objective, "trace_bound": bound}
            for objective, bound in zip(named, bounds.tolist(), strict=True)
        ],
        **{f"split{n}_test_score": row for n, row in enumerate(by_fold)},
        "mean_test_score": mean,
        "std_test_score": by_fold.std(axis=0),
        "rank_test_score": (mean[None] > mean[:, None] + _ROUND_OFF).sum(axis=1) + 1,
        "mean_fit_time": seconds.mean(axis=0),
        "std_fit_time": seconds.std(axis=0),
    }


def _choice(means: FloatArray, errors: FloatArray, rule: str) -> int:
    """Return the index of the choice in rows one after the other.

    Parameters
    ----------
    means, errors : ndarrays of shape (n_objectives, n_bounds)
        Mean scores and their standard errors.
    rule : {"one-standard-error", "best"}
        See `GraphMetricLearnerCV`.

    Examples
    --------
    >>> means, errors = np.array([[0.8, 0.93, 0.95]]), np.array([[0.01, 0.01, 0.03]])
    >>> _choice(means, errors, "one-standard-error"), _choice(means, errors, "best")
    (1, 2)
    """
    best = means.argmax()
    slack = errors.flat[best] if rule == "one-standard-error" else 0.0
    near = means >= means.flat[best] - slack - _ROUND_OFF
    first = near.any(axis=0).argmax()
    row = np.where(near[:, first], means[:, first], -np.inf).argmax()
    return int(row * means.shape[1] + first)
