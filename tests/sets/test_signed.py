"""Signed graph metrics are graph metrics with other signs; SDD metrics are their hull."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from gdaopt.linalg.gershgorin import comparison_matrix
from gdaopt.sets import GraphMetrics, SDDMetrics, SignedGraphMetrics
from tests.helpers import PROPERTY, Rng, generators, n_parts, random_metric, random_symmetric


class TestSigned:
    """Signed graph metrics are graph metrics after features change their sign."""

    @pytest.mark.parametrize("path_weight", [0.0, 0.1])
    @PROPERTY
    @given(rng=generators, size=st.integers(1, 12), share=st.sampled_from([0.0, 1e-13, 1.0]))
    def test_all_flips(self, path_weight: float, rng: Rng, size: int, share: float) -> None:
        graph = GraphMetrics(1.5 * size, 0.1, path_weight)
        colors = rng.choice([-1.0, 1.0], size)
        signed = SignedGraphMetrics(tuple(colors), 1.5 * size, 0.1, path_weight)
        flip = np.outer(colors, colors)
        metric = random_metric(rng, size, density=0.5) + share * random_symmetric(rng, size)
        sentences = zip(signed.violations(flip * metric), graph.violations(metric), strict=True)
        assert all(own.split(" is ")[0] == its.split(" is ")[0] for own, its in sentences)
        assert n_parts(signed, flip * metric) == n_parts(graph, metric)
        pairs = [
            (signed.made_feasible(flip * metric), graph.made_feasible(metric)),
            (signed.start(size), graph.start(size)),
            (signed.base(size), graph.base(size)),
        ]
        found, expected = (
            signed.family.best_atoms(flip * metric, 5),
            graph.family.best_atoms(metric, 5),
        )
        np.testing.assert_array_equal(found.prices, expected.prices)
        one = np.ones(len(found.atoms))  # u and -u are the same atom
        np.testing.assert_array_equal(
            found.atoms.added_to(np.zeros((size, size)), one),
            flip * expected.atoms.added_to(np.zeros((size, size)), one),
        )
        for flipped, plain in pairs:
            np.testing.assert_array_equal(flipped, flip * plain)
        nearest = signed.projected(flip * metric).point, graph.projected(metric).point
        np.testing.assert_allclose(nearest[0], flip * nearest[1], rtol=0, atol=1e-12 * size)

    def test_colours_of_a_signal_do_not_depend_on_means(self) -> None:
        X, signal = np.array([[1.0, 5.0], [3.0, 4.0], [3.5, 4.5]]), np.array([-1.0, 1.0, 1.0])
        for shift in (0.0, 10.0, -10.0):
            found = SignedGraphMetrics.for_signal(X + shift, signal, trace_bound=4.0)
            assert found.colors == (1, -1)


class TestScaledDiagonallyDominant:
    @PROPERTY
    @given(rng=generators, size=st.integers(1, 8))
    def test_members_have_a_positive_v_by_a_linear_program(self, rng: Rng, size: int) -> None:
        """N is a member if and only if some v > 0 has ``N_ii v_i ≥ Σ |N_ij| v_j``."""
        metric = random_symmetric(rng, size) / size + rng.uniform(0, 2) * np.eye(size)
        margin = np.linalg.eigvalsh(comparison_matrix(metric))[0] - 0.1
        found = linprog(
            np.ones(size),
            A_ub=-comparison_matrix(metric - 0.1 * np.eye(size)),
            b_ub=np.zeros(size),
            bounds=(1.0, None),
        )
        if abs(margin) > 1e-6:
            assert (found.status == 0) == (margin > 0)
            assert (metric in SDDMetrics(1e3, 0.1)) == (margin > 0)
