"""The commands that are attacked, how they are run, and what they leave when nothing disturbs."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import gdaopt as gda
from tests.attacks.command import ENDED
from tests.cli.cases import unmeasured

ROOT = Path(__file__).parent.parent.parent

COMMANDS = {
    "learn": ("learn", "iris", "--method", "alternating", "--solver", "analytic"),
    "compare": (
        *("compare", "iris", "--positive", "setosa", "--jobs", "2", "--trace-every", "0"),
        *("--methods", "certified,joint:solver=analytic:max_iterations=5"),
    ),
    "bench": (
        *("bench", "--data", "random", "--sizes", "5", "--programs", "diagonal", "--most", "3"),
        *("--solvers", "highspy", "--starts", "hot", "--tolerances", "1e-6", "--runs", "none"),
    ),
}
"""Commands that take seconds, without the directory."""


LONGEST = "bench"
"""A command that is made of parts of the others, and takes as long as all of them."""


@dataclass(frozen=True)
class Undisturbed:
    """A run of a command that nothing disturbed: what it left, its seconds, its operations."""

    tables: dict[str, Any]
    names: set[str]
    seconds: float
    operations: int


def start(name: str, out: Path, number: int = 0) -> subprocess.Popen[str]:
    """Start a command, to be killed at an operation on files; with 0 at none."""
    place = out.parent  # so that the directory itself counts
    command = (sys.executable, "-m", "tests.attacks.command", place, number, *COMMANDS[name])
    return subprocess.Popen(
        [*map(str, command), "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "COLUMNS": "100"},
    )


def finish(name: str, out: Path) -> str:
    """Run a command to its end, in which it has to succeed without a word on stderr."""
    with start(name, out) as process:
        output, error = process.communicate(timeout=300)
    assert (process.returncode, error) == (0, ""), (process.returncode, output, error)
    return output


@cache
def undisturbed(name: str) -> Undisturbed:
    """Run a command alone."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        begun = time.monotonic()
        output = finish(name, out)
        seconds = time.monotonic() - begun
        operations = int(output.rpartition(ENDED)[2])
        return Undisturbed(tables(name, out), names(out), seconds, operations)


def names(out: Path) -> set[str]:
    """Return the names of all files, hidden ones too, but not the lock's."""
    return {str(path.relative_to(out)) for path in out.rglob("*")} - {".gdaopt.lock"}


def tables(name: str, out: Path) -> dict[str, Any]:
    """Return what a command has found, without seconds and memory."""
    if name == "learn":
        content = json.loads((out / "result.json").read_text(encoding="utf-8"))
        metrics = {path.stem: _metric(path) for path in out.glob("*.npz")}
        return {"record": unmeasured(content), "metrics": metrics}
    frames = {path.name: pd.read_parquet(path) for path in sorted(out.glob("*.parquet"))}
    found: dict[str, Any] = {
        stem: frame[
            [
                c
                for c in map(str, frame)
                if "seconds" not in c and not c.endswith("spread") and c != "peak_memory"
            ]
        ].to_csv()
        for stem, frame in frames.items()
    }
    if name == "bench":
        return found | {path.stem: path.read_bytes() for path in out.glob("tasks/*.npz")}
    return found | {path.stem: _metric(path) for path in out.glob("tasks/*.npz")}


def _metric(path: Path) -> bytes:
    return np.ascontiguousarray(gda.Result.load(path).metric).tobytes()
