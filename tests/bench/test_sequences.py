"""The set of sequences for others: the small one that is committed, and how sets are made."""

import gzip
import json
import runpy
import shutil
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.sequences import make
from experiments.sequences.exact import Optimum, exact_optimum
from experiments.sequences.make import RECIPES, write_set
from gdaopt.backends import LinearArrays
from gdaopt.backends.highspy import HighsModel
from gdaopt.bench import ProgramSequence
from gdaopt.bench.mps import mps_text, read_mps
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


def programs_of(name: str) -> list[dict[str, Any]]:
    """Return what the manifest of a sequence says of its programs."""
    found: list[dict[str, Any]] = json.loads((SMALL / name / "manifest.json").read_bytes())[
        "programs"
    ]
    return found


def read_optima(folder: Path) -> dict[str, Optimum]:
    """Return the optima of a sequence of the set by file name."""
    entries = json.loads(gzip.decompress((folder / "optima.json.gz").read_bytes()))
    return {
        entry["file"]: Optimum(*([*map(Fraction, entry[name])] for name in ("point", "row_duals")))
        for entry in entries
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
    makers = {"__init__.py", "exact.py", "make.py"}
    assert names == {*manifest["files"], "manifest.json", "manifest.json.sha256", *makers}
    assert [sequence["name"] for sequence in manifest["sequences"]] == NAMES
    assert len(NAMES) >= 20
    assert len({sequence["family"] for sequence in manifest["sequences"]}) == 5


@pytest.mark.parametrize("name", NAMES)
def test_all_optima_are_proven_in_fractions(name: str) -> None:
    entries, optima = programs_of(name), read_optima(SMALL / name)
    assert [entry["file"] for entry in entries] == list(optima)
    assert (SMALL / name / f"{name}.test").read_text(encoding="utf-8").split() == list(optima)
    programs = [read_mps(SMALL / name / file)[0] for file in optima]
    changes = [[what for what in PARTS if not same(what, *pair)] for pair in pairwise(programs)]
    for entry, arrays, changed in zip(entries, programs, [[], *changes], strict=True):
        optimum = optima[entry["file"]]
        assert optimum.is_proven(arrays)
        assert entry["optimum"] == float(optimum.value(arrays))
        assert entry["changes"] == changed
        assert bool(changed) == (arrays is not programs[0])


def test_scipy_agrees() -> None:
    for name in NAMES:
        for entry in programs_of(name):
            arrays, optimum = read_mps(SMALL / name / entry["file"])[0], entry["optimum"]
            found = by_scipy(arrays).fun
            assert abs(found - optimum) <= ACCURATE * max(1, abs(optimum)), entry["file"]


def test_sequences_can_be_benched_and_replayed(capfd: pytest.CaptureFixture[str]) -> None:
    sequence = ProgramSequence.from_mps(SMALL / "rows-joint-wine")
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
    files = [(name, int(rng.integers(10**6))) for name in [*names[::9], "replay.py", "LICENSE"]]
    manifests = ("manifest.json", "manifest.json.sha256")
    for name, place in [*files, *product(manifests, (0, 100, -1))]:
        assert find() == []
        content = bytearray((SMALL / name).read_bytes())
        content[place % len(content)] ^= 1
        (folder / name).write_bytes(content)
        assert find() == ["manifest.json" if name in manifests else name]
        shutil.copy(SMALL / name, folder / name)


def test_a_command_writes_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("diagonal-wine", "column-wine", "joint-wine", "rows-column-wine", "signed-joint-wine")
    monkeypatch.setattr(make, "RECIPES", [one for one in RECIPES if one.name in names])
    told: list[str] = []
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        write_set(folder, 2, told.append)
    assert told[0] == "diagonal-wine: 2 programs"
    for file in one.rglob("*.*"):
        if file.is_file():
            assert file.read_bytes() == (two / file.relative_to(one)).read_bytes()
    assert changed(one) == []
    for folder in one.glob("*-*"):
        packed = [path.read_bytes() for path in folder.glob("*.mps.gz")]
        assert len(packed) == 2
        assert len({gzip.decompress(each).partition(b"ROWS")[2] for each in packed}) == 2


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
    with pytest.raises(InvalidInputError, match="--most must be at least 1"):
        write_set(tmp_path / "new", 0)


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


def rows_alone(model: HighsModel, at_upper: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the basis of the rows alone, with all variables at their lower or upper bounds."""
    assert model._sent is not None
    pattern = model._sent.pattern
    is_basic = np.arange(pattern.size + pattern.n_rows) >= pattern.size
    return is_basic, ~is_basic & at_upper


def upside_down(model: HighsModel) -> tuple[np.ndarray, np.ndarray]:
    return rows_alone(model, at_upper=True)


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


@pytest.mark.parametrize("seed", range(5))
def test_only_an_optimum_is_proven(seed: int) -> None:
    arrays, tiny = random_program(seed), Fraction(1, 10**30)
    optimum = exact_optimum(arrays)
    assert optimum.is_proven(arrays)
    for place, change in product(range(arrays.pattern.size), (tiny, -tiny)):
        point = list(optimum.point)
        point[place] += change
        other = Optimum(point, optimum.row_duals)
        # Other optima are proven as well.
        assert not other.is_proven(arrays) or other.value(arrays) == optimum.value(arrays)
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
    infeasible = LinearArrays.of([1.0], [[1.0]], row_lower=[2.0], upper=1.0)
    with pytest.raises(SolverFailedError, match="HiGHS calls it infeasible"):
        exact_optimum(infeasible)
