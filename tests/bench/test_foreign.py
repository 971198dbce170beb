"""Programs of others: MPS files that another program wrote, arrays, and their references."""

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gdaopt as gda
from gdaopt.backends import LinearArrays
from gdaopt.bench import ProgramSequence, RecordedProgram, load_programs, recording, replay
from gdaopt.bench.export import export
from gdaopt.bench.mps import mps_text, read_mps
from gdaopt.bench.recorded import save_programs
from gdaopt.bench.sequences import BenchOptions, read_programs
from gdaopt.bench.study import replay_task
from gdaopt.programs.linear import LinearPolytope
from tests.backends.cases import by_scipy
from tests.bench.cases import mps
from tests.cli.cases import run
from tests.helpers import scaled


def series(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"town{number:02d}.mps").write_text(mps(1 + 0.1 * number))
    return folder


# --- Reading -------------------------------------------------------------------------------------


def test_the_order_is_that_of_the_manifest(tmp_path: Path) -> None:
    """Of ``manifest.json``, of a list that ends with ``.test``, or of the names."""
    folder = series(tmp_path / "towns", 4)
    by_name = [program.value for program in read_programs(folder)]
    assert by_name == sorted(by_name)
    listed = "[TIMEOUT]\n60\n[INSTANCES]\n" + "".join(f"../x/town0{k}.mps\n" for k in (2, 0))
    (folder / "towns.test").write_text(listed)
    assert [program.value for program in read_programs(folder)] == [by_name[2], by_name[0]]
    (folder / "town03.mps").write_text(mps(1.3, constant=9.0))  # of the objective
    entries = [{"file": "town03.mps", "optimum": by_name[3] + 2.0}, {"file": "town01.mps"}]
    (folder / "manifest.json").write_text(json.dumps({"programs": entries}))
    assert [program.value for program in read_programs(folder)] == [by_name[3] + 2.0, by_name[1]]


LATE = '{"programs": [{"file": "a.mps", "optimum": 1}]}'


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "has no files that end with .mps"),
        ({"a.mps": "no such format"}, "a.mps is no MPS file that HiGHS can read"),
        ({"a.test": "[INSTANCES]\nb.mps"}, "names b.mps, which is not there"),
        ({"manifest.json": "{"}, "must have the form"),
        ({"manifest.json": '{"programs": [3]}'}, "must have the form"),
        ({"manifest.json": '{"programs": []}'}, "or lists none"),
        ({"a.mps": mps(), "manifest.json": LATE.replace("1}", '"1"}')}, "a.mps must be a"),
        ({"a.mps": mps(), "manifest.json": LATE.replace("1}", "NaN}")}, "a.mps must be f"),
        ({"a.mps": mps(), "manifest.json": LATE}, "and not 1.0, as is stated"),
        ({"a.mps": mps(9)}, "has no reference: HiGHS calls it infeasible"),
    ],
)
def test_folders_that_are_refused(files: dict[str, str], says: str, tmp_path: Path) -> None:
    """Before any work, in one sentence."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    given = ("bench", "--data", folder, "--solvers", "highspy", "--out", tmp_path / "out")
    assert says in run(*given, code=2)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["manifest.json", "towns.test"])
def test_lists_in_other_encodings_are_refused(name: str, tmp_path: Path) -> None:
    """A mark at the begin, as editors of Windows write it, is none of the text."""
    folder = series(tmp_path / "towns", 2)
    text = LATE.replace("a.mps", "town01.mps").replace(', "optimum": 1', "")
    text = text if name == "manifest.json" else "town01.mps\n"
    (folder / name).write_bytes(text.replace("town01", "städte").encode("latin-1"))
    with pytest.raises(gda.errors.InvalidInputError, match=f"{name} is not in UTF-8; save it"):
        ProgramSequence.from_mps(folder)
    (folder / name).write_text(text, encoding="utf-8-sig")
    assert len(ProgramSequence.from_mps(folder).programs) == 1


def test_files_and_names_with_commas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    series(Path("small, new"), 1)
    data = ("bench", "--solvers", "highspy", "--runs", "none", "--data")
    says = "there is no small, new/town01.mps; name an MPS file, or a folder of them"
    assert says in run(*data, '"small, new/town01.mps"', code=2)
    for read in ('"small, new"', '"small, new/town00.mps"'):
        assert "there is no none.mps" in run(*data, f"{read},none.mps", code=2)  # it was read


# --- By arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"matrix": [[1.0]]}, r"matrix has the shape \(1, 1\)"),
        ({"matrix": [[np.nan, 1.0]]}, "matrix holds NaN"),
        ({"cost": [np.inf, 1.0]}, "cost holds inf"),
        ({"row_upper": [1.0, 2.0]}, "the upper bounds must be numbers"),
        ({"lower": "none"}, "the lower bounds must be numbers"),
        ({"row_lower": 6.0}, "row 0 has the bounds 6 and 5"),
        ({"upper": [1.0, -1.0]}, "variable 1 has the bounds 0 and -1"),
        ({"lower": np.nan}, "variable 0 has the bounds nan"),
    ],
)
def test_arrays_that_are_refused(changed: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"cost": [-1.0, -2.0], "matrix": [[1.0, 1.0]], "row_upper": 5.0}
    with pytest.raises(gda.errors.InvalidInputError, match=says):
        LinearArrays.of(**given | changed)


def test_programs_without_an_optimum_are_refused() -> None:
    unbounded = LinearArrays.of([-1.0], [[0.0]])
    with pytest.raises(gda.errors.InvalidInputError, match="program 0 of mine has no reference"):
        ProgramSequence.from_arrays("mine", [unbounded])
    with pytest.raises(gda.errors.InvalidInputError, match="1 programs and 2 optima"):
        ProgramSequence.from_arrays("mine", [unbounded], [1.0, 2.0])


@pytest.mark.parametrize("seed", range(4))
def test_any_linear_program_is_solved_and_judged(seed: int, tmp_path: Path) -> None:
    """With bounds of all kinds, through CVXPY and without; the structure decides what is kept."""
    rng = np.random.default_rng(seed)
    n, m = 6, 4
    programs = []
    for _ in range(4):
        inside = rng.uniform(0, 1, n)
        matrix = rng.standard_normal((m, n)) * (rng.random((m, n)) < 0.7)
        rows, room = matrix @ inside, np.array([0, 0.3, 0.2, 0.1])
        programs.append(
            LinearArrays.of(
                rng.standard_normal(n),
                matrix,
                row_lower=np.where([True, True, False, True], rows - room, -np.inf),
                row_upper=np.where([True, False, True, True], rows + room, np.inf),
                lower=np.r_[np.zeros(n - 1), inside[-1]],
                upper=np.r_[np.full(n - 1, 2.0), inside[-1]],
            )
        )
    sequence = ProgramSequence.from_arrays("random", programs)
    for program, arrays in zip(sequence.programs, programs, strict=True):
        assert program.value == pytest.approx(by_scipy(arrays).fun, rel=1e-7, abs=1e-7)
        assert not program.is_exact
    path = save_programs(tmp_path / "a.npz", sequence.programs)
    again = load_programs(path)
    assert ProgramSequence.from_recorded(path).sha256 == sequence.sha256
    for solver in ("highspy", "HIGHS", "CLARABEL"):
        for found in replay(again, solver, start="hot"):
            assert found.is_verified(1e-6)
            assert abs(found.duality_gap) < 1e-6
    wrong = sequence.programs[0]
    with pytest.raises(gda.errors.InvalidInputError, match="no closed form"):
        list(replay([wrong], "analytic"))
    assert isinstance(wrong.polytope, LinearPolytope)


def test_only_what_later_programs_use_again_is_a_first(tmp_path: Path) -> None:
    """The time of a program of its own structure counts, and its compilation with it."""
    folder = series(tmp_path / "towns", 3)
    other = mps().replace("    X2  R1  2.0\n", "")
    (folder / "town99.mps").write_text(other)
    sequence = ProgramSequence.from_mps(folder)
    assert repr(sequence) == "ProgramSequence(towns, 4 programs)"
    path = save_programs(tmp_path / "towns.npz", sequence.programs)
    replay_task(tmp_path / "cell", path, "highspy", "re-solve", 1e-6, BenchOptions(solvers=[]))
    found = pd.read_parquet(tmp_path / "cell.parquet")
    assert found["is_first"].tolist() == [True, False, False, False]


def bench(folder: Path, out: Path, *solvers: str) -> tuple[object, ...]:
    few = ("--tolerances", "1e-6,1e-3", "--starts", "re-solve,hot", "--repeats", "1", "--out", out)
    return ("bench", "--data", folder, "--solvers", ",".join(solvers), *few)


@pytest.mark.slow
def test_recorded_runs_are_data(tmp_path: Path) -> None:
    sequence = ProgramSequence.from_mps(series(tmp_path / "towns", 3))
    assert (sequence.name, sequence.has_runs, sequence.has_closed_form) == ("towns", False, False)
    path = save_programs(tmp_path / "towns.npz", sequence.programs)
    shown = run(*bench(path, tmp_path / "out", "highspy"))
    assert "4 cells by highspy: about" in shown
    assert "highspy: 12 answers verified, 0 wrong" in shown
    page = (tmp_path / "out" / "bench.md").read_text(encoding="utf-8")
    assert "## towns, linear programs, tolerance 1e-06" in page


# --- Exported programs reload to the same optimum, without gdaopt --------------------------------


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[RecordedProgram]:
    """One of each kind, and one with linear constraints."""
    path = tmp_path_factory.mktemp("recorded") / "run.npz"
    glr, graphs = gda.GLR(*scaled("iris", "setosa")), gda.GraphMetrics(4.0, 1e-3)
    free = gda.MetricProblem(glr, graphs)
    rows = gda.MetricProblem(glr, graphs, constraints=lambda M: [M[0, 0] <= 1, M[0, 1] == 0])
    found: list[RecordedProgram] = []
    for method, problem in (("alternating", free), ("joint", free), ("alternating", rows)):
        with recording(path):
            gda.solve(problem, method, solver="HIGHS", max_iterations=8)
        found += load_programs(path)
    return [found[0], *(p for p in found[1:] if p.kind != "diagonal")][::3]


def value_of(program: RecordedProgram) -> float:
    """Return the least value in the units of solvers."""
    return float(program.arrays.cost @ program.polytope.coordinates(program.point))


def test_mps_files(programs: list[RecordedProgram], tmp_path: Path) -> None:
    assert {program.kind for program in programs} == {"diagonal", "column", "joint"}
    assert not all(program.is_exact for program in programs)
    for program in programs:
        arrays, *_ = read_mps(export(program, tmp_path / "program.mps"))
        assert by_scipy(arrays).fun == pytest.approx(value_of(program), rel=1e-6, abs=1e-6)
    assert [path.name for path in tmp_path.iterdir()] == ["program.mps"]


def test_all_numbers_of_an_mps_file_are_read_to_the_last_bit(tmp_path: Path) -> None:
    """With rows and bounds of all kinds."""
    inf, third = np.inf, 1 / 3
    arrays = LinearArrays.of(
        [third, -2e-17, 0.0, 1e10 * third, 5.0],
        [[third, 0.0, -1.5, 2.0, 0.0]] * 4 + [[0.0, 0.1, 0.0, 0.0, 1e-9]],
        row_lower=[third, -inf, 0.1, -4.0, -inf],
        row_upper=[third, 0.1, inf, 4.0, inf],
        lower=[-inf, 0.1, -3.0, 0.0, -inf],
        upper=[inf, 0.1, -third, inf, 0.7],
    )
    path = tmp_path / "program.mps"
    path.write_text(mps_text(arrays, "all_kinds"), encoding="utf-8")
    found, *counted = read_mps(path)
    assert counted == [1.0, 0.0]
    kept = np.arange(5) < 4  # a row without bounds is none
    np.testing.assert_array_equal(found.cost, arrays.cost)
    np.testing.assert_array_equal(found.matrix.toarray(), arrays.matrix.toarray()[kept])
    for name in ("lower", "upper"):
        np.testing.assert_array_equal(getattr(found, name), getattr(arrays, name))
        name = f"row_{name}"
        np.testing.assert_array_equal(getattr(found, name), getattr(arrays, name)[kept])


def test_python_files(programs: list[RecordedProgram], tmp_path: Path) -> None:
    for program in programs:
        path = export(program, tmp_path / "program.py")
        text = path.read_text(encoding="utf-8")
        assert "import gdaopt" not in text
        names = runpy.run_path(str(path))
        names["problem"].solve(solver="CLARABEL")
        expected = value_of(program)
        assert repr(expected) in text
        assert names["problem"].value == pytest.approx(expected, rel=1e-5, abs=1e-5)
        np.testing.assert_array_equal(names["cost"], program.arrays.cost)
