"""The base classes of the metric learners, and of a learner of your own.

`BaseMetricLearner` lists the members that a subclass has to write. Its methods keep scikit-learn's
rules and have the same names as in the package metric-learn. A `MetricGraph` shows a metric.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import cleandoc, signature
from types import FunctionType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.sparse import coo_array, csr_array, triu
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.inputs import (
    Codes,
    Mask,
    read_labelled_samples,
    read_labels,
    read_samples,
    read_tuples,
)
from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.laplacian import (
    connected_features,
    edge_threshold,
    edge_weights,
    self_loops,
)
from gdaopt.linalg.samples import is_sparse
from gdaopt.result import Result
from gdaopt.scaling import feature_scales
from gdaopt.support.text import plain, shortened
from gdaopt.support.validation import FloatArray, finite_array, read_only
from gdaopt.support.warning_filters import underflow_ignored

_FIRST = ("Parameters", "Attributes")  # sections of a docstring, which are inherited
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^\S.*\n(?:(?: .*)?\n)*", re.MULTILINE)  # and the indented lines below it
_ARGUMENTS = {  # of methods, where they are what they always are
    "X": "X : array-like of shape (n_samples, n_features)\n    Samples.",
    "y": "y : array-like of shape (n_samples,)\n    Labels, of at least two classes; "
    "`missing_label`, where there is such a parameter, for samples\n    without one.",
    "pairs": "pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with a "
    "preprocessor\n    Pairs of samples, or of their indices.",
    "triplets": "triplets : array-like of shape (n_triplets, 3, n_features), or (n_triplets, 3) "
    "with a preprocessor\n    Triplets of samples, or of their indices.",
}
_OF_METHODS = {  # what they return, or raise, where that is what it always is
    "fit": (
        "Raises",
        "InvalidInputError\n    For parameters, samples or labels that do not fit. It is a "
        "`ValueError`, as scikit-learn's\n    own checks raise; sparse samples are a `TypeError` "
        "where only dense ones are taken.",
    ),
    "predict": ("Returns", "ndarray\n    A label for each sample, pair or triplet."),
    "predict_proba": (
        "Returns",
        "ndarray of shape (n_samples, n_classes)\n    Shares, of which each row sums to 1.",
    ),
    "score": ("Returns", "float"),
}


class DocumentedEstimator(BaseEstimator):
    """Base of all estimators, whose docstrings also list the parameters and attributes of bases.

    A parameter is explained once, by the class that declares it; samples, labels and answers are
    explained once for all methods.

    Attributes
    ----------
    n_features_in_ : int
        K, the number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        The column names of X, if `fit` was given a data frame whose column names are strings.
    """

    n_features_in_: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        bases = [base for base in cls.__bases__ if issubclass(base, DocumentedEstimator)]
        if cls.__doc__:  # python -OO leaves none
            cls.__doc__ = _with_entries_of(cls.__doc__, (base.__doc__ or "" for base in bases))
        for method in vars(cls).values():
            function = getattr(method, "fn", method)  # of a method that is not always there
            if isinstance(function, FunctionType) and not function.__name__.startswith("_"):
                function.__doc__ = method.__doc__ = _with_arguments(function)

    def _feature_names(self) -> list[str]:
        default = [f"x{number}" for number in range(self.n_features_in_)]
        return [str(name) for name in getattr(self, "feature_names_in_", default)]


def _with_arguments(method: Callable[..., Any]) -> str | None:
    """Return the docstring of a method with the arguments and the answer that it leaves out."""
    if not method.__doc__:
        return None
    sections = _sections(method.__doc__)
    listed = sections.get("Parameters", "")
    names = [name for name in signature(method).parameters if name in _ARGUMENTS]
    told = [_ARGUMENTS[name] for name in names if not re.search(rf"^{name} : ", listed, re.M)]
    if told:
        sections["Parameters"] = "\n".join(filter(None, (*told, listed)))
    if method.__annotations__.get("return") == "Self":
        sections.setdefault("Returns", "self")
    if method.__name__ in _OF_METHODS:
        title, text = _OF_METHODS[method.__name__]
        sections.setdefault(title, text)
    return _written(sections, ("Parameters", "Returns", "Raises"))


def _with_entries_of(docstring: str, others: Iterable[str]) -> str:
    """Return a docstring with the parameters and attributes that only the others list."""
    sections, *inherited = map(_sections, (docstring, *others))
    for title in _FIRST:
        entries: list[str] = []
        known: set[str] = set()
        for listed in (sections, *inherited):
            for entry in _ENTRY.findall(listed.get(title, "") + "\n"):
                names = re.split(" : |\n", entry)[0].split(", ")
                if not known.issuperset(names):
                    entries.append(entry.rstrip())
                known.update(names)
        if entries:
            sections[title] = "\n".join(entries)
    return _written(sections, _FIRST)


def _written(sections: Mapping[str, str], first: Sequence[str]) -> str:
    own = [title for title in sections if title]
    order = sorted(own, key=lambda title: first.index(title) if title in first else len(first))
    parts = [f"{title}\n{'-' * len(title)}\n{sections[title]}" for title in order]
    return "\n\n".join([sections[""], *parts])


def _sections(docstring: str) -> dict[str, str]:
    """Return the sections of a docstring by their titles; what is above them has none."""
    head, *parts = (part.rstrip() for part in _SECTION.split(cleandoc(docstring)))
    return {"": head, **dict(zip(parts[::2], parts[1::2], strict=True))}


class BaseMetricLearner(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, DocumentedEstimator, ABC
):
    """Base of all estimators that learn a metric matrix M from labelled samples.

    `fit` is in its two subclasses, from which a learner of your own inherits:
    `SupervisedMetricLearner`, where every sample needs a label, and `TransductiveMetricLearner`.
    There `fit` checks the parameters, the samples and the labels, sets ``classes_``, calls
    ``_learn``, and sets ``metric_`` and ``components_`` from the matrix that ``_learn`` returns.

    *A subclass must write:*

    ``_learn(self, X, codes)``, or ``_learn(self, X, codes, labelled)`` if it is transductive
    Returns M, a float array of shape (K, K). It must be symmetric and positive semidefinite; `fit`
    does not check this. ``X`` is a finite float array of shape (N, K). ``codes`` is an integer
    array, the index of each label in ``self.classes_``. ``labelled`` is a boolean array of shape
    (N,) that says which samples have a label; ``codes`` then has one entry for each labelled
    sample, in their order.

    *A subclass may write:*

    ``__init__`` By scikit-learn's rule it names every parameter and only stores it, unchanged,
    under the same name. A transductive learner has the parameter `missing_label`, too.
    ``_parameter_constraints`` The class's dict of the values that each parameter may have, in the
    form that scikit-learn uses; `fit` raises a `ValueError` for any other value. A transductive
    learner extends ``TransductiveMetricLearner._parameter_constraints``. attributes that end with
    an underscore ``_learn`` sets them on ``self``, for whatever else the fit has found.

    A learner with a `fit` of its own inherits from `BaseMetricLearner` itself. Its `fit` calls
    `gdaopt.estimators.inputs.read_samples`, then ``self._set_classes(classes)`` with the sorted
    labels and ``self._set_metric(M, X)``, and returns ``self``.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features, n_features)
        M, symmetric and positive semidefinite, read-only. It and `components_` are sparse arrays
        where the learner makes no dense one, as of a certified metric of more than 1,000 features.
    components_ : ndarray of shape (n_components, n_features)
        L with ``M = L'L``, read-only. Where M is positive definite, L is Cholesky's factor, which
        is upper triangular: component i combines the features from i on. For a diagonal M, L is
        the diagonal matrix of the square roots of the weights.
    feature_importances_ : ndarray of shape (n_features,)
        The shares of the features in ``Σ_k M_kk s_k²``, where s are the standard deviations of the
        features: what each adds, on average, to the squared distance of two samples beside what
        pairs of features add together. A constant feature has the share 0.
    classes_ : ndarray of shape (n_classes,)
        The different labels, sorted.

    Examples
    --------
    A learner whose M is the inverse of the covariance matrix within the classes:

    >>> from sklearn.datasets import load_iris
    >>> class WithinClassWhitening(SupervisedMetricLearner):
    ...     def _learn(self, X, codes):
    ...         means = np.array([X[codes == c].mean(axis=0) for c in range(len(self.classes_))])
    ...         return np.linalg.inv(np.cov((X - means[codes]).T))
    >>> X, y = load_iris(return_X_y=True)
    >>> WithinClassWhitening().fit(X, y).transform(X).shape
    (150, 4)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    metric_: Any
    components_: Any

    def _set_classes(self, classes: npt.NDArray[Any]) -> None:
        if len(classes) < 2:
            (label,) = classes.tolist()
            raise InvalidInputError(
                f"y has 1 class, {shortened(label)}; a metric is learned from two classes or more"
            )
        self.classes_ = classes

    def _set_metric(self, metric: Any, X: FloatArray) -> None:
        self._set_factor(metric, components_of(metric), X)

    def _set_factor(self, metric: Any, components: Any, X: FloatArray) -> None:
        if is_sparse(metric):
            self.metric_, self.components_ = metric, components
        else:
            self.metric_ = read_only(metric.copy())
            self.components_ = read_only(components)
        spreads = feature_scales(X, "zscore")[1]
        spreads = np.where(np.isfinite(spreads), spreads, 0.0)  # 0 for constants
        lengths = np.sqrt(np.maximum(metric.diagonal(), 0.0)) * spreads
        shares = (lengths / (lengths.max() or 1.0)) ** 2
        self.feature_importances_ = read_only(shares / (shares.sum() or 1.0))

    def transform(self, X: Any) -> Any:
        """Map samples to coordinates in which the Euclidean distance is the learned distance.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            ``X @ components_.T``, or a data frame after ``set_output(transform="pandas")``. It is
            sparse where both X and `components_` are.
        """
        check_is_fitted(self)
        X = read_samples(self, X, reset=False)
        return X @ self.components_.T

    def get_mahalanobis_matrix(self) -> FloatArray:
        """Return a copy of M, shape (n_features, n_features)."""
        check_is_fitted(self)
        matrix: FloatArray = self.metric_.copy()
        return matrix

    def pair_distance(self, pairs: Any) -> FloatArray:
        """Return the learned distance ``√((a - b)' M (a - b))`` of each pair of samples.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        check_is_fitted(self)
        samples = self._read_pairs(pairs)
        distances: FloatArray = np.linalg.norm(
            (samples[:, 0] - samples[:, 1]) @ self.components_.T, axis=1
        )
        return distances

    def _read_pairs(self, pairs: Any) -> FloatArray:
        return read_tuples("pairs", pairs, 2, n_features=self.n_features_in_)

    def pair_score(self, pairs: Any) -> FloatArray:
        """Return ``-pair_distance(pairs)``, which is larger for closer samples."""
        return -self.pair_distance(pairs)

    def get_metric(self) -> Callable[..., float]:
        """Return the learned distance as a function of two vectors.

        scikit-learn's estimators with a parameter ``metric`` take such a function. An estimator
        with Euclidean distances after `transform` gives the same result and is much faster.

        Returns
        -------
        callable
            The function ``d(u, v) = ‖L(u - v)‖``, or its square with ``squared=True``. It stays the
            same when the learner is fitted again.
        """
        check_is_fitted(self)
        return partial(_distance, self.components_)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class SupervisedMetricLearner(BaseMetricLearner):
    """Base of learners that need a label of every sample (see `BaseMetricLearner`)."""

    @abstractmethod
    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:
        """Return M for samples of shape (N, K) and, for each, the index in `classes_`."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metric."""
        X, y = read_labelled_samples(self, X, y)
        self._set_metric(self._learn(X, self._codes(y)), X)
        return self

    def _codes(self, y: npt.NDArray[Any]) -> Codes:
        """Return labels as indices of ``classes_``, which is set."""
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        self._set_classes(classes)
        return codes


@dataclass(eq=False, repr=False, kw_only=True)
class TransductiveMetricLearner(BaseMetricLearner):
    """Base of learners that also learn from samples without labels (see `BaseMetricLearner`).

    By their parameter `missing_label` the classifiers recognise learners that take such samples.

    Parameters
    ----------
    missing_label : object, default=-1
        The value that stands for "no label" in `y`, as in scikit-learn's `LabelPropagation`. None,
        NaN and pandas' NA all mean missing values. It never stands for a class: the labels -1 and 1
        alone are refused under -1. If -1 is a class, choose another value, such as None.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"missing_label": "no_validation"}

    missing_label: Any = -1

    @abstractmethod
    def _learn(self, X: FloatArray, codes: Codes, labelled: Mask) -> FloatArray:
        """Return M; `codes` has the classes of the labelled samples of X, in their order."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metric from all samples, with and without labels."""
        X = read_samples(self, X)
        classes, codes, labelled = read_labels(y, self.missing_label)
        check_consistent_length(X, labelled)
        self._set_classes(classes)
        with underflow_ignored():
            self._set_metric(self._learn(X, codes, labelled), X)
        return self


def _distance(components: FloatArray, u: Any, v: Any, squared: bool = False) -> float:
    difference = finite_array("u", u, ndim=1) - finite_array("v", v, ndim=1)
    if len(difference) != components.shape[1]:
        raise InvalidInputError(
            f"vectors have {len(difference)} entries, but the metric has "
            f"{components.shape[1]} features"
        )
    mapped = components @ difference
    square = float(mapped @ mapped)
    return square if squared else float(np.sqrt(square))


def metric_of(result: Result) -> Any:
    """Return the metric of a result: an array, or of many features a sparse array."""
    return result.metric if result.features is None else result.sparse_metric


def components_of(metric: Any) -> Any:
    """Return L with ``L'L = M``, by connected components; a sparse array as a sparse array."""
    if is_sparse(metric):
        index, part = connected_part(metric)
        roots = np.sqrt(np.maximum(metric.diagonal(), 0.0))
        roots[index] = 0.0
        found = coo_array(components_of(part) if len(index) else np.zeros((0, 0)))
        diagonal = np.arange(len(roots))
        where = [np.concatenate([diagonal, index[ends]]) for ends in found.coords]
        values = np.concatenate([roots, found.data])
        sparse = csr_array((values, tuple(where)), shape=metric.shape)
        sparse.eliminate_zeros()
        return sparse
    # Divided by powers of two, M has a diagonal of about 1, and features of any unit keep digits.
    scales = np.sqrt(np.maximum(np.diagonal(metric), 0.0))
    units = np.where(scales > 0, np.exp2(np.frexp(scales)[1]), 1.0)
    scaled = metric / units / units[:, None]
    components = np.diag(np.sqrt(np.maximum(np.diagonal(scaled), 0.0)))
    for index in connected_features(scaled):
        block = np.ix_(index, index)
        components[block] = _factor(scaled[block])
    return components * units


def connected_part(metric: csr_array) -> tuple[IndexArray, FloatArray]:
    """Return the features with an entry ≠ 0 off the diagonal, and the block of these."""
    entries = metric.tocoo()
    rows, columns = entries.coords
    index = np.unique(rows[(rows != columns) & (entries.data != 0)])
    return index, metric[index][:, index].toarray()


def _factor(block: FloatArray) -> FloatArray:
    try:
        factor: FloatArray = scipy.linalg.cholesky(block)
    except scipy.linalg.LinAlgError:
        values, vectors = scipy.linalg.eigh(block)
        factor = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return factor


_SHOWN = 10  # how many edges are printed


@dataclass(frozen=True, eq=False)
class MetricGraph:
    """Edges and self-loops of a metric. Printing the graph lists its heaviest edges.

    Attributes
    ----------
    feature_names : tuple of K str
        Names of the features, which are the nodes.
    edges : ndarray of int, shape (n_edges, 2)
        Indices of the two features that each edge joins. The heaviest edge comes first.
    weights : ndarray of shape (n_edges,)
        ``-M_ij`` of each edge. It is negative only for metrics that are not graph metrics.
    self_loops : ndarray of shape (K,)
        The row sums of M.

    Examples
    --------
    >>> M = np.array([[2.0, -0.5, 0.0], [-0.5, 3.0, -1.0], [0.0, -1.0, 4.0]])
    >>> MetricGraph.of_metric(M, ["width", "height", "depth"]).named_edges()
    [('height', 'depth', 1.0), ('width', 'height', 0.5)]
    """

    feature_names: tuple[str, ...]
    edges: npt.NDArray[np.intp]
    weights: FloatArray
    self_loops: FloatArray

    @classmethod
    def of_metric(cls, metric: Any, feature_names: Sequence[str]) -> MetricGraph:
        """Return the graph of a K×K metric, dense or sparse, of the edges above ``1e-9·tr M / K``.

        Smaller entries are edges that a method removes: it shrinks them geometrically.
        """
        threshold = edge_threshold(float(metric.trace()), metric.shape[0])
        if is_sparse(metric):
            loops = np.asarray(metric.sum(axis=1))
            entries = triu(metric, 1).tocoo()
            counts = np.abs(entries.data) > threshold
            edges = np.column_stack(entries.coords)[counts].astype(np.intp)
            found = -entries.data[counts]
        else:
            loops = self_loops(metric)
            weights = np.triu(edge_weights(metric), 1)
            edges = np.argwhere(np.abs(weights) > threshold)
            found = weights[edges[:, 0], edges[:, 1]]
        order = np.argsort(-np.abs(found), kind="stable")
        edges = edges[order]
        edges.flags.writeable = False
        return cls(
            tuple(str(name) for name in feature_names),
            edges,
            read_only(found[order]),
            read_only(loops),
        )

    def named_edges(self) -> list[tuple[str, str, float]]:
        """Return the two feature names and the weight of each edge, the heaviest edge first."""
        names = self.feature_names
        return [
            (names[i], names[j], float(weight))
            for (i, j), weight in zip(self.edges, self.weights, strict=True)
        ]

    def __str__(self) -> str:
        lines = [f"{len(self.feature_names)} features, {len(self.edges)} edges"]
        lines += [
            f"  {plain(a)} – {plain(b)}: {weight:.4g}"
            for a, b, weight in self.named_edges()[:_SHOWN]
        ]
        if len(self.edges) > _SHOWN:
            lines.append(f"  and {len(self.edges) - _SHOWN} more")
        return "\n".join(lines)
