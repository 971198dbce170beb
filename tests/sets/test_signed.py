"""Colours of a signal, and SDD metrics by the vectors v that they have."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from gdaopt.linalg.gershgorin import comparison_matrix
from gdaopt.sets import SDDMetrics, SignedGraphMetrics
from tests.helpers import PROPERTY, Rng, generators, random_symmetric


def test_colours_of_a_signal_do_not_depend_on_means() -> None:
    X, signal = np.array([[1.0, 5.0], [3.0, 4.0], [3.5, 4.5]]), np.array([-1.0, 1.0, 1.0])
    for shift in (0.0, 10.0, -10.0):
        found = SignedGraphMetrics.for_signal(X + shift, signal, trace_bound=4.0)
        assert found.colors == (1, -1)


@PROPERTY
@given(rng=generators, size=st.integers(1, 8))
def test_members_have_a_positive_v_by_a_linear_program(rng: Rng, size: int) -> None:
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
