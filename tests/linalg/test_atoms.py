"""Atoms against the vectors written out, and matrices as their sums."""

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from gdaopt.linalg.atoms import Atoms, decomposition, least_pair_price
from gdaopt.linalg.gershgorin import align
from gdaopt.sets import GraphMetrics
from gdaopt.support.validation import FloatArray
from tests import digits
from tests.helpers import path_laplacian, random_metric, random_symmetric

SIZE = 5
Draw = Callable[[np.random.Generator, int], Atoms]


def two_sparse(rng: np.random.Generator, n_atoms: int) -> Atoms:
    """Return unit vectors, among them such that name an index twice, as `e_i` do."""
    support = rng.integers(0, SIZE, (n_atoms, 2))
    values = rng.standard_normal((n_atoms, 2))
    values[support[:, 0] == support[:, 1], 1] = 0
    return Atoms(support, values / np.linalg.norm(values, axis=1)[:, None])


def dense(rng: np.random.Generator, n_atoms: int) -> Atoms:
    return Atoms.of_vectors(rng.standard_normal((n_atoms, SIZE)))


@pytest.mark.parametrize("draw", [two_sparse, dense])
class TestAtoms:
    """Whatever is computed from supports is what the vectors written out give."""

    @pytest.fixture
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(0)

    def test_products_and_sums(self, draw: Draw, rng: np.random.Generator) -> None:
        atoms, others, features = draw(rng, 30), draw(rng, 7), rng.standard_normal((11, SIZE))
        matrix, weights = random_symmetric(rng, SIZE), rng.standard_normal(30)
        u = np.zeros((30, SIZE))
        for vector, support, values in zip(u, atoms.support, atoms.values, strict=True):
            np.add.at(vector, support, values)
        np.testing.assert_array_equal(atoms.dense(SIZE), u)
        kinds = others, two_sparse(rng, 4), dense(rng, 4)
        before = matrix.copy()
        total = atoms.added_to(matrix, weights)
        np.testing.assert_array_equal(matrix, before)
        np.testing.assert_array_equal(total, total.T)
        for found, expected in (
            (atoms.projected(features), features @ u.T),
            *((atoms.products(of_kind), u @ of_kind.dense(SIZE).T) for of_kind in kinds),
            (atoms.quadratic_forms(matrix), np.diagonal(u @ matrix @ u.T)),
            (total, matrix + u.T @ np.diag(weights) @ u),
        ):
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)

    def test_lists(self, draw: Draw, rng: np.random.Generator) -> None:
        atoms, others = draw(rng, 4), draw(rng, 3)
        joined = atoms.joined(others)
        assert len(joined) == 7
        vectors = np.concatenate([atoms.dense(SIZE), others.dense(SIZE)])
        np.testing.assert_array_equal(joined.dense(SIZE), vectors)
        for index in (slice(2, 5), np.array([6, 0]), vectors[:, 0] > 0):
            np.testing.assert_array_equal(joined[index].dense(SIZE), vectors[index])


@pytest.mark.parametrize("least", [-1.0, 0.0, 1e-9])
def test_no_price_of_a_pair_is_below_its_bound(least: float) -> None:
    """Also near 0, as a small difference of large products; both compared in 50 digits."""
    rng, edge = np.random.default_rng(3), (np.array([0]), np.array([1]))
    for _ in range(50):
        vector = 10 ** rng.uniform(-4, 4, 2)
        gradient = np.outer(vector, vector) + least * rng.random() * np.eye(2)
        bound = least_pair_price(gradient, edge)
        (a, c), (_, b) = digits.exact(gradient)
        price = (a + b) / 2 - mpmath.sqrt(((a - b) / 2) ** 2 + c**2)
        assert bound <= price
        size = min(a, b) if least >= 0 else abs(a) + abs(b) + c
        assert price - bound <= 1e-14 * size


def singular(metric: FloatArray) -> FloatArray:
    shift: FloatArray = metric - np.linalg.eigvalsh(metric)[0] * np.eye(len(metric))
    return shift


def near_disconnected(weight: float) -> FloatArray:
    """Return two singular components that one edge of hardly any weight joins."""
    metric: FloatArray = np.kron(np.eye(2), path_laplacian(4)).astype(np.float64)
    metric[3:5, 3:5] += weight * path_laplacian(2)
    return metric


M_MATRICES: dict[str, FloatArray] = {
    **{
        f"{size}-{density}-{decades}": random_metric(
            np.random.default_rng(size), size, density=density, decades=decades
        )
        for size in (1, 2, 7, 30, 100)
        for density in (0.05, 0.4, 1.0)
        for decades in (0, 8, 16)
    },
    **{f"near-disconnected-{weight}": near_disconnected(weight) for weight in (1e-6, 1e-15, 1e-60)},
    "no edges": np.diag([3.0, 0.0, 1.0]),
    "zero": np.zeros((3, 3)),
    "path": path_laplacian(50),
}


class TestDecomposition:
    @pytest.mark.parametrize("shifted", [False, True])
    @pytest.mark.parametrize("name", M_MATRICES)
    def test_the_sum_is_the_matrix(self, name: str, shifted: bool) -> None:
        matrix = singular(M_MATRICES[name]) if shifted else M_MATRICES[name]
        v = align(matrix, 0.0).v
        atoms, weights = decomposition(matrix, v)
        scale = np.abs(matrix).max()
        assert weights.min() >= -1e-12 * scale
        total = atoms.added_to(np.zeros_like(matrix), weights)
        np.testing.assert_allclose(total, matrix, rtol=0, atol=1e-14 * len(matrix) * scale)
        u = atoms.dense(len(matrix))
        np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1, rtol=1e-13)

    @pytest.mark.parametrize("entry", [0.0, 1e-300, -1e-18])
    def test_a_feature_of_no_weight_with_an_edge_of_none(self, entry: float) -> None:
        """What round-off leaves of a feature that no atom uses."""
        metric = np.pad(path_laplacian(5) + np.eye(5), (1, 0))
        metric[0, 0], metric[0, 1], metric[1, 0] = entry, -1e-20, -1e-20
        feasible_set = GraphMetrics(20.0, min_eigenvalue=0.0)
        assert metric in feasible_set
        atoms, weights = feasible_set.family.decomposed(metric)
        total = atoms.added_to(np.zeros((6, 6)), weights)
        np.testing.assert_allclose(total, metric, rtol=0, atol=1e-12)
