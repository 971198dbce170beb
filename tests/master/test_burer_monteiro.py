"""Burer–Monteiro refinement: Newton's method on the sphere of factors."""

import numpy as np
import pytest
from hypothesis import given

import gdaopt as gda
from gdaopt.master.active_set import ActiveSet
from gdaopt.master.burer_monteiro import refine_atoms
from tests.helpers import PROPERTY, generators, scaled
from tests.master.cases import random_atoms


def wine(scale: float = 1.0) -> gda.GLR:
    X, z = scaled("wine", "class_1")
    return gda.GLR(X[::2] * scale, z[::2])


def some_atoms(rng: np.random.Generator, size: int, n: int, total_weight: float) -> ActiveSet:
    weights = rng.random(n)
    return ActiveSet(random_atoms(rng, n, size), weights * (total_weight / weights.sum()))


@PROPERTY
@given(generators)
def test_the_objective_falls_and_the_total_weight_stays(rng: np.random.Generator) -> None:
    size = int(rng.integers(2, 8))
    X = rng.standard_normal((10, size)) / np.sqrt(2 * size)
    objective = gda.GLR(X, np.where(np.arange(10) % 2, 1, -1))
    base, total_weight = 1e-3 * np.eye(size), float(size)
    active_set = some_atoms(rng, size, int(rng.integers(1, 6)), total_weight)
    better, _ = refine_atoms(objective, base, active_set, total_weight)
    before = objective.value(active_set.atoms.added_to(base, active_set.weights))
    after = objective.value(better.atoms.added_to(base, better.weights))
    assert after <= before * (1 + 1e-12)
    assert better.total == pytest.approx(total_weight, rel=1e-12)
    assert (better.weights > 0).all()
    np.testing.assert_allclose(np.linalg.norm(better.atoms.values, axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 8.0], ids=["usual", "concentrated"])
def test_converges_to_the_optimum_of_its_rank(scale: float) -> None:
    """From random atoms, as many as the optimum has or more: the certificate judges."""
    objective, total_weight = wine(scale), 13.0
    feasible_set = gda.PositiveDefiniteMetrics(total_weight, 0.0)
    problem = gda.MetricProblem(objective, feasible_set)
    active_set = some_atoms(np.random.default_rng(0), 13, 13, total_weight)
    gaps = []
    for _ in range(25):
        active_set, _ = refine_atoms(objective, np.zeros((13, 13)), active_set, total_weight)
        metric = active_set.atoms.added_to(np.zeros((13, 13)), active_set.weights)
        gaps.append(gda.certify(problem, metric).relative_gap)
    assert gaps[-1] <= 1e-9, gaps


def test_objectives_near_underflow_are_refined_as_well() -> None:
    """Squares of a gradient of 1e-200 would be 0."""
    objective = gda.GLR(np.eye(3) * 15.0, [1, -1, -1])
    base, total_weight = np.zeros((3, 3)), 3.0
    active_set = some_atoms(np.random.default_rng(1), 3, 3, total_weight)
    value = objective.value(active_set.atoms.added_to(base, active_set.weights))
    assert 0 < value < 1e-100
    better, taken = refine_atoms(objective, base, active_set, total_weight)
    assert taken > 0
    assert objective.value(better.atoms.added_to(base, better.weights)) < value


@pytest.mark.parametrize("scale", [1e4, 1e5, 1e7])
def test_a_curvature_that_leaves_floating_point_ends_a_newton_step(scale: float) -> None:
    """Next to a metric that is nearly singular, distances along the long feature are negative."""
    objective = gda.GLR([[0.0, 0.0], [0.0, 1.0], [scale, 0.0]], [1, -1, -1])
    problem = gda.MetricProblem(objective, gda.PositiveDefiniteMetrics(2.0, 0.0))
    assert gda.solve(problem, "certified").objective == pytest.approx(8 * np.exp(-2), rel=1e-6)
