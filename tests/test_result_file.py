"""Files of results that are damaged or hostile: each is refused with one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from tests.helpers import refusals, traced_peak
from tests.result_cases import solved

Arrays = dict[str, Any]


def parts(path: Path) -> tuple[Arrays, Arrays]:
    """Return the arrays and the record of a saved result."""
    with np.load(solved("analytic").save(path)) as archive:
        arrays = dict(archive)
    return arrays, json.loads(str(arrays.pop("result")))


def record(name: str, value: object) -> Callable[[Arrays, Arrays], object]:
    return lambda arrays, record: record.update({name: value})


def array(name: str, change: Callable[[np.ndarray], object]) -> Callable[[Arrays, Arrays], object]:
    return lambda arrays, record: arrays.update({name: change(arrays[name])})


def cut(arrays: Arrays, record: Arrays) -> None:
    """Leave a trace without rows."""
    for name, values in arrays.items():
        if name != "metric":
            arrays[name] = values[:0]


def entry(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(values: np.ndarray) -> np.ndarray:
        values.flat[0] = value
        return values

    return change


CASES: dict[str, tuple[Callable[[Arrays, Arrays], object], str]] = {
    "text as objective": (record("objective", "x" * 9), "its objective is 'xxxxxxxxx', not a numb"),
    "infinite objective": (record("objective", -np.inf), "its objective is -inf, not a number"),
    "objective without end": (record("objective", 10**400), "int too large to convert"),
    "truth as seconds": (record("seconds", True), "its seconds is True"),
    "bound of text": (record("lower_bound", "low"), "its lower_bound is 'low'"),
    "NaN bound": (record("lower_bound", np.nan), "its lower_bound is nan"),
    "half an iteration": (record("iterations", 0.5), "its iterations is 0.5, not a whole number"),
    "no components": (record("components", None), "its components is None, not a whole number"),
    "message of numbers": (record("message", [1]), r"its message is \[1\], not a text"),
    "half a character": (record("message", "\ud800"), "surrogates not allowed"),
    "unknown status": (record("status", "great"), "its status is 'great', not one of conv"),
    "unknown field": (record("colour", "red"), "the unknown colour"),
    "no gap": (lambda _, record: record.pop("frank_wolfe_gap"), "it lacks frank_wolfe_gap"),
    "no steps": (lambda arrays, _: arrays.pop("trace/step"), "gdaopt result: .step"),
    "unknown set": (record("feasible_set", {"kind": "round"}), "unknown kind of feasible set"),
    "text as set": (record("feasible_set", "graph"), "is not a saved gdaopt result"),
    "set of other colors": (
        record("feasible_set", gda.SignedGraphMetrics([1, -1], 2.0).record()),
        "colors has 2 entries for 6 features",
    ),
    "no rows": (cut, "the trace has 0 rows"),
    "scalar metric": (array("metric", lambda a: a[0, 0]), r"its metric has shape \(\), for 6 feat"),
    "metric of five": (array("metric", lambda a: a[:5, :5]), r"its metric has shape \(5, 5\)"),
    "metric of text": (array("metric", lambda a: a.astype(str)), "metric holds other than finite"),
    "NaN in the metric": (array("metric", entry(np.nan)), "metric holds other than finite"),
    "scalar column": (array("trace/objective", lambda a: a[0]), ".* of the trace is"),
    "short column": (array("trace/solver", lambda a: a[1:]), "solver of the trace is"),
    "column of text": (array("trace/step", lambda a: a.astype(str)), "step of the trace is"),
    "NaN objective in the trace": (array("trace/objective", entry(np.nan)), "column objective"),
    "block that is not there": (array("trace/block", entry(1e308)), "column block .* 0 to 5"),
    "left-ends of three": (array("left_ends", lambda a: a[:, :3]), "column block .* 0 to 2"),
    "flat left-ends": (array("left_ends", np.ravel), "left_ends of the trace is"),
    "atoms alone": (lambda arrays, _: arrays.update(atoms=np.eye(6)), "do not go together"),
    "iterates of five": (
        lambda arrays, _: arrays.update({"trace/iterates": np.zeros((2, 5, 5))}),
        "iterates of the trace is",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_damaged_ones(name: str, tmp_path: Path) -> None:
    change, message = CASES[name]
    arrays, content = parts(tmp_path / "run.npz")
    change(arrays, content)
    np.savez(tmp_path / "run.npz", result=np.array(json.dumps(content)), **arrays)
    with pytest.raises(gda.errors.InvalidInputError, match=message) as caught:
        gda.Result.load(tmp_path / "run.npz")
    assert f"{tmp_path / 'run.npz'} is not a saved gdaopt result: " in str(caught.value)


def test_more_rows_than_were_measured(tmp_path: Path) -> None:
    """Columns of zeros pack a thousand times, and rows take ten times the memory of columns."""
    arrays, content = parts(tmp_path / "run.npz")
    arrays |= {
        name: np.zeros((200_000, *values.shape[1:]), values.dtype)
        for name, values in arrays.items()
        if name != "metric"
    }
    np.savez_compressed(tmp_path / "run.npz", result=np.array(json.dumps(content)), **arrays)

    def refused() -> None:
        with pytest.raises(
            gda.errors.InvalidInputError, match="too small for 200000 rows of a trace"
        ):
            gda.Result.load(tmp_path / "run.npz")

    assert traced_peak(refused) < 2**27


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format":' * 100_000, "", "1", "[]"])
def test_records_that_are_none(text: str, tmp_path: Path) -> None:
    arrays, _ = parts(tmp_path / "run.npz")
    np.savez(tmp_path / "run.npz", result=np.array(text), **arrays)
    with pytest.raises(gda.errors.InvalidInputError, match="is not a saved gdaopt result"):
        gda.Result.load(tmp_path / "run.npz")


def test_any_damage_is_told_in_one_sentence(tmp_path: Path) -> None:
    """One byte that was missing raised an OSError."""
    path = solved("analytic").save(tmp_path / "run.npz")
    assert len(refusals(path, lambda: gda.Result.load(path), 400)) > 300
