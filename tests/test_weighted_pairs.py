"""The graph Laplacian regulariser with weights of samples, and over some pairs only."""

import itertools
import re
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import DenseDirection, DiagonalDirection
from gdaopt.objectives.pairs import listed_pairs, signal_pairs
from gdaopt.validation import FloatArray
from tests.helpers import random_metric, random_symmetric

N, K = 24, 3

SIGNALS: dict[str, Callable[[np.random.Generator], FloatArray]] = {
    "labels": lambda rng: np.where(rng.random(N) < 0.4, 1.0, -1.0),
    "one-hot": lambda rng: np.eye(3)[rng.integers(3, size=N)],
    "real": lambda rng: rng.standard_normal((N, 2)),
}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.fixture(params=SIGNALS)
def data(request: pytest.FixtureRequest, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    return rng.standard_normal((N, K)) + 5.0, SIGNALS[request.param](rng)


@pytest.fixture(params=["one block", "many blocks"])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "many blocks":
        monkeypatch.setattr(signal_pairs, "_BLOCK_ENTRIES", 40)
        monkeypatch.setattr(listed_pairs, "_BLOCK_ENTRIES", 40)


def assert_same(found: gda.GLR, expected: gda.GLR, rng: np.random.Generator) -> None:
    """Compare all that two objectives can evaluate."""
    metric = random_metric(rng, K)
    one, other = found.at(metric), expected.at(metric)
    near: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-11 * np.abs(other.gradient()).max()}
    assert one.log_value == pytest.approx(other.log_value, rel=1e-12)
    np.testing.assert_allclose(one.gradient(), other.gradient(), **near)
    np.testing.assert_array_equal(one.gradient(), one.gradient().T)
    np.testing.assert_allclose(one.gradient_diagonal(), other.gradient_diagonal(), **near)
    np.testing.assert_allclose(one.gradient_column(1), other.gradient_column(1), **near)
    dense = DenseDirection(random_symmetric(rng, K))
    for direction in (dense, DiagonalDirection(np.array([0.3, 0.0, -0.1]))):
        np.testing.assert_allclose(
            one.hessian_product(direction), other.hessian_product(direction), rtol=1e-9, atol=1e-9
        )
        assert one.moved(direction, 0.1).value == pytest.approx(other.moved(direction, 0.1).value)
    assert found.lipschitz(0.1) == pytest.approx(expected.lipschitz(0.1))
    atoms, weights = Atoms.of_vectors(rng.standard_normal((4, K))), rng.random(4)
    one_point, other_point = (
        q.atom_weights(0.1 * np.eye(K)).at(atoms, weights) for q in (found, expected)
    )
    assert one_point.value == pytest.approx(other_point.value)
    np.testing.assert_allclose(one_point.gradient(), other_point.gradient(), rtol=1e-10)
    np.testing.assert_allclose(one_point.hessian(), other_point.hessian(), rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("_blocks")
def test_a_sample_of_weight_two_counts_as_two(
    data: tuple[FloatArray, FloatArray], rng: np.random.Generator
) -> None:
    X, z = data
    counts = rng.integers(1, 4, N)
    repeated = gda.GLR(X.repeat(counts, axis=0), z.repeat(counts, axis=0))
    assert_same(gda.GLR(X, z, sample_weight=counts), repeated, rng)


@pytest.mark.usefixtures("_blocks")
def test_the_list_of_all_pairs_is_all_pairs(
    data: tuple[FloatArray, FloatArray], rng: np.random.Generator
) -> None:
    X, z = data
    weights = rng.uniform(0.5, 2.0, N)
    every = [rng.permutation(pair) for pair in itertools.combinations(range(N), 2)]
    listed = gda.GLR(X, z, sample_weight=weights, pairs=every)
    assert_same(listed, gda.GLR(X, z, sample_weight=weights), rng)


def test_few_pairs(data: tuple[FloatArray, FloatArray], rng: np.random.Generator) -> None:
    X, z = data
    some = np.array([[0, 1], [5, 2], [7, 7], [3, 8]])
    metric = random_metric(rng, K)
    signal = z.reshape(N, -1)
    expected = sum(
        2 * ((signal[i] - signal[j]) ** 2).sum() * np.exp(-(X[i] - X[j]) @ metric @ (X[i] - X[j]))
        for i, j in some
    )
    assert gda.GLR(X, z, pairs=some).value(metric) == pytest.approx(expected, rel=1e-12)


def test_weights_of_classes_take_no_memory_for_pairs() -> None:
    X = np.random.default_rng(0).standard_normal((N, K))
    z = np.repeat([1.0, -1.0], N // 2)
    glr = gda.GLR(X, z, sample_weight=np.where(z > 0, 3.0, 1.0))
    assert [block.shape for block in glr.log_weights] == [()]


@pytest.mark.parametrize("listed", [False, True])
def test_cvxpy_sees_the_same_objective(listed: bool, rng: np.random.Generator) -> None:
    X = rng.standard_normal((8, K)).round(1)
    X[1], X[7] = X[0], X[6]
    z = np.tile([1.0, -1.0], 4)
    z[1] = z[0]
    chosen = [(i, j) for i in range(8) for j in range(i) if (i + j) % 3] if listed else None
    glr = gda.GLR(X, z, sample_weight=rng.uniform(0.5, 2.0, 8), pairs=chosen)
    metric = cp.Variable((K, K), symmetric=True)
    problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=3.0))
    value = problem.to_cvxpy(metric).solve("CLARABEL")
    result = gda.solve(problem, "certified", tolerance=1e-9)
    assert value == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize("method", ["certified", "alternating", "frank-wolfe"])
def test_methods_end_at_a_certified_gap_over_listed_pairs(
    method: str, rng: np.random.Generator
) -> None:
    X, z = rng.standard_normal((N, K)), np.tile([1.0, -1.0], N // 2)
    near = [(i, i + step) for i in range(N - 3) for step in (1, 3)]
    problem = gda.MetricProblem(gda.GLR(X, z, pairs=near), gda.GraphMetrics(trace_bound=2.0))
    options = {"solver": "analytic"} if method == "alternating" else {"max_iterations": 2000}
    result = gda.solve(problem, method, **options)
    assert result.lower_bound is not None
    best = gda.solve(problem, "certified", tolerance=1e-9)
    assert best.status == "converged"
    assert result.lower_bound * (1 - 1e-12) <= best.objective <= result.objective * (1 + 1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_weight": [1.0, 1.0]}, "sample_weight has 2 entries for 3 samples"),
        ({"sample_weight": [1.0, 0.0, 1.0]}, "sample_weight holds 0 at index 1"),
        ({"sample_weight": [1.0, -2.0, 1.0]}, "sample_weight holds -2 at index 1"),
        ({"sample_weight": [1.0, np.nan, 1.0]}, "sample_weight holds nan"),
        ({"pairs": [[0, 3]]}, "pairs refers to samples 0 to 3"),
        ({"pairs": [[-1, 1]]}, "pairs refers to samples -1 to 1"),
        ({"pairs": [[0.0, 1.0]]}, "pairs must be whole numbers"),
        ({"pairs": [0, 1]}, "pairs must be whole numbers of shape (n, 2)"),
        ({"pairs": [[1, 2]]}, "pairs holds no two samples with different signals"),
        ({"pairs": np.zeros((0, 2), int)}, "pairs holds no two samples"),
    ],
)
def test_bad_weights_and_pairs(options: dict[str, Any], message: str) -> None:
    with pytest.raises(gda.InvalidInputError, match=re.escape(message)):
        gda.GLR([[0.0], [1.0], [2.0]], [1, -1, -1], **options)
