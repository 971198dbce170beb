"""Graphs of metrics, Gershgorin discs, directions, and the vector that aligns left-ends."""

from collections.abc import Callable
from typing import Any, Literal

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import LinAlgError, block_diag, eigh, eigvalsh

from gdaopt.errors import InvalidInputError
from gdaopt.linalg import eigen, spectrum
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import (
    AtomsDirection,
    ColumnDirection,
    DenseDirection,
    DiagonalDirection,
    Direction,
)
from gdaopt.linalg.eigen import Alignment, align
from gdaopt.linalg.gershgorin import discs, left_ends
from gdaopt.linalg.laplacian import (
    edge_weights,
    generalized_laplacian,
    maximum_spanning_tree,
    n_components,
    path_laplacian,
    self_loops,
)
from gdaopt.linalg.spectrum import smallest_eigenpairs, smallest_eigenvalue
from gdaopt.validation import FloatArray
from tests.helpers import PROPERTY, generators, random_metric, random_symmetric

sizes = st.integers(1, 12)


def graph_of(metric: FloatArray, threshold: float = 0.0) -> "nx.Graph[int]":
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

    @PROPERTY
    @given(rng=generators, size=sizes)
    def test_metric_round_trip(self, rng: np.random.Generator, size: int) -> None:
        metric = random_metric(rng, size, density=0.5)
        again = generalized_laplacian(edge_weights(metric), self_loops(metric))
        np.testing.assert_allclose(again, metric, rtol=1e-14)

    @pytest.mark.parametrize(
        ("weights", "loops", "message"),
        [
            ([[0, 1], [2, 0]], [0, 0], "weights is not symmetric"),
            ([[0, np.nan], [np.nan, 0]], [0, 0], "weights holds nan"),
            ([[0, 1], [1, 0]], [0, np.inf], "loops holds inf"),
            ([[0, 1], [1, 0]], [1], r"1 loops for 2 nodes"),
        ],
    )
    def test_bad_graphs_are_refused(self, weights: Any, loops: Any, message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            generalized_laplacian(weights, loops)

    @pytest.mark.parametrize("size", [1, 2, 3, 7])
    def test_path_laplacian(self, size: int) -> None:
        expected = nx.laplacian_matrix(nx.path_graph(size)).toarray()
        np.testing.assert_array_equal(path_laplacian(size), expected)

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
    @given(rng=generators, size=st.integers(2, 12))
    def test_the_tree_has_the_largest_bottleneck(self, rng: np.random.Generator, size: int) -> None:
        metric = random_metric(rng, size)
        bottleneck = min(-metric[i, j] for i, j in maximum_spanning_tree(metric))
        assert n_components(metric, np.nextafter(bottleneck, 0)) == 1
        assert n_components(metric, bottleneck) > 1


class TestGershgorin:
    @PROPERTY
    @given(rng=generators, size=sizes)
    def test_discs_of_the_scaled_matrix(self, rng: np.random.Generator, size: int) -> None:
        matrix = random_symmetric(rng, size)
        v = 10 ** rng.uniform(-2, 2, size)
        similar = np.diag(1 / v) @ matrix @ np.diag(v)
        for scaling, expected in ((None, matrix), (v, similar)):
            centres, radii = discs(matrix, scaling)
            rows = [
                sum(abs(row[j]) for j in range(size) if j != i) for i, row in enumerate(expected)
            ]
            np.testing.assert_allclose(centres, np.diagonal(matrix), rtol=0)
            np.testing.assert_allclose(radii, rows, rtol=1e-13, atol=0)
            np.testing.assert_allclose(left_ends(matrix, scaling), centres - radii, rtol=0)

    @PROPERTY
    @given(rng=generators, size=sizes)
    def test_the_least_left_end_bounds_the_smallest_eigenvalue(
        self, rng: np.random.Generator, size: int
    ) -> None:
        matrix = random_symmetric(rng, size)
        v = 10 ** rng.uniform(-2, 2, size)
        assert left_ends(matrix, v).min() <= eigvalsh(matrix)[0] + 1e-13 * size

    @PROPERTY
    @given(rng=generators, size=sizes)
    def test_left_ends_of_a_metric_are_one_product(
        self, rng: np.random.Generator, size: int
    ) -> None:
        metric = random_metric(rng, size, density=0.5)
        v = rng.uniform(0.1, 1, size)
        np.testing.assert_allclose(left_ends(metric, v), metric @ v / v, rtol=0, atol=1e-13 * size)


CHANGE = np.array([0.5, -1.0, 0.0, 0.25, 3.0])
U = np.array([0.3, -0.7])
FULL_U = np.array([0.1, -0.2, 0.3, 0.0, 0.7])
DENSE = random_symmetric(np.random.default_rng(7), 5)


def column_matrix() -> FloatArray:
    """Return ``e_2 change' + change e_2'`` written out."""
    return np.outer(np.eye(5)[2], CHANGE) + np.outer(CHANGE, np.eye(5)[2])


def two_sparse_matrix() -> FloatArray:
    """Return ``0.8 u u'`` for u on entries 3 and 1, written out."""
    u = np.zeros(5)
    u[[3, 1]] = U
    return 0.8 * np.outer(u, u)


DIRECTIONS = [
    pytest.param(DiagonalDirection(CHANGE), np.diag(CHANGE), id="diagonal"),
    pytest.param(DiagonalDirection(np.ones(5)), np.eye(5), id="full diagonal"),
    pytest.param(ColumnDirection(2, CHANGE), column_matrix(), id="column"),
    pytest.param(
        AtomsDirection(np.array([0.8]), Atoms(np.array([[3, 1]]), U[None])),
        two_sparse_matrix(),
        id="two-sparse",
    ),
    pytest.param(
        AtomsDirection(np.array([-2.0]), Atoms.of_vectors(FULL_U[None])),
        -2.0 * np.outer(FULL_U, FULL_U),
        id="rank one",
    ),
    pytest.param(DenseDirection(DENSE), DENSE, id="dense"),
]


@pytest.mark.parametrize(("direction", "matrix"), DIRECTIONS)
class TestDirections:
    def test_inner_product(
        self, direction: Direction, matrix: FloatArray, rng: np.random.Generator
    ) -> None:
        gradient = random_symmetric(rng, 5)
        assert direction.inner(gradient) == pytest.approx(np.trace(gradient @ matrix), rel=1e-13)

    def test_sum(self, direction: Direction, matrix: FloatArray, rng: np.random.Generator) -> None:
        metric = random_metric(rng, 5)
        before = metric.copy()
        moved = direction.added_to(metric, 0.37)
        np.testing.assert_allclose(moved, metric + 0.37 * matrix, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(metric, before)

    def test_the_sum_is_exactly_symmetric(
        self, direction: Direction, matrix: FloatArray, rng: np.random.Generator
    ) -> None:
        metric = random_metric(rng, 5)
        for gamma in rng.uniform(0, 1, 20):
            metric = direction.added_to(metric, gamma)
            np.testing.assert_array_equal(metric, metric.T)

    def test_factors_give_the_quadratic_forms_of_pairs(
        self, direction: Direction, matrix: FloatArray, rng: np.random.Generator
    ) -> None:
        X = rng.standard_normal((6, 5))
        left, right = direction.factors(X)
        assert left.shape == right.shape
        differences = X[:, None] - X[None]
        forms = np.einsum("ijk,kl,ijl->ij", differences, matrix, differences)
        factored = ((left[:, None] - left[None]) * (right[:, None] - right[None])).sum(axis=2)
        np.testing.assert_allclose(factored, forms, rtol=0, atol=1e-13)

    def test_factors_are_one_column_or_give_a_symmetric_product(
        self, direction: Direction, matrix: FloatArray, rng: np.random.Generator
    ) -> None:
        X = rng.standard_normal((6, 5))
        left, right = direction.factors(X)
        if left.shape[1] > 1:
            np.testing.assert_allclose(left @ right.T, X @ matrix @ X.T, rtol=0, atol=1e-13)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def path(loops: FloatArray, weight: float) -> FloatArray:
    """Return the metric of a path with these self-loops."""
    return weight * path_laplacian(len(loops)) + np.diag(loops)


def random_path(size: int, weight: float) -> FloatArray:
    """Return a path whose self-loops make the first eigenvector span many decades."""
    return path(np.random.default_rng(0).uniform(0.1, 2, size), weight)


def uniform_path(size: int, weight: float) -> FloatArray:
    """Return a path with a constant diagonal of 1, the start of the alternation."""
    metric = weight * path_laplacian(size)
    np.fill_diagonal(metric, 1.0)
    return metric


def disconnected(size: int) -> FloatArray:
    """Return a metric of three components (as many as fit), mixed up in order."""
    rng = np.random.default_rng(size)
    metric = random_metric(rng, size)
    group = np.arange(size) % 3
    return np.where(group[:, None] == group, metric, 0.0)


def negative_loops(size: int) -> FloatArray:
    """Return a positive definite metric, near singular, some of whose self-loops are negative."""
    metric = random_metric(np.random.default_rng(size), size)
    metric -= np.diag(np.linspace(0, 1, size) * self_loops(metric))
    shift: FloatArray = metric - (smallest_eigenvalue(metric) - 1e-6) * np.eye(size)
    return shift


METRICS: dict[str, FloatArray] = {
    **{f"random-{k}": random_metric(np.random.default_rng(k), k) for k in (1, 2, 4, 5, 13, 60)},
    **{f"uniform-path-{k}": uniform_path(k, 0.499) for k in (30, 100)},
    **{f"random-path-{k}-{w}": random_path(k, w) for k in (30, 100) for w in (1.0, 0.1, 0.01)},
    **{
        f"decades-{k}": random_metric(np.random.default_rng(k), k, decades=8)
        for k in (4, 5, 13, 60)
    },
    **{f"disconnected-{k}": disconnected(k) for k in (2, 4, 5, 13, 60)},
    **{f"negative-loops-{k}": negative_loops(k) for k in (2, 5, 13, 60)},
    "zero": np.zeros((3, 3)),
}

RHOS: dict[str, Callable[[float], float]] = {
    "at": lambda smallest: smallest,
    "round-off-above": lambda smallest: smallest + 1e-14,
    "just-below": lambda smallest: smallest - 1e-7,
    "far-below": lambda smallest: 1e-6 * smallest,
    "above": lambda smallest: 1.5 * smallest,
}


def assert_aligned(metric: FloatArray, min_eigenvalue: float, found: Alignment) -> None:
    """Assert what DESIGN section 2 demands of v, entry by entry."""
    v, unit = found.v, np.trace(metric) / len(metric)
    assert (v > 0).all()
    assert v.max() == 1
    wanted = min(min_eigenvalue, eigvalsh(metric)[0]) - 1e-12 * unit
    assert (metric @ v / v).min() >= wanted
    np.testing.assert_array_equal(found.left_ends, left_ends(metric, v))


class TestAlign:
    @pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())
    @pytest.mark.parametrize("rho", RHOS.values(), ids=RHOS.keys())
    def test_left_ends_reach_rho(self, metric: FloatArray, rho: Callable[[float], float]) -> None:
        min_eigenvalue = rho(float(eigvalsh(metric)[0]))
        assert_aligned(metric, min_eigenvalue, align(metric, min_eigenvalue))

    @PROPERTY
    @given(rng=generators, size=sizes, density=st.sampled_from([0.3, 1.0]), rho=st.floats(0, 1.5))
    def test_left_ends_reach_rho_everywhere(
        self, rng: np.random.Generator, size: int, density: float, rho: float
    ) -> None:
        metric = random_metric(rng, size, density=density, decades=rng.uniform(0, 8))
        min_eigenvalue = rho * float(eigvalsh(metric)[0])
        assert_aligned(metric, min_eigenvalue, align(metric, min_eigenvalue))

    @PROPERTY
    @given(rng=generators, size=sizes)
    def test_theorem_1(self, rng: np.random.Generator, size: int) -> None:
        """Every left-end of a connected metric aligns at its smallest eigenvalue."""
        metric = random_metric(rng, size)
        found = align(metric, min_eigenvalue=0.0)
        np.testing.assert_allclose(found.left_ends, eigvalsh(metric)[0], rtol=0, atol=2e-9)
        assert found.spread <= 1e-9

    @pytest.mark.parametrize(
        ("metric", "driver"),
        [
            pytest.param(path(np.r_[0.1, np.full(29, 10.0)], 0.001), "evr", id="30-signs"),
            pytest.param(random_path(100, 0.01), "evd", id="100-zeros"),
            pytest.param(random_path(100, 0.01), "evr", id="100-signs"),
        ],
    )
    def test_a_dense_eigenvector_is_not_enough(
        self, metric: FloatArray, driver: Literal["evd", "evr"]
    ) -> None:
        subset = (0, 0) if driver == "evr" else None
        dense = eigh(metric, driver=driver, subset_by_index=subset)[1][:, 0]
        dense = dense * np.sign(dense[np.abs(dense).argmax()])
        assert (dense <= 0).any(), "this metric no longer shows why v needs care"
        min_eigenvalue = float(eigvalsh(metric)[0])
        assert_aligned(metric, min_eigenvalue, align(metric, min_eigenvalue))

    @pytest.mark.parametrize("size", [13, 60])
    @pytest.mark.parametrize("seed", range(5))
    def test_a_warm_start_takes_fewer_iterations(self, size: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        metric = random_metric(rng, size)
        nearby = metric + np.diag(1e-3 * rng.random(size))
        cold = align(nearby, 1e-6)
        warm = align(nearby, 1e-6, guess=align(metric, 1e-6).v)
        assert warm.scaling.startswith("lobpcg")
        assert warm.iterations < cold.iterations

    @pytest.mark.parametrize(
        ("metric", "scaling"),
        [("random-4", "eigh"), ("random-13", "lobpcg"), ("disconnected-13", "resolvent")],
    )
    def test_says_how_v_was_found(self, metric: str, scaling: str) -> None:
        assert align(METRICS[metric], 1e-6).scaling.removesuffix("+polish") == scaling

    def test_edges_below_the_threshold_do_not_connect(self) -> None:
        metric = np.array([[1.0, -1e-6], [-1e-6, 2.0]])
        assert align(metric, 0.5).scaling != "resolvent"
        found = align(metric, 0.5, edge_threshold=1e-5)
        assert found.scaling == "resolvent"
        assert_aligned(metric, 0.5, found)


def raises(error: Exception) -> Callable[..., Any]:
    """Return a function that raises."""

    def function(*_: Any, **__: Any) -> Any:
        raise error

    return function


def lobpcg_of_nan(matrix: FloatArray, start: FloatArray, **_: Any) -> Any:
    return np.full(1, np.nan), np.full_like(start, np.nan), [np.nan]


def eigh_of_nan(matrix: FloatArray, **_: Any) -> Any:
    return np.full(1, np.nan), np.full((len(matrix), 1), np.nan)


@pytest.mark.parametrize("metric", ["random-13", "random-path-30-0.1", "decades-13"])
@pytest.mark.parametrize(
    "lobpcg", [raises(LinAlgError("breakdown")), raises(ValueError("no")), lobpcg_of_nan]
)
class TestFallBacks:
    def test_eigh_takes_over(
        self, metric: str, lobpcg: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(eigen, "lobpcg", lobpcg)
        min_eigenvalue = float(eigvalsh(METRICS[metric])[0])
        found = align(METRICS[metric], min_eigenvalue)
        assert found.scaling.startswith("eigh")
        assert_aligned(METRICS[metric], min_eigenvalue, found)

    @pytest.mark.parametrize("dense", [raises(LinAlgError("no convergence")), eigh_of_nan])
    def test_the_resolvent_takes_over(
        self,
        metric: str,
        lobpcg: Callable[..., Any],
        dense: Callable[..., Any],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(eigen, "lobpcg", lobpcg)
        monkeypatch.setattr(eigen, "eigh", dense)
        found = align(METRICS[metric], 1e-6)
        assert found.scaling == "resolvent"
        assert_aligned(METRICS[metric], 1e-6, found)


@pytest.mark.parametrize("size", [6, 13, 40])
def test_a_solver_that_finds_a_later_eigenvector_is_put_right(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LOBPCG may end at a later eigenvector, whose Rayleigh quotient is above λ_min."""
    metric = random_metric(np.random.default_rng(size), size, decades=3)
    values, vectors = np.linalg.eigh(metric)

    def second(*_: object, **__: object) -> tuple[object, FloatArray, list[float]]:
        return None, vectors[:, [1]], [0.0]

    monkeypatch.setattr(eigen, "lobpcg", second)
    alignment = align(metric, 0.0)
    assert alignment.left_ends == pytest.approx(np.full(size, values[0]), abs=1e-9)


def scattered(rng: np.random.Generator, blocks: list[FloatArray]) -> FloatArray:
    """Return the blocks on a diagonal, features in random order."""
    order = rng.permutation(sum(len(block) for block in blocks))
    matrix: FloatArray = block_diag(*blocks)[np.ix_(order, order)]
    return matrix


class TestSpectrum:
    @PROPERTY
    @given(rng=generators, size=sizes)
    def test_small_matrices(self, rng: np.random.Generator, size: int) -> None:
        matrix = random_symmetric(rng, size)
        assert smallest_eigenvalue(matrix) == pytest.approx(eigvalsh(matrix)[0], abs=1e-14 * size)

    @pytest.mark.parametrize("least", ["single", "block", "largest block"])
    @pytest.mark.parametrize("n_singles", [1, 200])
    def test_components_of_large_matrices(
        self, least: str, n_singles: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rng = np.random.default_rng(0)
        singles = [rng.uniform(-1, 1, (1, 1)) for _ in range(n_singles)]
        blocks = [random_symmetric(rng, size) / 40 for size in (2, 3, 3, 50, 250)]
        chosen = {"single": singles[0], "block": blocks[1], "largest block": blocks[-1]}[least]
        chosen -= 9 * np.eye(len(chosen))
        matrix = scattered(rng, singles + blocks)
        expected, solved = eigvalsh(matrix)[0], []

        def recorded(block: FloatArray, **options: Any) -> Any:
            solved.append(len(block))
            return eigh(block, **options)

        monkeypatch.setattr(spectrum, "eigh", recorded)
        assert smallest_eigenvalue(matrix) == pytest.approx(expected, abs=1e-13)
        assert sorted(solved) == [2, 3, 3, 50, 250]

    @pytest.mark.parametrize(
        "matrix",
        [
            pytest.param(np.diag(np.arange(300.0) - 7), id="singles"),
            pytest.param(random_symmetric(np.random.default_rng(0), 300), id="one component"),
            pytest.param(np.zeros((300, 300)), id="zero"),
            pytest.param(uniform_path(300, 0.5), id="path"),
        ],
    )
    def test_large_matrices(self, matrix: FloatArray) -> None:
        expected = eigvalsh(matrix)
        round_off = 1e-14 * np.abs(expected).max()
        assert smallest_eigenvalue(matrix) == pytest.approx(expected[0], rel=0, abs=round_off)

    @PROPERTY
    @given(rng=generators, size=sizes, count=st.integers(1, 15))
    def test_eigenpairs(self, rng: np.random.Generator, size: int, count: int) -> None:
        matrix = random_symmetric(rng, size)
        values, vectors = smallest_eigenpairs(matrix, count)
        np.testing.assert_allclose(values, eigvalsh(matrix)[:count], rtol=0, atol=1e-14 * size)
        identity = np.eye(min(size, count))
        np.testing.assert_allclose(vectors @ vectors.T, identity, rtol=0, atol=1e-14 * size)
        residuals = vectors @ matrix - values[:, None] * vectors
        np.testing.assert_allclose(residuals, 0, rtol=0, atol=1e-14 * size)

    @pytest.mark.parametrize(("size", "count"), [(256, 3), (300, 60)])
    def test_where_a_guess_is_not_worth_it(
        self, size: int, count: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        matrix = random_symmetric(np.random.default_rng(0), size)
        monkeypatch.setattr(spectrum, "lobpcg", raises(AssertionError("a dense solver is due")))
        guess = np.eye(size)[:count]
        values, _ = smallest_eigenpairs(matrix, count, guess)
        np.testing.assert_allclose(values, eigvalsh(matrix)[:count], rtol=0, atol=1e-12)

    @pytest.mark.parametrize("lobpcg", [raises(LinAlgError("breakdown")), raises(ValueError("no"))])
    def test_the_dense_solver_takes_over(
        self, lobpcg: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        matrix = random_symmetric(np.random.default_rng(0), 300)
        monkeypatch.setattr(spectrum, "lobpcg", lobpcg)
        values, _ = smallest_eigenpairs(matrix, 2, np.eye(300)[:2])
        np.testing.assert_allclose(values, eigvalsh(matrix)[:2], rtol=0, atol=1e-12)

    @pytest.mark.parametrize("scale", [1.0, 1e200])
    def test_a_guess_for_a_matrix_without_a_diagonal(self, scale: float) -> None:
        matrix = random_symmetric(np.random.default_rng(0), 300)
        np.fill_diagonal(matrix, 0.0)
        expected, vectors = eigh(matrix)
        values, _ = smallest_eigenpairs(scale * matrix, 1, vectors.T[:1])
        assert values[0] / scale == pytest.approx(expected[0], rel=1e-12)
