"""What is known of each solver without asking it: packages, and the names of tolerances.

Solvers know all of these names, and a looser tolerance makes a first-order method stop.
"""

import importlib.metadata
import tomllib
from pathlib import Path
from typing import Any

import pytest

import gdaopt as gda
from gdaopt.backends.catalogue import CATALOGUE, check_option_names, entry_of, tolerance_options
from gdaopt.backends.cvxpy import solve_program
from gdaopt.backends.registry import check_solver_options
from gdaopt.bench import RecordedProgram, load_programs, replay
from gdaopt.bench.sequences import Sequence, record_task
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
    assert sum(bool(entry.tolerances) for entry in CATALOGUE.values()) >= 16
    for solver in ("analytic", "GLPK", "GLOP"):
        assert tolerance_options(solver, 1e-6) == {}
    entry = entry_of("BRANDNEW")
    assert (entry.package, entry.licence, entry.version) == ("brandnew", "unknown", "")
    assert not entry.backend


def test_the_extra_has_the_packages_that_hints_say_it_has() -> None:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = " ".join(content["optional-dependencies"]["solvers"] + content["dependencies"])
    hinted = [entry for entry in CATALOGUE.values() if "[solvers]" in entry.hint]
    assert [entry.package for entry in hinted if entry.package not in extra] == []
    assert sum(not entry.is_twin for entry in hinted) >= 14
    assert [name for name, entry in CATALOGUE.items() if entry.is_twin] == ["ECOS_BB", "GLPK_MI"]


def needed(solver: str) -> None:
    """Skip a test whose solver does not work here."""
    need(solver) if solver != "highspy" else None


@pytest.mark.parametrize("solver", ["HIGHS", "highspy", "CVXOPT", "CBC", "DAQP", "PROXQP", "QOCO"])
def test_names_are_the_solvers_own(solver: str) -> None:
    needed(solver)
    check_solver_options(solver, tolerance_options(solver, 1e-5))


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[RecordedProgram]:
    path = tmp_path_factory.mktemp("random") / "a"
    record_task(path, Sequence("random", size=8), ("joint",), 24, 2, False)
    return load_programs(f"{path}.npz")


@pytest.mark.parametrize("solver", ["CLARABEL", "HIGHS", "SCIPY", "SCS", "OSQP", "highspy"])
def test_answers_are_as_accurate_as_asked(solver: str, programs: list[RecordedProgram]) -> None:
    """Within a factor of ten: each solver measures in its own way."""
    needed(solver)
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
def test_options_are_passed_on_and_misspelt_ones_refused(solver: str) -> None:
    need(solver)
    check_option_names(solver, {"warm_start": False, "verbose": False} | GOOD[solver])
    assert solve_program(tiny_problem(), solver, solver_opts=GOOD[solver]).status == "optimal"
    name = next(iter(GOOD[solver]))
    says = f"option of {solver} '{name[:-1]}'; did you mean '{name}'"
    for fallback in ((), "analytic"):  # which does not hide it
        options: Any = {"solver_opts": {name[:-1]: 1}, "fallback": fallback}
        with pytest.raises(gda.errors.InvalidInputError, match=says):
            gda.methods.Alternating(solver=solver, **options)


def test_options_that_are_not_known_by_their_names() -> None:
    check_option_names("HIGHS", {"presolve_rule_off": 0})  # not public
    check_option_names("CLARABEL", {"no_such_option": 1})  # which refuses options itself
    with pytest.raises(gda.errors.SolverFailedError, match="no_such_option"):
        solve_program(tiny_problem(), "CLARABEL", solver_opts={"no_such_option": 1})
