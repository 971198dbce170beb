"""Members of each set as sums of weighted atoms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.errors import InvalidInputError
from gdaopt.sets import GraphMetrics
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, random_symmetric
from tests.sets.cases import FAMILIES, RHO, Family

families = pytest.mark.parametrize("family", FAMILIES, ids=str)


class TestMembers:
    @families
    @PROPERTY
    @given(rng=generators, size=st.integers(1, 12), scale=st.sampled_from([0.0, 0.0, 1e-16, 1e-13]))
    def test_are_sums_of_atoms(
        self, family: Family, rng: np.random.Generator, size: int, scale: float
    ) -> None:
        """Also of a saved result: checked with its slack, made feasible, taken apart."""
        feasible_set, member = family.feasible_set(size), family.member(rng, size)
        if scale:
            member = feasible_set.made_feasible(member + scale * random_symmetric(rng, size))
            assert feasible_set.violations(member) == ()
        atoms, weights = feasible_set.decomposed(member)
        assert weights.min() >= 0
        u = atoms.dense(size)
        np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1, rtol=1e-13)
        assert np.count_nonzero(u, 1).max() <= {"definite": size, "diagonal": 1}.get(family.kind, 2)
        if family.kind not in ("diagonal", "definite"):
            signs = [family.of_graph(-np.outer(vector, vector)) for vector in u]
            assert min(np.triu(sign, 1).min() for sign in signs) >= 0
        assert not ((abs(u).T @ abs(u)) * (1 - family.mask(size))).any()
        total = family.base(size) + (u.T * weights) @ u
        np.testing.assert_allclose(
            total, member, rtol=0, atol=1e-12 * np.abs(member).max() + 1e-11 * size * (scale > 0)
        )

    @pytest.mark.parametrize("path_weight", [0.0, 0.1])
    def test_an_edge_a_little_below_the_path(self, path_weight: float) -> None:
        feasible_set = GraphMetrics(3.0, RHO, path_weight)
        metric = feasible_set.base(2) + np.eye(2)
        metric[0, 1] = metric[1, 0] = 1e-17 - path_weight * (1 - 1e-15)
        assert feasible_set.contains(metric)
        assert feasible_set.violations(metric) == ()
        atoms, weights = feasible_set.decomposed(feasible_set.made_feasible(metric))
        total = atoms.added_to(feasible_set.base(2), weights)
        np.testing.assert_allclose(total, metric, rtol=0, atol=1e-15)

    @families
    def test_a_little_below_the_smallest_eigenvalue(self, family: Family) -> None:
        feasible_set = family.feasible_set(2)
        for below in 10 ** np.arange(-16, -10, 0.25):
            metric = feasible_set.base(2) + np.diag([1.0 - RHO, -below])
            assert feasible_set.contains(metric)
            atoms, weights = feasible_set.decomposed(feasible_set.made_feasible(metric))
            assert weights.min() >= 0
            total = atoms.added_to(feasible_set.base(2), weights)
            np.testing.assert_allclose(total, metric, rtol=0, atol=2 * below + 1e-16)


OUTSIDE = [
    ("graph", "smallest eigenvalue -2 is below 0.1", [[1, -3], [-3, 1]]),
    ("graph", "smallest eigenvalue -3 is below 0.1", [[-1, -2], [-2, -1]]),
    ("graph", r"off-diagonal \[0,1\] is positive: 0.5", [[1, 0.5], [0.5, 1]]),
    ("graph-path", r"without the fixed part of the set: .* is positive: 0.1", np.eye(2)),
    ("graph-path", "without the fixed part of the set: smallest", [[0.1, -0.2], [-0.2, 0.1]]),
    ("diagonal", r"off-diagonal \[0,1\] is not among the edges: -3", [[1, -3], [-3, 1]]),
    ("diagonal", "0.05 is below 0.1", np.diag([1, 0.05])),
    ("definite", "smallest eigenvalue -2 is below 0.1", [[1, -3], [-3, 1]]),
    ("signed", "smallest eigenvalue -2 is below 0.1", [[1, -3], [-3, 1]]),
    ("sdd", "eigenvalue of the comparison matrix -2 is below 0.1", [[1, 3], [3, 1]]),
    ("signed-path", r"without the fixed part of the set: .* is negative: -0.1", np.eye(2)),
]


@pytest.mark.parametrize(("name", "message", "matrix"), OUTSIDE)
def test_what_is_no_sum_of_atoms_is_refused(name: str, message: str, matrix: FloatArray) -> None:
    family = next(family for family in FAMILIES if str(family) == name)
    with pytest.raises(InvalidInputError, match=message):
        family.feasible_set(2).decomposed(family.flipped(np.asarray(matrix, dtype=float)))


@PROPERTY
@given(rng=generators, size=st.integers(1, 9))
def test_any_matrix_that_is_no_sum_of_atoms_is_refused(rng: np.random.Generator, size: int) -> None:
    matrix = random_symmetric(rng, size) - 2 * np.eye(size)
    for family in FAMILIES:
        with pytest.raises(InvalidInputError, match="metric"):
            family.feasible_set(size).decomposed(matrix)
