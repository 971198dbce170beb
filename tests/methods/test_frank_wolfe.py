"""Frank–Wolfe with the exact oracle and by semidefinite programs: variants, steps, all sets."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.reductions.dcp2cone.cone_matrix_stuffing import ConeMatrixStuffing

import gdaopt as gda
from gdaopt.methods.steps import Step
from tests.backends.cases import Real, patch_solves
from tests.helpers import scaled
from tests.methods.certified_cases import HULLS
from tests.methods.run_cases import small, solve

VARIANTS = ("vanilla", "away", "pairwise")


@pytest.mark.parametrize("variant", ["away", "pairwise"])
def test_away_steps_converge_linearly_where_the_set_is_a_polytope(variant: str) -> None:
    X, z = scaled("iris", "versicolor")
    case = gda.MetricProblem(gda.GLR(X[::3], z[::3]), gda.DiagonalMetrics(4.0, 1e-3))
    result = gda.solve(case, "frank-wolfe", variant=variant, tolerance=1e-9)
    assert result.status == "converged"
    vanilla = gda.solve(case, "frank-wolfe", max_iterations=result.iterations)
    assert result.relative_gap is not None
    assert vanilla.relative_gap is not None
    assert result.relative_gap <= 1e-9 < 1e-6 < vanilla.relative_gap


@pytest.mark.parametrize("variant", VARIANTS)
def test_where_the_base_is_best(variant: str) -> None:
    """All prices are positive: the base takes the place of an atom."""
    case = gda.MetricProblem(gda.Linear(np.eye(3)), gda.GraphMetrics(3.0, 0.1))
    result = gda.solve(case, "frank-wolfe", variant=variant, absolute_tolerance=1e-12)
    assert result.status == "converged"
    np.testing.assert_allclose(result.metric, 0.1 * np.eye(3), atol=1e-12)


def test_a_full_away_step_removes_an_atom() -> None:
    """Its weight is then 0, to the last bit."""
    problem = gda.MetricProblem(gda.GLR(*scaled("iris", "versicolor")), gda.GraphMetrics(4.0))
    n_full, before = 0, 0
    for state in gda.iterate(problem, "frank-wolfe", variant="away", max_iterations=60):
        assert state.atoms is not None
        if state.phase == "away" and state.step == 1:
            n_full += 1
            assert len(state.atoms) == before - 1
        before = len(state.atoms)
    assert n_full > 0


def clouds(distance: float) -> gda.GLR:
    """Return the regulariser of two classes that are some distance apart."""
    samples = np.random.default_rng(0).normal(size=(40, 3))
    samples[20:, 0] += distance
    return gda.GLR(samples, np.repeat([1.0, -1.0], 20))


@pytest.mark.parametrize(
    "way", ["certified", "frank-wolfe", "frank-wolfe, away", "frank-wolfe, pairwise"]
)
@pytest.mark.parametrize(
    "feasible_set",
    [gda.GraphMetrics(3.0), gda.DiagonalMetrics(3.0), gda.PositiveDefiniteMetrics(3.0)],
    ids=lambda feasible_set: feasible_set.name,
)
def test_gets_as_far_as_the_objective_carries_information(
    feasible_set: gda.sets.FeasibleSet, way: str
) -> None:
    """Q is 1e-191 at the start and would be 1e-570 at the optimum."""
    problem = gda.MetricProblem(clouds(25.0), feasible_set)
    result = solve(problem, way)
    assert result.status == "stalled"
    assert "multiply the features by" in result.message
    assert 1e-300 < result.objective < 1e-280
    assert result.metric in feasible_set
    assert gda.certify(problem, result.metric).reason == ""
    objectives = result.trace.column("objective")
    assert (np.diff(objectives) < 0).all()


class Whole(Step):
    """Always the whole step, also out of the objective's domain."""

    def size(self, line: Any, iteration: int) -> float:
        return 1.0


def test_a_step_out_of_the_domain_is_shortened() -> None:
    """The step towards a vertex is one to a singular matrix, where log det M is not finite."""
    problem = gda.MetricProblem(gda.LogDet(np.diag([1.0, 2.0])), gda.GraphMetrics(2.0, 0.0))
    result = gda.solve(problem, "frank-wolfe", step=Whole(), max_iterations=3, tolerance=1e-9)
    assert result.iterations == 3
    assert result.trace.column("step")[1] == 0.5
    assert np.isfinite(result.trace.column("objective")).all()


SDP = "sdp-frank-wolfe"


@pytest.mark.parametrize("step", ["exact", "agnostic"])
@pytest.mark.parametrize(("kind", "floor"), HULLS)
def test_takes_the_steps_of_frank_wolfe(kind: str, floor: float, step: str) -> None:
    feasible_set = small(kind, floor).feasible_set
    start = feasible_set.base(4) + feasible_set.budget(4) / 4 * np.eye(4)
    options: dict[str, Any] = {"step": step, "initial": start, "max_iterations": 12}
    expected = gda.solve(small(kind, floor), "frank-wolfe", **options)
    values = expected.trace.column("objective")
    analytic = gda.solve(small(kind, floor), SDP, solver="analytic", **options)
    np.testing.assert_allclose(analytic.trace.column("objective"), values, rtol=1e-9)
    np.testing.assert_allclose(analytic.metric, expected.metric, atol=1e-8)
    bounds = analytic.trace.column("lower_bound")
    np.testing.assert_allclose(bounds, expected.trace.column("lower_bound"), rtol=1e-8)
    solved = gda.solve(small(kind, floor), SDP, **options)
    np.testing.assert_allclose(solved.trace.column("objective"), values, rtol=1e-3)
    assert (analytic.solver, solved.solver) == ("analytic", "CLARABEL")
    assert {row.solver for row in list(solved.trace)[1:]} == {"CLARABEL"}


@pytest.fixture
def solves(monkeypatch: pytest.MonkeyPatch) -> list[cp.Problem]:
    """Return the problems that CVXPY solves, one after the other."""
    gda.methods.SemidefiniteFrankWolfe(fallback="SCS")  # probed before
    solved: list[cp.Problem] = []

    def solve(program: cp.Problem, options: dict[str, Any], real: Real) -> None:
        solved.append(program)
        real()

    patch_solves(monkeypatch, solve)
    return solved


@pytest.mark.parametrize(("kind", "floor"), HULLS)
def test_compiled_once(
    kind: str, floor: float, solves: list[cp.Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    stuffed: list[object] = []
    real: Callable[..., Any] = ConeMatrixStuffing.apply

    def apply(self: Any, program: Any) -> Any:
        stuffed.append(program)
        return real(self, program)

    monkeypatch.setattr(ConeMatrixStuffing, "apply", apply)
    result = gda.solve(small(kind, floor), SDP, max_iterations=6, tolerance=1e-12)
    assert len(solves) == result.oracle_calls == result.iterations == 6
    assert len({id(program) for program in solves}) == 1
    assert solves[0].is_dpp()
    assert len(stuffed) == 1
