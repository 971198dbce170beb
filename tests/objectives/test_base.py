"""Sums and positive multiples of objectives, and the quadratic ones: linear in every answer."""

import math
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.objectives.base import SumObjective
from tests.helpers import random_metric
from tests.objectives.cases import EVERY, K, directions

NAMES = ("GLR, labels", "log det", "ridge", "linear", "nearest")


def terms() -> list[Any]:
    """Return an objective of each kind."""
    return [EVERY[name]() for name in NAMES]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_a_multiple_of_a_log_convex_objective_stays_one(rng: np.random.Generator) -> None:
    glr = terms()[0]
    tripled, metric = 3 * glr, random_metric(rng, K)
    assert tripled.log_convex is True
    assert (glr + glr).log_convex is False
    atoms = Atoms.of_features(np.arange(K))
    found, once = (q.at(metric).logarithm() for q in (tripled, glr))
    assert found.value == pytest.approx(once.value + math.log(3), rel=1e-13)
    np.testing.assert_array_equal(found.slopes(atoms), once.slopes(atoms))
    np.testing.assert_array_equal(found.curvature(atoms), once.curvature(atoms))
    direction = directions(rng)[0]
    lines: list[Any] = [q.at(metric).line(direction) for q in (tripled, glr, glr + gda.Ridge(K))]
    assert lines[0].balance(0.3) == lines[1].balance(0.3)
    assert not lines[2].has_balance
    problem = gda.MetricProblem(tripled, gda.GraphMetrics(2.0 * K))
    exact = gda.solve(problem, "certified").objective
    logarithm = problem.to_cvxpy(cp.Variable((K, K), symmetric=True), log=True)
    assert math.exp(logarithm.solve("CLARABEL")) == pytest.approx(exact, rel=1e-6)


def test_nesting_and_names() -> None:
    glr, log_det, ridge = terms()[:3]
    nested = 2 * (glr + 3 * (log_det + ridge)) + ridge
    assert repr(nested) == "2 * GLR + 6 * LogDet + 6 * Ridge + Ridge"
    assert nested.objectives == (glr, log_det, ridge, ridge)
    assert isinstance(np.float64(0.5) * glr, SumObjective)
    assert isinstance(glr * np.float32(0.5), SumObjective)
    assert repr(sum([glr, ridge])) == "GLR + Ridge"


def test_lipschitz_constants_and_memory() -> None:
    glr, log_det, ridge = terms()[:3]
    constant = (2 * glr + 3 * ridge).lipschitz(0.1)
    assert constant == pytest.approx(2 * glr.lipschitz(0.1) + 3)
    assert (glr + log_det).lipschitz(0.0) is None
    assert (glr + log_det).conic_bytes() == glr.conic_bytes() + log_det.conic_bytes()


def test_a_term_may_vanish_alone() -> None:
    """Where the regulariser underflows, the others still say where to go."""
    glr = gda.GLR([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]], [1, -1, -1])
    metric = np.eye(2)
    assert glr.at(metric).degenerate_reason() is not None
    assert (glr + gda.Ridge(2)).at(metric).degenerate_reason() is None
    assert (2 * glr).at(metric).degenerate_reason() == glr.at(metric).degenerate_reason()
    outside = (gda.Ridge(2) + gda.LogDet(np.eye(2))).at(-np.eye(2))
    assert outside.value == math.inf
    assert "not positive definite" in (outside.degenerate_reason() or "")


def test_second_derivatives_of_a_term_that_has_underflowed_are_zero() -> None:
    """Its moments overflow, and 0 times infinity made the others' wrong."""
    glr = gda.GLR([[0.0], [1e90], [2e90]], [1, -1, -1])
    problem = gda.MetricProblem(glr + gda.Ridge(1), gda.GraphMetrics(1.0))
    result = gda.solve(problem, "certified")
    assert result.status == "converged"
    assert result.metric[0, 0] == pytest.approx(problem.feasible_set.min_eigenvalue)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda q: -1 * q, "the factor of an objective must be above 0, got -1"),
        (lambda q: q * 0, "the factor of an objective must be above 0, got 0"),
        (lambda q: q * math.nan, "the factor of an objective .* got nan"),
        (lambda q: q * math.inf, "the factor of an objective .* got inf"),
        (lambda q: 1e200 * (1e200 * q), "factors of a sum must be positive and finite"),
        (lambda q: q * "2", "the factor of an objective must be a number"),
        (lambda q: q * q, "a product of two objectives need not be convex"),
        (lambda q: q + 1, "objective must be .* got 1"),
        (lambda q: 1 + q, "objective must be .* got 1"),
        (lambda q: q + gda.GraphMetrics(3.0), "objective .* GraphMetrics"),
        (lambda q: q + gda.Ridge(K + 1), r"Ridge \+ Ridge have 4, 5 features"),
        (lambda q: q + gda.Ridge, "objective must be"),
        (lambda q: q + SimpleNamespace(n_features=K, at=q.at), r"a gdaopt\.objectives\.Objective"),
    ],
)
def test_bad_terms_are_refused(make: Any, message: str) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        make(gda.Ridge(K))


def test_linear_functions_have_values_where_squares_overflow() -> None:
    assert gda.Linear(1e-200 * np.eye(2)).value(1e200 * np.eye(2)) == pytest.approx(2.0)


def test_entries_of_a_sum_say_its_round_off() -> None:
    """Each entry counts for both of its features, with the magnitudes of all terms."""
    A = np.diag([1.0, 2.0, 3.0])
    A[0, 2] = A[2, 0] = 50.0
    total = gda.Linear(A) + 2 * gda.Linear(-A / 2)
    point = total.at(np.eye(3))
    rows, columns = np.array([0, 1, 2, 0]), np.array([0, 1, 2, 2])
    np.testing.assert_array_equal(point.gradient_entries(rows, columns), np.zeros(4))
    found = point.round_off().gradient
    np.testing.assert_allclose(found, np.sqrt(3 * 2.0**-53 * np.array([100.0, 4.0, 100.0])))
    np.testing.assert_allclose(found, total.at(np.eye(3)).round_off().gradient)


def test_a_sum_estimates_curvature_as_one_of_its_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    X, z = np.random.default_rng(0).standard_normal((9, 2)), [1, -1, 1] * 3
    assert not (gda.GLR(X, z) + gda.Ridge(2)).estimates_curvature
    monkeypatch.setattr("gdaopt.objectives.pair_objective.MANY_PAIRS", 5)
    assert (gda.GLR(X, z) + gda.Ridge(2)).estimates_curvature
