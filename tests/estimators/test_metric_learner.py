"""The learners on several classes, with weights, with few pairs; limits and errors."""

import dataclasses
import warnings
from functools import partial
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

import gdaopt as gda
from gdaopt.estimators.inputs import class_signal
from gdaopt.methods import context
from gdaopt.objectives import OBJECTIVES, Objective
from gdaopt.objectives.pairs import RectanglePairs
from gdaopt.scaling import auto_trace_bound
from gdaopt.support import deadline
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import (
    LEARNERS,
    SETS,
    certified_by_the_learner,
    refused,
    samples,
)

pytestmark = pytest.mark.filterwarnings("ignore::gdaopt.errors.NothingLearnedWarning")


NAMES = ["height", "length", "width", "weight"]
BY_NAME = [("weight", "length"), ("height", "width")]
AS_MATRIX = np.zeros((4, 4), dtype=bool)
AS_MATRIX[[1, 3, 0, 2], [3, 1, 2, 0]] = True


@pytest.mark.parametrize(
    "edges",
    [BY_NAME, np.array(BY_NAME), [(3, 1), (0, 2)], AS_MATRIX, nx.Graph(BY_NAME)],
    ids=["names", "array of names", "numbers", "matrix", "graph of names"],
)
def test_edges_keep_to_a_mask(edges: Any) -> None:
    X, codes = samples()
    rng = np.random.default_rng(0)
    X[:, 3] = 0.1 * rng.standard_normal(len(X)) - X[:, 1]  # an edge between these is of use
    table = pd.DataFrame(X, columns=NAMES)
    free = gda.GraphMetricLearner("glr").fit(table, codes)
    masked = clone(gda.GraphMetricLearner("glr", edges=edges)).fit(table, codes)
    learned = {frozenset(pair) for *pair, _ in masked.graph_.named_edges()}
    assert frozenset({"weight", "length"}) in learned
    assert learned <= {frozenset(pair) for pair in BY_NAME}
    assert masked.result_.objective >= free.result_.lower_bound
    assert masked.result_.relative_gap <= masked.tolerance
    expected = gda.GraphMetricLearner("glr", edges=[(1, 3), (0, 2)]).fit(table, codes)
    np.testing.assert_array_equal(masked.metric_, expected.metric_)


# --- Sets of metrics -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_shorthand_is_the_learner_with_its_set(kind: Any) -> None:
    X, codes = samples()
    name = SETS[kind].name
    learned = [
        learner.fit(X, codes)
        for learner in (
            kind(),
            gda.MetricLearner(metrics=name),
            gda.MetricLearner(metrics=SETS[kind]),
            clone(gda.MetricLearner()).set_params(metrics=name),
        )
    ]
    for learner in learned:
        np.testing.assert_array_equal(learner.metric_, learned[0].metric_)
        assert type(learner.result_.feasible_set) is SETS[kind]
    assert kind().get_params() == gda.MetricLearner(metrics=name).get_params()


def test_bounds_of_a_set_hold_where_none_are_given() -> None:
    X, codes = samples()
    given = gda.GraphMetrics(8.0, 0.25, path_weight=0.1, edges=[(0, 1), (1, 2), (2, 3)])
    assert gda.MetricLearner(metrics=given).fit(X, codes).result_.feasible_set == given
    by_rule = gda.MetricLearner(metrics=given, trace_bound="K", min_eigenvalue=0.125).fit(X, codes)
    expected = dataclasses.replace(given, trace_bound=4.0, min_eigenvalue=0.125)
    assert by_rule.result_.feasible_set == expected
    assert (by_rule.trace_bound_, by_rule.min_eigenvalue_) == (4.0, 0.125)


def test_signed_metrics_of_two_classes() -> None:
    X, codes = samples(classes=2)
    X[:, 3] = 0.2 * X[:, 3] - X[:, 0]
    learner = gda.MetricLearner(metrics="signed", edges=[(0, 3), (1, 2)]).fit(X, codes)
    expected = gda.SignedGraphMetrics.for_signal(X, codes.astype(float), trace_bound=1.0)
    assert learner.result_.feasible_set.colors == expected.colors
    assert (expected.colors[0], expected.colors[3]) == (1, -1)
    assert learner.metric_[0, 3] > 0 == learner.metric_[0, 1]
    assert learner.result_.status == "converged"
    colours = partial(gda.SignedGraphMetrics, [1, -1, 1, -1])  # of three classes, too
    assert gda.MetricLearner(metrics=colours).fit(*samples()).result_.status == "converged"


@pytest.mark.parametrize(
    "options",
    [{"metrics": "sdd"}, {"metrics": "sdd", "method": "balanced"}, {"metrics": "balanced"}],
)
def test_metrics_of_any_signs(options: dict[str, Any]) -> None:
    """Of three classes; where they are balanced each feature has a colour."""
    X, codes = samples()
    X[:, 3] = 0.2 * X[:, 3] - X[:, 0]
    learner = gda.MetricLearner(edges=[(0, 3), (1, 2)], **options).fit(X, codes)
    assert learner.result_.status == "converged"
    assert learner.metric_[0, 3] > 0 == learner.metric_[0, 1]
    colors = learner.result_.colors
    assert (colors is not None) == ("balanced" in options.values())
    assert colors is None or colors[0] * colors[3] == -1
    with refused("edge_floor with the first two"):
        gda.MetricLearner(edge_floor=0.1, **options).fit(X, codes)


# --- Objectives by name --------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 20])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_it_is_the_objective_with_its_rule(name: str, classes: int) -> None:
    X, codes = samples(n=100, classes=classes)
    learner = gda.GraphMetricLearner(name, scale="none").fit(X, codes)
    objective = OBJECTIVES[name](X, class_signal(codes) if name == "glr" else codes)
    assert learner.trace_bound_ == auto_trace_bound(objective, gda.GraphMetrics(1.0))
    assert learner.min_eigenvalue_ == pytest.approx(0.1 * learner.trace_bound_ / 4)
    assert certified_by_the_learner(learner, X)
    assert learner.result_.objective == pytest.approx(objective.at(learner.metric_).value)


def test_options_go_to_the_objectives_that_have_them() -> None:
    X, y = samples()
    few = np.concatenate([np.flatnonzero(y != 2), np.flatnonzero(y == 2)[:5]])
    X, y = X[few], y[few]
    balanced = gda.GraphMetricLearner("mcml", class_weight="balanced", scale="none").fit(X, y)
    objective = gda.MCML(X, y, sample_weight=1 / np.array([20, 20, 5])[y])
    assert balanced.result_.objective == pytest.approx(objective.value(balanced.metric_))
    nearest = gda.GraphMetricLearner("lmnn", n_neighbors=1, scale="none").fit(X, y)
    lmnn = gda.LMNN(X, y, n_neighbors=1)
    assert nearest.result_.objective == pytest.approx(lmnn.value(nearest.metric_))


# --- Weights and neighbours ----------------------------------------------------------------------


def test_weights_of_samples_go_to_the_objective() -> None:
    X, codes = samples()
    weights = np.random.default_rng(0).uniform(0.5, 3.0, len(X))
    for name, labels in (("mcml", codes), ("glr", class_signal(codes))):
        learner = gda.GraphMetricLearner(name, scale="none", tolerance=1e-6)
        objective = OBJECTIVES[name](X, labels, sample_weight=weights)
        found = learner.fit(X, codes, sample_weight=weights).result_
        assert found.objective == pytest.approx(objective.value(found.metric))
        assert learner.trace_bound_ == auto_trace_bound(objective, gda.GraphMetrics(1.0))
        of_classes = learner.set_params(class_weight={0: 1.0, 1: 3.0, 2: 2.0}).fit(X, codes)
        times = np.array([1.0, 3.0, 2.0])[codes]
        of_samples = clone(learner).set_params(class_weight=None).fit(X, codes, times)
        np.testing.assert_array_equal(of_samples.metric_, of_classes.metric_)
        both = learner.fit(X, codes, list(weights))
        once = clone(of_samples).fit(X, codes, sample_weight=weights * times)
        np.testing.assert_allclose(both.metric_, once.metric_, rtol=1e-9)
    some = gda.GraphMetricLearner(max_samples=30, scale="none").fit(X, codes, weights)
    chosen = some.sample_indices_
    of_some = gda.MCML(X[chosen], codes[chosen], sample_weight=weights[chosen])
    assert some.result_.objective == pytest.approx(of_some.value(some.metric_))
    of_all = gda.MCML(X, codes, sample_weight=weights)
    assert some.full_objective_ == pytest.approx(of_all.value(some.metric_))


def as_array(value: Any) -> Any:
    return value.toarray() if hasattr(value, "toarray") else value


@pytest.mark.parametrize(
    "learner",
    [
        *(gda.MetricLearner(name) for name in ("mcml", "nca", "glr", "none")),
        gda.MetricLearner(class_weight="balanced", metrics="definite", scale="none"),
        gda.MetricLearner("glr", n_neighbors=2, metrics="diagonal"),
        gda.MetricLearner("glr", max_pairs=40),
        gda.MetricLearner(max_samples=18),
        gda.MetricLearnerCV(cv=2),
        gda.MetricLearnerCV(gda.MetricLearner(max_samples=18), cv=2),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_samples_of_weight_0_are_left_out(learner: Any, make: Any) -> None:
    """Also all of one class, and those without which a feature is constant."""
    if make is csr_array and not get_tags(learner).input_tags.sparse:
        pytest.skip("takes no sparse samples")
    X, codes = samples(n=60)
    weights = np.random.default_rng(0).integers(3, size=60) * (codes != 1) * 1.0
    X[weights > 0, 3] = 5.0
    y, kept = np.array(["ash", "birch", "cedar"])[codes], np.flatnonzero(weights)
    found = clone(learner).fit(make(X), y, weights)
    expected = clone(learner).fit(make(X[kept]), y[kept], weights[kept])
    assert found.classes_.tolist() == ["ash", "cedar"]
    names = {name for name in vars(expected) if name.endswith("_")}
    assert names == {name for name in vars(found) if name.endswith("_")}
    for name in sorted(names - {"result_", "learner_", "cv_results_"}):
        value, other = (as_array(getattr(each, name)) for each in (found, expected))
        if name == "sample_indices_" and other is not None:
            other = kept[other]
        np.testing.assert_array_equal(value, other, err_msg=name)
    assert found.result_.objective == expected.result_.objective
    if hasattr(found, "cv_results_"):
        scores = (each.cv_results_["mean_test_score"] for each in (found, expected))
        np.testing.assert_array_equal(*scores)


def test_balanced_weights_find_what_tells_a_small_class_apart() -> None:
    """One sample in a hundred: by its own terms it has no say."""
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((1000, 10)), np.arange(1000) % 100 == 0
    X[codes, :2] += 2.0
    with pytest.warns(gda.errors.NothingLearnedWarning):
        plain = gda.GraphMetricLearner().fit(X, codes)
    assert plain.feature_importances_[:2].sum() == pytest.approx(0.2)
    balanced = gda.GraphMetricLearner(class_weight="balanced").fit(X, codes)
    assert balanced.feature_importances_[:2].sum() > 0.5
    with refused("changes nothing with objective='glr'"):
        gda.GraphMetricLearner("glr", class_weight="balanced").fit(X, codes)


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_edges_between_features_of_equal_weight_are_something_learned(make: Any) -> None:
    """No diagonal entry tells, and all edges are negative entries."""
    rng = np.random.default_rng(0)
    along, across = rng.standard_normal(20), 0.1 * rng.standard_normal(20)
    X = np.column_stack([across + along, across - along])
    X = np.vstack([X, -X, X[:, ::-1], -X[:, ::-1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error", gda.errors.NothingLearnedWarning)
        found = gda.GraphMetricLearner("glr", scale="none").fit(make(X), X[:, 0] > X[:, 1])
    metric = found.result_.metric
    assert metric[0, 0] == pytest.approx(metric[1, 1], rel=1e-6)
    assert metric[0, 1] < -0.5 * metric[0, 0]


# --- Methods, limits, errors ---------------------------------------------------------------------


def test_methods_and_solvers() -> None:
    X, codes = samples()
    best = gda.GraphMetricLearner(scale="none").fit(X, codes).result_
    learner = gda.GraphMetricLearner(method="alternating", solver="analytic", scale="none")
    with pytest.warns(ConvergenceWarning, match="the certified gap is .*, tolerance is 0.0001"):
        found = learner.fit(X, codes).result_
    assert found.method == "alternating"
    assert best.objective * (1 - 1e-4) <= found.objective
    floor = 1e-3 * best.metric.trace()
    connected = gda.GraphMetricLearner(edge_floor=floor).fit(X, codes)
    assert connected.result_.components == 1
    with refused("has no programs to solve"):
        gda.GraphMetricLearner(solver="HIGHS").fit(X, codes)


def test_the_rule_for_the_trace_is_one_of_the_objective() -> None:
    def squares(X: FloatArray, signal: FloatArray) -> Objective:
        return gda.Ridge(X.shape[1]) + gda.Linear(-np.cov(X.T))

    X, codes = samples()
    with refused("trace_bound='auto' is a rule of the objective, and"):
        gda.GraphMetricLearner(squares).fit(X, codes)
    learner = gda.GraphMetricLearner(squares, trace_bound=10.0).fit(X, codes)
    assert certified_by_the_learner(learner, X)


@pytest.mark.parametrize("objective", ["glr", "callable"])
def test_the_time_limit_covers_the_whole_fit(
    objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that each pass over the pairs moves on by a second."""
    clock = SimpleNamespace(now=0.0)
    for module in (deadline, context):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: clock.now))

    def slow(original: Any) -> Any:
        def slowed(*arguments: Any) -> Any:
            clock.now += 1.0
            return original(*arguments)

        return slowed

    for name in ("products", "scatter", "samples"):
        monkeypatch.setattr(RectanglePairs, name, slow(getattr(RectanglePairs, name)))

    def built(X: Any, signal: Any) -> gda.GLR:
        clock.now += 100.0
        return gda.GLR(X, signal)

    learner = gda.GraphMetricLearner(
        built if objective == "callable" else "glr", time_limit=12.5, tolerance=0
    )
    with pytest.warns(ConvergenceWarning, match=r"did not converge: .*time_limit = 12.5 s reached"):
        learner.fit(*samples())
    assert learner.result_.status == "time_limit"
    if objective == "callable":  # the evaluations of the trace bound and of the start
        assert (learner.n_iter_, clock.now <= 106.0) == (0, True)
    else:
        assert learner.n_iter_ > 0
        assert clock.now <= 16.0


def test_no_output_unless_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    gda.GraphMetricLearner().fit(*samples())
    assert capsys.readouterr() == ("", "")
    gda.GraphMetricLearner(verbose=True).fit(*samples())
    assert capsys.readouterr().out.startswith("round")


@pytest.mark.parametrize("search", [False, True])
def test_measurements_as_labels_are_warned_of(search: bool) -> None:
    """Over 20 numbers with gaps; numbers that count classes are none."""
    X = np.random.default_rng(0).standard_normal((60, 2))
    learner: Any = gda.DiagonalMetricLearner(tolerance=0.5)
    if search:
        learner = gda.MetricLearnerCV(learner, objectives=["none"])
    with pytest.warns(UserWarning, match="y has 30 different numbers, from 0 to 87, and looks"):
        learner.fit(X, np.arange(60) % 30 * 3)
    learner.fit(X, np.arange(60) % 30)
