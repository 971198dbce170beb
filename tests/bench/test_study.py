"""A small study: its cells, what it goes on with, and what a solver that fails counts."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import gdaopt as gda
from gdaopt.backends.registry import SolverInfo
from gdaopt.bench import sequences, study
from gdaopt.bench.pictures import PICTURES
from gdaopt.bench.sequences import KINDS, BenchOptions, ProgramSequence, record_task, starts_of
from gdaopt.bench.study import Bench, replay_task, run_task
from gdaopt.bench.table import (
    leave_out_firsts,
    markdown,
    programs_frame,
    runs_frame,
    shifted_geometric_mean,
    summary,
)

LIMITS = BenchOptions(solvers=["highspy"])
IRIS = ProgramSequence("iris", gda.datasets.load("iris"))
SOLVERS = ("analytic", "highspy", "HIGHS")
Recorded = tuple[Path, dict[str, Any]]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    path = tmp_path_factory.mktemp("bench") / "iris"
    return path.with_suffix(".npz"), record_task(path, IRIS, tuple(KINDS), 24, 3, True)


@pytest.mark.slow
def test_a_bench_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second study computes the one cell whose row is gone, and ends with the same cells."""
    blank = dict.fromkeys(PICTURES, lambda programs, cap: Figure(figsize=(1, 1)))
    monkeypatch.setattr(study, "PICTURES", blank)
    options = BenchOptions(
        solvers=["highspy"],
        programs=["diagonal"],
        starts=["hot"],
        tolerances=[1e-6],
        runs=[],
        most=3,
        repeats=1,
    )
    sequence = ProgramSequence("random", size=5)

    def run() -> tuple[pd.DataFrame, list[str]]:
        bench = Bench(tmp_path / "out", [sequence], options)
        computed: list[str] = []
        found, runs = bench.run(lambda key, done, total, row: computed.append(key) if row else None)
        assert len(bench.done) == len(bench.tasks) == 2
        assert runs.empty
        return found, computed

    first, computed = run()
    assert len(computed) == 3
    assert list(first["solver"]) == ["analytic", "highspy"]
    assert list(first["verified"]) == list(first["programs"]) == [3, 3]
    assert (first["spread"] >= 1).all()
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"bench.md", "programs.csv", "programs.parquet", "summary.csv", "runs.csv"} <= names
    assert {"times.png", "profiles.png", "pareto.png"} <= names
    (row,) = (tmp_path / "out" / "tasks").glob("random_5-highspy*.json")
    row.unlink()
    second, computed = run()
    assert computed == [row.stem]
    kept = [name for name in first if not str(name).endswith(("seconds", "spread"))]
    pd.testing.assert_frame_equal(first[kept], second[kept])
    options = replace(options, solvers=["HIGHS"])
    added, computed = run()
    assert list(added["solver"]) == ["analytic", "HIGHS"]
    assert len(computed) == 1  # what is there of analytic stays, and highspy is left out
    others = BenchOptions(solvers=["highspy"], programs=["diagonal"], most=4, repeats=1)
    with pytest.raises(gda.errors.InvalidInputError, match="most is 3 there and 4 now"):
        Bench(tmp_path / "out", [sequence], others)


def test_recordings_are_those_of_runs(recorded: Recorded) -> None:
    path, row = recorded
    programs = gda.bench.load_programs(path)
    assert [program.kind for program in programs] == row["kinds"]
    assert set(row["kinds"]) == set(KINDS)
    assert [row["kinds"].count(kind) for kind in KINDS] == [3, 3, 3]
    best = gda.solve(IRIS.problem(), "certified", trace_every=0)
    assert row["lower_bound"] == pytest.approx(best.objective, rel=1e-4)
    assert [file.name for file in path.parent.iterdir()] == ["iris.npz"]


@pytest.mark.parametrize("kind", KINDS)
def test_random_programs_are_the_same_each_time(kind: str, tmp_path: Path) -> None:
    sequence = ProgramSequence("random", size=6)
    for name in ("a", "b"):
        row = record_task(tmp_path / name, sequence, (kind,), 24, 2, False)
        assert row == {"kinds": [kind, kind], "lower_bound": None}
    first, again = (gda.bench.load_programs(tmp_path / f"{name}.npz") for name in ("a", "b"))
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.cost, other.cost)
        np.testing.assert_array_equal(one.point, other.point)
        assert one.gap > 0
    assert not np.array_equal(first[0].cost, first[1].cost)


def test_cells_of_the_same_programs(recorded: Recorded, tmp_path: Path) -> None:
    path, row = recorded
    rows, lines = {}, {}
    for solver, repeat in product(SOLVERS, range(2)):
        stem = tmp_path / f"{solver}{repeat}"
        found = replay_task(stem, path, solver, "re-solve", 1e-6, LIMITS)
        assert found["answers"] == len(row["kinds"])
        about = {"data": "iris", "solver": solver, "start": "re-solve", "tolerance": 1e-6}
        rows[stem.name] = {**about, "status": "finished", "message": "", **found}
        lines[stem.name] = stem.with_suffix(".parquet")
    # Beside those, a cell whose process was killed, and one that ended with an error
    for status in ("time_limit", "failed"):
        rows[status] = {**rows["HIGHS0"], "solver": "SCIPY", "status": status, "message": "gone"}
        rows[status]["tolerance"] = 1e-6 if status == "failed" else 1e-4
        lines[status] = tmp_path / "none.parquet"
    frame = programs_frame(rows, lines, {"iris": row}, 10.0)
    assert len(frame) == 5 * len(row["kinds"])
    stages = [f"{name}_seconds" for name in ("write", "canonicalize", "solve", "unpack")]
    whole = frame[frame["solver"].isin(SOLVERS)]
    np.testing.assert_allclose(whole[stages].sum(axis=1), whole["seconds"], rtol=1e-9)
    # Three structures: what is compiled for the first of each is in a time of its own.
    assert whole.groupby("solver")["is_first"].sum().tolist() == [3, 3, 3]
    table = summary(frame, BenchOptions(solvers=["highspy", "HIGHS"]))
    for _, line in table.iterrows():
        is_lost = line["solver"] == "SCIPY"
        assert line["verified_share"] == (0.0 if is_lost else 1.0)
        assert line["mean_residual"] == pytest.approx(1.0 if is_lost else 1e-6)
        if is_lost:
            assert line["mean_seconds"] == pytest.approx(10.0)
            assert line["failed"] + line["timed_out"] == line["programs"]
            continue
        own = frame[
            (frame["solver"] == line["solver"]) & (frame["program"] == line["program"])
        ].set_index("index")
        assert line["mean_low_seconds"] < line["mean_seconds"] < line["mean_high_seconds"]
        # The closed form has no multipliers here, and those of HiGHS prove its answers.
        if line["solver"] == "analytic":
            assert np.isnan(line["proven_share"])
        else:
            assert line["proven_share"] == 1.0
            assert line["worst_duality_gap"] < 1e-6
        is_first = own["is_first"].astype(bool)
        of_later, of_first = (
            shifted_geometric_mean(own["seconds"][chosen]) for chosen in (~is_first, is_first)
        )
        assert line["mean_seconds"] == pytest.approx(of_later)
        assert line["first_seconds"] == pytest.approx(of_first)
        assert line["spread"] >= 1
        assert 0 < line["solve_seconds"] < line["mean_seconds"]
    text = markdown(table, runs_frame(rows, {}), BenchOptions(solvers=["highspy"]))
    ratios = [
        float(part.split("|")[14]) for part in text.splitlines() if part.startswith(("| a", "| h"))
    ]
    assert min(ratios) == 1.0
    assert ratios.count(1.0) >= 3  # the best of each table


def test_a_repeat_that_is_not_verified_counts(tmp_path: Path) -> None:
    """However quick the others were: a solver that is right at times is not right."""
    about = {"data": "a", "solver": "HIGHS", "start": "hot", "tolerance": 1e-6}
    rows: dict[str, dict[str, Any]] = {}
    lines = {}
    repeats = {"one": (["verified"] * 2, [1.0, 4.0]), "two": (["wrong", "verified"], [3.0, 2.0])}
    for key, (verdicts, seconds) in repeats.items():
        answers = {"index": [0, 1], "is_first": False, "verdict": verdicts, "seconds": seconds}
        lines[key] = tmp_path / f"{key}.parquet"
        pd.DataFrame(answers).to_parquet(lines[key])
        rows[key] = {**about, "status": "finished", "message": ""}
    recorded = {"a": {"kinds": ["joint", "joint"]}}
    frame = programs_frame(rows, lines, recorded, 10.0)
    assert list(frame["verdict"]) == ["wrong", "verified"]
    assert list(frame["seconds"]) == [3.0, 2.0]
    assert list(frame["spread"]) == [3.0, 2.0]
    assert frame[["seconds_1", "seconds_2"]].to_numpy().tolist() == [[1.0, 3.0], [4.0, 2.0]]
    # Of a repeat that did not end no program counts as solved.
    rows["two"] |= {"status": "time_limit", "message": "late"}
    assert list(programs_frame(rows, lines, recorded, 10.0)["verdict"]) == ["timed_out"] * 2


def test_beyond_the_budget(recorded: Recorded, tmp_path: Path) -> None:
    path, row = recorded
    found = replay_task(tmp_path / "a", path, "highspy", "hot", 1e-6, replace(LIMITS, budget=1e-9))
    assert found["answers"] == 1
    about = {"data": "iris", "solver": "highspy", "start": "hot", "tolerance": 1e-6}
    rows = {"a": {**about, "status": "finished", "message": ""}}
    frame = programs_frame(rows, {"a": tmp_path / "a.parquet"}, {"iris": row}, 10.0)
    assert list(frame["verdict"]) == ["verified"] + ["unreached"] * (len(row["kinds"]) - 1)
    assert list(frame["program"]) == row["kinds"]
    assert set(frame["seconds"][1:]) == {10.0}
    # Beside a solver that reached all, the same programs count of both.
    replay_task(tmp_path / "b", path, "analytic", "re-solve", 1e-6, LIMITS)
    rows["b"] = {**rows["a"], "solver": "analytic", "start": "re-solve"}
    lines = {key: tmp_path / f"{key}.parquet" for key in rows}
    frame = programs_frame(rows, lines, {"iris": row}, 10.0)
    late, whole = (leave_out_firsts(own) for _, own in frame.groupby("start"))
    assert list(late["index"]) == list(whole["index"]) != list(range(len(row["kinds"])))


def test_a_feasible_program_that_is_called_infeasible(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = gda.errors.InfeasibleProblemError("HIGHS calls the joint program infeasible")
    refusing = MagicMock(**{"minimize.side_effect": error})
    monkeypatch.setattr("gdaopt.bench.replayed.make_backend", lambda *_, **__: refusing)
    replay_task(tmp_path / "a", recorded[0], "HIGHS", "cold", 1e-6, LIMITS)
    frame = pd.read_parquet(tmp_path / "a.parquet")
    assert set(frame["verdict"]) == {"infeasible"}
    assert set(frame["residual"]) == {np.inf}


def test_whole_runs(recorded: Recorded, tmp_path: Path) -> None:
    about = {"data": "iris", "method": "alternating", "tolerance": 1e-6}
    rows: dict[str, dict[str, Any]] = {
        solver: {**about, "solver": solver}
        | run_task(tmp_path / "a", IRIS, "alternating", solver, 1e-6, LIMITS)
        for solver in ("analytic", "highspy")
    }
    rows["died"] = {**about, "solver": "HIGHS", "status": "died", "message": "gone"}
    exact, highspy, died = runs_frame(rows, {"iris": recorded[1]}).to_dict("records")
    assert 0 < exact["excess"] < 1
    assert highspy["excess"] == pytest.approx(exact["excess"], rel=0.1)
    assert died["status"] == "died"
    assert np.isnan(died["excess"])


# --- Options of a study of solvers ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"solvers": ["highs py"]}, "unknown solver 'highs py'"),
        ({"solvers": ["all", "highs"]}, "'all' stands alone"),
        ({"solvers": "highs"}, "solvers must be a list, got 'highs'"),
        ({"programs": ["columns"]}, "unknown program 'columns'; did you mean 'column'"),
        ({"programs": []}, "at least one name each"),
        ({"starts": ["warm"]}, "unknown start 'warm'"),
        ({"tolerances": []}, "between 0 and 1, at least one"),
        ({"tolerances": [1.0]}, "between 0 and 1"),
        ({"tolerances": [0.0]}, "must be > 0|above 0|greater"),
        ({"runs": ["certified"]}, "unknown run 'certified'"),
        ({"repeats": 0}, "repeats must be at least 1, got 0"),
        ({"most": 0}, "most must be at least 1, got 0"),
        ({"cap": 0.0}, "cap must be"),
        ({"budget": -1.0}, "budget must be"),
    ],
)
def test_bad_options(given: dict[str, Any], message: str) -> None:
    with pytest.raises(gda.errors.GdaoptError, match=message):
        BenchOptions(**{"solvers": ["highspy"], **given})


def test_names_of_solvers_and_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert starts_of("CLARABEL", ["cold", "hot"]) == ["cold"]
    assert starts_of("highspy", ["cold", "hot"]) == ["cold", "hot"]
    assert starts_of("analytic", ["cold", "re-solve", "hot"]) == ["re-solve"]
    one = BenchOptions(solvers=["highspy"], programs=["joint", "diagonal"], tolerances=[1e-4, 1e-6])
    other: Any = {"programs": ["diagonal", "joint"], "tolerances": [1e-6, 1e-4]}
    assert one == BenchOptions(solvers=["analytic", "highspy"], **other)  # whatever their order is
    # Each once: GLPK_MI and ECOS_BB solve linear programs by the code of their namesakes.
    names = {"highspy": True, "HIGHS": True, "ECOS_BB": True, "SCS": False}
    probed = [SolverInfo(name, usable) for name, usable in names.items()]
    monkeypatch.setattr(sequences, "solvers", lambda: probed)
    assert BenchOptions().solvers == ("analytic", "highspy", "HIGHS")
