"""What the tests of the command line share: commands run in this process, files, interrupts."""

import errno
import gzip
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.figure import Figure
from scipy.sparse import csr_array
from typer.testing import CliRunner

from gdaopt.cli.app import app
from gdaopt.cli.output import IN_USE
from gdaopt.datasets.svmlight import svmlight_lines
from gdaopt.studies import pictures
from gdaopt.support.validation import FloatArray
from tests.studies.cases import names

IRIS = ("setosa", "versicolor", "virginica")
PICTURES = {"importance.png", "convergence.png", "discs.png", "left_ends.png", "graph.png"}
PAGES = {"report.html", "features.csv", "edges.csv", "result.json"}
PAPER = ("--objective", "glr", "--one-against-rest")
ANALYTIC = ("--method", "alternating", "--solver", "analytic")  # linear programs, fast
ALL_PICTURES = ("convergence", "discs", "left_ends", "time_split", "graph")


def run(*arguments: object, code: int = 0, columns: int = 80) -> str:
    """Run gdaopt, check its exit code, and return its output with runs of white space as one."""
    runner = CliRunner(env={"COLUMNS": str(columns)})
    result = runner.invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    shown = result.stderr if code in (2, IN_USE) else result.stdout
    return " ".join(shown.split())


def learn(*arguments: object, code: int = 0) -> str:
    """Run `gdaopt learn` without the cross-validation, which takes most of its time."""
    return run("learn", *arguments, "--no-accuracy", code=code)


def command(*arguments: object) -> list[str]:
    """Return the command that runs gdaopt in a process of its own."""
    return [sys.executable, "-c", "from gdaopt.cli.app import app; app()", *map(str, arguments)]


def files(*stems: str, samples: str = "samples.csv") -> set[str]:
    """Return the files of a run whose metrics have these file names."""
    endings = (".npz", ".joblib", "-metric.csv", "-trace.csv")
    of_metrics = {f"{stem}{end}" for stem in stems for end in endings}
    return of_metrics | PICTURES | PAGES | {"study.json", "tasks", samples}


def record(folder: Path) -> dict[str, Any]:
    """Return result.json, strictly read: NaN and Infinity are no JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in result.json")

    text = (folder / "result.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return content


def unmeasured(record: dict[str, Any]) -> dict[str, Any]:
    """Return what result.json holds without seconds, and digests of files that hold them."""
    metrics = {
        name: {
            key: value
            for key, value in entry.items()
            if "seconds" not in key and key != "peak_memory"
        }
        for name, entry in record["metrics"].items()
    }
    return {**record, "metrics": metrics, "files": [*record["files"]]}


def content(folder: Path) -> dict[str, bytes]:
    paths = [folder / name for name in names(folder)]
    return {path.name: path.read_bytes() for path in paths if path.is_file()}


def write_svmlight(path: Path, features: FloatArray, labels: npt.NDArray[np.str_]) -> Path:
    """Write samples as an svmlight file, whose classes are 1, 2, … in their order."""
    codes = np.unique(labels, return_inverse=True)[1] + 1
    text = "".join(svmlight_lines(csr_array(features), codes.astype(np.str_)))
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def sparse_words(n_features: int) -> tuple[FloatArray, npt.NDArray[np.str_]]:
    """Return 14 samples with many zeros, of the classes -1 and 1."""
    rng = np.random.default_rng(3)
    labels = np.tile(["-1", "1"], 7)
    X = rng.integers(1, 9, (14, n_features)) / 8 * (rng.random((14, n_features)) < 0.5)
    X[:, :5] += (labels == "1")[:, None]
    return X, labels


@contextmanager
def _at_call(calls: int, target: object, name: str, act: Callable[[], object]) -> Iterator[None]:
    """Let something happen in that call of a function of a class or module."""
    count = 0
    original: Callable[..., Any] = getattr(target, name)

    def called(*args: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count == calls:
            act()
        return original(*args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target, name, called)
        yield


def _press_ctrl_c() -> None:
    raise KeyboardInterrupt


def interrupt(calls: int, target: object, name: str) -> AbstractContextManager[None]:
    """Press Ctrl-C in that call of a function."""
    return _at_call(calls, target, name, _press_ctrl_c)


@contextmanager
def full_disk(calls: int, target: object, name: str) -> Iterator[None]:
    """Leave no room on the disk from that call of a function on."""

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with (
        pytest.MonkeyPatch.context() as patch,
        _at_call(calls, target, name, lambda: patch.setattr(os, "fsync", full)),
    ):
        yield


@contextmanager
def undrawn(*but: str) -> Iterator[None]:
    """Leave pictures blank, where their names are all that counts: they take most of the time."""

    def blank(runs: Sequence[pictures.Run], title: str) -> Figure:
        return Figure(figsize=(1, 1))

    blanks = {name: blank for name in pictures.PICTURES if name not in but}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "PICTURES", {**pictures.PICTURES, **blanks})
        yield
