"""Each objective of distances against its formula, pair by pair."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import all_edges
from gdaopt.master import MasterPoint
from gdaopt.objectives import pair_loss
from gdaopt.objectives.pairs import listed_pairs, rectangles
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric, random_symmetric, traced_peak
from tests.objectives.cases import assert_near, directions, within
from tests.objectives.loss_cases import CASES, LABELS, Case, K, N, samples
from tests.objectives.pairs.cases import make_blocks_small

STORAGE = ["kept", "recomputed, many blocks"]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(params=STORAGE)
def objective(case: Case, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    if "many blocks" in request.param:
        make_blocks_small(monkeypatch, 40)
        monkeypatch.setattr(listed_pairs, "_BLOCK_ENTRIES", 2 * K)
        for module in (rectangles, listed_pairs):
            monkeypatch.setattr(module, "_MOMENT_ENTRIES", 30)
    recomputed = "recomputed" in request.param
    objective = within(1 if recomputed else 2**28, lambda: case.make(samples(), LABELS))
    assert objective.keeps_pairs is not recomputed
    assert len(list(objective.pairs.blocks())) > 2 or "many blocks" not in request.param
    return objective


@pytest.fixture
def metric(rng: np.random.Generator) -> FloatArray:
    return random_metric(rng, K)


def test_value_and_gradient(
    objective: Any, case: Case, metric: FloatArray, rng: np.random.Generator
) -> None:
    point = objective.at(metric)
    assert point.value == pytest.approx(case.value(samples(), LABELS, metric), rel=1e-12)
    gradient = point.gradient()
    np.testing.assert_array_equal(gradient, gradient.T)
    for _ in range(3):
        step = 1e-5 * random_symmetric(rng, K)
        ahead, behind = (case.value(samples(), LABELS, metric + s * step) for s in (1, -1))
        expected = (ahead - behind) / 2
        assert np.vdot(gradient, step) == pytest.approx(expected, rel=1e-5, abs=1e-10)


def test_contract(case: Case) -> None:
    gda.check_objective(case.make(samples(), LABELS), n_metrics=2)


def test_parts_of_the_gradient(objective: Any, metric: FloatArray) -> None:
    gradient = objective.gradient(metric)
    point = objective.at(metric)
    assert_near(point.gradient_diagonal(), np.diagonal(gradient))
    assert_near(point.gradient_column(1), gradient[:, 1])
    edges = all_edges(K)
    assert_near(point.gradient_entries(edges).on_edges, gradient[edges])


def test_lines_and_moves(objective: Any, metric: FloatArray, rng: np.random.Generator) -> None:
    point = objective.at(metric)
    for direction in directions(rng):
        for gamma in (0.0, 0.05):
            there = objective.at(direction.added_to(metric, gamma))
            line = point.line(direction)
            slope, curvature = line.derivatives(gamma)
            assert line.value(gamma) == pytest.approx(there.value, rel=1e-11)
            inner = direction.inner(there.gradient())
            assert slope == pytest.approx(inner, rel=1e-9, abs=1e-11)
            slopes = [line.derivatives(gamma + step)[0] for step in (1e-6, -1e-6)]
            difference = (slopes[0] - slopes[1]) / 2e-6
            assert curvature == pytest.approx(difference, rel=2e-4, abs=1e-6)
        assert_near(point.moved(direction, 0.05).gradient(), there.gradient(), 1e-11)


@pytest.mark.parametrize("kind", ["two-sparse", "dense"])
def test_weights_of_atoms(
    objective: Any, kind: str, metric: FloatArray, rng: np.random.Generator
) -> None:
    if kind == "dense":
        vectors = rng.standard_normal((5, K))
        atoms = Atoms.of_vectors(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    else:
        support = np.array([[0, 1], [2, 1], [3, 0], [2, 2]])
        atoms = Atoms(support, np.array([[0.6, -0.8], [-0.8, 0.6], [0.8, 0.6], [1, 0]]))
    weights = rng.uniform(0.1, 0.5, len(atoms))
    weighted = MasterPoint(objective.at(metric), atoms, weights)
    dense = objective.at(atoms.added_to(metric, weights))
    assert weighted.value == pytest.approx(dense.value, rel=1e-12)
    assert_near(weighted.gradient(), atoms.quadratic_forms(dense.gradient()), 1e-11)
    assert_near(weighted.point.gradient(), dense.gradient(), 1e-11)
    hessian, step = weighted.hessian(), 1e-6
    for k in range(len(atoms)):
        change = step * np.eye(len(atoms))[k]
        ahead, behind = (weighted.at(weights + s * change).gradient() for s in (1, -1))
        difference = (ahead - behind) / (2 * step)
        np.testing.assert_allclose(hessian[k], difference, rtol=2e-5, atol=2e-6)


def test_round_off_is_as_stated(case: Case, rng: np.random.Generator) -> None:
    """Value and tangent against the formula in extended precision."""
    X = samples() + 1e4  # most digits are of the offset
    objective, metric = case.make(X, LABELS), random_metric(rng, K)
    point = objective.at(metric)
    for direction in directions(rng):
        point = point.moved(direction, 0.01)
    stated = point.round_off()
    exact = case.value(X, LABELS, point.metric, np.longdouble)
    assert abs(point.value - exact) <= stated.value
    assert stated.value < 1e-5 * (1 + abs(point.value))
    for _ in range(5):
        other = random_metric(rng, K) * rng.uniform(0.2, 5)
        change = other - point.metric
        slope = np.vdot(point.gradient(), change)
        slope -= stated.gradient @ np.abs(change) @ stated.gradient
        assert case.value(X, LABELS, other, np.longdouble) >= point.value - stated.value + slope


def test_gradient_is_lipschitz(case: Case, rng: np.random.Generator) -> None:
    objective, floor = case.make(samples(), LABELS), 0.1
    constant = objective.lipschitz(floor)
    if constant is None:
        assert isinstance(objective, gda.LSML)
        return
    for _ in range(10):
        one, other = (random_metric(rng, K) * rng.random() + floor * np.eye(K) for _ in range(2))
        change = np.linalg.norm(objective.gradient(one) - objective.gradient(other))
        assert change <= constant * np.linalg.norm(one - other)


def test_for_cvxpy(case: Case, metric: FloatArray) -> None:
    objective = case.make(samples(), LABELS)
    variable = cp.Variable((K, K), symmetric=True)
    expression, constraints = objective.to_cvxpy(variable)
    assert expression.is_convex()
    assert all(constraint.is_dcp() for constraint in constraints)
    problem = cp.Problem(cp.Minimize(expression), [*constraints, variable == metric])
    problem.solve(solver="CLARABEL")
    assert expression.value == pytest.approx(objective.value(metric), rel=1e-5, abs=1e-6)
    assert objective.conic_bytes() > 0


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.is_ordered])
@pytest.mark.parametrize("seed", range(3))
def test_order_and_place_of_the_samples_have_no_meaning(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case, metric = CASES[name], random_metric(rng, K)
    X, order = rng.standard_normal((N, K)), rng.permutation(N)
    one, other = case.make(X, LABELS), case.make(X[order] + 7.0, LABELS[order])
    assert other.value(metric) == pytest.approx(one.value(metric), rel=1e-10)
    assert_near(other.gradient(metric), one.gradient(metric), 1e-10)


def test_many_classes(case: Case, metric: FloatArray) -> None:
    """More classes than there are rectangles for."""
    if case.is_ordered or case is CASES["LMNN"]:
        pytest.skip("needs these samples, or three of each class")
    X = np.random.default_rng(5).standard_normal((40, K))
    y = np.arange(40) % 20
    assert case.make(X, y).value(metric) == pytest.approx(case.value(X, y, metric), rel=1e-12)


@pytest.mark.parametrize("name", ["MCML", "LMNN", "logistic"])
def test_memory_does_not_grow_with_the_pairs(name: str) -> None:
    """Value, gradient and round-off of 2500 samples hold no number for each of the pairs."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2500, 5)), np.arange(2500) % 2

    def evaluate() -> None:
        point = within(2**20, lambda: CASES[name].make(X, y)).at(0.2 * np.eye(5))
        assert np.isfinite(point.gradient()).all()
        assert point.round_off().value < 1e-9

    assert traced_peak(evaluate) < 0.5 * 8 * 2500**2


@pytest.mark.parametrize("name", ["MCML", "logistic"])
def test_second_derivatives_from_a_sample_lead_to_the_optimum(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fifth of the pairs tells of the others, and the certificate sees all of them."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, K)), rng.integers(2, size=80)
    X[:, 0] += y
    objective = CASES[name].make(X, y)
    problem = gda.MetricProblem(objective, gda.GraphMetrics(4.0))
    point, atoms = objective.at(np.eye(K)), Atoms.of_features(np.arange(K))
    expected, hessian = gda.solve(problem, "certified", tolerance=1e-8), point.curvature(atoms)
    monkeypatch.setattr(pair_loss, "_MOST_PAIRS", objective.pairs.n_pairs // 5)
    monkeypatch.setattr(rectangles, "_MOMENT_ENTRIES", 300)
    sampled = point.curvature(atoms)
    assert 0 < np.linalg.norm(sampled - hessian) < 0.5 * np.linalg.norm(hessian)
    found = gda.solve(problem, "certified", tolerance=1e-8)
    assert found.status == expected.status == "converged"
    assert found.objective == pytest.approx(expected.objective, rel=2e-8)


def certified_and_conic(case: Case, size: int, feasible_set: Any, seed: int) -> None:
    """Assert that the optimum of CVXPY is that of the certified solver."""
    X = 0.5 * samples(size, seed=seed)
    problem = gda.MetricProblem(case.make(X, LABELS), feasible_set)
    result = gda.solve(problem, "certified", tolerance=1e-7, absolute_tolerance=1e-9)
    conic = gda.solve(problem, "sdp", solver="CLARABEL")
    assert result.lower_bound is not None
    assert conic.lower_bound is not None
    assert conic.gap is not None
    assert result.status == "converged"
    slack = 1e-6 * (1 + abs(result.objective))
    assert result.lower_bound <= conic.objective + slack
    assert conic.lower_bound <= result.objective
    assert conic.objective == pytest.approx(result.objective, abs=slack + conic.gap)


SETS: dict[str, Any] = {
    "graph": lambda size: gda.GraphMetrics(float(size), 0.05),
    "signed": lambda size: gda.SignedGraphMetrics([1, -1] * (size // 2) + [1] * (size % 2), size),
    "diagonal": lambda size: gda.DiagonalMetrics(float(size), 0.01),
    "definite": lambda size: gda.PositiveDefiniteMetrics(float(size), 0.02),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("MCML", "graph"),
        ("LMNN", "definite"),
        ("logistic", "signed"),
        ("hinge", "graph"),
        ("DEML", "definite"),
        ("LSML", "diagonal"),
        ("triplets, hinge", "definite"),
        ("triplets, logistic", "graph"),
    ],
)
def test_certified_is_the_optimum(name: str, kind: str) -> None:
    certified_and_conic(CASES[name], 4, SETS[kind](4), seed=2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("size", [3, 6, 9, 13])
def test_certified_is_the_optimum_of_all(case: Case, size: int, kind: str) -> None:
    certified_and_conic(case, size, SETS[kind](size), seed=size)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["MCML", "LMNN", "logistic", "hinge", "DEML"])
def test_four_samples_of_many_features(name: str) -> None:
    X = np.random.default_rng(0).standard_normal((4, 300)) / np.sqrt(300)
    y = np.array([0, 0, 1, 1])
    make = (lambda X, y: gda.LMNN(X, y, n_neighbors=1)) if name == "LMNN" else CASES[name].make
    problem = gda.MetricProblem(make(X, y), gda.GraphMetrics(30.0, 1e-3))
    result = gda.solve(problem, "certified", tolerance=1e-6, absolute_tolerance=1e-9)
    assert result.status == "converged"
