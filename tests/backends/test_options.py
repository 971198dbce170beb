"""Options of solvers: what is refused before any work starts, and what reaches the solver.

The same of all solvers that work here. Answers show whether a tolerance has reached the solver.
"""

from importlib import import_module
from pkgutil import resolve_name
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import CATALOGUE, LinearArrays
from gdaopt.backends.catalogue import tolerance_options
from gdaopt.backends.cvxpy import solve_program
from gdaopt.backends.options import place_options, side_by_side
from gdaopt.backends.registry import check_solver_options
from gdaopt.bench import ProgramSequence, replay
from gdaopt.errors import InaccurateSolutionWarning, InvalidInputError
from gdaopt.support.warning_filters import ignoring
from tests.backends.cases import Fault, tiny_problem
from tests.helpers import scaled
from tests.programs.cases import need

KNOWN = [name for name, entry in CATALOGUE.items() if entry.tolerances]
THREADED = [name for name, entry in CATALOGUE.items() if entry.threads]


def needed(solver: str) -> None:
    """Skip a test whose solver does not work here."""
    if solver != "highspy":
        need(solver)


def refused(solver: str, options: dict[str, Any]) -> str:
    """Return why a method refuses options; a fall-back does not hide it."""
    with pytest.raises(InvalidInputError) as caught:
        gda.methods.Alternating(solver=solver, solver_opts=options, fallback="analytic")
    return str(caught.value)


# --- What is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("solver", KNOWN)
def test_unknown_options_are_refused_and_the_nearest_is_suggested(solver: str) -> None:
    needed(solver)
    name = min(CATALOGUE[solver].tolerances, key=len)
    said = refused(solver, {name[:-1]: 1e-6})
    assert (f"unknown option of {solver}" in said) or (f"{solver} refuses" in said)
    assert f"did you mean '{name[:50]}" in said
    check_solver_options(solver, {name: 1e-6})  # the remedy
    assert "'no_such_option'" in refused(solver, {"no_such_option": 1, "verbose": False})


@pytest.mark.parametrize("solver", KNOWN)
def test_wrong_values_are_refused(solver: str) -> None:
    needed(solver)
    name = CATALOGUE[solver].tolerances[0]
    for value in ("tight", -1.0, [1e-6]):
        assert name[:40] in refused(solver, {name: value})


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "inside": ("HIGHS", {"highs_options": {"presolv": "off"}}, "did you mean 'presolve'"),
    "no mapping": ("SCIPY", {"scipy_options": 3}, "scipy_options must be a dict of options"),
    "twice": (
        "HIGHS",
        {"presolve": "on", "highs_options": {"presolve": "off"}},
        "presolve .*twice",
    ),
    "two names": ("CLARABEL", {"threads": 1, "max_threads": 2}, "max_threads of CLARABEL twice"),
    "of CVXPY": (
        "CLARABEL",
        {"requires_grad": True},
        "setting 'requires_grad'; see the options in",
    ),
    "value": ("HIGHS", {"presolve": "maybe"}, r"HIGHS refuses the options .*presolve, maybe"),
    "ignored": ("SCIPY", {"maxit": 9}, "unknown option of SCIPY 'maxit'; did you mean 'maxiter'"),
    "threads": ("HIGHS", {"threads": "all"}, "threads of HIGHS must be a whole number"),
    "many threads": ("highspy", {"threads": 10**6}, "threads of highspy must be at most 512"),
    "no threads": ("SCS", {"threads": 2}, "SCS refuses the options .*'threads'"),
    "no message": ("PDLP", {"parameters_proto": 3}, "must be a PrimalDualHybridGradientParams"),
    "long": ("CLARABEL", {"max_iter": 10**5000}, "CLARABEL refuses the options a value of type"),
    "of another": ("CLARABEL", {"eps_abs": 1e-6}, "unrecognized solver setting 'eps_abs'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_other_mistakes_are_refused(case: str) -> None:
    solver, options, says = WRONG[case]
    needed(solver)
    with pytest.raises(InvalidInputError, match=says):
        gda.methods.Alternating(solver=solver, solver_opts=options)


def test_conic_methods_refuse_them_too() -> None:
    with pytest.raises(InvalidInputError, match="did you mean 'max_iter'"):
        gda.methods.Semidefinite(solver_opts={"max_itr": 1})
    gda.methods.Semidefinite(solver_opts={"max_iter": 1})  # too few even for the trial


# --- What reaches the solver ---------------------------------------------------------------------


def test_options_stand_where_the_interface_looks_for_them() -> None:
    given = side_by_side("SCIPY", {"presolve": False, "scipy_options": {"method": "highs-ds"}})
    inside = {"presolve": False, "method": "highs-ds"}
    assert place_options("SCIPY", given) == {"scipy_options": inside}
    assert place_options("CLARABEL", side_by_side("CLARABEL", {"threads": 2})) == {"max_threads": 2}
    assert place_options("SCIPY", {}) == {}


def test_a_protocol_buffer_may_be_given() -> None:
    """It stays as it is; fields beside it are set in a copy."""
    need("PDLP")
    kind: Any = resolve_name(CATALOGUE["PDLP"].message)
    own = kind(num_shards=3)
    options = {"parameters_proto": own, "threads": 2, **tolerance_options("PDLP", 1e-7)}
    found = place_options("PDLP", side_by_side("PDLP", options))["parameters_proto"]
    assert (found.num_shards, found.num_threads) == (3, 2)
    assert own == kind(num_shards=3)
    criteria = found.termination_criteria.simple_optimality_criteria
    assert (criteria.eps_optimal_absolute, criteria.eps_optimal_relative) == (1e-7, 0.0)
    gda.methods.Alternating(solver="PDLP", solver_opts=options)


@pytest.mark.parametrize(
    "solver",
    # DAQP finds the vertex whatever the tolerance is, GLPK_MI by its presolve; MPAX takes minutes.
    [name for name in KNOWN if name not in ("DAQP", "GLPK_MI", "MPAX")],
)
def test_the_tolerance_reaches_the_solver(solver: str) -> None:
    """A row that a tolerance of 1e-3 violates: the answer is as accurate as asked, or wrong."""
    needed(solver)
    rows = [[1.0, 1.0, 0.5], [1.0, -1.0, 0.2]]
    arrays = LinearArrays.of([1.0, 1.1, 0.3], rows, [5e-4, -5.0], [np.inf, 5.0], upper=10.0)
    programs = ProgramSequence.from_arrays("tiny", [arrays]).programs
    with ignoring(category=InaccurateSolutionWarning):
        (loose,), (tight,) = (
            list(replay(programs, solver, solver_opts=tolerance_options(solver, tolerance)))
            for tolerance in (1e-3, 1e-8)
        )
    assert loose.residual > 1e-5  # infinite where the solver found out itself
    assert tight.residual < 2e-7


def test_the_tolerance_reaches_daqp(monkeypatch: pytest.MonkeyPatch) -> None:
    need("DAQP")
    daqp: Any = import_module("daqp")
    spy = MagicMock(wraps=daqp.solve)
    monkeypatch.setattr(daqp, "solve", spy)
    solve_program(tiny_problem(), "DAQP", solver_opts=tolerance_options("DAQP", 1e-4))
    asked = spy.call_args.kwargs
    assert (asked["primal_tol"], asked["dual_tol"]) == (1e-4, 1e-4)


@pytest.mark.parametrize("solver", [name for name, entry in CATALOGUE.items() if entry.time_limit])
def test_the_time_limit_reaches_the_solver(solver: str, fault: Fault) -> None:
    need(solver)
    option = CATALOGUE[solver].time_limit
    if CATALOGUE[solver].alone:  # its options go to a worker, which the fault does not see
        solve_program(tiny_problem(), solver, time_limit=12.5)
        return
    solve_program(tiny_problem(), solver, time_limit=12.5)
    assert fault.calls[-1][option] == 12.5
    solve_program(tiny_problem(), solver, time_limit=-3.0)
    assert 0 < fault.calls[-1][option] <= 0.1
    solve_program(tiny_problem(), solver, time_limit=12.5, solver_opts={option: 7.0})
    assert fault.calls[-1][option] == 7.0
    solve_program(tiny_problem(), solver)
    assert option not in fault.calls[-1]


# --- Threads -------------------------------------------------------------------------------------


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("solver", THREADED)
def test_runs_with_other_numbers_of_threads(solver: str, isolate: bool) -> None:
    """One after the other in a process, as in a comparison."""
    needed(solver)
    problem = gda.MetricProblem(gda.GLR(*scaled("iris", "setosa")), gda.GraphMetrics(4.0, 1e-3))
    for options in ({"threads": 1}, {"threads": 2}, {}, {"threads": 3}):
        found = gda.solve(
            problem,
            "alternating",
            solver=solver,
            solver_opts=options,
            max_iterations=2,
            isolate=isolate,
        )
        assert (found.status, found.oracle_calls) == ("iteration_limit", 2)
