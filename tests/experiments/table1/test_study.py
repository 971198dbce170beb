"""The classification study: how it goes on, what it refuses, and that every row runs."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gdaopt as gda
from experiments.table1.frames import score_frame
from experiments.table1.outcome import Outcome
from experiments.table1.protocol import Protocol
from experiments.table1.rows import DEFAULT, available
from experiments.table1.study import Part, measure
from gdaopt.datasets import Dataset, load
from gdaopt.studies.task_workers import TaskWorkers
from tests.experiments.table1.cases import clouds
from tests.studies.cases import InProcess


def measured(folder: Path, *rows: str, n_seeds: int = 1, most: int | None = None) -> Outcome:
    parts = [Part(clouds(), row, n_seeds) for row in rows]
    return measure(folder, parts, Protocol(), InProcess(most=most))


def tasks(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (folder / "tasks").iterdir()}


def test_it_goes_on_and_grows(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        measured(tmp_path / "a", "euclidean", most=1)
    first = tasks(tmp_path / "a")
    assert len(first) == 1
    grown = measured(tmp_path / "a", "gmml", "euclidean", n_seeds=3)
    fresh = measured(tmp_path / "b", "gmml", "euclidean", n_seeds=3)
    assert len(tasks(tmp_path / "a")) == 12
    assert first.items() <= tasks(tmp_path / "a").items()
    pd.testing.assert_frame_equal(score_frame(grown), score_frame(fresh))
    parts = [Part(clouds(), "euclidean", 1)]
    with pytest.raises(gda.errors.InvalidInputError, match='scaling is "train" there'):
        measure(tmp_path / "a", parts, Protocol(scaling="halves"), InProcess())


def test_a_class_of_one_sample_is_refused(tmp_path: Path) -> None:
    data = Dataset("bad", np.eye(3), np.array(["a", "a", "b"]), ("x", "y", "z"))
    with pytest.raises(gda.errors.InvalidInputError, match="has 1 sample of class 'b'"):
        measure(tmp_path, [Part(data, "euclidean", 1)], Protocol(), InProcess())
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_every_row_runs(tmp_path: Path) -> None:
    """All rows on two seeds of the fastest data set, by processes of their own."""
    rows, _ = available(DEFAULT)
    parts = [Part(load("iris"), row, 2) for row in rows]
    frame = score_frame(measure(tmp_path, parts, Protocol(), TaskWorkers()))
    assert frame["error"].notna().all()
    assert set(frame["row"]) == set(rows)
    assert (frame.loc[frame["row"] != "gmml", "error"] < 15).all()
