"""Gaussian graphical models whose partial correlations are not negative."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.covariance import EmpiricalCovariance, empirical_covariance, log_likelihood
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_array, check_is_fitted

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.folds import FoldsMixin, in_fold
from gdaopt.estimators.inputs import Interval, feature_names, read_samples
from gdaopt.estimators.likelihood import Likelihood, most_likely_metric
from gdaopt.estimators.metric_graph import MetricGraph
from gdaopt.sets import EdgeMask
from gdaopt.support.validation import FloatArray, number, positive_vector, symmetric_matrix

_ROUND_OFF = 1e-20  # share of the variance: a feature with less in a fold is constant there
_LEAST_ALPHA = 1e-2  # share of the largest, at the end of a path of a given number


@dataclass(eq=False, repr=False, kw_only=True)
class _GraphicalModel(EmpiricalCovariance):
    """What both estimators have in common."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "weights": [None, "array-like"],
        "edges": "no_validation",
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 0, 2**31, closed="both")],
        "assume_centered": ["boolean"],
    }

    weights: Any = None
    edges: Any = None
    tol: float = 1e-6
    max_iter: int = 1000
    assume_centered: bool = False

    def _read(self, X: Any) -> FloatArray:
        X = check_array(read_samples(self, X), ensure_min_features=2, ensure_min_samples=2)
        self.location_ = np.zeros(X.shape[1])
        if getattr(self, "covariance", None) == "precomputed":
            return symmetric_matrix("X, the covariance matrix,", X)
        if not self.assume_centered:
            self.location_ = X.mean(axis=0)
        return np.asarray(empirical_covariance(X, assume_centered=self.assume_centered))

    def _penalties(self, size: int) -> FloatArray | float:
        if self.weights is None:
            return 1.0
        weights = symmetric_matrix("weights", self.weights, size)
        if weights.min() < 0:
            raise InvalidInputError(
                f"weights must not be negative, the least is {weights.min():g}; 0 leaves an edge "
                "free, and edges= says which there may be"
            )
        return weights

    def _solve(
        self, covariance: FloatArray, alpha: float, initial: FloatArray | None = None
    ) -> Likelihood:
        size = len(covariance)
        mask = None if self.edges is None else EdgeMask.of(self.edges, feature_names(self))
        if mask is not None:
            mask.check_size(size)
        penalised = covariance - alpha * self._penalties(size)
        np.fill_diagonal(penalised, np.diagonal(covariance))
        return most_likely_metric(
            penalised,
            mask,
            tolerance=number("tol", self.tol, above=0),
            max_iterations=self.max_iter,
            initial=initial,
        )

    def _set(self, found: Likelihood) -> None:
        """Set the attributes of the fit, and warn the caller of `fit` where it did not converge."""
        self.result_ = result = found.result
        self.n_iter_ = result.iterations
        self.precision_, self.covariance_ = result.metric, found.covariance
        allowed = self.tol * len(result.metric)
        if result.gap is None or result.gap > allowed:
            certified = "none" if result.gap is None else f"{result.gap:.2g}"
            warnings.warn(
                f"{type(self).__name__} did not converge: the certified gap is {certified}, "
                f"allowed is {allowed:.2g} ({result.status}: {result.message})",
                ConvergenceWarning,
                stacklevel=4,  # through fit and scikit-learn's decorator
            )

    def get_precision(self) -> FloatArray:
        """Return ``precision_``."""
        check_is_fitted(self)
        return self.precision_

    @property
    def graph_(self) -> MetricGraph:
        """The graph of the precision matrix, with the names of the features."""
        check_is_fitted(self)
        return MetricGraph.of_metric(self.precision_, feature_names(self))


@dataclass(eq=False, repr=False, kw_only=True)
class LaplacianGraphicalModel(_GraphicalModel):
    """A Gaussian graphical model with partial correlations ≥ 0: its precision is a graph metric.

    The precision matrix minimises ``-log det M + ⟨S, M⟩ + alpha Σ_ij weights_ij |M_ij|``, i ≠ j,
    over the positive definite M with ``M_ij ≤ 0``, which are generalised Laplacians. S is the
    covariance of the samples. Without a penalty the minimiser exists for three samples and more, if
    no two features are perfectly correlated, and it already has zeros. The other methods are those
    of scikit-learn's ``EmpiricalCovariance``.

    Parameters
    ----------
    alpha : float, default=0.01
        The penalty, in units of the covariance; 0 for maximum likelihood.
    covariance : {None, "precomputed"}, default=None
        With "precomputed", the X of `fit` is S itself.
    weights : array-like of shape (n_features, n_features), default=None
        The weight of each edge in the penalty, symmetric and not negative; its diagonal does not
        matter. All are 1 by default.
    edges : EdgeMask, array-like, sparse array or networkx.Graph, default=None
        The only pairs of features that may have an edge, in any form of `gdaopt.sets.EdgeMask.of`,
        by numbers or names.
    tol : float, default=1e-6
        The certified gap that is allowed for each feature, in units of the log-likelihood.
    max_iter : int, default=1000
        Most Newton steps in a block.
    assume_centered : bool, default=False
        Whether the mean of the features is known to be 0.

    Attributes
    ----------
    precision_, covariance_ : ndarray of shape (n_features, n_features)
        M, read-only, and ``M⁻¹``. The diagonal of the latter is that of S.
    location_ : ndarray of shape (n_features,)
        The mean.
    result_, graph_ : gdaopt.Result and MetricGraph
        The run that found M, and the graph of M. ``result_.gap`` bounds the distance of the
        objective from its minimum, for S and the penalties as they are in floating point.
    n_iter_ : int
        Newton steps in the block with the most steps.
    n_features_in_, feature_names_in_ : int and ndarray of shape (n_features,)
        K, and the column names of X, if `fit` was given a data frame whose names are strings.

    See Also
    --------
    LaplacianGraphicalModelCV : With alpha chosen by the data.
    sklearn.covariance.GraphicalLasso : Partial correlations of any sign.

    Notes
    -----
    The problem is split exactly into blocks if the graph of ``S_ij > alpha weights_ij`` falls apart
    or has bridges ("Proposition: bridges" in ``docs/theory``), and each block is solved by
    `gdaopt.methods.ProjectedNewton`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> model = LaplacianGraphicalModel(alpha=0.0).fit(load_iris().data)
    >>> model.precision_.round(2)
    array([[ 6.12,  0.  , -2.5 ,  0.  ],
           [ 0.  ,  5.3 ,  0.  ,  0.  ],
           [-2.5 ,  0.  ,  5.45, -9.88],
           [ 0.  ,  0.  , -9.88, 23.77]])
    >>> model.result_.gap < 4e-6
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_GraphicalModel._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "covariance": [None, StrOptions({"precomputed"})],
    }

    alpha: float = field(default=0.01, kw_only=False)
    covariance: str | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 (scikit-learn's convention)
        """Fit the model to samples, or to their covariance matrix (see `covariance`).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : Ignored
            Not used.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            If the likelihood has no maximum, or for parameters or samples that do not fit.

        Warns
        -----
        ConvergenceWarning
            If the certified gap is larger than ``tol`` allows.
        """
        self._set(self._solve(self._read(X), number("alpha", self.alpha, at_least=0)))
        return self


@dataclass(eq=False, repr=False, kw_only=True)
class LaplacianGraphicalModelCV(FoldsMixin, _GraphicalModel):
    """`LaplacianGraphicalModel` with alpha chosen along a path, by held-out likelihood or EBIC.

    The path goes from large alphas to small ones, and each fit starts where the last one ended.

    Parameters
    ----------
    alphas : int or array-like of shape (n_alphas,), default=10
        The path. A number stands for as many alphas between the largest covariance of two features
        and a hundredth of it, on a logarithmic scale.
    criterion : {"likelihood", "ebic"}, default="likelihood"
        The mean log-likelihood of the samples that a fold leaves out, or the extended Bayesian
        information criterion ``-2 n ℓ + E log n + 4 gamma E log K`` of all samples, for E edges and
        the log-likelihood ℓ of a sample (Foygel, Drton, 2010).
    gamma : float, default=0.5
        The parameter of EBIC.
    cv : int, cross-validation generator or iterable, default=None
        The folds of the likelihood, five by default; the groups of a splitter, such as
        `sklearn.model_selection.GroupKFold`, go to `fit`.
    weights, edges, tol, max_iter, assume_centered
        As of `LaplacianGraphicalModel`.

    Attributes
    ----------
    precision_, covariance_, location_, result_, graph_, n_iter_, n_features_in_, feature_names_in_
        As of `LaplacianGraphicalModel`.
    alpha_ : float
        The best one.
    cv_results_ : dict of ndarrays
        ``alphas``, in descending order; ``split0_test_score``, … and ``mean_test_score`` and
        ``std_test_score``, or ``ebic``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> model = LaplacianGraphicalModelCV(criterion="ebic").fit(load_iris().data)
    >>> len(model.graph_.edges), bool(model.alpha_ == model.cv_results_["alphas"].min())
    (2, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_GraphicalModel._parameter_constraints,
        "alphas": [Interval(Integral, 1, 10_000, closed="both"), "array-like"],
        "criterion": [StrOptions({"likelihood", "ebic"})],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "cv": ["cv_object"],
    }

    alphas: Any = field(default=10, kw_only=False)
    criterion: str = "likelihood"
    gamma: float = 0.5
    cv: Any = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the model for each alpha, and choose one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,), default=None
            Classes, for folds that are stratified by them.
        **params : dict
            ``groups``, of shape (n_samples,), for a `cv` such as
            `sklearn.model_selection.GroupKFold`; with scikit-learn's metadata routing whatever `cv`
            asks for. EBIC has no folds.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            If a likelihood has no maximum, or for parameters, samples or folds that do not fit.
        """
        passed = self._for_splitter(params)
        covariance = self._read(X)
        samples = read_samples(self, X, reset=False)
        alphas = self._path(covariance)
        results: dict[str, Any] = {"alphas": alphas}
        if self.criterion == "ebic":
            n_samples, size = samples.shape
            fits = self._fits(covariance, alphas)
            gamma = number("gamma", self.gamma, at_least=0)
            price = np.log(n_samples) + 4 * gamma * np.log(size)
            results["ebic"] = np.array(
                [
                    -2 * n_samples * log_likelihood(covariance, metric)
                    + np.count_nonzero(np.triu(metric, 1)) * price
                    for metric in fits
                ]
            )
            best = int(np.argmin(results["ebic"]))
        else:
            self._solve(covariance, alphas[0])  # which is refused where no fold can be learned
            scores = []
            folds = self._folds(samples, y, passed, np.full(len(samples), True))
            for fold, (train, test) in enumerate(folds):
                location = 0.0 if self.assume_centered else samples[train].mean(axis=0)
                parts = (
                    empirical_covariance(samples[part] - location, assume_centered=True)
                    for part in (train, test)
                )
                of_train, of_test = (np.asarray(part) for part in parts)
                # Without edges, such features add the same to the scores of all alphas.
                still = np.diagonal(of_train) <= _ROUND_OFF * np.diagonal(covariance)
                for part in (of_train, of_test):
                    part[still] = part[:, still] = 0.0
                    part[still, still] = covariance[still, still]
                fits = in_fold(fold, self._fits(of_train, alphas))
                scores.append([log_likelihood(of_test, metric) for metric in fits])
                results[f"split{fold}_test_score"] = np.array(scores[-1])
            results["mean_test_score"] = np.mean(scores, axis=0)
            results["std_test_score"] = np.std(scores, axis=0)
            best = int(np.argmax(results["mean_test_score"]))
        self.cv_results_ = results
        self.alpha_ = float(alphas[best])
        self._set(self._solve(covariance, self.alpha_))
        return self

    def _path(self, covariance: FloatArray) -> FloatArray:
        if not isinstance(self.alphas, Integral):
            return np.sort(positive_vector("alphas", self.alphas))[::-1].copy()
        off_diagonal = covariance[~np.eye(len(covariance), dtype=bool)]
        largest = float(off_diagonal.max())
        if not largest > 0:  # no pair would have an edge, whatever alpha is
            largest = float(np.diagonal(covariance).max()) or 1.0
        return np.geomspace(largest, _LEAST_ALPHA * largest, int(self.alphas))

    def _fits(self, covariance: FloatArray, alphas: FloatArray) -> Iterator[FloatArray]:
        """Yield the metric for each alpha; each fit starts from the last one's."""
        metric: FloatArray | None = None
        for alpha in alphas.tolist():
            metric = self._solve(covariance, alpha, metric).result.metric
            yield metric
