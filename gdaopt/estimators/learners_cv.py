"""The three learners that choose their trace bound by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gdaopt.estimators.cross_validated import CrossValidatedLearner, ObjectiveName
from gdaopt.estimators.learners import (
    DiagonalMetricLearner,
    GraphMetricLearner,
    PositiveDefiniteMetricLearner,
)
from gdaopt.estimators.problem_learner import DEFAULT_OBJECTIVE

__all__ = [
    "DiagonalMetricLearnerCV",
    "GraphMetricLearnerCV",
    "PositiveDefiniteMetricLearnerCV",
]


class GraphMetricLearnerCV(CrossValidatedLearner):
    """Learn a graph metric whose trace bound is chosen by cross-validation.

    On the training samples of each fold, metrics are learned for a path of trace bounds, each from
    the one before, and scored by how well neighbours classify the held-out samples. The metric is
    then learned from all samples with the bound that was chosen. It stands to `GraphMetricLearner`
    as `sklearn.linear_model.LassoCV` to `Lasso`.

    By default the choice is not the bound of the best mean score, which is noisy on few samples,
    but the smallest one whose mean score is within one standard error of the best. With a smaller
    bound the distances are smaller, more pairs count alike, and fewer of them decide alone.

    Parameters
    ----------
    objective : str, callable, or list of these, optional
        See `GraphMetricLearner`. With a list, the objective is chosen, too. As trace bounds of
        different objectives cannot be compared, places on their paths are: the one-standard-error
        rule takes the first place at which an objective is near enough to the best score of all.
    trace_bounds : int or array-like of shape (n_bounds,), optional
        How many bounds the path has, 10 by default, evenly spaced in the logarithm from a sixteenth
        to three times that of the rule "auto" (see `gdaopt.scaling`); or the bounds themselves.
    cv : int, cross-validation generator or iterable, optional
        The folds, as in `sklearn.model_selection.GridSearchCV`: 5 stratified folds by default.
    scoring : str or callable, optional
        A scorer of scikit-learn for `classifier`; accuracy by default.
    classifier : estimator, optional
        Who classifies samples after `transform`. None stands for
        `sklearn.neighbors.KNeighborsClassifier` with 5 neighbours, or with fewer where a fold has
        fewer samples.
    rule : {"one-standard-error", "best"}, optional
        How to choose; with ``"best"`` it is the best mean score, and the smallest bound of several
        that are as good.
    path_tolerance : float, optional
        The tolerance of the fits on folds. They are only scored, and need not be as near to their
        optimum as the last fit.
    n_jobs : int, optional
        Number of paths that are computed in parallel, as in scikit-learn.
    method, solver, min_eigenvalue, scale, edge_floor, edges
        See `GraphMetricLearner`. Standard deviations are those of the samples learned from.
    multiclass, class_weight, n_neighbors, max_pairs, max_samples, random_state
        See `GraphMetricLearner`.
    tolerance, max_iterations, time_limit, verbose
        See `GraphMetricLearner`. Three quarters of the time limit are for the paths, in equal
        shares. Where one is over, the path's last metric stands for the missing metrics.

    Attributes
    ----------
    trace_bound_, objective_ : float and str or callable
        The choice.
    cv_results_ : dict
        Scores and seconds, as in `sklearn.model_selection.GridSearchCV`; one entry for each
        objective and bound.
    best_index_, best_score_ : int and float
        Place of the choice in `cv_results_`, and its mean score.
    learner_ : ProblemLearner
        The learner that was fitted to all samples.
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`.
    result_, n_iter_, min_eigenvalue_, scale_, graph_, sample_indices_, full_objective_
        See `GraphMetricLearner`.

    Notes
    -----
    The rule of one standard error is from Breiman, Friedman, Olshen, Stone, *Classification and
    Regression Trees* (1984).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = GraphMetricLearnerCV(["mcml", "glr"], trace_bounds=5).fit(X, y)
    >>> learner.objective_, len(learner.cv_results_["mean_test_score"])
    ('mcml', 10)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CrossValidatedLearner._parameter_constraints,
        **{
            name: GraphMetricLearner._parameter_constraints[name]
            for name in ("edge_floor", "edges")
        },
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
            trace_bounds=trace_bounds,
            cv=cv,
            scoring=scoring,
            classifier=classifier,
            rule=rule,
            path_tolerance=path_tolerance,
            n_jobs=n_jobs,
            method=method,
            solver=solver,
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

    def _learner(self, **options: Any) -> GraphMetricLearner:
        return GraphMetricLearner(edge_floor=self.edge_floor, edges=self.edges, **options)


class DiagonalMetricLearnerCV(CrossValidatedLearner):
    """Learn a diagonal metric whose trace bound is chosen by cross-validation.

    Parameters
    ----------
    objective, trace_bounds, cv, scoring, classifier, rule, path_tolerance, n_jobs
        See `GraphMetricLearnerCV`.
    method, solver, min_eigenvalue, scale
        See `GraphMetricLearner`.
    multiclass, class_weight, n_neighbors, max_pairs, max_samples, random_state
        See `GraphMetricLearner`.
    tolerance, max_iterations, time_limit, verbose
        See `GraphMetricLearnerCV`.

    Attributes
    ----------
    trace_bound_, objective_, cv_results_, best_index_, best_score_, learner_
        See `GraphMetricLearnerCV`.
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`.
    result_, n_iter_, min_eigenvalue_, scale_, graph_, sample_indices_, full_objective_
        See `GraphMetricLearner`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = DiagonalMetricLearnerCV(trace_bounds=[0.1, 1.0, 10.0]).fit(X, y)
    >>> learner.trace_bound_ in (0.1, 1.0, 10.0)
    True
    """

    def _learner(self, **options: Any) -> DiagonalMetricLearner:
        return DiagonalMetricLearner(**options)


class PositiveDefiniteMetricLearnerCV(CrossValidatedLearner):
    """Learn a positive definite metric whose trace bound is chosen by cross-validation.

    Parameters
    ----------
    objective, trace_bounds, cv, scoring, classifier, rule, path_tolerance, n_jobs
        See `GraphMetricLearnerCV`.
    method, solver, min_eigenvalue, scale
        See `GraphMetricLearner`.
    multiclass, class_weight, n_neighbors, max_pairs, max_samples, random_state
        See `GraphMetricLearner`.
    tolerance, max_iterations, time_limit, verbose
        See `GraphMetricLearnerCV`.

    Attributes
    ----------
    trace_bound_, objective_, cv_results_, best_index_, best_score_, learner_
        See `GraphMetricLearnerCV`.
    metric_, components_, classes_, n_features_in_, feature_names_in_
        See `gdaopt.estimators.MetricLearner`.
    result_, n_iter_, min_eigenvalue_, scale_, graph_, sample_indices_, full_objective_
        See `GraphMetricLearner`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = PositiveDefiniteMetricLearnerCV("mcml", trace_bounds=3, cv=3).fit(X, y)
    >>> learner.best_score_ > 0.9
    True
    """

    def _learner(self, **options: Any) -> PositiveDefiniteMetricLearner:
        return PositiveDefiniteMetricLearner(**options)
