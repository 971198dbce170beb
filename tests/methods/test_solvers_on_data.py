"""The alternation on real data by every solver: the solvers agree on each program, and runs end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import Answer
from gdaopt.programs import Program
from gdaopt.support.validation import FloatArray
from tests.helpers import scaled
from tests.programs.cases import SOLVERS, AnyPolytope, assert_optimal, need

PROBLEMS = [
    *(("iris", name) for name in ("setosa", "versicolor")),
    pytest.param("iris", "virginica", marks=pytest.mark.slow),
    *(("wine", f"class_{index}") for index in range(3)),
    pytest.param("breast_cancer", "malignant", marks=pytest.mark.slow),
]

pytestmark = [
    pytest.mark.parametrize(("dataset", "positive"), PROBLEMS),
    pytest.mark.filterwarnings("ignore::gdaopt.errors.InaccurateSolutionWarning"),
]


@dataclass(frozen=True)
class Run:
    """A run, and the cost and polytope of each of its programs."""

    feasible_set: gda.GraphMetrics
    result: gda.Result
    programs: list[tuple[FloatArray, AnyPolytope]]


@cache
def run(dataset: str, positive: str, solver: str) -> Run:
    met: list[tuple[FloatArray, AnyPolytope]] = []
    solve: Callable[..., Answer] = Program.solve

    def recording(
        program: Program, cost: FloatArray, polytope: AnyPolytope, time_limit: float | None
    ) -> Answer:
        met.append((cost, polytope))
        return solve(program, cost, polytope, time_limit)

    X, z = scaled(dataset, positive)
    feasible_set = gda.GraphMetrics(trace_bound=X.shape[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Program, "solve", recording)
        result = gda.solve(
            gda.MetricProblem(gda.GLR(X, z), feasible_set), "alternating", solver=solver
        )
    return Run(feasible_set, result, met)


@pytest.mark.covering(1)
@pytest.mark.parametrize("solver", ["analytic", *SOLVERS])
def test_the_run_stalls_below_its_start(dataset: str, positive: str, solver: str) -> None:
    need(solver)
    done = run(dataset, positive, solver)
    objectives = done.result.trace.column("objective")
    assert done.result.status in ("block_minimum", "slow_progress")
    assert done.result.metric in done.feasible_set
    assert done.result.objective < objectives[0]
    assert (np.diff(objectives) <= 1e-12 * objectives[0]).all()
    if (dataset, positive) == ("wine", "class_1"):
        assert done.result.objective <= 0.9 * objectives[0]


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_each_solver_solves_the_programs_of_the_run_with_highs(
    dataset: str, positive: str, solver: str
) -> None:
    need(solver)
    done = run(dataset, positive, "HIGHS")
    met, result = done.programs, done.result
    programs: dict[type[AnyPolytope], Program] = {}
    # At the end gaps of blocks are computed once more, up to the first one that is too large.
    assert 0 <= len(met) - result.oracle_calls <= 1 + len(result.metric)
    assert len(met) > 0
    for cost, polytope in met:
        program = programs.setdefault(type(polytope), Program(solver))
        assert_optimal(program.solve(cost, polytope), cost, polytope)
