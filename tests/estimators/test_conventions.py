"""What all estimators have in common: scikit-learn's rules, labels, limits, hard samples."""

import inspect
import pickle
import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import gdaopt as gda
from gdaopt.estimators import (
    BaseMetricLearner,
    LaplacianGraphicalModel,
    LaplacianGraphicalModelCV,
    MetricKNeighborsClassifier,
    OneVsRestMetricClassifier,
    PairMetricLearner,
    TripletMetricLearner,
    baselines,
    expected_failed_checks,
)
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import LEARNERS, SEARCHES, TRANSDUCTIVE, samples, soundly_fitted

SMALL: dict[str, Any] = {"cv": 2}
OTHERS: list[Any] = [
    baselines.EuclideanMetric,
    partial(baselines.GeometricMeanMetric, random_state=0),
    baselines.FeatureGraphLearning,
]
LABELLED: list[Any] = [*LEARNERS, *OTHERS, *TRANSDUCTIVE]  # all learners of labelled samples
ESTIMATORS = [
    *(make() for make in LABELLED),
    gda.GraphClassifier(),
    gda.GraphClassifier(missing_label=None),
    MetricKNeighborsClassifier(),
    OneVsRestMetricClassifier(),
]
ALIKE = [  # but for a parameter, or many fits each: their checks are slow
    gda.MetricLearner("glr", metrics=gda.DiagonalMetrics),
    gda.MetricLearnerCV(gda.DiagonalMetricLearner(), **SMALL),
    gda.MetricLearnerCV(**SMALL),
    gda.MetricLearnerCV(LEARNERS[2](), **SMALL),
    gda.GraphClassifier(n_neighbors=4),
    OneVsRestMetricClassifier(missing_label=None),
]
TUPLES = [PairMetricLearner, TripletMetricLearner]
MODELS = [
    LaplacianGraphicalModel(),
    LaplacianGraphicalModelCV(alphas=3, cv=2),
    LaplacianGraphicalModelCV(alphas=3, criterion="ebic"),
]

pytestmark = [
    pytest.mark.filterwarnings("ignore:The least populated class:UserWarning"),
    pytest.mark.filterwarnings("ignore::gdaopt.errors.CutOffSamplesWarning"),
    pytest.mark.filterwarnings("ignore::gdaopt.errors.NothingLearnedWarning"),
]


def given(kind: Any) -> tuple[Any, ...]:
    """Return what a learner of that kind is fitted to."""
    X, codes = samples()
    tuples: dict[Any, tuple[Any, ...]] = {
        PairMetricLearner: (X[[[0, 3], [0, 1]]], [1, -1]),
        TripletMetricLearner: (X[[[0, 3, 1]]],),
    }
    return tuples.get(kind, (X, codes))


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    [*ESTIMATORS, *MODELS], expected_failed_checks=expected_failed_checks
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    ALIKE, expected_failed_checks=expected_failed_checks
)
def test_scikit_learns_checks_of_others(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("learner", TUPLES)
def test_scikit_learns_checks_of_learners_of_tuples(learner: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # few are for three dimensions
        check_estimator(learner())


def listed_in(doc: str) -> list[str]:
    """Return the names that a docstring explains, several of one line each by itself."""
    heads = [line.partition(" : ")[0] for line in doc.splitlines() if line[:1] != " "]
    return [name.lstrip("*") for head in heads for name in head.split(", ")]


@pytest.mark.parametrize(
    "estimator",
    {
        type(each): each for each in (*ESTIMATORS, *ALIKE, *MODELS, *(kind() for kind in TUPLES))
    }.values(),
    ids=lambda estimator: type(estimator).__name__,
)
def test_docstrings_explain_each_parameter_and_attribute_once(estimator: Any) -> None:
    kind = type(estimator)
    doc = str(inspect.getdoc(kind))
    if kind in LEARNERS:  # shorthands
        assert "`MetricLearner`, which explains all parameters and attributes" in doc
        doc = str(inspect.getdoc(gda.MetricLearner))
    titles = [title for title in ("Parameters", "Attributes", "See Also", "Notes") if title in doc]
    places = [doc.index(f"\n\n{title}\n---") for title in titles if f"\n\n{title}\n---" in doc]
    assert places == sorted(places)
    assert "\n\n\n" not in doc
    frame = pd.DataFrame(samples()[0], columns=list("pqrs"))
    fitted = clone(estimator).fit(*(given(kind) if kind in TUPLES else (frame, samples()[1])))
    attributes = [name for name in vars(fitted) if name.endswith("_") and name[0] != "_"]
    for name in (*inspect.signature(kind).parameters, *attributes):
        assert listed_in(doc).count(name) == 1, name
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        arguments = [*inspect.signature(method).parameters][1:]
        if name.startswith("_") or not method.__module__.startswith("gdaopt"):
            continue
        doc = str(inspect.getdoc(method))
        for argument in arguments:
            assert listed_in(doc).count(argument) == 1, (name, argument)
        assert "\n\n\n" not in doc
        assert ("\nself" in doc) == (method.__annotations__["return"] == "Self")


def test_the_base_is_all_that_another_learner_needs() -> None:
    class Whitening(BaseMetricLearner):
        def _learn(self, X: FloatArray, codes: Any) -> FloatArray:
            return np.asarray(np.linalg.inv(np.cov(X.T)), dtype=np.float64)

    X, codes = samples()
    np.testing.assert_allclose(
        np.cov(Whitening().fit(X, codes).transform(X).T), np.eye(4), atol=1e-10
    )


# --- Parameters ----------------------------------------------------------------------------------

GRAPH, CV, OVR = gda.GraphMetricLearner, gda.MetricLearnerCV, OneVsRestMetricClassifier
ZHU, MAO, YANG = TRANSDUCTIVE
GMML, FGL = baselines.GeometricMeanMetric, baselines.FeatureGraphLearning


BAD: list[tuple[Any, dict[str, tuple[Any, ...]]]] = [
    (GRAPH, {"objective": ("lda",), "method": ("magic",), "trace_bound": (0, "large")}),
    (GRAPH, dict.fromkeys(("min_eigenvalue", "edge_floor", "tolerance", "random_state"), (-1,))),
    (GRAPH, {"scale": ("auto", 1), "max_samples": (1, "all"), "max_iterations": (1.5,)}),
    (GRAPH, dict.fromkeys(("n_neighbors", "max_pairs", "time_limit"), (0,))),
    (GRAPH, dict.fromkeys(("metrics", "class_weight", "verbose"), ("x",))),
    (CV, {"learner": (GRAPH,), "objectives": ("glr",), "trace_bounds": ("x",)}),
    (CV, {"time_limit": (0,), "verbose": ("x",)}),
    *((kind, dict.fromkeys(("objective", "metrics", "scale"), (3,))) for kind in TUPLES),
    (gda.GraphClassifier, {"n_neighbors": (0,), "metric": (0,)}),
    (OVR, dict.fromkeys(("learner", "classifier", "aggregation"), (3,))),
    (ZHU, dict.fromkeys(("eta", "max_log_scale", "max_iterations"), (0,))),
    (MAO, {"n_steps": (0,)}),
    (YANG, dict.fromkeys(("labels", "trace_bound", "max_rounds"), (0,))),
    (GMML, {"t": (1.5, "best"), "n_pairs": (0,), "cv": (1,), "random_state": ("x",)}),
    (FGL, {"trace_bound": (0, "k"), "tolerance": (-1,), "inner_tolerance": (-1,)}),
    (FGL, {"max_iterations": (-1,)}),
]


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (kind, name, value)
        for kind, wrong in BAD
        for name, values in wrong.items()
        for value in values
    ],
)
def test_bad_parameters(kind: Any, name: str, value: Any) -> None:
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of {kind.__name__}"):
        kind(**{name: value}).fit(*given(kind))


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *ALIKE[:2]], ids=str)
def test_labels_are_names_and_copies_are_equal(estimator: Any) -> None:
    X, codes = samples(n=30)
    expected = clone(estimator).fit(X, codes)

    def answers(fitted: Any) -> Any:
        return (fitted.transform if hasattr(fitted, "transform") else fitted.predict_proba)(X)

    names = np.array(["ash", "birch", "cedar"])[codes]
    for y in (names, names.astype(object), pd.Series(names), 10 * codes - 5, codes.astype(float)):
        found = clone(estimator).fit(X, y)
        np.testing.assert_array_equal(answers(found), answers(expected))
        assert list(found.classes_) == list(np.unique(y))
    np.testing.assert_array_equal(answers(pickle.loads(pickle.dumps(found))), answers(expected))
    assert type(estimator).__name__ in estimator._repr_html_()


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *ALIKE[:2]], ids=str)
def test_data_frames_and_sparse_arrays(estimator: Any) -> None:
    X, codes = samples(n=30)
    name = "transform" if hasattr(estimator, "transform") else "predict"
    found = clone(estimator).fit(pd.DataFrame(X, columns=list("pqrs")), pd.Series(codes))
    assert found.feature_names_in_.tolist() == list("pqrs")
    with pytest.raises(ValueError, match="feature names"):
        getattr(found, name)(pd.DataFrame(X, columns=list("qprs")))
    found = clone(estimator).fit(X, codes)
    if get_tags(estimator).input_tags.sparse:
        assert getattr(found, name)(csr_array(X)).shape == (30, 4)
        return
    for refuses in (getattr(found, name), lambda samples: found.fit(samples, codes)):
        with pytest.raises(TypeError, match=r"Sparse data was passed.*dense data is required"):
            refuses(csr_array(X))


@pytest.mark.parametrize(
    ("steps", "grid"),
    [
        (
            [GRAPH("glr"), KNeighborsClassifier()],
            {"graphmetriclearner__min_eigenvalue": ["auto", 1e-4], "kneighborsclassifier__p": [1]},
        ),
        *(([learner(), KNeighborsClassifier()], {}) for learner in TRANSDUCTIVE),
        (
            [gda.GraphClassifier(GRAPH("glr"))],
            {"graphclassifier__metric__scale": ["zscore", "none"]},
        ),
        (
            [gda.GraphClassifier(NeighborhoodComponentsAnalysis(max_iter=3, random_state=0))],
            {"graphclassifier__n_neighbors": [None, 20], "graphclassifier__metric__tol": [1e-5]},
        ),
        (
            [MetricKNeighborsClassifier(metric=np.eye(13))],
            {"metrickneighborsclassifier__n_neighbors": [1, 5]},
        ),
        (
            [OVR(gda.DiagonalMetricLearner(), MetricKNeighborsClassifier())],
            {
                "onevsrestmetricclassifier__learner__trace_bound": ["auto", 0.01],
                "onevsrestmetricclassifier__classifier__n_neighbors": [1, 5],
            },
        ),
    ],
    ids=str,
)
@SEARCHES
def test_pipelines_and_searches(steps: list[Any], grid: dict[str, Any]) -> None:
    X, y = load_wine(return_X_y=True)
    search = GridSearchCV(make_pipeline(StandardScaler(), *steps), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    for name, value in search.best_params_.items():
        assert search.best_estimator_.get_params()[name] == value


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (GRAPH(tolerance=0, max_iterations=1), "did not converge: .*max_iterations = 1"),
        (GRAPH(tolerance=0, time_limit=1e-9), "did not converge: .*s"),
        (
            GRAPH("nca", tolerance=1e-9, max_iterations=1),
            "Frank–Wolfe gap is .*, tolerance is 1e-09",
        ),
        (
            CV(gda.MetricLearner(time_limit=1e-6), objectives=["mcml"], cv=2),
            "MetricLearnerCV did not",
        ),
        (ZHU(max_iterations=2), "did not converge in 2 steps; raise max_iterations"),
        (FGL(tolerance=0.0, inner_tolerance=0.0, max_iterations=1), "= 1 was reached"),
        (FGL(tolerance=0.0, inner_tolerance=0.0, max_iterations=3), "= 3 was reached"),
        (PairMetricLearner(max_iterations=0), "did not converge"),
        (TripletMetricLearner(max_iterations=0), "did not converge"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_limit_that_ends_the_fit_warns_its_caller(learner: Any, words: str) -> None:
    with pytest.warns(ConvergenceWarning, match=words) as caught:
        learner.fit(*given(type(learner)))
    assert caught[0].filename == __file__
    assert np.isfinite(learner.metric_).all()
    assert learner.n_iter_ <= 3


# --- Hard samples --------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [2.0**-400, 1e-60, 1e-6, 3.7, 1e6, 1e60, 2.0**400])
@pytest.mark.parametrize(
    ("make", "exponent", "copies"),
    [
        *((partial(learner, tolerance=1e-9), -2, 1) for learner in LEARNERS),
        (partial(FGL), -2, 1),
        (partial(YANG, tolerance=1e-9), -2, 1),
        *((partial(GMML, 0.25, random_state=0), -1, copies) for copies in (1, 2)),
        (partial(GMML, 0.5, random_state=0), 0, 2),
    ],
)
def test_the_scale_of_all_features_drops_out(
    make: Any, exponent: int, copies: int, scale: float
) -> None:
    """The automatic trace bound follows it, and so does the ridge that copies make needed."""
    if not 1e-100 < scale < 1e100 and make.func is not GMML:
        pytest.skip("squares leave floating point")
    X, codes = samples(n=30)
    X = np.tile(X, copies)
    expected, found = (make().fit(s * X, codes).metric_ for s in (1.0, scale))
    np.testing.assert_allclose(
        found / scale**exponent, expected, rtol=1e-4, atol=1e-5 * expected.max()
    )


X, CODES = samples()
SIX, TWENTY, FORTY = samples(n=6), samples(n=20, k=40), samples(n=40)
ROWS = ([*range(6)], [0, 1, 3, 4], [0, 3, 4])  # at last, one of class 1
HARD: dict[str, list[tuple[FloatArray, Any]]] = {
    **{
        f"scales of 10^{exponents}": [
            (Z := X * 10.0 ** np.array(exponents), CODES),
            (Z + 5.0 * Z.std(axis=0), CODES),
        ]
        for exponents in [(-6, 6, 0, 0), (6, 0, 0, -6), (0, -6, 0, 0), (6, 6, -6, -6)]
    },
    "constant features": [(np.column_stack([X, np.full(60, 1e3), np.zeros(60)]), CODES)],
    "copies of features": [(Z, CODES) for Z in (np.column_stack([X, X[:, 0]]), np.tile(X, 5))],
    "copies of samples": [(np.vstack([X, X]), np.tile(CODES, 2))],
    "one feature": [(X[:, :1], CODES)],
    "few samples": [(SIX[0][rows], SIX[1][rows]) for rows in ROWS],
    "many classes": [(FORTY[0], np.arange(40) // 2)],
    "more features than samples": [TWENTY, (TWENTY[0][:4], TWENTY[1][:4])],
}


def hidden(y: Any) -> Any:
    """Return the labels without a half of them."""
    return np.where(np.random.default_rng(0).permutation(len(y)) < len(y) // 2, y, -1)


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize(
    "make",
    [
        *LABELLED,
        partial(GRAPH, "glr", scale="none"),
        *(partial(GMML, t, random_state=0) for t in (0, 1, "cv")),
    ],
)
def test_hard_samples(make: Any, name: str) -> None:
    for features, codes in HARD[name]:
        soundly_fitted(make(), features, codes)
        if make in TRANSDUCTIVE and len(codes) >= 40:
            soundly_fitted(make(), features, hidden(codes))
