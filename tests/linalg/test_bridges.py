"""Bridges against networkx, and inverses that are put together at them."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.linalg.entries import Edges
from gdaopt.linalg.laplacian import bridges, with_bridges
from tests.helpers import PROPERTY, generators


def random_edges(rng: np.random.Generator, size: int, density: float) -> Edges:
    rows, columns = np.triu_indices(size, 1)
    kept = rng.random(len(rows)) < density
    order = rng.permutation(np.flatnonzero(kept))
    return rows[order], columns[order]


class TestBridges:
    @PROPERTY
    @given(rng=generators, size=st.integers(1, 30), degree=st.floats(0, 4))
    def test_those_of_networkx(self, rng: np.random.Generator, size: int, degree: float) -> None:
        edges = random_edges(rng, size, degree / size)
        graph: Any = nx.Graph(zip(*(ends.tolist() for ends in edges), strict=True))
        expected = sorted(tuple(sorted(edge)) for edge in nx.bridges(graph))
        found = bridges(size, edges)
        assert list(zip(*(ends.tolist() for ends in found), strict=True)) == expected


class TestWithBridges:
    @pytest.mark.parametrize("size", [2, 7])
    def test_keeps_the_diagonal_of_the_inverse(self, size: int) -> None:
        rng = np.random.default_rng(size)
        samples = rng.standard_normal((20, size))
        S = samples.T @ samples / 20
        # A star of bridges around feature 0, whose part of the metric is a block of its own.
        edges = np.zeros(size - 1, dtype=np.intp), np.arange(1, size)
        metric = with_bridges(np.diag(1 / np.diagonal(S)), np.diagonal(S), edges, S)
        inverse = np.linalg.inv(metric)
        np.testing.assert_allclose(np.diagonal(inverse), np.diagonal(S), rtol=1e-12)
        np.testing.assert_allclose(inverse[edges], S[edges], rtol=1e-10, atol=1e-12)
