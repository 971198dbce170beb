"""Tolerance options: solvers know all of them, and a looser one makes a first-order method stop."""

from __future__ import annotations

import pytest

from gdaopt.backends import check_solver_options, solvers
from gdaopt.backends.tolerance_options import TOLERANCE_NAMES, tolerance_options
from gdaopt.programs import RecordedProgram, replay
from gdaopt.studies.bench.sequences import Sequence, record_task


@pytest.mark.parametrize("solver", ["HIGHS", "highspy", "CVXOPT", "CBC", "DAQP", "PROXQP", "QOCO"])
def test_names_are_the_solvers_own(solver: str) -> None:
    if solver not in ("highspy", *(info.name for info in solvers() if info.usable)):
        pytest.skip(f"{solver} does not work here")
    check_solver_options(solver, tolerance_options(solver, 1e-5))


def test_solvers_without_known_tolerances_get_none() -> None:
    for solver in ("analytic", "GLPK", "GLOP"):
        assert tolerance_options(solver, 1e-6) == {}
    assert all(TOLERANCE_NAMES.values())


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[RecordedProgram]:
    from gdaopt.programs import load_programs

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
