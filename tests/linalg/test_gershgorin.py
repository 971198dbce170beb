"""Gershgorin discs and their left-ends, and the vector that aligns these, entry by entry."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import LinAlgError, eigh, eigvalsh

from gdaopt.linalg import gershgorin
from gdaopt.linalg.gershgorin import Alignment, align, discs, left_ends
from gdaopt.linalg.laplacian import self_loops
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, generators, path_laplacian, random_metric, random_symmetric
from tests.linalg.cases import raises, uniform_path

sizes = st.integers(1, 12)


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
            ends = left_ends(matrix, scaling)
            np.testing.assert_allclose(ends, centres - radii, rtol=0)
            assert ends.min() <= eigvalsh(matrix)[0] + 1e-13 * size


def path(loops: FloatArray, weight: float) -> FloatArray:
    """Return the metric of a path with these self-loops."""
    return weight * path_laplacian(len(loops)) + np.diag(loops)


def random_path(size: int, weight: float) -> FloatArray:
    """Return a path whose self-loops make the first eigenvector span many decades."""
    return path(np.random.default_rng(0).uniform(0.1, 2, size), weight)


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
    # The first eigenvector of a dense solver has entries of the wrong sign.
    "star-path-30": path(np.r_[0.1, np.full(29, 10.0)], 0.001),
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
    """Assert that v is positive, with maximum 1, and that its left-ends are high enough."""
    v, unit = found.v, np.trace(metric) / len(metric)
    assert (v > 0).all()
    assert v.max() == 1
    wanted = min(min_eigenvalue, eigvalsh(metric)[0]) - 1e-12 * unit
    assert (metric @ v / v).min() >= wanted
    np.testing.assert_array_equal(found.left_ends, left_ends(metric, v))


@pytest.fixture(params=["by LOBPCG"])
def solver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask LOBPCG from K = 5 on; for smaller matrices SciPy itself uses a dense solver."""
    if request.param == "by LOBPCG":
        monkeypatch.setattr(gershgorin, "LARGEST_DENSE", 4)


by_lobpcg = pytest.mark.usefixtures("solver")
by_either = pytest.mark.parametrize("solver", ["dense", "by LOBPCG"], indirect=True)


class TestAlign:
    @by_lobpcg
    @by_either
    @pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())
    def test_left_ends_reach_rho(self, metric: FloatArray) -> None:
        for name in [*RHOS, "by default"]:
            smallest = float(eigvalsh(metric)[0])
            if name == "by default":
                assert_aligned(metric, smallest, align(metric))
            else:
                rho = RHOS[name](smallest)
                assert_aligned(metric, rho, align(metric, rho))

    @PROPERTY
    @given(rng=generators, size=sizes)
    def test_theorem_1(self, rng: np.random.Generator, size: int) -> None:
        """Every left-end of a connected metric aligns at its smallest eigenvalue."""
        metric = random_metric(rng, size)
        found = align(metric, min_eigenvalue=0.0)
        np.testing.assert_allclose(found.left_ends, eigvalsh(metric)[0], rtol=0, atol=2e-9)
        assert found.spread <= 1e-9

    @by_lobpcg
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
        [("random-4", "eigh"), ("random-60", "eigh"), ("disconnected-13", "resolvent")],
    )
    def test_says_how_v_was_found(self, metric: str, scaling: str) -> None:
        assert align(METRICS[metric], 1e-6).scaling.removesuffix("+polish") == scaling

    def test_large_matrices_are_for_lobpcg(self) -> None:
        metric = random_metric(np.random.default_rng(0), 257)
        found = align(metric, 1e-6)
        assert (found.scaling[:6], found.iterations > 0) == ("lobpcg", True)
        assert_aligned(metric, 1e-6, found)

    def test_edges_below_the_threshold_do_not_connect(self) -> None:
        metric = np.array([[1.0, -1e-6], [-1e-6, 2.0]])
        assert align(metric, 0.5).scaling != "resolvent"
        found = align(metric, 0.5, edge_threshold=1e-5)
        assert found.scaling == "resolvent"
        assert_aligned(metric, 0.5, found)


def lobpcg_of_nan(matrix: FloatArray, start: FloatArray, **_: Any) -> Any:
    return np.full(1, np.nan), np.full_like(start, np.nan), [np.nan]


def eigh_of_nan(matrix: FloatArray, **_: Any) -> Any:
    return np.full(1, np.nan), np.full((len(matrix), 1), np.nan)


@by_lobpcg
@pytest.mark.parametrize("metric", ["random-13", "random-path-30-0.1", "decades-13"])
@pytest.mark.parametrize(
    "lobpcg", [raises(LinAlgError("breakdown")), raises(ValueError("no")), lobpcg_of_nan]
)
@pytest.mark.parametrize(
    ("dense", "scaling"),
    [
        (eigh, "eigh"),
        (raises(LinAlgError("no convergence")), "resolvent"),
        (eigh_of_nan, "resolvent"),
    ],
)
def test_another_solver_takes_over(
    metric: str,
    lobpcg: Callable[..., Any],
    dense: Callable[..., Any],
    scaling: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scipy.sparse.linalg.lobpcg", lobpcg)
    monkeypatch.setattr(gershgorin, "eigh", dense)
    smallest = float(eigvalsh(METRICS[metric])[0]) if scaling == "eigh" else 1e-6
    found = align(METRICS[metric], smallest)
    assert found.scaling.startswith(scaling)
    assert_aligned(METRICS[metric], smallest, found)


@by_lobpcg
@pytest.mark.parametrize("size", [6, 13, 40])
def test_a_solver_that_finds_a_later_eigenvector_is_put_right(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LOBPCG may end at a later eigenvector, whose Rayleigh quotient is above λ_min."""
    metric = random_metric(np.random.default_rng(size), size, decades=3)
    values, vectors = np.linalg.eigh(metric)

    def second(*_: object, **__: object) -> tuple[object, FloatArray, list[float]]:
        return None, vectors[:, [1]], [0.0]

    monkeypatch.setattr("scipy.sparse.linalg.lobpcg", second)
    alignment = align(metric, 0.0)
    assert alignment.left_ends == pytest.approx(np.full(size, values[0]), abs=1e-9)
