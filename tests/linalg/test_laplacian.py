"""Graphs of metrics, against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gdaopt.linalg.entries import all_edges
from gdaopt.linalg.laplacian import (
    edge_weights,
    generalized_laplacian,
    maximum_spanning_tree,
    n_components,
    path_edges,
    self_loops,
    spanning_forest,
    unit_laplacian,
)
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, random_metric

sizes = st.integers(1, 12)


def graph_of(metric: FloatArray, threshold: float = 0.0) -> nx.Graph[int]:
    """Return the graph of the edges above a threshold, in networkx."""
    weights = edge_weights(metric)
    return nx.from_numpy_array(np.where(weights > threshold, weights, 0.0))


class TestLaplacian:
    @PROPERTY
    @given(data=st.data(), size=sizes)
    def test_weights_and_self_loops_round_trip(self, data: st.DataObject, size: int) -> None:
        upper = data.draw(arrays(float, (size, size), elements=st.floats(0, 1e6)))
        loops = data.draw(arrays(float, size, elements=st.floats(-1e6, 1e6)))
        weights = np.triu(upper, 1) + np.triu(upper, 1).T
        metric = generalized_laplacian(weights, loops)
        np.testing.assert_array_equal(edge_weights(metric), weights)
        round_off = 1e-15 * size * np.abs(metric).max()
        np.testing.assert_allclose(self_loops(metric), loops, rtol=0, atol=round_off)

    @pytest.mark.parametrize("size", [1, 2, 3, 7])
    def test_laplacian_of_the_path(self, size: int) -> None:
        expected = nx.laplacian_matrix(nx.path_graph(size)).toarray()
        np.testing.assert_array_equal(unit_laplacian(size, path_edges(size)), expected)

    @PROPERTY
    @given(rng=generators, size=sizes, threshold=st.sampled_from([0.0, 0.05, 0.3]))
    def test_components(self, rng: np.random.Generator, size: int, threshold: float) -> None:
        metric = random_metric(rng, size, density=0.3)
        expected = nx.number_connected_components(graph_of(metric, threshold))
        assert n_components(metric, threshold) == expected

    def test_an_edge_at_the_threshold_does_not_connect(self) -> None:
        metric = np.array([[1.0, -0.25], [-0.25, 1.0]])
        assert n_components(metric, 0.25) == 2
        assert n_components(metric, np.nextafter(0.25, 0)) == 1

    @PROPERTY
    @given(rng=generators, size=sizes, density=st.sampled_from([0.2, 0.5, 1.0]))
    def test_maximum_spanning_tree(
        self, rng: np.random.Generator, size: int, density: float
    ) -> None:
        metric = random_metric(rng, size, density=density)
        edges = maximum_spanning_tree(metric)
        assert (edges[:, 0] < edges[:, 1]).all()
        weights = np.sort(edge_weights(metric)[edges[:, 0], edges[:, 1]])
        tree = nx.maximum_spanning_edges(graph_of(metric), data=True)
        expected = np.sort([attributes["weight"] for *_, attributes in tree])
        np.testing.assert_allclose(weights, expected, rtol=1e-15)

    @PROPERTY
    @given(rng=generators, size=sizes, density=st.sampled_from([0.0, 0.2, 0.5, 1.0]))
    def test_spanning_forest(self, rng: np.random.Generator, size: int, density: float) -> None:
        graph = nx.gnp_random_graph(size, density, seed=int(rng.integers(2**31)))
        rows, columns = np.array(sorted(graph.edges), dtype=np.intp).reshape(-1, 2).T
        found = spanning_forest(size, (rows, columns))
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
            unit_laplacian(size, found), nx.laplacian_matrix(forest, range(size)).toarray()
        )

    @pytest.mark.parametrize("size", [1, 2, 7])
    def test_the_forest_of_a_graph_with_the_path_is_the_path(self, size: int) -> None:
        for edges in (path_edges(size), all_edges(size)):
            for found, expected in zip(spanning_forest(size, edges), path_edges(size), strict=True):
                np.testing.assert_array_equal(found, expected)
