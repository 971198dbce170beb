"""Recorded programs: what is kept, the file, and the same programs from it."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import Answer, highspy
from gdaopt.bench import RecordedProgram, load_programs, recording, replay
from gdaopt.bench.recorded import save_programs
from gdaopt.programs import Program
from tests.helpers import refusals, scaled


def iris(**options: Any) -> gda.MetricProblem:
    glr = gda.GLR(*scaled("iris", "virginica"))
    return gda.MetricProblem(glr, gda.GraphMetrics(4.0, 1e-3), **options)


def recorded(path: Path, method: str = "alternating", **options: Any) -> list[RecordedProgram]:
    options = {"solver": "analytic", "max_iterations": 12, **options}
    problem = options.pop("problem", None) or iris()
    with recording(path):
        gda.solve(problem, method, **options)
    return load_programs(path)


def numbers(program: RecordedProgram) -> dict[str, Any]:
    own = {"cost": program.cost, "point": program.point, "gap": program.gap}
    return own | program.numbers()


@pytest.mark.parametrize("method", ["alternating", "joint"])
def test_the_programs_of_a_run(method: str, tmp_path: Path) -> None:
    """In order, with the gaps of the trace and the answers of the closed form."""
    plain = gda.solve(iris(), method, solver="highspy", max_iterations=12)
    with recording(tmp_path / "run.npz"):
        result = gda.solve(iris(), method, solver="highspy", max_iterations=12)
    np.testing.assert_array_equal(result.metric, plain.metric)
    programs = load_programs(tmp_path / "run.npz")
    solved = [row for row in result.trace if row.solver == "highspy"]
    assert len(programs) == len(solved) > 3
    for program, row in zip(programs, solved, strict=True):
        assert program.kind == row.phase
        assert program.gap == pytest.approx(row.block_gap, rel=1e-6, abs=1e-9)
        np.testing.assert_array_equal(program.point, program.polytope.minimize(program.cost))
        assert program.value == pytest.approx(float(program.cost @ program.point))
        assert program.is_exact
        again = Program("highspy").solve(program.cost, program.polytope)
        assert again.value == pytest.approx(program.value, rel=1e-9)


def test_the_file_keeps_every_bit(tmp_path: Path) -> None:
    first = recorded(tmp_path / "a.npz") + recorded(tmp_path / "b.npz", "joint", edge_floor=0.01)
    save_programs(tmp_path / "c.npz", first)
    second = load_programs(tmp_path / "c.npz")
    assert [program.kind for program in second] == [program.kind for program in first]
    for one, other in zip(first, second, strict=True):
        for name, value in numbers(one).items():
            np.testing.assert_array_equal(numbers(other)[name], value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz", "c.npz"]


def test_programs_of_one_block_share_their_polytope(tmp_path: Path) -> None:
    """As in the run: a solver is told of a new polytope only where there is one."""
    programs = recorded(tmp_path / "run.npz", "joint")
    polytopes = [id(program.polytope) for program in programs]
    assert 1 < len(set(polytopes)) < len(programs)
    assert polytopes == sorted(polytopes, key=polytopes.index)
    save_programs(tmp_path / "again.npz", programs[1:])
    again = load_programs(tmp_path / "again.npz")
    assert [program.value for program in again] == [program.value for program in programs[1:]]


def test_constraints_of_ones_own(tmp_path: Path) -> None:
    problem = iris(constraints=lambda M: [M[0, 1] == 0, M[0, 0] + M[1, 1] <= 1.5])
    programs = recorded(tmp_path / "run.npz", problem=problem, solver="HIGHS")
    assert programs
    for program in programs:
        assert program.kind in ("diagonal", "column")
        assert not program.is_exact
        assert program.arrays.pattern.n_rows == 1 + 2  # a budget
        again = Program("highspy").solve(program.cost, program.polytope)
        there = np.maximum(np.abs(program.point), np.abs(program.polytope.current).max())
        size = np.abs(program.cost) @ there
        assert abs(again.value - program.value) <= 1e-6 * size
    assert len({program.structure for program in programs}) == 2


def test_what_is_recorded_when_a_run_is_interrupted(tmp_path: Path) -> None:
    def stop(state: gda.methods.State) -> None:
        if state.iteration == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recorded(tmp_path / "run.npz", callback=stop)
    assert 0 < len(load_programs(tmp_path / "run.npz")) <= 4


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("frank-wolfe", "no linear program was solved"),
        ("certified", "no linear program was solved"),
        ("sdp-frank-wolfe", "not the semidefinite program"),
    ],
)
def test_methods_without_linear_programs(method: str, says: str, tmp_path: Path) -> None:
    options = {"solver": "analytic"} if "sdp" in method else {}
    with pytest.raises(gda.errors.InvalidInputError, match=says), recording(tmp_path / "run.npz"):
        gda.solve(iris(), method, max_iterations=1, **options)
    with pytest.raises(gda.errors.UnwritableError, match="does not exist"):
        recorded(tmp_path / "no" / "run.npz", callback=lambda _: pytest.fail("work was done"))


@pytest.mark.parametrize("content", ["", "abc", "missing", "result", "newer", "older", "directory"])
def test_files_of_other_kinds(content: str, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    match content:
        case "result":
            gda.solve(iris(), "alternating", solver="analytic", max_iterations=1).save(path)
        case "newer":
            np.savez(path, programs=np.array('{"format": 99, "labels": null}'))
        case "older":  # with linear constraints
            np.savez(path, programs=np.array('{"format": 4, "labels": ["mine"]}'))
        case "directory":
            path.mkdir()
        case "" | "abc":
            path.write_text(content)
    says = {"missing": "there is no file", "newer": "another version", "older": "another version"}
    says["directory"] = "cannot read .*: Is a directory"
    expected = says.get(content, "does not hold recorded programs")
    with pytest.raises(gda.errors.InvalidInputError, match=expected):
        load_programs(path)


CHANGES: dict[str, Any] = {
    "linear/cost/sizes": lambda sizes: sizes + np.resize([1, -1], len(sizes)),
    "linear/cost": lambda cost: np.full_like(cost, np.nan),
    "kinds": lambda kinds: kinds[1:],
    "linear polytopes/columns": lambda columns: columns + 1000,
    "linear polytopes/lower_bounds": lambda bounds: bounds[1:],
    "linear polytopes/coefficients": lambda coefficients: coefficients[1:],
}


@pytest.mark.parametrize("constrained", [False, True])
def test_any_damage_is_told_in_one_sentence(constrained: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    options = {"constraints": lambda M: [M[0, 1] == 0]} if constrained else {}
    recorded(path, problem=iris(**options), solver="highspy", max_iterations=3)
    with np.load(path) as archive:
        arrays = dict(archive)
    assert len(refusals(path, lambda: load_programs(path), 200)) > 150
    for name in CHANGES if constrained else ():  # numbers that do not go together
        np.savez(path, **arrays | {name: CHANGES[name](arrays[name])})
        with pytest.raises(gda.errors.InvalidInputError, match="does not hold recorded programs: "):
            load_programs(path)


# --- Recorded programs solved again --------------------------------------------------------------


STARTS = ("cold", "re-solve", "hot")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[RecordedProgram]:
    path = tmp_path_factory.mktemp("recorded") / "run.npz"
    problem = gda.MetricProblem(gda.GLR(*scaled("iris", "setosa")), gda.GraphMetrics(4.0, 1e-3))
    with recording(path):
        gda.solve(problem, "alternating", solver="analytic", max_iterations=8)
        gda.solve(problem, "joint", solver="analytic", max_iterations=5)
    return load_programs(path)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("solver", ["analytic", "highspy", "HIGHS", "CLARABEL"])
def test_answers_are_verified(solver: str, start: Any, programs: list[RecordedProgram]) -> None:
    began = time.perf_counter()
    found = list(replay(programs, solver, start=start))
    wall = time.perf_counter() - began
    assert len(found) == len(programs) > 8
    for solved in found:
        assert solved.failure == ""
        assert solved.is_verified(1e-12 if solver == "analytic" else 1e-6)
    assert 0 < sum(solved.seconds.total for solved in found) < wall


def test_what_starts_keep(programs: list[RecordedProgram], monkeypatch: pytest.MonkeyPatch) -> None:
    model, minimize = MagicMock(wraps=highspy.HighsModel), highspy.HighsModel.minimize
    hot: list[bool] = []

    def noted(self: highspy.HighsModel, *args: Any, **options: Any) -> Any:
        hot.append(options["hot"])
        return minimize(self, *args, **options)

    monkeypatch.setattr(highspy.HighsModel, "minimize", noted)
    monkeypatch.setattr(highspy, "HighsModel", model)
    structures = len({program.structure for program in programs})
    assert structures == 3
    for start, n_made in zip(STARTS, (len(programs), structures, structures), strict=True):
        replayed = replay(programs, "highspy", start=start)  # type: ignore[arg-type]
        model.reset_mock()  # a model has checked the options
        hot.clear()
        list(replayed)
        assert model.call_count == n_made
        assert set(hot) == {start == "hot"}


def test_failures_and_wrong_points_are_seen(
    programs: list[RecordedProgram], monkeypatch: pytest.MonkeyPatch
) -> None:
    def minimize(program: Any, cost: Any, watch: Any, time_limit: float | None) -> Answer:
        factor: Any = next(points)
        if factor == "fail":
            raise gda.errors.SolverFailedError("out of luck")
        watch.lap("solve")
        y: Any = program.coordinates(program.minimize(cost))
        return Answer(solver="wrong", point=None if factor is None else factor * y)  # type: ignore[arg-type]

    points = iter([None, np.nan, 1.1, -0.1, "fail"])
    wrong = SimpleNamespace(name="wrong", minimize=minimize)
    monkeypatch.setattr("gdaopt.bench.replayed.make_backend", lambda *_, **__: wrong)
    diagonal = [program for program in programs if program.kind == "diagonal"][:1]
    nothing, nan, above, below, failed = replay(5 * diagonal, "HIGHS")
    for solved, says in ((nothing, "None"), (nan, "nan"), (failed, "out of luck")):
        assert says in solved.failure
        assert not solved.is_verified(1.0)
    assert above.infeasibility > 0.05
    assert below.suboptimality > 0
    assert not above.is_verified(1e-3)
    assert not below.is_verified(1e-3)
