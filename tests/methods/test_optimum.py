"""All methods for all sets, over objectives and data: the optimum of `certified`, and how near."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.sets import FeasibleSet
from tests.helpers import random_symmetric
from tests.methods.certified_cases import (
    HULLS,
    Nearest,
    Watch,
    assert_same_optimum,
    certified,
    set_of,
    synthetic,
)
from tests.programs.cases import need


@dataclass(frozen=True)
class Way:
    """A method with options, and how near to the optimum it comes.

    The accuracy is a share of the objective, or of how far the start is above the optimum where
    that is more: methods without correction are promised a share of the second only.
    """

    method: str
    options: dict[str, Any]
    accuracy: float
    is_one_step: bool = False


WAYS = {
    "frank-wolfe": Way("frank-wolfe", {"max_iterations": 60}, 0.2),
    "frank-wolfe, away": Way("frank-wolfe", {"variant": "away", "max_iterations": 60}, 0.2),
    "frank-wolfe, pairwise": Way(
        "frank-wolfe", {"variant": "pairwise", "max_iterations": 500}, 1e-2
    ),
    "sdp-frank-wolfe": Way("sdp-frank-wolfe", {"solver": "analytic", "max_iterations": 60}, 0.2),
    "sdp-frank-wolfe, CLARABEL": Way("sdp-frank-wolfe", {"max_iterations": 60}, 0.2),
    "sdp-frank-wolfe, SCS": Way("sdp-frank-wolfe", {"solver": "SCS", "max_iterations": 30}, 0.2),
    "projected-gradient": Way("projected-gradient", {}, 1e-6),
    "sdp, CLARABEL": Way("sdp", {"solver": "CLARABEL"}, 1e-5, True),
    "sdp, SCS": Way("sdp", {"solver": "SCS"}, 1e-4, True),  # four digits, by luck of its scaling
    "socp, CLARABEL": Way("socp", {"solver": "CLARABEL"}, 1e-5, True),
    "socp, ECOS": Way("socp", {"solver": "ECOS"}, 1e-5, True),
}


def objective_of(name: str, size: int) -> gda.GLR | gda.LogDet | Nearest:
    X, z = synthetic(size, 4 * size)
    match name:
        case "nearest":
            return Nearest(2 * random_symmetric(np.random.default_rng(size), size))
        case "glr":
            return gda.GLR(2 * X, z)
    return gda.LogDet(X.T @ X / len(X))


def check(problem: gda.MetricProblem, way: Way, path: Path, accuracy: float) -> gda.Result:
    """Solve, look at each state, and compare with the optimum: neither is below the other's bound.

    What is saved is read back.
    """
    need(way.options.get("solver", "CLARABEL") if way.is_one_step else "CLARABEL")
    watch = Watch(problem.feasible_set)
    result = gda.solve(problem, way.method, callback=watch, **way.options)
    assert result.status in ("converged", "stalled", "iteration_limit"), result.message
    assert len(watch.states) == result.iterations + 1 == len(result.trace)
    optimum = certified(problem)
    assert_same_optimum(optimum, result)
    start_error = result.trace[0].objective - optimum.objective
    unit = max(abs(optimum.objective), start_error)
    assert result.objective - optimum.objective <= accuracy * unit
    assert result.relative_gap is not None
    if result.status == "converged":
        assert result.relative_gap <= 1e-6
    elif way.is_one_step:  # the certificate says how accurate the solver was
        assert result.relative_gap <= 5e-3
        assert (result.solver, result.iterations) == (way.options["solver"], 1)
        assert result.repair_distance is not None
        assert result.repair_distance <= 1e-3 * problem.feasible_set.trace_bound
    assert result.repair_distance == result.trace[-1].repair_distance
    rows = [row.eigen_decompositions for row in result.trace]
    assert rows == sorted(rows)
    assert (f"{rows[-1]} eigen-decompositions" in str(result)) == (result.eigen_decompositions > 0)
    if way.method == "projected-gradient" and not isinstance(
        problem.feasible_set, gda.DiagonalMetrics
    ):
        assert rows[-1] == result.eigen_decompositions >= result.iterations
    else:
        assert rows[-1] == 0
    assert gda.Result.load(result.save(path)) == result
    return result


@pytest.mark.covering(2)
@pytest.mark.parametrize(
    "size", [3, *(pytest.param(size, marks=pytest.mark.slow) for size in (2, 5, 20))]
)
@pytest.mark.parametrize("name", ["glr", "log det", "nearest"])
@pytest.mark.parametrize(("kind", "floor"), HULLS)
@pytest.mark.parametrize("way", WAYS)
def test_ends_near_the_optimum(
    way: str, kind: str, floor: float, name: str, size: int, tmp_path: Path
) -> None:
    if ("SCS" in way or WAYS[way].method == "sdp-frank-wolfe") and size == 20:
        pytest.skip("minutes, for three digits")
    floor = floor if size < 20 else floor / 10
    for multiple, rho in ((1.0, 1e-2), (5.0, 0.0)):
        feasible_set: FeasibleSet = set_of(kind, size, multiple * size, rho, floor)
        problem = gda.MetricProblem(objective_of(name, size), feasible_set)
        if WAYS[way].method == "socp" and kind == "definite":
            pytest.skip("no form in second-order cones")
        # A log-determinant has a semidefinite cone of its own, and ECOS takes no diagonal alone.
        if way == "socp, ECOS" and (name == "log det" or (name, kind) == ("nearest", "diagonal")):
            need("ECOS")
            result = gda.solve(problem, "socp", solver="ECOS")
            assert result.status == "solver_failed"
            assert "ECOS" in result.message
            return
        check(problem, WAYS[way], tmp_path / "result", WAYS[way].accuracy)
