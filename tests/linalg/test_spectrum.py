"""The lower end of the spectrum, against dense solvers."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import LinAlgError, block_diag, eigh, eigvalsh

from gdaopt.linalg import spectrum
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, random_symmetric
from tests.linalg.cases import raises

sizes = st.integers(1, 12)


def scattered(rng: np.random.Generator, blocks: list[FloatArray]) -> FloatArray:
    """Return the blocks on a diagonal, features in random order."""
    order = rng.permutation(sum(len(block) for block in blocks))
    matrix: FloatArray = block_diag(*blocks)[np.ix_(order, order)]
    return matrix


class TestSpectrum:
    @pytest.fixture
    def solved(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """Return the sizes of the blocks whose eigenvalues are computed."""
        sizes, smallest = list[int](), spectrum._smallest

        def recorded(block: FloatArray) -> float:
            sizes.append(len(block))
            return smallest(block)

        monkeypatch.setattr(spectrum, "_smallest", recorded)
        return sizes

    @pytest.mark.parametrize("size", [4, 60, 300])
    def test_no_eigenvalue_is_below_a_bound(self, size: int, solved: list[int]) -> None:
        """Of large components a factor says it: eigenvalues take ten times as long."""
        rng = np.random.default_rng(size)
        matrix = scattered(rng, [random_symmetric(rng, size), 9 * np.eye(2), np.ones((2, 2)) * 8])
        least, before = float(eigvalsh(matrix)[0]), matrix.copy()
        assert spectrum.is_at_least(matrix, least - 1e-9)
        assert not spectrum.is_at_least(matrix, least + 1e-9)
        np.testing.assert_array_equal(matrix, before)
        assert size <= spectrum.LARGEST_DENSE or max(solved, default=0) <= 2

    @pytest.mark.parametrize("least", ["single", "block", "largest block"])
    @pytest.mark.parametrize("n_singles", [1, 200])
    def test_components_of_large_matrices(
        self, least: str, n_singles: int, solved: list[int]
    ) -> None:
        rng = np.random.default_rng(0)
        singles = [rng.uniform(-1, 1, (1, 1)) for _ in range(n_singles)]
        blocks = [random_symmetric(rng, size) / 40 for size in (2, 3, 3, 50, 250)]
        chosen = {"single": singles[0], "block": blocks[1], "largest block": blocks[-1]}[least]
        chosen -= 9 * np.eye(len(chosen))
        matrix = scattered(rng, singles + blocks)
        assert spectrum.smallest_eigenvalue(matrix) == pytest.approx(eigvalsh(matrix)[0], abs=1e-13)
        assert sorted(solved) == [2, 3, 3, 50, 250]

    @PROPERTY
    @given(rng=generators, size=sizes, count=st.integers(1, 15))
    def test_eigenpairs(self, rng: np.random.Generator, size: int, count: int) -> None:
        matrix = random_symmetric(rng, size)
        values, vectors = spectrum.smallest_eigenpairs(matrix, count)
        expected = eigvalsh(matrix)
        assert spectrum.smallest_eigenvalue(matrix) == pytest.approx(expected[0], abs=1e-14 * size)
        np.testing.assert_allclose(values, expected[:count], rtol=0, atol=1e-14 * size)
        identity = np.eye(min(size, count))
        np.testing.assert_allclose(vectors @ vectors.T, identity, rtol=0, atol=1e-14 * size)
        residuals = vectors @ matrix - values[:, None] * vectors
        np.testing.assert_allclose(residuals, 0, rtol=0, atol=1e-14 * size)

    @pytest.mark.parametrize(
        ("size", "count", "error"),
        [
            *((*not_worth_it, AssertionError("due")) for not_worth_it in ((256, 3), (300, 60))),
            *((300, 2, error) for error in (LinAlgError("breakdown"), ValueError("no"))),
        ],
    )
    def test_the_dense_solver_takes_over(
        self, size: int, count: int, error: Exception, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        matrix = random_symmetric(np.random.default_rng(0), size)
        monkeypatch.setattr("scipy.sparse.linalg.lobpcg", raises(error))
        values, _ = spectrum.smallest_eigenpairs(matrix, count, np.eye(size)[:count])
        np.testing.assert_allclose(values, eigvalsh(matrix)[:count], rtol=0, atol=1e-12)

    @pytest.mark.parametrize("scale", [1.0, 1e200])
    def test_a_guess_for_a_matrix_without_a_diagonal(self, scale: float) -> None:
        matrix = random_symmetric(np.random.default_rng(0), 300)
        np.fill_diagonal(matrix, 0.0)
        expected, vectors = eigh(matrix)
        values, _ = spectrum.smallest_eigenpairs(scale * matrix, 1, vectors.T[:1])
        assert values[0] / scale == pytest.approx(expected[0], rel=1e-12)

    @pytest.mark.parametrize("seed", range(5))
    def test_the_smallest_value_by_a_guess_is_a_lower_bound(self, seed: int) -> None:
        """Rayleigh quotients are above the eigenvalue, were there no margin for round-off."""
        matrix = random_symmetric(np.random.default_rng(seed), 300)
        expected, vectors = eigh(matrix)
        value = spectrum.smallest_eigenpairs(matrix, 1, vectors.T[:1])[0][0]
        margin = 1e-13 * np.abs(np.diagonal(matrix)).sum()
        assert 0.5 * margin <= expected[0] - value <= 2 * margin

    @pytest.mark.parametrize("scale", [1e-192, 1e-308, 1e300])
    def test_tiny_and_huge_matrices_whose_smallest_eigenvalues_are_close(
        self, scale: float
    ) -> None:
        """Gradients get as small as that; LAPACK alone loses up to six digits of such pairs."""
        for seed in range(20):
            rng = np.random.default_rng(seed)
            vectors = np.linalg.qr(rng.standard_normal((5, 5)))[0]
            matrix = (vectors * np.array([-1, 1e-10 - 1, -0.3, -0.01, 0])) @ vectors.T
            matrix = scale * (matrix + matrix.T) / 2
            round_off = 1e-14 * max(scale, 1e-308)
            values, _ = spectrum.smallest_eigenpairs(matrix, 1)
            assert values[0] == pytest.approx(-scale, rel=0, abs=round_off)
            assert spectrum.smallest_eigenvalue(matrix) == pytest.approx(
                -scale, rel=0, abs=round_off
            )


@pytest.mark.parametrize("size", [1, 2, 13, 64, 65])
def test_components_are_those_of_the_eigenvalues_of_each(size: int) -> None:
    """Sparse random graphs and paths, whose vertices have numbers in random order."""
    rng = np.random.default_rng(size)
    path = np.zeros((size, size))
    order = rng.permutation(size)
    path[order[:-1], order[1:]] = -1.0
    sparse = np.triu(-1.0 * (rng.random((size, size)) < 0.7 / size), 1)
    for weights in (path, sparse):
        metric = weights + weights.T + np.diag(1.0 + rng.random(size))
        expected = np.empty(size)
        for component in nx.connected_components(nx.from_numpy_array(metric)):
            index = sorted(component)
            expected[index] = eigvalsh(metric[np.ix_(index, index)])[0]
        np.testing.assert_allclose(spectrum.component_eigenvalues(metric), expected, atol=1e-13)
        assert spectrum.smallest_eigenvalue(metric) == pytest.approx(expected.min())
