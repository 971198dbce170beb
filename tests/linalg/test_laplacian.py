"""Graphs of metrics, against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gdaopt.linalg import laplacian, projection
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, properties, random_metric, random_symmetric

sizes = st.integers(1, 12)


def graph_of(metric: FloatArray, threshold: float = 0.0) -> nx.Graph[int]:
    """Return the graph of the edges above a threshold, in networkx."""
    weights = laplacian.edge_weights(metric)
    return nx.from_numpy_array(np.where(weights > threshold, weights, 0.0))


class TestLaplacian:
    @PROPERTY
    @given(data=st.data(), size=sizes)
    def test_weights_and_self_loops_round_trip(self, data: st.DataObject, size: int) -> None:
        upper = data.draw(arrays(float, (size, size), elements=st.floats(0, 1e6)))
        loops = data.draw(arrays(float, size, elements=st.floats(-1e6, 1e6)))
        weights = np.triu(upper, 1) + np.triu(upper, 1).T
        metric = laplacian.generalized_laplacian(weights, loops)
        np.testing.assert_array_equal(laplacian.edge_weights(metric), weights)
        round_off = 1e-15 * size * np.abs(metric).max()
        np.testing.assert_allclose(laplacian.self_loops(metric), loops, rtol=0, atol=round_off)

    @PROPERTY
    @given(rng=generators, size=sizes, threshold=st.sampled_from([0.0, 0.05, 0.3]))
    def test_components(self, rng: np.random.Generator, size: int, threshold: float) -> None:
        metric = random_metric(rng, size, density=0.3)
        expected = nx.number_connected_components(graph_of(metric, threshold))
        assert laplacian.n_components(metric, threshold) == expected

    def test_an_edge_at_the_threshold_does_not_connect(self) -> None:
        metric = np.array([[1.0, -0.25], [-0.25, 1.0]])
        assert laplacian.n_components(metric, 0.25) == 2
        assert laplacian.n_components(metric, np.nextafter(0.25, 0)) == 1

    @PROPERTY
    @given(rng=generators, size=sizes, density=st.sampled_from([0.2, 0.5, 1.0]))
    def test_maximum_spanning_tree(
        self, rng: np.random.Generator, size: int, density: float
    ) -> None:
        metric = random_metric(rng, size, density=density)
        edges = laplacian.maximum_spanning_tree(metric)
        assert (edges[:, 0] < edges[:, 1]).all()
        weights = np.sort(laplacian.edge_weights(metric)[edges[:, 0], edges[:, 1]])
        tree = nx.maximum_spanning_edges(graph_of(metric), data=True)
        expected = np.sort([attributes["weight"] for *_, attributes in tree])
        np.testing.assert_allclose(weights, expected, rtol=1e-15)

    @PROPERTY
    @given(rng=generators, size=sizes, density=st.sampled_from([0.0, 0.2, 0.5, 1.0]))
    def test_spanning_forest(self, rng: np.random.Generator, size: int, density: float) -> None:
        graph = nx.gnp_random_graph(size, density, seed=int(rng.integers(2**31)))
        rows, columns = np.array(sorted(graph.edges), dtype=np.intp).reshape(-1, 2).T
        found = laplacian.spanning_forest(size, (rows, columns))
        pairs = list(zip(*(index.tolist() for index in found), strict=True))
        assert pairs == sorted(pairs)
        assert set(pairs) <= set(graph.edges)
        forest: nx.Graph[int] = nx.Graph(pairs)
        forest.add_nodes_from(range(size))
        assert nx.is_forest(forest)
        assert nx.number_connected_components(forest) == nx.number_connected_components(graph)
        # Depth first: every other edge joins a node to one of its ancestors.
        expected = {tuple(sorted(edge)) for edge in nx.dfs_edges(graph, sort_neighbors=sorted)}
        assert set(pairs) == expected
        np.testing.assert_array_equal(
            laplacian.unit_laplacian(size, found),
            nx.laplacian_matrix(forest, range(size)).toarray(),
        )


# --- Projections on a simplex, a cone and their intersections ------------------------------------


@properties(200)
@given(generators, st.integers(1, 40), st.floats(-12, 25), st.floats(-12, 12), st.booleans())
def test_the_simplex_at_any_scale(
    rng: np.random.Generator, size: int, spread: float, total: float, ties: bool
) -> None:
    """The optimum: entries are the point's less one number, where they are positive."""
    most = 10.0**total
    point = rng.standard_normal(size)
    point = (np.round(point) if ties else point) * 10.0**spread
    nearest = projection.project_on_simplex(point, most)
    unit = max(most, float(np.abs(point).max()))
    assert nearest.min() >= 0
    assert nearest.sum() == pytest.approx(most, rel=1e-12)
    shift = (point - nearest)[nearest > 0]
    assert np.ptp(shift) <= 1e-13 * size * unit
    assert (point[nearest == 0] <= shift.max() + 1e-13 * size * unit).all()
    bounded = projection.project_on_bounded_sum(point, most)
    expected = np.maximum(point, 0) if np.maximum(point, 0).sum() <= most else nearest
    np.testing.assert_array_equal(bounded, expected)


@pytest.mark.parametrize("seed", range(3))
def test_restarts_save_half_of_the_decompositions(seed: int) -> None:
    matrix = 10 * random_symmetric(np.random.default_rng(seed), 12)

    def without_positive_edges(found: FloatArray) -> FloatArray:
        return np.where(np.eye(12) > 0, found, np.minimum(found, 0))

    found = projection.project_on_intersection(matrix, without_positive_edges, 1e-9)
    assert found.apart <= 1e-9
    assert found.eigen_decompositions <= 100  # 140 and more without


def test_gives_up_on_an_empty_intersection(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says how far apart cone and polyhedron are."""
    monkeypatch.setattr(projection, "_MOST_ITERATIONS", 50)

    def below(matrix: FloatArray) -> FloatArray:
        return np.minimum(matrix, -np.eye(2))

    found: projection.Projection = projection.project_on_intersection(np.eye(2), below, 1e-9)
    assert found.eigen_decompositions == 50
    assert found.apart >= np.sqrt(2)


def test_edges_of_either_sign_count_above_the_threshold() -> None:
    metric = np.array([[2.0, -0.5, 0.3], [-0.5, 2.0, -1e-3], [0.3, -1e-3, 2.0]])
    assert laplacian.n_edges(metric, 1e-2) == 2
    assert laplacian.n_edges(metric, 1e-4) == 3
    assert laplacian.edge_threshold(6.0, 3) == pytest.approx(2e-9)
