"""What is known of each solver without asking it: packages, and the names of tolerances.

Solvers know all of these names, and a looser tolerance makes a first-order method stop.
"""

import importlib.metadata
import tomllib
from pathlib import Path

import pytest

import gdaopt as gda
from gdaopt.backends.catalogue import CATALOGUE, entry_of, tolerance_options
from gdaopt.bench import RecordedProgram, load_programs, replay
from gdaopt.bench.sequences import ProgramSequence, record_task
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
    unasked = {name for name in listed if listed[name].licence != "proprietary"} - {"analytic"}
    untried = {"COSMO", "CUCLARABEL", "CUOPT", "DIFFCP", "PDCS"}  # which we cannot try
    assert {name for name in unasked if not entry_of(name).tolerances} == untried & set(listed)
    assert tolerance_options("analytic", 1e-6) == {}
    entry = entry_of("BRANDNEW")
    assert (entry.package, entry.licence, entry.version) == ("brandnew", "unknown", "")
    assert not entry.backend


def test_the_extra_has_the_packages_that_hints_say_it_has() -> None:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = " ".join(content["optional-dependencies"]["solvers"] + content["dependencies"])
    hinted = [entry for entry in CATALOGUE.values() if "[solvers]" in entry.hint]
    assert [entry.package for entry in hinted if entry.package not in extra] == []
    assert sum(not entry.twin_of for entry in hinted) >= 14


def needed(solver: str) -> None:
    """Skip a test whose solver does not work here."""
    need(solver) if solver != "highspy" else None


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[RecordedProgram]:
    path = tmp_path_factory.mktemp("random") / "a"
    record_task(path, ProgramSequence("random", size=8), ("joint",), 24, 2, False)
    return load_programs(f"{path}.npz")


@pytest.mark.parametrize(
    "solver", ["CLARABEL", "HIGHS", "PDLP", "PIQP", "SCIPY", "SCS", "OSQP", "highspy"]
)
def test_answers_are_as_accurate_as_asked(solver: str, programs: list[RecordedProgram]) -> None:
    """Within a factor of ten: each solver measures in its own way."""
    needed(solver)
    for tolerance in (1e-6, 1e-4):
        options = tolerance_options(solver, tolerance)
        for found in replay(programs, solver, solver_opts=options):
            assert found.residual < 10 * tolerance
