"""What estimators refuse, and what they say of it: options, labels, weights, masks, tuples."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import gdaopt as gda
from gdaopt.estimators import LaplacianGraphicalModel, OneVsRestMetricClassifier, PairMetricLearner
from gdaopt.estimators.baselines import EuclideanMetric, FeatureGraphLearning, GeometricMeanMetric
from tests.estimators.cases import TRANSDUCTIVE, halves, samples

GRAPH: Any = gda.GraphMetricLearner
METRIC: Any = gda.MetricLearner
CV: Any = gda.MetricLearnerCV
X, CODES = samples()
NAMED = pd.DataFrame(X, columns=["height", "length", "width", "weight"])
ONES = np.ones(len(X))


def changed(array: Any, place: Any, value: float) -> Any:
    copy = array.copy()
    copy[place] = value
    return copy


def weighted(value: float) -> tuple[Any, ...]:
    return X, CODES, changed(ONES, 59, value)


OPTIONS: list[tuple[Any, str]] = [  # of samples that would do
    (GRAPH("lmnn", class_weight="balanced"), "goes with the objectives glr, mcml, nca, none, and"),
    (GRAPH("mcml", n_neighbors=3), "goes with the objectives glr, lmnn, and not with mcml"),
    (GRAPH("lmnn", n_neighbors=500), "each class needs more samples"),
    (GRAPH("mcml", max_pairs=10), "max_pairs goes with the objectives glr, deml"),
    (GRAPH("glr", max_pairs=9, n_neighbors=3), "n_neighbors and max_pairs both choose pairs"),
    (GRAPH(gda.GLR, max_pairs=10), "max_pairs are for objectives by name"),
    (GRAPH(gda.GLR, n_neighbors=3), "class_weight, n_neighbors and max_pairs are for"),
    *((GRAPH(class_weight={1: w}), "class_weight of 1 must be .*, got ") for w in (0, -1, np.nan)),
    (
        GRAPH(class_weight={3: 2.0, 1: 1.0}),
        "for 3, which no sample has, and none for 0",
    ),
    (METRIC(metrics="balanced", method="joint"), "got method='joint'; leave the method"),
    (METRIC(metrics="signed"), "the labels of two classes, and there are 3; pass a set"),
    *(
        (METRIC(metrics=metrics, **option), "edges go with metrics='graph', 'signed', 'sdd' or 'b")
        for metrics in ("diagonal", "definite", gda.GraphMetrics(4.0), gda.GraphMetrics)
        for option in ({"edges": [(0, 1)]}, {"edge_floor": 0.1})
    ),
    (METRIC(metrics=lambda C, rho: np.eye(4)), "what metrics returns must be a FeasibleSet"),
    (METRIC(metrics=lambda C: gda.GraphMetrics(C)), "cannot be called with 2 argument"),
    (CV(gda.GraphClassifier()), "'learner' parameter"),
    (CV(METRIC("lda")), "'objective' parameter of MetricLearner"),
    (CV(objectives=["glr", "lda"]), "got 'lda' in it"),
    (CV(objectives=[]), "objectives is an empty list"),
    (CV(trace_bounds=[1.0, -2.0]), "trace_bounds must be positive, got -2"),
    (CV(trace_bounds=[1.0, np.nan]), "trace_bounds holds nan"),
    (CV(cv=1), "n_splits"),
    (OneVsRestMetricClassifier(StandardScaler()), r"StandardScaler\(\) learns no metric"),
    (gda.GraphClassifier(make_pipeline(StandardScaler(), MinMaxScaler())), "learns no metric"),
    (GRAPH(edges=np.zeros((3, 3), dtype=bool)), "a mask of 3 features, and there are 4"),
]
EDGES: list[tuple[Any, str]] = [
    ([("heigth", "width")], "unknown feature in edges: 'heigth'; did you mean 'height'"),
    ([("width", "width")], "feature 'width' with itself"),
    ([(0, 4)], r"the pair \(0, 4\), and the 4 features are numbered from 0 to 3"),
    ([(-1, 2)], "numbered from 0 on"),
    (np.triu(np.ones((4, 4), dtype=bool)), "not symmetric"),
]
SAMPLES: list[tuple[Any, tuple[Any, ...], str]] = [
    (GRAPH("lmnn"), (X, CODES, ONES), "sample_weight goes with the objectives glr, mcml, nca, no"),
    (GRAPH(gda.GLR), (X, CODES, ONES), "sample_weight, class_weight, n_neighbors and max_pairs"),
    *(
        (learner, (X, CODES, weights), message)
        for learner in (GRAPH(), GRAPH("none"), CV())
        for weights, message in [
            (weighted(-1e-9)[2], "sample_weight must not be negative, got -1e-09 at index 59; 0 l"),
            (weighted(np.nan)[2], "sample_weight holds nan at index"),
            (ONES[1:], "sample_weight must have 60 entries, got 59"),
            (0 * ONES, "all 60 entries of sample_weight are zero, which leaves everything out"),
            (0, "all 60 entries of sample_weight are zero"),
            (
                (CODES == 2) * 2.0,
                "is 0 for all samples but those of class 2, and 0 leaves",
            ),
        ]
    ),
    (
        GRAPH(),
        (X, np.array([*"ab"] * 30, dtype=object), [0, 1] * 30),
        "but those of class 'b', and",
    ),
    (GRAPH(), (X, CODES, np.ma.masked_equal(weighted(2.0)[2], 2)), "sample_weight has 1 masked"),
    *(
        (make(), (X, y), message)
        for make in (
            METRIC,
            EuclideanMetric,
            GeometricMeanMetric,
            FeatureGraphLearning,
            *TRANSDUCTIVE,
        )
        for y, message in [
            (["a"] * 60, "y has 1 class, 'a'"),
            (CODES + 0.5, "Unknown label type: continuous"),
        ]
    ),
    (GRAPH(), (changed(X, (slice(None), 2), 0) + 1e-160 * X, CODES), "feature x2 varies by .*and"),
    *(
        (GRAPH(name, scale="none"), (scale * X, CODES), message)
        for scale in (0.0, 1e-100, 1e100)
        for name, message in {
            "glr": "samples of different classes differ by ",
            "mcml": "trace_bound='auto' would be .*rescale the features|all 60 samples of X coinc",
        }.items()
    ),
    (GRAPH(), (csr_array(changed(X, (0, 0), np.nan)), CODES), "contains NaN"),
    (GRAPH(), (csr_array(changed(X, (0, 0), np.inf)), CODES), "contains infinity"),
    (
        METRIC("none"),
        (csr_array((ONES[:4], ([0, 1, 2, 3], [0, 10, 20, 9_999_999]))), [0, 0, 1, 1]),
        "'none' of 10000000 features would need about",
    ),
    (FeatureGraphLearning(), (0 * X, CODES), "samples of different classes differ by 0 "),
    (FeatureGraphLearning(4), (0 * X, CODES), "trace_bound 4: all samples coincide"),
    (FeatureGraphLearning(4), (1e6 * X, CODES), r"trace_bound 4: the objective is 0 .* \(log Q"),
    *(
        (GeometricMeanMetric(), (s * X, CODES), "in their largest feature, which is out of")
        for s in (0.0, 1e-150, 1e150)
    ),
    (GeometricMeanMetric("cv"), (X[:3], CODES[:3]), "each class has 1; pass a number for t"),
    (OneVsRestMetricClassifier(), (X, [1] * 60), "y has 1 class, .*1.*; one against the rest need"),
    (OneVsRestMetricClassifier(), (X, [-1, 1] * 30), "y holds only -1 and 1, and missing_label=-1"),
    (OneVsRestMetricClassifier(), (X, [-1] * 60), "y holds no label"),
    (OneVsRestMetricClassifier(), (X, [0, 1, 2]), "inconsistent numbers of samples"),
    *(
        (learner(), (np.array(given, dtype=float).T, labels), message)
        for learner in TRANSDUCTIVE
        for given, labels, message in [
            ([[1] * 4] * 2, [0, 1, 0, -1], "4 samples that are all the same"),
            ([[0, 1e-80, 0]], [0, 1, -1], "X spans about 1e-80"),
            ([[0, 1e200, -1e200]], [0, 1, -1], r"X spans about 2e\+200|spans"),
            ([[0, 1, 2, 3]], [1, 1, -1, -1], "y holds only -1 and 1"),
            ([[0, 1, 2, 3]], [-1] * 4, "y holds no label"),
        ]
    ),
]
LABELS: list[tuple[Any, Any, str]] = [  # of three samples, and what stands for a missing one
    ([-1, 1, 1], -1, "missing_label=-1 says that the 1 sample(s) with -1 have no label"),
    ([-1.0, 1.0, 1.0], -1, "pass missing_label=None"),
    ([-1, -1, -1], -1, "all of its 3 samples are unlabelled under missing_label=-1"),
    (["a", None, "b"], -1, "holds None at index 1; pass missing_label=None"),
    ([0, 1, float("nan")], -1, "holds nan at index 2"),
    (["a", 1, "b"], None, "mixed types, such as 'a' and 1"),
    ([0.5, 1.0, 2.0], None, "Unknown label type: continuous. y holds 0.5"),
    ([0, 1, float("inf")], None, "infinity"),
    ([1j, 1j, 2j], None, "Unknown label type"),
    ([[0, 1], [1, 0], [1, 1]], None, "1d array"),
    ([0, 1], None, "inconsistent numbers of samples: [3, 2]"),
]
MASKED = np.ma.masked_equal([0, 1, 0, 2], 2)
FRAME = pd.DataFrame({"width": [1.0, 2, 3, 4], "colour": ["red", "blue", "red", "red"]})
TEXTS: list[tuple[Any, Any, str]] = [
    *(
        (make(), table, "column 'colour' of X holds text, such as 'red'; turn it into numbers")
        for make in (GRAPH, gda.GraphClassifier)
        for table in (FRAME, FRAME.astype({"colour": "category"}))
    ),
    (EuclideanMetric(), FRAME.assign(shape=[*"abca"]), "'colour', 'shape' of X hold text, such as"),
    (
        EuclideanMetric(),
        [[1, "2"], [2, "x"], [4, "9"], [0, "1"]],
        "column 1 of X holds text, such as 'x'",
    ),
]
METRICS: list[tuple[Any, str]] = [
    ([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]], "not symmetric: [0,1] is 0.5, [1,0] is 0"),
    (np.diag([1.0, -0.5, 1.0]), "smallest eigenvalue is -0.5, with trace 1.5"),
    (np.diag([1.0, -1e-6, 1.0]), "smallest eigenvalue is -1e-06, with trace 2"),
    (-np.eye(3), "smallest eigenvalue is -1"),
    (np.eye(2), "metric must be 3×3, got 2×2"),
    (np.ones((3, 2)), "metric must be square, got shape (3, 2)"),
    (np.full((3, 3), np.nan), "metric holds nan at index (0, 0)"),
    ("euclidean", "must be None, an array-like or an object implementing 'fit'"),
    (StandardScaler(), "metric=StandardScaler() learns no metric"),
    (5, "The 'metric' parameter of GraphClassifier must be"),
]
FOUND = np.random.default_rng(0).permutation(60).reshape(-1, 2)
SIMILAR = np.where(CODES[FOUND[:, 0]] == CODES[FOUND[:, 1]], 1, -1)
PAIRS: list[tuple[dict[str, Any], Any, Any, str]] = [
    ({}, FOUND, SIMILAR, r"\(n_pairs, 2, n_features\); indices of samples need a preprocessor"),
    ({}, X[FOUND][:, :1], SIMILAR, r"pairs has shape \(30, 1, 4\)"),
    ({"preprocessor": X}, FOUND[:, :1], SIMILAR, r"pairs of indices have shape \(n_pairs, 2\)"),
    ({"preprocessor": X}, FOUND + 50, SIMILAR, "preprocessor has 0 to 59"),
    ({"preprocessor": X}, FOUND - 1, SIMILAR, "pairs refers to samples -1 to"),
    ({"preprocessor": X}, FOUND + 0.5, SIMILAR, "pairs must hold whole numbers"),
    ({"preprocessor": lambda n: X[:3]}, FOUND, SIMILAR, "returned 3 samples for 60 indices"),
    ({}, X[FOUND], SIMILAR == 1, "y must be 1 for similar pairs and -1 for dissimilar ones"),
    ({}, X[FOUND], SIMILAR + 1, "y must be 1 for similar pairs and -1 for dissimilar ones"),
    ({}, X[FOUND], None, "requires y to be passed"),
    ({}, X[FOUND], SIMILAR[:-1], "inconsistent numbers of samples"),
    ({}, X[FOUND], ONES[:30], "pairs holds no two dissimilar samples"),
    ({}, X[FOUND], -ONES[:30], "pairs holds no two similar samples"),
    ({}, X[FOUND] * np.nan, SIMILAR, "Input pairs contains NaN"),
    ({}, np.ma.masked_equal(X[FOUND], X[0, 0]), SIMILAR, "masked"),
    ({"metrics": "signed"}, X[FOUND], SIMILAR, "the labels of two classes, and there are none"),
]
TWICE = np.column_stack([np.arange(5.0), np.arange(5.0), [1.0, 0.0, 2.0, 0.0, 1.0]])
MODELS: list[tuple[dict[str, Any], Any, str]] = [
    ({"covariance": "precomputed"}, [[1.0, 0.5], [0.4, 1.0]], "is not symmetric"),
    ({"alpha": 0.0}, TWICE, "no maximum .* features 0 and 1 are perfectly correlated"),
    ({"alpha": 0.0}, TWICE * [1, 0, 1], "no maximum .* feature 1 has no variance"),
    ({"weights": -np.ones((3, 3))}, TWICE, "weights must not be negative, the least is -1"),
    ({"weights": np.ones((2, 2))}, TWICE, "weights .*3"),
    ({"edges": np.ones((4, 4), dtype=bool)}, TWICE, "edges .* 4 .* 3"),
    ({"edges": [(0, 5)]}, TWICE, "5"),
    ({"alpha": -1.0}, TWICE, "alpha"),
]
CASES: list[tuple[Any, tuple[Any, ...], str]] = [
    *((learner, (X, CODES), message) for learner, message in OPTIONS),
    *((GRAPH(edges=edges), (NAMED, CODES), message) for edges, message in EDGES),
    *SAMPLES,
    *(
        (gda.GraphClassifier(missing_label=missing), ([[0.0], [1.0], [2.0]], y), re.escape(message))
        for y, missing, message in LABELS
    ),
    *((learner, (table, [*"abab"]), message) for learner, table, message in TEXTS),
    *(
        (learner, (X[:4], np.ma.masked_equal([0, 1, 0, 2], 2)), "y has 1 masked")
        for learner in (EuclideanMetric(), gda.GraphClassifier())
    ),
    *((gda.GraphClassifier(each), halves(), re.escape(message)) for each, message in METRICS),
    *((PairMetricLearner(**options), tuple(given), message) for options, *given, message in PAIRS),
    *((LaplacianGraphicalModel(**options), (given,), says) for options, given, says in MODELS),
]


@pytest.mark.parametrize(
    ("estimator", "given", "message"), CASES, ids=lambda each: type(each).__name__
)
def test_is_refused(estimator: Any, given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        estimator.fit(*given)
    assert isinstance(caught.value, gda.errors.GdaoptError) or "sklearn" in str(caught.traceback)
    assert not hasattr(estimator, "metric_")


@pytest.mark.parametrize(
    "learner",
    [
        METRIC(metrics="definite"),
        METRIC(metrics="balanced"),
        METRIC(metrics=gda.PositiveDefiniteMetrics(1.0)),
        METRIC(metrics=gda.PositiveDefiniteMetrics),
        METRIC(method="alternating"),
        METRIC(edge_floor=0.01),
        CV(gda.PositiveDefiniteMetricLearner()),
    ],
    ids=str,
)
def test_learners_with_dense_arrays_refuse_sparse_samples(learner: Any) -> None:
    assert not learner.__sklearn_tags__().input_tags.sparse
    with pytest.raises(TypeError, match="dense data is required"):
        learner.fit(csr_array(X), CODES)
