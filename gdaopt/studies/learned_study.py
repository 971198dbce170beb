"""The study of `gdaopt learn`: a task for each class, and the files that people read."""

from __future__ import annotations

import json
import math
import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import triu

from gdaopt.datasets import Dataset
from gdaopt.linalg.samples import is_sparse
from gdaopt.methods import Method, State
from gdaopt.result import Result
from gdaopt.scaling import feature_scales
from gdaopt.studies.learning import LearningOptions, solve_task
from gdaopt.studies.pictures import picture_names, write_pictures
from gdaopt.studies.runner import Task, run_here
from gdaopt.studies.saved_runs import make_runs, samples_file, write_samples
from gdaopt.studies.study_directory import (
    Study,
    StudyDirectory,
    file_digest,
    sole_writer,
    task_key,
    versions,
)
from gdaopt.support.files import parse_json, write_text

PICTURES = {
    "convergence": "the objective over the steps, and its gap to a lower bound",
    "graph": "which features a metric joins, and how strongly",
    "discs": "the Gershgorin discs of a metric, raw and aligned",
    "left_ends": "the left-ends of these discs over the steps",
}
"""The pictures of a run, and what they show."""

REPORT = "result.json"
"""All numbers of a run, for people, and its files with their SHA-256."""

_TRACE = "-trace.csv"
_METRIC = "-metric.csv"


class Learning(Study):
    """A directory with a metric for each class, learned in this process.

    It goes on with a run of the same data, options and versions. With `force` it begins anew: files
    of an earlier run go when this one is finished, and all other files stay. `asked` is how the
    data were read, and what was asked of the method beyond its defaults. `runs` has, after `run`,
    the row and the result of each class.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        dataset: Dataset,
        options: LearningOptions,
        method: Method,
        asked: Mapping[str, Any],
        *,
        force: bool = False,
        on_state: Callable[[str, State], None] | None = None,
    ) -> None:
        self._dataset, self._options = dataset, options
        self._stems = file_stems(dataset.classes)
        self.tasks: dict[str, Task] = {}
        for name in options.classes(dataset):
            about = {"class": name, "method": method.name, "options": ""}
            if on_state is not None:
                method = replace(method, callback=partial(on_state, name))
            self.tasks[task_key(name)] = Task(
                solve_task,
                (dataset, options, name, method),
                {**about, "solver": method.solver_name},
                (".npz",),
                self._stems[name],
            )
        said = {
            "samples_file": samples_file(dataset),
            **options.record(dataset),
            **asked,
            "method": method.name,
            "solver": method.solver_name,
            "tolerance": method.tolerance,
            **versions(),
        }
        remedy = "pass --force to replace an earlier run, or choose another --out"
        self._directory = StudyDirectory(path, "learn", said, replace=force, remedy=remedy)
        self.runs: dict[str, tuple[Mapping[str, Any], Result]] = {}

    def label(self, key: str) -> str:
        """Return the class of a task."""
        return str(self.tasks[key].about["class"])

    def run(
        self,
        progress: Callable[[str, Result | None], object],
        measure: Callable[[Collection[Result]], Mapping[str, float] | None],
    ) -> None:
        """Learn the classes that are missing, and write all files.

        `progress` is called with a class when it is begun, and with its result when it is there;
        `measure` returns an accuracy to note.
        """
        with sole_writer(self.path):
            stale = _unchanged_files(self.path)
            write_samples(self.path, self._dataset)
            for key, row in self._directory.rows(self.tasks).items():
                self._write_files(row["class"], self._add(key, row), only_missing=True)
            self._write_report(stale)

            def note(key: str, _: int, __: int, row: Mapping[str, Any] | None) -> None:
                name = self.label(key)
                if row is None:
                    progress(name, None)
                    return
                result = self._add(key, row)
                self._write_files(name, result)
                self._write_report(stale)
                progress(name, result)

            run_here(self._directory, self.tasks, note)
            accuracy = measure([result for _, result in self.runs.values()])
            runs = make_runs(self._directory.options, self.runs.values())
            title = f"{self._dataset.name}: each class against the rest"
            write_pictures(runs, self.path, title, names=PICTURES, replace=True)
            for name in stale.keys() - set(self._files()):
                if file_digest(self.path / name) == stale[name]:
                    (self.path / name).unlink(missing_ok=True)
            self._write_report({}, accuracy)

    def _add(self, key: str, row: Mapping[str, Any]) -> Result:
        result = Result.load(self.path / f"{self.tasks[key].stem}.npz")
        runs = {**self.runs, row["class"]: (row, result)}
        self.runs = {name: runs[name] for name in map(self.label, self.tasks) if name in runs}
        return result

    def _write_files(self, name: str, result: Result, only_missing: bool = False) -> None:
        """Write a class's trace and metric."""
        trace, metric = (self.path / f"{self._stems[name]}{end}" for end in (_TRACE, _METRIC))
        if not (only_missing and trace.exists()):
            result.trace.to_csv(trace)
        if not (only_missing and metric.exists()):
            write_text(metric, _metric_text(result, self._dataset.feature_names))

    def _files(self) -> list[str]:
        stems = [self._stems[name] for name in self.runs]
        files = [f"{stem}{end}" for stem in stems for end in (".npz", _METRIC, _TRACE)]
        return [*files, *picture_names(PICTURES), samples_file(self._dataset)]

    def _write_report(
        self, stale: Mapping[str, str], accuracy: Mapping[str, float] | None = None
    ) -> None:
        endings = {"file": ".npz", "metric": _METRIC, "trace": _TRACE}
        classes = {
            name: {kind: f"{self._stems[name]}{end}" for kind, end in endings.items()} | dict(row)
            for name, (row, _) in self.runs.items()
        }
        report = {
            **self._directory.options,
            "scaling": self._scaling(),
            "classes": classes,
            "accuracy": accuracy,
            # With their SHA-256; those of an earlier run until this one has finished.
            "files": {**stale, **{name: file_digest(self.path / name) for name in self._files()}},
        }
        write_text(self.path / REPORT, json.dumps(report, indent=2, ensure_ascii=False))

    def _scaling(self) -> dict[str, list[float | None] | None]:
        """Return means, none of sparse samples, and spreads, null for constant features."""
        features = self._dataset.features
        means, spreads = feature_scales(features, self._options.scale)
        spread = [number if math.isfinite(number) else None for number in spreads.tolist()]
        return {"means": None if is_sparse(features) else means.tolist(), "spreads": spread}


def _unchanged_files(path: Path) -> dict[str, str]:
    """Return the files of an earlier report with their SHA-256, where they still have it."""
    try:
        files = parse_json((path / REPORT).read_text(encoding="utf-8"))["files"].items()
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    said = {name: digest for name, digest in files if digest and Path(name).name == name}
    return {name: digest for name, digest in said.items() if file_digest(path / name) == digest}


def _metric_text(result: Result, names: Sequence[str]) -> str:
    """Return a metric as a table of K rows and columns, or, of many features, as its entries."""
    if result.features is None:
        table = pd.DataFrame(result.metric, index=list(names), columns=list(names))
        return table.to_csv(index_label="feature")
    upper = triu(result.sparse_metric).tocoo()
    rows, columns = (np.array(names)[places] for places in upper.coords)
    entries = {"feature": rows, "other feature": columns, "entry": upper.data}
    return pd.DataFrame(entries).to_csv(index=False)


_LONGEST = 50  # characters: file systems allow 255 bytes, endings included

# Windows takes these for devices, whatever follows a dot.
_PORTS = {f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³"}
_DEVICES = {"aux", "con", "nul", "prn"} | _PORTS


def file_stems(labels: Iterable[str]) -> dict[str, str]:
    """Return a file name for each label that all file systems take; they confuse no two of them."""
    stems: dict[str, str] = {}
    taken: set[str] = set()
    for label in labels:
        safe = _safe(label)
        candidates = chain([safe], (f"{safe}-{number}" for number in count(2)))
        stems[label] = next(stem for stem in candidates if _fold_name(stem) not in taken)
        taken.add(_fold_name(stems[label]))
    return stems


def _safe(label: str) -> str:
    letters = re.sub(r"[^\w.+-]+", "_", unicodedata.normalize("NFC", label))
    name = letters.lstrip(".")[:_LONGEST].rstrip(".") or "class"
    return f"_{name}" if name.partition(".")[0].casefold() in _DEVICES else name


def _fold_name(name: str) -> str:
    """Return what is equal for names that a file system may take for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKD", name).casefold())
