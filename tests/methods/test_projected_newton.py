"""Projected Newton steps against CVXPY, and the conditions of optimality at their end."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.methods import starts
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import named_set
from tests.covering import chosen


def covariance(rng: np.random.Generator, size: int, n_samples: int) -> FloatArray:
    """Return a covariance matrix of features that go together in pairs."""
    samples = rng.standard_normal((n_samples, size)) @ (np.eye(size) + 0.7 * np.eye(size, k=1))
    return np.asarray(np.cov(samples.T, bias=True))


def random_problem(seed: int) -> gda.MetricProblem:
    """Return a small problem: weights, masks, signs, and trace bounds that bind or do not."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    unit = float(10.0 ** rng.integers(-1, 2))
    S = unit * covariance(rng, size, int(rng.integers(size + 2, 4 * size)))
    objective: gda.LogDet | gda.GMML
    if rng.random() < 0.7:
        weights = rng.random((size, size)) * rng.choice([0.0, 0.2]) * unit
        np.fill_diagonal(weights, 0.0)
        objective = gda.LogDet(S - (weights + weights.T) / 2)
        bound = size / unit * float(10 ** rng.uniform(-1, 1.5))
    else:
        objective = gda.GMML(S, unit * covariance(rng, size, 4 * size))
        bound = size * float(10 ** rng.uniform(-1, 1.5))
    mask = None
    if rng.random() < 0.4:
        mask = rng.random((size, size)) < 0.6
        mask |= mask.T
    kinds: list[FeasibleSet] = [
        gda.GraphMetrics(bound, 0.0, edges=mask),
        gda.GraphMetrics(bound, 1e-9 * bound, edges=mask),
        gda.SignedGraphMetrics(rng.choice([-1, 1], size).tolist(), bound, 0.0, edges=mask),
        gda.DiagonalMetrics(bound, 0.0),
        gda.PositiveDefiniteMetrics(bound, 0.0),
    ]
    return gda.MetricProblem(objective, kinds[int(rng.choice(5, p=[0.35, 0.2, 0.25, 0.1, 0.1]))])


@pytest.mark.parametrize("seed", chosen(range(112), default=range(12), slow=range(40)))
def test_as_cvxpy(seed: int) -> None:
    problem = random_problem(seed)
    size = problem.n_features
    result = gda.solve(problem, "projected-newton", tolerance=1e-9)
    assert result.status == "converged", (seed, result.message)
    metric = cp.Variable((size, size), symmetric=True)
    program = problem.to_cvxpy(metric)
    exact = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-09)
    expected = program.solve("CLARABEL", max_iter=500, **exact)
    assert program.status == "optimal", seed
    assert result.objective == pytest.approx(expected, abs=1e-6 * max(1.0, abs(expected))), seed


@pytest.mark.parametrize("n_samples", [8, 20, 600])
def test_conditions_of_optimality(n_samples: int) -> None:
    """Also with fewer samples than features, where S is singular; in single precision."""
    size = 120
    S = covariance(np.random.default_rng(n_samples), size, n_samples)
    log_det = gda.LogDet(S)
    problem = gda.MetricProblem(log_det, gda.GraphMetrics(log_det.auto_trace_bound(), 0.0))
    result = gda.solve(problem, "projected-newton", tolerance=1e-13)
    metric = result.metric
    roots = np.sqrt(np.diagonal(metric))
    gradient = log_det.gradient(metric) * np.outer(roots, roots)
    off_diagonal = ~np.eye(size, dtype=bool)
    assert np.abs(gradient[~off_diagonal]).max() < 1e-8
    assert gradient[off_diagonal].max() < 1e-8  # an edge would not grow
    assert np.abs(gradient[off_diagonal & (metric < 0)]).max() < 1e-8
    assert metric[off_diagonal].max() <= 0
    assert np.trace(metric) <= log_det.auto_trace_bound()
    assert np.vdot(S, metric) == pytest.approx(size)


@pytest.mark.parametrize(
    ("S", "trace_bound"),
    [
        ([[1, 1, 0], [1, 1, 1], [0, 1, 1]], 1e8),
        # The Hessian times the direction that lowers the trace is round-off.
        ([[6, 4], [4, -6]], 1e10),
        ([[-6, -4], [-4, 0]], 1e6),
        ([[0, 0, 1], [0, -4, 2], [1, 2, 6]], 1e12),
    ],
)
def test_every_metric_keeps_a_trace_bound_where_the_terms_of_steps_cancel(
    S: list[list[float]], trace_bound: float
) -> None:
    """S is indefinite, and the terms of a step are as large as the bound's square."""
    problem = gda.MetricProblem(gda.LogDet(S), gda.PositiveDefiniteMetrics(trace_bound, 0.0))
    result = gda.solve(problem, "projected-newton", keep_iterates=True)
    assert result.status in ("converged", "stalled", "slow_progress")
    assert result.trace.iterates is not None
    traces = np.array([np.trace(metric) for metric in result.trace.iterates])
    assert traces.max() <= trace_bound * (1 + 1e-15)
    assert gda.solve(problem, "certified").status == "converged"


@pytest.mark.parametrize("set_name", ["graph", "signed", "diagonal", "positive definite"])
def test_a_smallest_eigenvalue_that_binds_is_left_to_certified(set_name: str) -> None:
    S = covariance(np.random.default_rng(1), 6, 40)
    problem = gda.MetricProblem(gda.LogDet(100 * S), named_set(set_name, 6, 40.0))
    result = gda.solve(problem, "projected-newton")
    assert result.status == "slow_progress"
    assert "take method 'certified'" in result.message
    assert problem.violations(result.metric) == ()
    better = gda.solve(problem, "certified")
    assert better.status == "converged"
    assert better.trace[0].objective == pytest.approx(result.objective)
    assert better.objective < result.objective * (1 + 1e-12)


def test_units_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    S, units = covariance(rng, 110, 200), 10.0 ** rng.uniform(-4, 4, 110)
    plain, scaled = (
        gda.solve(
            gda.MetricProblem(gda.LogDet(matrix), gda.GraphMetrics(1e30, 0.0)),
            "projected-newton",
            tolerance=1e-10,
        )
        for matrix in (S, S * np.outer(units, units))
    )
    np.testing.assert_allclose(
        scaled.metric * np.outer(units, units), plain.metric, rtol=1e-6, atol=1e-6
    )


def test_starts_where_it_is_told_to() -> None:
    S = covariance(np.random.default_rng(3), 8, 30)
    problem = gda.MetricProblem(gda.LogDet(S), gda.GraphMetrics(100.0))
    first = gda.solve(problem, "projected-newton", tolerance=1e-10)
    again = gda.solve(problem, "projected-newton", tolerance=1e-9, initial=first.metric)
    assert (again.status, again.iterations) == ("converged", 0)


def test_is_refused_without_a_barrier() -> None:
    singular = gda.GMML(np.eye(3), np.diag([1.0, 1.0, 0.0]))
    for objective in (gda.Ridge(3), gda.LogDet(np.eye(3)) + gda.Ridge(3), singular):
        problem = gda.MetricProblem(objective, gda.GraphMetrics(3.0))
        with pytest.raises(InvalidInputError, match=r"that is infinite .*certified"):
            gda.solve(problem, "projected-newton")


def test_signs_that_are_not_given_are_left_to_certified() -> None:
    S = covariance(np.random.default_rng(5), 6, 8)
    problem = gda.MetricProblem(gda.LogDet(S), gda.sets.SDDMetrics(100.0))
    with pytest.raises(InvalidInputError, match=r"keeps signs and zeros .* take 'certified'"):
        gda.solve(problem, "projected-newton")
    result = gda.solve(problem, "certified")
    assert result.status == "converged"
    assert problem.violations(result.metric) == ()


def test_certified_starts_at_its_answer() -> None:
    S = covariance(np.random.default_rng(4), 60, 200)
    problem = gda.MetricProblem(gda.LogDet(S), gda.GraphMetrics(1e4))
    result = gda.solve(problem, "certified", tolerance=1e-8)
    assert (result.status, result.iterations) == ("converged", 0)
    assert result.atoms is not None
    assert result.weights is not None
    base = problem.feasible_set.base(60)
    summed = base + (result.atoms.T * result.weights) @ result.atoms
    np.testing.assert_allclose(summed, result.metric, atol=1e-9)


def test_certified_starts_elsewhere_where_its_answer_is_singular_to_round_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = gda.MetricProblem(gda.LogDet(np.eye(3)), gda.PositiveDefiniteMetrics(4.0, 0.0))
    singular = SimpleNamespace(metric=np.diag([1.0, 1.0, 0.0]))
    monkeypatch.setattr(starts, "find_last_state", lambda *_: singular)
    result = gda.solve(problem, "certified")
    assert result.status == "converged"
    assert result.objective == pytest.approx(3.0)


@pytest.mark.parametrize("seed", range(12))
def test_no_step_raises_the_objective(seed: int) -> None:
    """From starts of any scale, from which whole steps of Newton's method go up or too far."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 9))
    S, D = (np.cov(rng.standard_normal((size + 3, size)).T) for _ in range(2))
    objective = gda.LogDet(S) if seed % 2 else gda.GMML(S, D + np.eye(size))
    weights = np.triu(rng.random((size, size)), 1)
    weights += weights.T
    initial = np.diag(weights.sum(axis=1) + 10 ** rng.uniform(-3, 1, size)) - weights
    initial *= 10 ** rng.uniform(-2, 2)
    problem = gda.MetricProblem(objective, gda.GraphMetrics(max(1e4, 2 * np.trace(initial)), 0.0))
    run = gda.iterate(problem, "projected-newton", initial=initial, max_iterations=30)
    values = np.array([state.objective for state in run])
    assert (np.diff(values) <= 1e-12 * np.abs(values[:-1])).all()
    assert values[-1] < values[0]
