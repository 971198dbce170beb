"""The set of sequences for others: the small one that is committed, and how sets are written."""

import gzip
import json
import runpy
import shutil
import tempfile
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdaopt.backends import LinearArrays
from gdaopt.backends.highspy import HighsModel
from gdaopt.bench import Sequence, export
from gdaopt.bench.exact import Optimum, exact_optimum
from gdaopt.bench.export import RECIPES, mps_text, write_set
from gdaopt.bench.sequences import read_mps
from gdaopt.errors import InvalidInputError, SolverFailedError
from tests.backends.cases import by_scipy

SMALL = Path(__file__).parents[2] / "experiments" / "sequences"
NAMES = [recipe.name for recipe in RECIPES]
ACCURATE = 1e-9


PARTS: dict[str, Callable[[LinearArrays], Any]] = {
    "costs": lambda arrays: arrays.cost,
    "coefficients": lambda arrays: arrays.matrix.toarray(),
    "bounds": lambda arrays: [arrays.lower, arrays.upper],
    "right-hand sides": lambda arrays: [arrays.row_lower, arrays.row_upper],
}


def same(what: str, one: LinearArrays, other: LinearArrays) -> bool:
    """Say whether a part of two programs is the same."""
    return np.array_equal(PARTS[what](one), PARTS[what](other))


def read_optima(folder: Path) -> dict[str, Optimum]:
    """Return the optima of a sequence of the set by file name."""
    with gzip.open(folder / "optima.json.gz", "rt", encoding="utf-8") as file:
        return {
            entry["file"]: Optimum(
                [Fraction(one) for one in entry["point"]],
                [Fraction(one) for one in entry["row_duals"]],
            )
            for entry in json.load(file)
        }


def changed(folder: Path) -> list[str]:
    """Return the files whose bytes have changed, by the script of the set."""
    found: list[str] = runpy.run_path(str(folder / "replay.py"))["changed"]()
    return found


def test_the_small_set_is_small_and_complete() -> None:
    files = [path for path in SMALL.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sum(path.stat().st_size for path in files) <= 1e6
    assert changed(SMALL) == []
    manifest = json.loads((SMALL / "manifest.json").read_text(encoding="utf-8"))
    names = {path.relative_to(SMALL).as_posix() for path in files}
    assert names == {*manifest["files"], "manifest.json", "manifest.json.sha256"}
    assert [sequence["name"] for sequence in manifest["sequences"]] == NAMES
    assert len(NAMES) >= 20
    assert len({sequence["family"] for sequence in manifest["sequences"]}) == 5


@pytest.mark.parametrize("name", NAMES)
def test_all_optima_are_proven_in_fractions(name: str) -> None:
    entries = json.loads((SMALL / name / "manifest.json").read_text(encoding="utf-8"))["programs"]
    optima = read_optima(SMALL / name)
    assert [entry["file"] for entry in entries] == list(optima)
    assert (SMALL / name / f"{name}.test").read_text(encoding="utf-8").split() == list(optima)
    before: LinearArrays | None = None
    for entry in entries:
        arrays, _ = read_mps(SMALL / name / entry["file"])
        optimum = optima[entry["file"]]
        assert optimum.is_proven(arrays)
        assert entry["optimum"] == float(optimum.value(arrays))
        assert bool(entry["changes"]) == (before is not None)
        if before is not None:
            assert entry["changes"] == [what for what in PARTS if not same(what, before, arrays)]
        before = arrays


def by_scipy_too(path: Path) -> float:
    """Return the least value of a program by SciPy."""
    return float(by_scipy(read_mps(path)[0]).fun)


def by_highspy(path: Path) -> float:
    """Return the least value of a program by HiGHS."""
    highspy = pytest.importorskip("highspy")
    model: Any = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.readModel(str(path))
    model.run()
    return float(model.getObjectiveValue())


def by_glpk(path: Path) -> float:
    """Return the least value of a program by GLPK."""
    glpk: Any = pytest.importorskip("swiglpk")
    glpk.glp_term_out(glpk.GLP_OFF)
    problem = glpk.glp_create_prob()
    assert glpk.glp_read_mps(problem, glpk.GLP_MPS_FILE, None, str(path)) == 0
    parameters = glpk.glp_smcp()
    glpk.glp_init_smcp(parameters)
    parameters.tol_bnd = parameters.tol_dj = ACCURATE
    assert glpk.glp_simplex(problem, parameters) == 0
    value = float(glpk.glp_get_obj_val(problem))
    glpk.glp_delete_prob(problem)
    return value


def by_cbc(path: Path) -> float:
    """Return the least value of a program by Clp, which CBC solves its relaxations with."""
    clp: Any = pytest.importorskip("cylp.cy")
    model = clp.CyClpSimplex()
    model.logLevel = 0
    with tempfile.TemporaryDirectory() as folder:  # it reads no other names
        unpacked = Path(folder) / "program.mps"
        unpacked.write_bytes(gzip.decompress(path.read_bytes()))
        assert model.readMps(str(unpacked)) == 0
    model.primalTolerance = model.dualTolerance = ACCURATE
    model.dual()
    return float(model.objectiveValue)


@pytest.mark.parametrize("solve", [by_scipy_too, by_highspy, by_glpk, by_cbc])
def test_other_solvers_read_the_files_and_agree(solve: Callable[[Path], float]) -> None:
    for name in NAMES:
        for entry in json.loads((SMALL / name / "manifest.json").read_bytes())["programs"]:
            found, optimum = solve(SMALL / name / entry["file"]), entry["optimum"]
            assert abs(found - optimum) <= ACCURATE * max(1, abs(optimum)), entry["file"]


def test_sequences_of_the_set_can_be_benched_and_replayed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    sequence = Sequence.from_mps(SMALL / "rows-joint-wine")
    assert len(sequence.programs) == 4
    script = runpy.run_path(str(SMALL / "replay.py"))
    found = script["replay"](SMALL / "rows-joint-wine")
    assert all(error <= ACCURATE for error, _ in found.values())
    # From the last basis it takes fewer iterations, where presolve leaves some.
    assert found["hot"][1] > 0
    capfd.readouterr()
    text = (SMALL / "replay.py").read_text(encoding="utf-8")
    assert "gdaopt" not in text
    assert len([line for line in text.splitlines() if line]) <= 36


def test_a_byte_that_changes_in_any_file_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    shutil.copytree(SMALL, folder)
    names = [*json.loads((SMALL / "manifest.json").read_bytes())["files"]]
    find = runpy.run_path(str(folder / "replay.py"))["changed"]
    rng = np.random.default_rng(0)
    for name in [*names[::9], "replay.py", "LICENSE"]:
        assert find() == []
        content = bytearray((SMALL / name).read_bytes())
        content[int(rng.integers(len(content)))] ^= 1
        (folder / name).write_bytes(content)
        assert find() == [name]
        shutil.copy(SMALL / name, folder / name)
    for name in ("manifest.json", "manifest.json.sha256"):
        for place in (0, 100, -1):
            content = bytearray((SMALL / name).read_bytes())
            content[place % len(content)] ^= 1
            (folder / name).write_bytes(content)
            assert find() == ["manifest.json"]
        shutil.copy(SMALL / name, folder / name)


def test_the_same_command_writes_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("diagonal-wine", "column-wine", "joint-wine", "rows-column-wine", "signed-joint-wine")
    some = [recipe for recipe in RECIPES if recipe.name in names]
    monkeypatch.setattr(export, "RECIPES", some)
    told: list[str] = []
    for name in ("one", "two"):
        write_set(tmp_path / name, 2, told.append)
    assert told[0] == "diagonal-wine: 2 programs"
    files = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*")]
    for file in files:
        if (tmp_path / "one" / file).is_file():
            assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert changed(tmp_path / "one") == []
    for folder in (tmp_path / "one").glob("*-*"):
        texts = [
            gzip.decompress(path.read_bytes()).partition(b"ROWS")[2]
            for path in sorted(folder.glob("*.mps.gz"))
        ]
        assert len(texts) == 2
        assert texts[0] != texts[1]


def test_each_part_that_changes_is_named() -> None:
    def program(**changed: Any) -> LinearArrays:
        parts: dict[str, Any] = {"cost": [1.0], "matrix": [[1.0]], "row_upper": 3.0}
        return LinearArrays.of(**(parts | changed))

    changes: dict[str, dict[str, Any]] = {
        "costs": {"cost": [2.0]},
        "coefficients": {"matrix": [[2.0]]},
        "bounds": {"upper": 2.0},
        "right-hand sides": {"row_upper": 2.0},
    }
    for what, changed in changes.items():
        assert [*export._changes(program(), program(**changed))] == [what]
    assert [*export._changes(program(), program())] == []


def test_programs_differ_and_are_read_as_they_are(tmp_path: Path) -> None:
    (recipe,) = (recipe for recipe in RECIPES if recipe.name == "column-synthetic-100")
    programs = recipe.arrays(40)
    assert len(programs) == 40
    for pair in pairwise(programs):
        assert not all(same(what, *pair) for what in PARTS)
    # HiGHS drops small coefficients when it reads a file: what is proven is what it reads.
    path = tmp_path / "one.mps"
    for one in programs:
        path.write_text(mps_text(one, "one"), encoding="utf-8")
        read = read_mps(path)[0].matrix
        np.testing.assert_array_equal(read.toarray(), one.matrix.toarray())


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="must be an empty directory"):
        write_set(tmp_path, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


# --- Optima in fractions -------------------------------------------------------------------------


def random_program(seed: int) -> LinearArrays:
    """Return a program with rows of all kinds, whose numbers are small and often tied."""
    rng = np.random.default_rng(seed)
    n_rows, size = 4, 7
    matrix = rng.integers(-3, 4, (n_rows, size)).astype(float)
    inside = matrix @ rng.integers(0, 3, size)
    kinds = rng.permuted(["equal", "least", "most", "both"])
    return LinearArrays.of(
        rng.integers(-4, 5, size) / 7,
        matrix,
        row_lower=np.where(kinds == "most", -np.inf, inside - (kinds == "both")),
        row_upper=np.where(kinds == "least", np.inf, inside + (kinds == "both")),
        lower=np.where(rng.random(size) < 0.2, -1.0, 0.0),
        upper=rng.integers(2, 4, size),
    )


def upside_down(model: HighsModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the basis of the rows alone, with all variables at their upper bounds."""
    assert model._sent is not None
    pattern = model._sent.pattern
    is_basic = np.arange(pattern.size + pattern.n_rows) >= pattern.size
    return is_basic, ~is_basic


def rows_alone(model: HighsModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the basis of the rows alone, with all variables at their lower bounds."""
    is_basic, _ = upside_down(model)
    return is_basic, np.zeros_like(is_basic)


@pytest.mark.parametrize("basis", [HighsModel.basis, rows_alone, upside_down])
def test_the_optimum_is_that_of_scipy_whatever_the_basis(
    basis: Callable[[HighsModel], tuple[np.ndarray, np.ndarray]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HighsModel, "basis", basis)
    solved = 0
    for seed in range(30):
        arrays = random_program(seed)
        expected = by_scipy(arrays).fun
        try:
            optimum = exact_optimum(arrays)
        except SolverFailedError:  # no pivots lead from a basis that is neither feasible nor dual
            assert basis is not HighsModel.basis
            continue
        assert float(optimum.value(arrays)) == pytest.approx(expected, abs=1e-9)
        solved += 1
    assert solved >= 24


def test_only_an_optimum_is_proven() -> None:
    tiny = Fraction(1, 10**30)
    for seed in range(5):
        arrays = random_program(seed)
        optimum = exact_optimum(arrays)
        assert optimum.is_proven(arrays)
        for place in range(arrays.pattern.size):
            for change in (tiny, -tiny):
                point = list(optimum.point)
                point[place] += change
                assert not Optimum(point, optimum.row_duals).is_proven(arrays) or (
                    arrays.cost[place] == 0  # other optima are proven as well
                    or Optimum(point, optimum.row_duals).value(arrays) == optimum.value(arrays)
                )
        off = [dual + 1 for dual in optimum.row_duals]
        assert not Optimum(optimum.point, off).is_proven(arrays)


def test_a_bound_broken_by_round_off_alone_is_corrected() -> None:
    # 0.1 + 0.2 > 0.3 by 3e-17: x = 0.2 breaks the row, and floating point does not see it.
    arrays = LinearArrays.of(
        [-1.0, 1.0], [[1.0, 1.0]], row_upper=[0.3], lower=[0.0, 0.1], upper=0.2
    )
    optimum = exact_optimum(arrays)
    assert optimum.point == [Fraction(0.3) - Fraction(0.1), Fraction(0.1)]
    assert optimum.row_duals == [Fraction(-1)]
    assert not Optimum([Fraction(0.2), Fraction(0.1)], [Fraction(-1)]).is_proven(arrays)


def test_an_infeasible_program_has_no_optimum() -> None:
    arrays = LinearArrays.of([1.0], [[1.0]], row_lower=[2.0], upper=1.0)
    with pytest.raises(SolverFailedError, match="HiGHS calls it infeasible"):
        exact_optimum(arrays)
