"""Signed graph metrics are graph metrics after features change their sign."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.sets import (
    GraphMetrics,
    SignedGraphMetrics,
)
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, random_metric, random_symmetric

SET = GraphMetrics(trace_bound=4.0, min_eigenvalue=0.1)


def edge(weight: float, size: int = 4) -> FloatArray:
    """Return a member of SET: unit diagonal, one edge (1, 2) of this weight."""
    metric = np.eye(size)
    metric[1, 2] = metric[2, 1] = -weight
    return metric


class TestSigned:
    """Signed graph metrics are graph metrics after features change their sign."""

    @pytest.mark.parametrize("path_weight", [0.0, 0.1])
    @PROPERTY
    @given(rng=generators, size=st.integers(1, 12), share=st.sampled_from([0.0, 1e-13, 1.0]))
    def test_everything_flips(
        self, path_weight: float, rng: np.random.Generator, size: int, share: float
    ) -> None:
        graph = GraphMetrics(1.5 * size, 0.1, path_weight)
        colors = rng.choice([-1.0, 1.0], size)
        signed = SignedGraphMetrics(tuple(colors), 1.5 * size, 0.1, path_weight)
        flip = np.outer(colors, colors)
        metric = random_metric(rng, size, density=0.5) + share * random_symmetric(rng, size)
        assert signed.violations(flip * metric) == graph.violations(metric)
        assert signed.n_components(flip * metric) == graph.n_components(metric)
        pairs = [
            (signed.made_feasible(flip * metric), graph.made_feasible(metric)),
            (signed.start(size), graph.start(size)),
            (signed.base(size), graph.base(size)),
        ]
        found, expected = signed.best_atoms(flip * metric, 5), graph.best_atoms(metric, 5)
        np.testing.assert_array_equal(found.prices, expected.prices)
        np.testing.assert_array_equal(found.atoms.dense(size), expected.atoms.dense(size) * colors)
        for flipped, plain in pairs:
            np.testing.assert_array_equal(flipped, flip * plain)
