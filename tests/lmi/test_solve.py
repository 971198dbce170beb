"""``problem.solve(method="discs")`` and its proofs, against Clarabel's semidefinite program."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt import lmi
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import dual_alignment
from tests.lmi.models import (
    NETWORKS,
    e_optimal,
    grid_edges,
    random_inequality,
    spectral_radius,
    symmetric_unit,
)

ACCURATE = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def stats_of(problem: cp.Problem) -> Any:
    """Return what discs say of a solve."""
    assert problem.solver_stats is not None
    return problem.solver_stats.extra_stats


@pytest.mark.parametrize("side", [3, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("by", ["cones", "tangents"])
@pytest.mark.parametrize("kind", NETWORKS)
def test_networks(kind: str, by: str, side: int) -> None:
    exact, problem = NETWORKS[kind](side), NETWORKS[kind](side)
    optimum = exact.solve(solver="CLARABEL", **ACCURATE)
    unit = 1 + abs(optimum)
    problem.solve(method="discs", by=by, tolerance=1e-8)  # multipliers need its root
    stats = stats_of(problem)
    assert problem.value == pytest.approx(optimum, abs=1e-6 * unit)
    assert stats.upper - stats.lower <= 2e-6 * unit
    assert stats.lower <= optimum + 1e-7 * unit
    assert stats.upper >= optimum - 1e-7 * unit
    # Where links without any weight part the network, several multipliers are optimal.
    least = np.linalg.eigvalsh(exact.constraints[0].args[0].value)
    is_unique = least[1] > 1e-6
    assert is_unique or (kind, side) == ("E-optimal weights", 10)
    if not is_unique:
        return
    reference = exact.constraints[0].dual_value
    difference = np.abs(problem.constraints[0].dual_value - reference).max()
    assert difference <= 1e-4 * np.abs(reference).max()


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("by", ["multipliers", "eigenvector"])
def test_alignment_never_crosses_the_optimum(kind: str, by: str) -> None:
    optimum = NETWORKS[kind](3).solve(solver="CLARABEL", **ACCURATE)
    problem = NETWORKS[kind](3)
    problem.solve(method="discs", by=by, max_programs=20)
    stats = stats_of(problem)
    unit = 1e-7 * (1 + abs(optimum))
    assert stats.lower - unit <= optimum <= stats.upper + unit
    assert problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)


@pytest.mark.parametrize("seed", range(30))
def test_random_inequalities_and_their_proofs(seed: int) -> None:
    problem, _, _ = random_inequality(seed)
    other, _, _ = random_inequality(seed)
    optimum = other.solve(solver="CLARABEL", **ACCURATE)
    unit = 1 + abs(optimum)
    assert problem.solve(method="discs") == pytest.approx(optimum, abs=1e-6 * unit)
    stats = stats_of(problem)
    if not stats.structure.is_exact:
        assert stats.upper == np.inf
        return
    assert stats.upper - stats.lower <= 1e-6 * unit
    duals = problem.constraints[0].dual_value, other.constraints[0].dual_value
    assert np.allclose(*duals, atol=1e-4 * (1 + np.abs(duals[1]).max()))
    d = np.sqrt(np.diag(duals[0]))
    assert np.allclose(np.abs(duals[0]), np.outer(d, d))  # one vector
    proof = lmi.certify(other)
    assert proof.lower - 1e-7 * unit <= optimum <= proof.upper + 1e-7 * unit
    assert proof.gap <= 1e-5


def test_a_proof_from_a_bad_point_still_bounds_the_optimum() -> None:
    problem = e_optimal(3)
    optimum = problem.solve(solver="CLARABEL")
    rng = np.random.default_rng(0)
    for variable in problem.variables():
        variable.value = np.abs(np.asarray(variable.value) + 0.2 * rng.normal(size=variable.shape))
    proof = lmi.certify(problem)
    assert proof.lower <= optimum + 1e-8
    assert proof.upper >= optimum - 1e-8


@pytest.mark.parametrize("side", [3, 6])
def test_a_vector_proves_in_rational_numbers(side: int) -> None:
    problem = e_optimal(side)
    problem.solve(method="discs")
    stats = stats_of(problem)
    weights = next(each for each in problem.variables() if each.size > 1)
    edges, size = grid_edges(side).tolist(), side * side
    w = [Fraction(float(max(value, 0.0))) for value in np.asarray(weights.value)]
    budget = Fraction(len(edges))
    w = [min(each * budget / max(sum(w), budget), Fraction(2)) for each in w]
    ground = [Fraction(float(each)) for each in np.random.default_rng(0).random(size)]

    def left_ends(v: list[Fraction]) -> list[Fraction]:
        rows = [ground[i] * v[i] for i in range(size)]
        for weight, (i, j) in zip(w, edges, strict=True):
            rows[i] += weight * (v[i] - v[j])
            rows[j] += weight * (v[j] - v[i])
        return [row / each for row, each in zip(rows, v, strict=True)]

    laplacian = problem.constraints[0].args[0].value + float(problem.value) * np.eye(size)
    first = np.abs(np.linalg.eigh(laplacian)[1][:, 0])
    feasible = min(left_ends([Fraction(float(each)) for each in first]))  # Fv ≥ λv, v > 0
    d = [Fraction(float(each)) for each in stats.vector]
    gains = sorted(((d[i] - d[j]) ** 2 for i, j in edges), reverse=True)
    whole, rest = divmod(len(edges), 2)  # budget m, each weight at most 2
    most = sum(2 * gain for gain in gains[:whole]) + rest * gains[whole]
    most += sum(g * each**2 for g, each in zip(ground, d, strict=True))
    bound = most / sum(each * each for each in d)
    assert feasible <= bound
    assert bound - feasible <= Fraction(1, 10**6)
    assert float(feasible) - 1e-6 <= problem.value <= float(bound) + 1e-6


@pytest.mark.parametrize("by", ["tangents", "multipliers"])
def test_programs_are_recorded_and_solved_again(by: str, tmp_path: Path) -> None:
    problem = e_optimal(3)
    with gda.bench.recording(tmp_path / "network.npz"):
        problem.solve(method="discs", by=by)
    programs = gda.bench.load_programs(tmp_path / "network.npz")
    assert len(programs) >= stats_of(problem).n_programs > 1
    assert {each.kind for each in programs} == {"linear"}
    for solver in ("highspy", "CLARABEL"):
        answers = list(gda.bench.replay(programs, solver))
        assert len(answers) == len(programs)
        assert all(answer.is_verified(1e-5) for answer in answers)


def test_parameters_are_read_anew() -> None:
    scale, t = cp.Parameter(nonneg=True), cp.Variable()
    matrix = np.array([[2.0, -1.0], [-1.0, 2.0]])
    problem = cp.Problem(cp.Maximize(t), [scale * matrix >> t * np.eye(2)])
    for value in (1.0, 3.0):
        scale.value = value
        assert problem.solve(method="discs") == pytest.approx(value, abs=1e-6)
    assert len(repr(stats_of(problem))) < 80  # one line, not the whole model


def test_other_inequalities_stay_and_have_dual_values() -> None:
    t = cp.Variable()
    ring = np.ones((3, 3))  # a frustrated triangle
    constraints = [ring + t * np.eye(3) >> 0, t >= -5, np.diag([1.0, 2.0]) + t * np.eye(2) >> 0]
    problem, exact = (cp.Problem(cp.Minimize(t), constraints) for _ in range(2))
    optimum = exact.solve(solver="CLARABEL", **ACCURATE)
    reference = [np.copy(constraint.dual_value) for constraint in constraints]
    assert problem.solve(method="discs") == pytest.approx(optimum, abs=1e-6)
    for constraint, dual in zip(constraints, reference, strict=True):
        assert np.allclose(constraint.dual_value, dual, atol=1e-4)


def test_semidefinite_variables() -> None:
    weights = np.array([[2.0, -1.0, 0.0], [-1.0, 3.0, -1.0], [0.0, -1.0, 2.0]])
    values = []
    for method in ({"solver": "CLARABEL"}, {"method": "discs"}):
        matrix = cp.Variable((3, 3), PSD=True)
        rows = [cp.diag(matrix) == 1, matrix - cp.diag(cp.diag(matrix)) <= 0, matrix[0, 2] >= -0.2]
        problem = cp.Problem(cp.Maximize(cp.trace(weights @ matrix)), rows)
        values.append(problem.solve(**method))
        assert matrix.value is not None
        assert np.linalg.eigvalsh(matrix.value).min() >= -1e-6
        assert rows[0].dual_value is not None
    assert values[0] == pytest.approx(values[1], abs=1e-6)


@pytest.mark.parametrize("as_variable", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_relaxations_of_quadratic_programs(seed: int, as_variable: bool) -> None:
    rng, size = np.random.default_rng(seed), 6
    sides = rng.choice([-1.0, 1.0], size)
    forms = []
    for _ in range(3):  # off-diagonals with the signs of a balanced graph
        form = -np.triu(rng.random((size, size)) * (rng.random((size, size)) < 0.6), 1)
        form = (form + form.T) * np.outer(sides, sides)
        forms.append(form + np.diag(rng.normal(size=size)))
    values, points, duals = [], [], []
    for options in ({"solver": "CLARABEL", **ACCURATE}, {"method": "discs", "strict": True}):
        X: Any = cp.Variable((size, size), PSD=as_variable, symmetric=not as_variable)
        rows = [cp.trace(form @ X) <= 1 for form in forms[1:]] + [cp.diag(X) <= 2]
        rows += [] if as_variable else [X >> 0]
        problem = cp.Problem(cp.Minimize(cp.trace(forms[0] @ X)), rows)
        values.append(problem.solve(**options))
        points.append(X.value)
        duals.append([np.copy(row.dual_value) for row in rows])
    assert values[0] == pytest.approx(values[1], abs=1e-6)
    assert np.linalg.eigvalsh(points[1]).min() >= -1e-7
    assert all(np.vdot(form, points[1]) <= 1 + 1e-6 for form in forms[1:])
    for first, second in zip(*duals, strict=True):
        assert np.allclose(first, second, atol=1e-3)
    assert stats_of(problem).structure.inequalities[0].is_free
    with pytest.raises(InvalidInputError, match="own entries"):
        problem.solve(method="discs", by="tangents")


@pytest.mark.parametrize("by", ["cones", "tangents", "multipliers"])
def test_infeasible_and_unbounded_models(by: str) -> None:
    x, matrix = cp.Variable(), np.array([[1.0, -2.0], [-2.0, 1.0]])
    infeasible = cp.Problem(cp.Minimize(x), [matrix + x * np.eye(2) >> 0, x <= 0.5])
    assert infeasible.solve(method="discs", by=by) == np.inf
    assert infeasible.status == cp.INFEASIBLE
    if by != "cones":
        assert "d = [" in stats_of(infeasible)
    unbounded = cp.Problem(cp.Maximize(x), [matrix + x * np.eye(2) >> 0])
    with pytest.raises(Exception, match="unbounded"):
        unbounded.solve(method="discs", by=by)


def test_links_are_removed_for_the_least_spectral_radius() -> None:
    problem = spectral_radius(2, most=2)
    cut, radius = sorted(problem.variables(), key=lambda variable: -variable.size)
    radii, radius.value = [], 0.0
    for removed in combinations(range(cut.size), 2):
        cut.value = np.isin(np.arange(cut.size), removed).astype(float)
        radii.append(-np.linalg.eigvalsh(problem.constraints[0].args[0].value)[0])
    assert problem.solve(method="discs", solver="HIGHS") == pytest.approx(min(radii), abs=1e-5)
    links_cut = np.asarray(cut.value)
    assert np.array_equal(np.round(links_cut), links_cut)


@pytest.mark.parametrize("by", ["cones", "tangents", "multipliers", "eigenvector"])
def test_diagonal_matrices(by: str) -> None:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [cp.diag(x) >> np.diag([1.0, 2.0])])
    assert problem.solve(method="discs", by=by) == pytest.approx(3.0, abs=1e-5)


def test_a_problem_without_an_interior_is_not_called_infeasible() -> None:
    x = cp.Variable()
    matrix = np.array([[1.0, -1.0], [-1.0, 0.0]]) + x * np.diag([0.0, 1.0])
    problem = cp.Problem(cp.Minimize(x), [matrix >> 0, x <= 1])
    assert problem.solve(method="discs") == pytest.approx(1.0, abs=1e-4)
    assert problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)


@pytest.mark.parametrize("seed", range(5))
def test_dual_alignment_of_metrics_is_a_fixed_point(seed: int) -> None:
    """The multipliers of its program are the squares of v, and its value is the oracle's."""
    rng, size = np.random.default_rng(seed), 6
    gradient = rng.standard_normal((size, size))
    gradient = (gradient + gradient.T) / 2 - np.eye(size)
    v = dual_alignment(gradient)
    pairs = np.stack(np.triu_indices(size, 1), axis=1)
    d, w = cp.Variable(size), cp.Variable(len(pairs), nonneg=True)
    metric = cp.diag(d) - cp.sum(
        [w[k] * symmetric_unit(size, i, j) for k, (i, j) in enumerate(pairs)]
    )
    discs = lmi.left_ends(metric, v) >= 0
    problem = cp.Problem(
        cp.Minimize(cp.sum(cp.multiply(gradient, metric))), [discs, cp.sum(d) <= 1]
    )
    problem.solve(solver="HIGHS")
    assert problem.value == pytest.approx(
        gda.GraphMetrics(1.0, min_eigenvalue=0.0).minimize_linear(gradient).value
    )
    np.testing.assert_allclose(np.sqrt(discs.dual_value / discs.dual_value.max()), v, atol=1e-7)
