"""What is known of each solver without asking it: packages, and the names of tolerances.

Solvers know all of these names, and a looser tolerance makes a first-order method stop.
"""

import importlib.metadata
import tomllib
from pathlib import Path
from typing import Any

import pytest

import gdaopt as gda
from gdaopt.backends import check_solver_options, solve_program, solvers
from gdaopt.backends.catalogue import CATALOGUE
from gdaopt.backends.lookup import check_option_names, entry_of, tolerance_options
from gdaopt.bench import RecordedProgram, load_programs, replay
from gdaopt.bench.sequences import Sequence, record_task
from gdaopt.programs import ProgramOptions
from tests.backends.cases import tiny_problem
from tests.programs.cases import need

ROOT = Path(__file__).parents[2]


def test_what_is_known_of_each_solver() -> None:
    listed = {info.name: info for info in gda.solvers()}
    assert set(listed) <= set(CATALOGUE)  # a new solver of CVXPY has to be described there
    assert listed["HIGHS"].version == importlib.metadata.version("highspy")
    assert (listed["HIGHS"].licence, listed["MOSEK"].licence) == ("MIT", "proprietary")
    assert listed["SCS"].algorithms == ("first order",)
    assert all(info.licence and info.algorithms for info in listed.values())
    assert all(info.version for info in listed.values() if info.usable)


def test_a_solver_that_is_not_known_yet() -> None:
    entry = entry_of("BRANDNEW")
    assert (entry.package, entry.licence, entry.version) == ("brandnew", "unknown", "")
    assert not entry.backend


def test_the_extra_has_the_packages_that_hints_say_it_has() -> None:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = " ".join(content["optional-dependencies"]["solvers"] + content["dependencies"])
    hinted = {entry.package for entry in CATALOGUE.values() if "[solvers]" in entry.hint}
    assert {package for package in hinted if package not in extra} == set()
    distinct = [entry for entry in CATALOGUE.values() if "[solvers]" in entry.hint]
    assert sum(not entry.is_twin for entry in distinct) >= 14
    assert [name for name, entry in CATALOGUE.items() if entry.is_twin] == ["ECOS_BB", "GLPK_MI"]


@pytest.mark.parametrize("solver", ["HIGHS", "highspy", "CVXOPT", "CBC", "DAQP", "PROXQP", "QOCO"])
def test_names_are_the_solvers_own(solver: str) -> None:
    if solver not in ("highspy", *(info.name for info in solvers() if info.usable)):
        pytest.skip(f"{solver} does not work here")
    check_solver_options(solver, tolerance_options(solver, 1e-5))


def test_solvers_without_known_tolerances_get_none() -> None:
    for solver in ("analytic", "GLPK", "GLOP"):
        assert tolerance_options(solver, 1e-6) == {}
    assert sum(bool(entry.tolerances) for entry in CATALOGUE.values()) >= 16


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[RecordedProgram]:
    path = tmp_path_factory.mktemp("random") / "a"
    record_task(path, Sequence("random", size=8), ("joint",), 24, 2, False)
    return load_programs(f"{path}.npz")


@pytest.mark.parametrize("solver", ["CLARABEL", "HIGHS", "SCIPY", "SCS", "OSQP", "highspy"])
def test_answers_are_as_accurate_as_asked(solver: str, programs: list[RecordedProgram]) -> None:
    """Within a factor of ten: each solver measures in its own way."""
    if solver not in ("highspy", *(info.name for info in solvers() if info.usable)):
        pytest.skip(f"{solver} does not work here")
    for tolerance in (1e-6, 1e-4):
        options = tolerance_options(solver, tolerance)
        for found in replay(programs, solver, solver_opts=options):
            assert found.residual < 10 * tolerance


# --- Options -------------------------------------------------------------------------------------

GOOD: dict[str, dict[str, Any]] = {
    "CBC": {"maxNumIteration": 100},
    "CVXOPT": {"abstol": 1e-9, "max_iters": 50},
    "DAQP": {"iter_limit": 500},
    "GLPK": {"max_iters": 100},
    "HIGHS": {"presolve": "off", "highs_options": {"simplex_strategy": 1}},
    "PROXQP": {"max_iter": 500},
    "QOCO": {"max_iters": 100},
    "SDPA": {"maxIteration": 80},
}


@pytest.mark.parametrize("solver", GOOD)
def test_good_options_are_passed_on(solver: str) -> None:
    need(solver)
    check_option_names(solver, {"warm_start": False, "verbose": False} | GOOD[solver])
    assert solve_program(tiny_problem(), solver, solver_opts=GOOD[solver]).status == "optimal"


@pytest.mark.parametrize("solver", GOOD)
def test_misspelt_options_are_refused(solver: str) -> None:
    need(solver)
    name = next(iter(GOOD[solver]))
    with pytest.raises(
        gda.errors.InvalidInputError,
        match=f"option of {solver} '{name[:-1]}'; did you mean '{name}'",
    ):
        ProgramOptions(solver=solver, solver_opts={name[:-1]: 1})


def test_a_fallback_does_not_hide_a_misspelt_option() -> None:
    with pytest.raises(gda.errors.InvalidInputError, match="did you mean 'presolve'"):
        gda.methods.Alternating(solver="HIGHS", solver_opts={"presolv": "off"}, fallback="analytic")


def test_options_of_highs_that_are_not_public() -> None:
    check_option_names("HIGHS", {"presolve_rule_off": 0})


def test_solvers_that_refuse_options_themselves() -> None:
    check_option_names("CLARABEL", {"no_such_option": 1})
    with pytest.raises(gda.errors.SolverFailedError, match="no_such_option"):
        solve_program(tiny_problem(), "CLARABEL", solver_opts={"no_such_option": 1})
