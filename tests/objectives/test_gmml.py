"""Geometric mean metric learning: the closed form, CVXPY's optima, bad input."""

from __future__ import annotations

import math
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg import geometric_mean_of_inverse
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import named_set


def scatters(
    rng: np.random.Generator, size: int, condition: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return the scatter matrices of similar and dissimilar pairs."""
    similar = rng.standard_normal((3 * size, size)) * np.geomspace(1, condition**-0.5, size)
    dissimilar = rng.standard_normal((3 * size, size)) * 2
    return similar.T @ similar / size, dissimilar.T @ dissimilar / size


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("size", [1, 2, 6])
def test_keeps_the_contract(size: int, rng: np.random.Generator) -> None:
    gda.check_objective(gda.GMML(*scatters(rng, size)))


@pytest.mark.parametrize(("size", "condition"), [(1, 1.0), (3, 10.0), (6, 1e3), (12, 10.0)])
def test_the_geometric_mean(size: int, condition: float, rng: np.random.Generator) -> None:
    S, D = scatters(rng, size, condition)
    expected = geometric_mean_of_inverse(S, D)
    trace = float(np.trace(expected))
    feasible_set = gda.PositiveDefiniteMetrics(3 * trace, 1e-6 * trace / size)
    problem = gda.MetricProblem(gda.GMML(S, D), feasible_set)
    result = gda.solve(problem, "certified", tolerance=1e-10)
    assert result.status == "converged"
    np.testing.assert_allclose(result.metric, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("set_name", ["diagonal", "graph", "positive definite", "signed"])
@pytest.mark.parametrize("trace_bound", [1.0, 10.0])
def test_optima(set_name: str, trace_bound: float, rng: np.random.Generator) -> None:
    size = 4
    problem = gda.MetricProblem(
        gda.GMML(*scatters(rng, size)), named_set(set_name, size, trace_bound, share=0.1)
    )
    exact = gda.solve(problem, "certified", tolerance=1e-9)
    assert exact.status == "converged"
    best = problem.to_cvxpy(cp.Variable((size, size), symmetric=True)).solve("CLARABEL")
    assert exact.objective == pytest.approx(best, rel=1e-6)
    for method in ("frank-wolfe", "projected-gradient"):
        found = gda.solve(problem, method, max_iterations=50)
        assert found.objective >= exact.objective * (1 - 1e-9)
        assert found.lower_bound is not None
        assert found.lower_bound <= exact.objective


def test_no_lipschitz_constant_without_a_smallest_eigenvalue() -> None:
    assert gda.GMML(np.eye(2), np.eye(2)).lipschitz(0.0) is None


@pytest.mark.parametrize(
    ("S", "D", "message"),
    [
        (np.eye(2), np.diag([1.0, -0.5]), "D must be positive semidefinite, its smallest .* -0.5"),
        (np.eye(2), np.eye(3), "D"),
        (np.eye(2), np.diag([1.0, math.nan]), "D holds nan"),
        ([[1.0, 0.5], [0.0, 1.0]], np.eye(2), "S is not symmetric"),
    ],
)
def test_bad_input(S: Any, D: Any, message: str) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        gda.GMML(S, D)


def test_scatters_of_few_pairs_are_taken(rng: np.random.Generator) -> None:
    """They are singular, and round-off leaves eigenvalues below 0."""
    pairs = rng.standard_normal((2, 6)) * 1e3
    gmml = gda.GMML(np.eye(6), pairs.T @ pairs)
    np.testing.assert_allclose(gmml.dissimilar, pairs.T @ pairs, rtol=1e-9, atol=1e-6)
    assert np.linalg.eigvalsh(gmml.dissimilar)[0] > -1e-9
    problem = gda.MetricProblem(gmml, gda.GraphMetrics(1e4, 1.0))
    assert gda.solve(problem, "certified").status == "converged"
