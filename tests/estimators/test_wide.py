"""Learners of many features: sparse metrics and components, and the same numbers."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix, issparse
from sklearn.preprocessing import StandardScaler

import gdaopt as gda
from gdaopt.estimators import PairMetricLearner
from gdaopt.estimators.components import components_of
from gdaopt.estimators.inputs import class_signal
from gdaopt.linalg.samples import divided
from gdaopt.objectives import OBJECTIVES, pair_objective
from gdaopt.scaling import feature_scales
from gdaopt.support.validation import FloatArray
from tests.estimators.cases import refused
from tests.helpers import leave_memory

Y = np.repeat([0, 1, 2], 6)


def samples() -> FloatArray:
    """Return samples of different units, whose classes differ in three features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((18, 30))
    X[:, :3] += 1.5 * Y[:, None]
    scaled: FloatArray = X * 10.0 ** rng.uniform(-2, 2, 30)
    return scaled


@pytest.mark.parametrize("n_components", [None, 3])
@pytest.mark.parametrize("metrics", ["graph", "diagonal", "sdd"])
@pytest.mark.parametrize("objective", ["mcml", "glr", "lmnn"])
def test_the_metric_is_the_same_and_sparse(
    objective: str, metrics: str, n_components: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = samples()
    options = {"metrics": metrics, "n_components": n_components, "tolerance": 1e-7}
    dense = gda.MetricLearner(objective, **options).fit(X, Y)  # type: ignore[arg-type]
    monkeypatch.setattr(pair_objective, "MOST_DENSE", 1)
    wide = gda.MetricLearner(objective, **options).fit(X, Y)  # type: ignore[arg-type]
    assert isinstance(wide.metric_, csr_array)
    assert isinstance(wide.components_, csr_array)
    assert wide.trace_bound_ == pytest.approx(dense.trace_bound_, rel=1e-12)
    units = np.outer(dense.scale_, dense.scale_)
    difference = (wide.metric_.toarray() - dense.metric_) * units
    scale = np.abs(dense.metric_ * units).max()
    assert np.abs(difference).max() <= 0.02 * scale
    components = wide.components_.toarray()
    assert components.shape == dense.components_.shape
    atol = 1e-12 * scale
    np.testing.assert_allclose(
        components.T @ components * units, wide.metric_.toarray() * units, atol=atol
    )
    mapped = wide.transform(X)
    assert mapped.shape == (18, len(components))
    expected = np.linalg.norm(mapped[0] - mapped[1])
    assert wide.pair_distance(X[None, :2]) == pytest.approx(expected)
    assert wide.get_metric()(X[0], X[1]) == pytest.approx(expected)
    np.testing.assert_allclose(wide.feature_importances_, dense.feature_importances_, atol=0.02)
    assert {edge[:2] for edge in wide.graph_.named_edges()[:1]} <= {
        edge[:2] for edge in dense.graph_.named_edges()[:5]
    }
    np.testing.assert_allclose(wide.graph_.self_loops, wide.result_.metric.sum(axis=1), atol=1e-12)


def test_a_metric_without_edges_has_diagonal_components() -> None:
    found = components_of(csr_array(np.diag([4.0, 0.0, 9.0])))
    np.testing.assert_array_equal(found.toarray(), np.diag([2.0, 0.0, 3.0]))


# --- Sparse samples ------------------------------------------------------------------------------


def sparse_samples() -> FloatArray:
    """Return samples of which a half of the entries are 0, with a constant and an empty feature."""
    X = samples()
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0.0
    X[:, 7], X[:, 8] = 3.0, 0.0
    return X


@pytest.mark.parametrize(
    ("objective", "metrics", "make"),
    [
        *((objective, "graph", csr_array) for objective in OBJECTIVES),
        ("mcml", "diagonal", csc_array),
        ("mcml", "signed", csr_matrix),
        ("glr", "sdd", csc_array),
    ],
)
def test_sparse_samples_have_the_same_optimum(objective: str, metrics: str, make: Any) -> None:
    X, y = sparse_samples(), Y > 0
    options: dict[str, Any] = {"metrics": metrics, "tolerance": 1e-7}
    dense = gda.MetricLearner(objective, **options).fit(X, y)
    found = gda.MetricLearner(objective, **options).fit(make(X), y)
    np.testing.assert_allclose(found.scale_, dense.scale_, rtol=1e-14)
    assert found.trace_bound_ == pytest.approx(dense.trace_bound_, rel=1e-10)
    assert found.result_.objective == pytest.approx(
        dense.result_.objective, rel=1e-2 if objective == "nca" else 1e-6
    )
    mapped: Any = found.transform(make(X))
    assert issparse(mapped) == (objective != "none")  # which makes no array that is sparse
    mapped = mapped.toarray() if objective != "none" else mapped
    np.testing.assert_allclose(mapped, found.transform(X), atol=1e-12 * np.abs(mapped).max())
    assert found.feature_importances_.sum() == pytest.approx(1.0)
    assert (found.feature_importances_[[7, 8]] == 0).all()


@pytest.mark.parametrize(
    "options",
    [
        {"max_samples": 12},
        {"max_pairs": 40, "objective": "logistic-pairs"},
        {"n_neighbors": 2, "objective": "glr"},
        {"metrics": gda.GraphMetrics(2.0, 1e-3)},
        {"class_weight": "balanced"},
        {"scale": "none"},
        {"n_components": 3},
        {"edges": [(0, 1), (1, 2)]},
        {"objective": lambda X, signal: gda.MCML(X, signal.argmax(axis=1))},
    ],
    ids=lambda options: "-".join(options),
)
def test_options_go_with_sparse_samples(options: dict[str, Any]) -> None:
    X, options = sparse_samples(), {"tolerance": 1e-7} | options
    dense, found = (gda.MetricLearner(**options).fit(made, Y) for made in (X, csr_array(X)))
    assert found.result_.objective == pytest.approx(
        dense.result_.objective, rel=2 * options["tolerance"]
    )
    if dense.full_objective_ is not None:
        assert found.full_objective_ == pytest.approx(dense.full_objective_, rel=1e-3)
    assert found.transform(csr_array(X)).shape == (18, options.get("n_components", 30))


def test_no_copy_of_sparse_samples_is_dense() -> None:
    """As an array these samples would need 800 MB."""
    rng = np.random.default_rng(0)
    entries = rng.random(4000), (rng.integers(50, size=4000), rng.integers(2_000_000, size=4000))
    X = csr_array(entries, shape=(50, 2_000_000))
    means, spreads = feature_scales(X, "zscore")
    used = np.unique(X.indices)
    expected = feature_scales(X[:, used].toarray(), "zscore")
    np.testing.assert_allclose(means[used], expected[0], rtol=1e-13)
    np.testing.assert_allclose(spreads[used], expected[1], rtol=1e-13)
    assert np.isinf(np.delete(spreads, used)).all()
    scaler = StandardScaler(with_mean=False).fit(X[:, used])
    np.testing.assert_allclose(spreads[used], scaler.scale_, rtol=1e-12)
    assert divided(X, spreads).nnz == X.nnz


@pytest.mark.parametrize("learner", [None, gda.DiagonalMetricLearner("glr")])
def test_a_search_takes_sparse_samples(learner: Any) -> None:
    X, y = sparse_samples(), Y > 0
    options: dict[str, Any] = {"cv": 3}
    if learner is None:
        options["objectives"] = ["mcml", "glr", "none"]
    dense, found = (
        gda.MetricLearnerCV(learner, **options).fit(made, y) for made in (X, csr_array(X))
    )
    assert found.best_index_ == dense.best_index_
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], dense.cv_results_["mean_test_score"], atol=0.05
    )
    np.testing.assert_allclose(found.transform(X), dense.transform(X), atol=0.05 * np.abs(X).max())


@pytest.mark.parametrize(
    "pairs",
    [X := csr_array(np.eye(3)), [X, X], [(X[[0]], X[[1]])]],
    ids=["rows", "arrays", "pairs"],
)
def test_pairs_of_sparse_samples_are_refused(pairs: Any) -> None:
    learner = gda.GraphMetricLearner("none").fit(np.eye(3), [0, 0, 1])
    for call in (learner.pair_distance, lambda given: PairMetricLearner().fit(given, [1])):
        with refused("pairs holds sparse samples; pass an array of"):
            call(pairs)


def test_the_objective_of_all_samples_is_that_of_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes N×N numbers: where there is no memory for them, it is None."""
    X, y = csr_array(sparse_samples()), Y > 0
    found = gda.MetricLearner("glr", max_samples=12, scale="none").fit(X, y)
    assert found.result_.features is not None
    every = gda.GLR(X.toarray(), class_signal(y.astype(int)))
    expected = every.value(found.result_.metric)
    assert found.full_objective_ == pytest.approx(expected, rel=1e-12)
    leave_memory(monkeypatch, 8.0 * 6 * 16**2)  # N is 18, 13 chosen
    assert gda.MetricLearner("glr", max_samples=12).fit(X, y).full_objective_ is None
