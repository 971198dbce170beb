"""Learners of many features: sparse metrics and components, and the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import gdaopt as gda
from gdaopt.estimators.base import components_of
from gdaopt.linalg.masked import MaskedMatrix
from gdaopt.objectives.pairs import base
from gdaopt.support.validation import FloatArray

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
    monkeypatch.setattr(base, "MOST_DENSE", 1)
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
    found = components_of(MaskedMatrix.of_diagonal(np.array([4.0, 0.0, 9.0])))
    np.testing.assert_array_equal(found.toarray(), np.diag([2.0, 0.0, 3.0]))
