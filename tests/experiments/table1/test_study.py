"""The study in its directory: its files, how it grows, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

import gdaopt as gda
from gdaopt.datasets import Dataset
from table1.protocol import Protocol
from table1.study import Part, Table1
from tests.experiments.table1.cases import FILES, clouds, names
from tests.studies.cases import InProcess


def parts(*rows: str, n_seeds: int = 1) -> list[Part]:
    return [Part(clouds(), row, n_seeds) for row in rows]


def test_files(tmp_path: Path) -> None:
    study = Table1(tmp_path / "new" / "out", parts("euclidean", "gmml"), Protocol())
    found = study.run(InProcess())
    assert names(study.path) == FILES
    assert found.rows == ["gmml", "euclidean"]
    frame = pd.read_parquet(study.path / "table1.parquet")
    assert frame.attrs["protocol"]["scaling"] == "train"
    image = imread(study.path / "table1.png")
    assert image[..., :3].std() > 0.05


def test_it_grows(tmp_path: Path) -> None:
    first = Table1(tmp_path / "a", parts("euclidean"), Protocol())
    first.run(InProcess())
    kept = {path.name: path.stat().st_mtime_ns for path in (first.path / "tasks").iterdir()}
    headline = Protocol(aggregation="score")
    grown = Table1(tmp_path / "a", parts("gmml", "euclidean", n_seeds=3), headline)
    assert (grown.n_done, len(grown.tasks)) == (2, 12)
    grown.run(InProcess())
    tasks = {path.name: path.stat().st_mtime_ns for path in (first.path / "tasks").iterdir()}
    assert {name: tasks[name] for name in kept} == kept
    fresh = Table1(tmp_path / "b", parts("gmml", "euclidean", n_seeds=3), headline)
    fresh.run(InProcess())
    same = [(study.path / "table1.parquet").read_bytes() for study in (grown, fresh)]
    assert same[0] == same[1]


def test_seeds_come_one_after_the_other(tmp_path: Path) -> None:
    study = Table1(tmp_path, parts("euclidean", "gmml", n_seeds=2), Protocol())
    assert [task.about["seed"] for task in study.tasks.values()] == [0] * 4 + [1] * 4
    assert study.label(next(iter(study.tasks))) == "euclidean on clouds, seed 0, fold 0"


def test_another_protocol_is_refused(tmp_path: Path) -> None:
    Table1(tmp_path, parts("euclidean"), Protocol())
    with pytest.raises(gda.errors.InvalidInputError, match='scaling is "train" there and "halves"'):
        Table1(tmp_path, parts("euclidean"), Protocol(scaling="halves"))


def test_a_failing_row_is_shown(tmp_path: Path) -> None:
    """Five neighbours of four samples."""
    small = [Part(clouds(2, each=4), row, 1) for row in ("euclidean", "gmml")]
    found = Table1(tmp_path, small, Protocol()).run(InProcess())
    assert [len(part.failed) for part in found.blocks] == [2, 2]
    text = (tmp_path / "table1.md").read_text()
    assert "failed (2 tasks)" in text
    assert "* euclidean on clouds, seed 0, fold 0: failed: ValueError: Expected n_neighb" in text


def test_classes_that_are_too_small(tmp_path: Path) -> None:
    data = Dataset("bad", np.eye(3), np.array(["a", "a", "b"]), ("x", "y", "z"))
    with pytest.raises(gda.errors.InvalidInputError, match="has 1 sample of class 'b'"):
        Table1(tmp_path / "new", [Part(data, "euclidean", 1)], Protocol())
    assert names(tmp_path) == set()


def test_nothing_to_run(tmp_path: Path) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match="nothing to run: lmnn: why"):
        Table1(tmp_path, [], Protocol(), left_out=["lmnn: why"])
    with pytest.raises(gda.errors.InvalidInputError, match="seeds must be at least 1, got 0"):
        Part(clouds(), "euclidean", 0)
