"""Which solvers work here, the messages on those that do not, and misspelt options."""

import re
from collections.abc import Iterator
from typing import Any
from unittest.mock import MagicMock

import cvxpy as cp
import pytest
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP

import gdaopt as gda
from gdaopt.backends import registry
from gdaopt.backends.cvxpy import solve_program
from gdaopt.backends.registry import find_solver
from gdaopt.programs.base import ProgramOptions
from gdaopt.support import cvxpy_internals
from tests.backends.cases import Fault, tiny_problem
from tests.backends.sabotage import Dying
from tests.programs.cases import need


@pytest.fixture
def probed_anew() -> Iterator[None]:
    registry._probe_here.cache_clear()
    yield
    registry._probe_here.cache_clear()


@pytest.mark.parametrize("known", ["HIGHS", "CLARABEL", "SCS", "analytic", "highspy"])
def test_names_in_any_case(known: str) -> None:
    for name in (known, known.lower(), known.upper(), known.title()):
        assert ProgramOptions(solver=name).solver == known
    assert known not in ("HIGHS", "SCS") or find_solver(known.lower()) == known


@pytest.mark.parametrize(
    ("name", "nearest"), [("HIGSH", "HIGHS"), ("clarabell", "CLARABEL"), ("analytical", "analytic")]
)
def test_an_unknown_name_suggests_the_nearest(
    name: str, nearest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once: no solver is tried for it."""
    monkeypatch.setattr(registry, "_probe_all", lambda: pytest.fail("tried"))
    with pytest.raises(gda.errors.SolverNotFoundError, match=f"did you mean '{nearest}'") as caught:
        ProgramOptions(solver=name)
    installed = str(caught.value).split("Installed here: ")[1]
    assert all(known in installed for known in ("CLARABEL", "HIGHS", "analytic"))
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("MOSEK", "MOSEK does not work here: No module named 'mosek'.*HIGHS"),
        ("ECOS", "pip install ecos.*CLARABEL solves"),
    ],
)
def test_a_solver_that_is_not_installed(
    name: str, says: str, monkeypatch: pytest.MonkeyPatch, probed_anew: None
) -> None:
    def import_solver() -> None:
        raise ModuleNotFoundError(f"No module named '{name.lower()}'")

    monkeypatch.setattr(SOLVER_MAP_CONIC[name], "import_solver", import_solver)
    with pytest.raises(gda.errors.SolverNotFoundError, match=says):
        gda.methods.Alternating(solver=name.lower())
    assert not registry._probe(name, isolate=True).usable


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"error": cp.SolverError("the licence has expired")}, "the licence has expired"),
        ({"value": 7.0}, r"answered 7\.0"),
        ({"status": cp.INFEASIBLE}, "infeasible"),
    ],
)
def test_not_usable(change: dict[str, Any], reason: str, fault: Fault, probed_anew: None) -> None:
    find_solver("HIGHS")
    calls = len(fault.calls)
    assert find_solver(" highs ") == "HIGHS"
    assert len(fault.calls) == calls > 0  # it is probed once
    registry._probe_here.cache_clear()
    vars(fault).update(change)
    says = f"HIGHS does not work here: .*{reason}"
    with pytest.raises(gda.errors.SolverNotFoundError, match=says):
        find_solver("HIGHS")


def test_every_solver_of_cvxpy_is_listed_once() -> None:
    listed = gda.solvers()
    names = [info.name for info in listed]
    assert sorted(names) == sorted({"analytic", "highspy", *SOLVER_MAP_CONIC, *SOLVER_MAP_QP})
    usable = [info.usable for info in listed]
    assert usable == sorted(usable, reverse=True)
    assert {info.name for info in listed if info.usable} >= {"HIGHS", "CLARABEL", "SCS", "OSQP"}
    assert all(bool(info.reason) != info.usable for info in listed)
    shown: Any = listed
    rows = re.findall(r"<tr><th>([^<]*)</th><td>", shown._repr_html_())
    assert rows == names


def test_all_solvers_are_probed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the few that are tried in this process."""
    first, probe = gda.solvers(), MagicMock(wraps=registry._probe)
    monkeypatch.setattr(registry, "_probe", probe)
    assert gda.solvers() == first
    assert [call.args[0] for call in probe.call_args_list] == ["analytic", "highspy"]


def sabotage(monkeypatch: pytest.MonkeyPatch, **kinds: type[cp.Problem]) -> None:
    """Have solvers be tried on problems that misbehave; only these, HIGHS and GLOP are known."""
    real = registry.make_backend

    def sabotaged(solver: str, **options: Any) -> Any:
        backend: Any = real(solver, **options)
        if solver in kinds:
            compile_arrays = backend.compiled

            def compiled(arrays: Any) -> Any:
                program = compile_arrays(arrays)
                problem = program.problem
                program.problem = kinds[solver](problem.objective, problem.constraints)
                return program

            backend.compiled = compiled
        return backend

    monkeypatch.setattr(registry, "make_backend", sabotaged)
    monkeypatch.setattr(cvxpy_internals, "list_solvers", lambda: (*kinds, "GLOP", "HIGHS"))


@pytest.mark.slow
def test_a_probe_that_dies_is_a_line_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    sabotage(monkeypatch, SCS=Dying)
    monkeypatch.setattr(registry, "_probe_all", registry._probe_all.__wrapped__)
    listed = gda.solvers()
    assert {"analytic", "highspy", "HIGHS"} <= {info.name for info in listed if info.usable}
    dead = next(info for info in listed if info.name == "SCS")
    assert "it ended its worker process" in dead.reason


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["GLOP", "PDLP", "SDPA"])
def test_solvers_that_need_a_process_of_their_own(solver: str) -> None:
    """ortools has a libhighs of its own, and SDPA prints what nothing silences."""
    need(solver)
    assert solve_program(tiny_problem(), "HIGHS").status == "optimal"
    problem = tiny_problem()
    assert solve_program(problem, solver).status == "optimal"
    assert problem.variables()[0].value == pytest.approx(2.0, abs=1e-4)
    assert solve_program(tiny_problem(), "HIGHS", isolate=True).status == "optimal"
