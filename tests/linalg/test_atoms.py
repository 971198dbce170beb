"""Atoms against the vectors written out; the best two-sparse ones, and matrices as their sums."""

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.linalg import atoms as atoms_of_pairs
from gdaopt.linalg.atoms import Atoms, best_pairs, decomposition, pair_atoms
from gdaopt.linalg.entries import all_edges
from gdaopt.linalg.gershgorin import align
from gdaopt.sets import GraphMetrics
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, path_laplacian, random_metric, random_symmetric

SIZE = 5
FEW = [0, 100]  # features whose pairs are priced one by one


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

    def test_none(self, draw: Draw, rng: np.random.Generator) -> None:
        none, matrix = draw(rng, 4)[:0], random_symmetric(rng, SIZE)
        assert none.dense(SIZE).shape == (0, SIZE)
        assert none.quadratic_forms(matrix).shape == (0,)
        assert none.products(draw(rng, 4)).shape == (0, 4)
        np.testing.assert_array_equal(none.added_to(matrix, np.zeros(0)), matrix)


class TestPairs:
    @PROPERTY
    @given(
        rng=generators,
        size=st.integers(1, 12),
        decades=st.sampled_from([0, 8, 300]),
        few=st.sampled_from(FEW),
    )
    def test_the_minimisers(
        self, rng: np.random.Generator, size: int, decades: float, few: int
    ) -> None:
        """Of ``u'Gu`` over ``u = a e_i - b e_j``: an eigenvector of each block, a, b ≥ 0."""
        matrix = random_symmetric(rng, size) * 10 ** rng.uniform(-decades / 2, decades / 2)
        matrix *= np.outer(*[10 ** rng.uniform(-min(decades, 8) / 2, 0, size)] * 2)
        with patch.object(atoms_of_pairs, "_FEW_FEATURES", few):
            rows, columns, prices = best_pairs(matrix, size**2)
        atoms = pair_atoms(matrix, rows, columns)
        assert (rows < columns).all()
        assert set(zip(rows, columns, strict=True)) == set(
            zip(*np.nonzero(np.triu(matrix, 1) > 0), strict=True)
        )
        np.testing.assert_array_equal(atoms.support, np.column_stack([rows, columns]))
        assert (atoms.values * [1, -1] >= 0).all()
        np.testing.assert_allclose(np.linalg.norm(atoms.values, axis=1), 1, rtol=1e-14)
        for i, j, price, u in zip(rows, columns, prices, atoms.values, strict=True):
            block = matrix[np.ix_([i, j], [i, j])]
            unit = np.abs(block).max()
            np.testing.assert_allclose(block / unit @ u, price / unit * u, rtol=0, atol=1e-14)

    def test_a_count_of_the_best(self) -> None:
        matrix = random_symmetric(np.random.default_rng(0), 40)
        for few in FEW:
            with patch.object(atoms_of_pairs, "_FEW_FEATURES", few):
                found, every = best_pairs(matrix, 10), best_pairs(matrix, 10**4)
            for best, all_of_them in zip(found, every, strict=True):
                np.testing.assert_array_equal(best, all_of_them[:10])

    @PROPERTY
    @given(rng=generators, size=st.integers(1, 12), share=st.sampled_from([0.0, 0.4, 1.0]))
    def test_the_best_of_some_pairs(
        self, rng: np.random.Generator, size: int, share: float
    ) -> None:
        matrix = random_symmetric(rng, size)
        kept = rng.random(len(all_edges(size)[0])) < share
        edges = all_edges(size)[0][kept], all_edges(size)[1][kept]
        chosen = set(zip(*edges, strict=True))
        pairs = zip(*best_pairs(matrix, size**2), strict=True)
        every = [found for found in pairs if found[:2] in chosen]
        for count in (3, size**2):
            rows, columns, prices = best_pairs(matrix, count, edges)
            expected = every[:count]
            assert list(zip(rows, columns, strict=True)) == [found[:2] for found in expected]
            np.testing.assert_allclose(prices, [found[2] for found in expected], atol=1e-14)

    @pytest.mark.parametrize("first", [0, 100, 200, 398])
    def test_pairs_of_all_blocks_are_priced(self, first: int) -> None:
        matrix = np.eye(400)
        matrix[first, first + 1] = matrix[first + 1, first] = 2.0
        rows, columns, prices = best_pairs(matrix, 1)
        assert (rows[0], columns[0], prices[0]) == (first, first + 1, -1.0)

    @pytest.mark.parametrize("size", [1, 4, 101])
    def test_no_pair_has_a_positive_entry(self, size: int) -> None:
        rows, columns, prices = best_pairs(-np.ones((size, size)), 3)
        assert len(rows) == len(columns) == len(prices) == 0


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

    @PROPERTY
    @given(rng=generators, size=st.integers(2, 12))
    def test_edges_have_v_in_their_kernel(self, rng: np.random.Generator, size: int) -> None:
        v = 10 ** rng.uniform(-3, 0, size)
        atoms, _ = decomposition(random_metric(rng, size), v)
        edges = atoms[size:].dense(size)
        assert len(edges) == size * (size - 1) // 2
        np.testing.assert_allclose(edges @ v, 0, rtol=0, atol=1e-15)

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
