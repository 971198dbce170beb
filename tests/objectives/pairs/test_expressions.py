"""Squared distances of pairs as CVXPY expressions."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.objectives.pairs import squared_distances, weighted_pairs
from gdaopt.objectives.pairs.expressions import (
    _BYTES_PER_COEFFICIENT,
    distinct_differences,
    expression_bytes,
)
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric
from tests.objectives.pairs.cases import K


def test_distances_of_any_list_of_pairs(rng: np.random.Generator) -> None:
    """Among them a sample with itself, a pair twice, and samples on both sides."""
    X, metric = 30 * rng.standard_normal((6, K)), random_metric(rng, K)
    left, right = np.array([0, 0, 3, 5, 2, 0]), np.array([1, 4, 3, 0, 5, 1])
    expression, constraints = squared_distances(X, left, right, cp.Constant(metric))
    # Only equations for the expression's own variables: the metric leaves no choice.
    cp.Problem(cp.Minimize(0), constraints).solve(solver="CLARABEL")
    differences = X[left] - X[right]
    expected = np.einsum("pk,kl,pl->p", differences, metric, differences)
    found = np.asarray(expression.value, dtype=np.float64)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * expected.max())
    assert expression.is_affine()


def test_equal_differences_are_merged(data: tuple[FloatArray, FloatArray]) -> None:
    """Of either sign: on a lattice few are distinct, and their weights add up to all weights."""
    X, z = data[0].round(), data[1]
    pairs = weighted_pairs(X, z)
    left, right, weights = distinct_differences(pairs)
    differences = pairs.features[left] - pairs.features[right]
    assert len(differences) < pairs.n_pairs
    first = differences[np.arange(len(differences)), (differences != 0).argmax(axis=1)]
    positive = differences * np.where(first < 0, -1.0, 1.0)[:, None]
    assert len(np.unique(positive.round(9), axis=0)) == len(differences)
    for metric in (np.eye(K), 0.1 * np.diag(np.arange(1.0, K + 1))):
        distances = np.einsum("pk,kl,pl->p", differences, metric, differences)
        value = float(weights @ np.exp(-distances))
        assert value == pytest.approx(gda.GLR(X, z).value(metric), rel=1e-12)
    assert len(np.unique(left)) <= len(np.unique(right))


def test_the_number_of_coefficients_is_about_that_of_the_expression(
    rng: np.random.Generator,
) -> None:
    pairs = weighted_pairs(rng.standard_normal((30, K)), rng.standard_normal(30))
    metric = cp.Variable((K, K), symmetric=True)
    left, right, _ = distinct_differences(pairs)
    expression, constraints = squared_distances(pairs.features, left, right, metric)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.exp(-expression))), constraints)
    data, _, _ = problem.get_problem_data("CLARABEL")
    n_coefficients = expression_bytes(pairs) / _BYTES_PER_COEFFICIENT
    assert data["A"].nnz / 4 < n_coefficients < 4 * data["A"].nnz


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
