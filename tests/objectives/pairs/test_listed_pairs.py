"""The graph Laplacian regulariser over the pairs of a list."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric
from tests.objectives.pairs.cases import K, N, assert_same


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
