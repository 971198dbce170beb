"""Methods sdp and socp: scales, pairs that are the same, and what would not fit into the memory."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from tests.helpers import leave_memory
from tests.methods.certified_cases import assert_same_optimum, certified, half, set_of, synthetic
from tests.methods.run_cases import CONIC, WAYS, is_for, small, solve
from tests.programs.cases import need


def assert_as_certified(
    problem: gda.MetricProblem, result: gda.Result, rel: float = 1e-5, gap: float = 5e-3
) -> None:
    """Assert that the answer is no farther from the optimum than its certificate says, and near."""
    assert result.status in ("converged", "inaccurate"), result.message
    assert_same_optimum(certified(problem), result)
    assert result.objective == pytest.approx(certified(problem).objective, rel=rel)
    assert result.relative_gap is not None
    assert result.relative_gap <= (1e-6 if result.status == "converged" else gap)
    assert not problem.feasible_set.violations(result.metric)
    assert result.repair_distance == result.trace[-1].repair_distance


@pytest.mark.covering(1)
@pytest.mark.parametrize("log_scale", [-5.0, -2.0, 2.0, 5.0])
@pytest.mark.parametrize(("kind", "floor"), [("graph", 0.05), ("diagonal", 0.0), ("definite", 0.0)])
@pytest.mark.parametrize("way", ["sdp", "sdp, SCS", "socp", "socp, ECOS"])
def test_features_and_bounds_scale_together(
    way: str, kind: str, floor: float, log_scale: float
) -> None:
    """Solvers judge by absolute tolerances: what they see must not depend on units."""
    need(WAYS[way][1]["solver"])
    if not is_for(way, kind, floor):
        pytest.skip("for other sets")
    X, z = half("iris", "versicolor")
    scale = 10.0**log_scale
    bounds = np.array([4.0, 1e-3, floor]) / scale**2
    problem = gda.MetricProblem(gda.GLR(scale * X[::2], z[::2]), set_of(kind, 4, *bounds))
    assert_as_certified(problem, solve(problem, way), gap=1e-3)


def n_exponentials(glr: gda.GLR, feasible_set: FeasibleSet) -> int:
    metric = cp.Variable((glr.n_features, glr.n_features), symmetric=True)
    program = gda.MetricProblem(glr, feasible_set).to_cvxpy(metric)
    return int(program.get_problem_data("CLARABEL")[0]["dims"].exp)


LATTICE = np.column_stack([np.arange(6.0), np.zeros(6), [0, 1, 0, 1, 0, 1]])
LEVELS = np.array([0.0, 0.0, 0.5, 0.5, 2.0, 2.0])


TEN, HALVES = np.repeat([1.0, -1.0], [4, 6]), np.repeat([1.0, -1.0], 3)
MERGED: dict[str, tuple[FloatArray, FloatArray, int]] = {
    "plain": (synthetic(3, 10)[0], TEN, 4 * 6),
    "twice": (np.vstack([synthetic(3, 10)[0]] * 2), np.tile(TEN, 2), 4 * 6),
    "lattice": (LATTICE, HALVES, 6),  # of 9: (1, 1), (2, 0), (3, ±1), (4, 0), (5, 1)
    "reversed": (LATTICE[::-1], HALVES, 6),  # and their negatives
    "tiny": (LATTICE / 3e7 + 1.0, HALVES, 6),
    "levels": (synthetic(3, 6)[0], LEVELS, 15 - 3),  # pairs of equal z drop out
    "signals": (synthetic(3, 6)[0], np.column_stack([LEVELS, np.arange(6.0)]), 15),
    "real": (synthetic(3, 20)[0], np.arange(20.0) ** 2, 190),  # too many levels for rectangles
    "tie": (synthetic(3, 20)[0], np.append(np.arange(19.0), 0.0), 189),
    "all": (np.vstack([LATTICE] * 4), np.arange(24.0), 8),  # (1, -1) and 0 as well
}


@pytest.mark.parametrize("name", MERGED)
def test_equal_pairs_are_merged_and_the_optimum_stays(name: str) -> None:
    X, z, expected = MERGED[name]
    unit = float(np.ptp(X))
    glr = gda.GLR(X, z)
    feasible_set = gda.GraphMetrics(3 / unit**2, 1e-2 / unit**2)
    assert n_exponentials(glr, feasible_set) == expected
    problem = gda.MetricProblem(glr, feasible_set)
    for method in CONIC:
        assert_as_certified(problem, gda.solve(problem, method))


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_memory(monkeypatch, 1000)


@pytest.mark.parametrize("method", ["sdp", "socp", "sdp-frank-wolfe"])
def test_what_would_not_fit_is_refused_before_it_is_built(
    method: str, little_memory: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gda.solve(small(), method, force=True, max_iterations=2).iterations > 0

    def to_cvxpy(*args: Any, **options: Any) -> Any:
        pytest.fail("it has been built")

    monkeypatch.setattr(gda.MetricProblem, "to_cvxpy", to_cvxpy)
    with pytest.raises(
        gda.errors.InvalidInputError, match=r"need about [\d.e-]+ GB.* 1e-06 are.*force"
    ):
        gda.solve(small(), method)


@pytest.mark.parametrize("method", CONIC)
def test_another_solver_takes_over(method: str) -> None:
    need("SCS")
    problem = small("graph", 0.0)
    stopped = {"solver": "CLARABEL", "solver_opts": {"max_iter": 1}}
    assert gda.solve(problem, method, **stopped).status == "solver_failed"
    result = gda.solve(problem, method, **stopped, fallback="SCS", tolerance=1e-4)
    assert (result.status, result.trace[-1].solver) == ("converged", "SCS")
