"""The directory that a learning run writes: results, traces, pictures, and the options."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, count
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.sparse import triu

from gdaopt.datasets import Dataset
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.samples import is_sparse
from gdaopt.result import Result
from gdaopt.scaling import feature_scales
from gdaopt.studies.learning import summary
from gdaopt.studies.pictures import picture_names, write_pictures
from gdaopt.studies.saved_runs import (
    FORMAT,
    RECORD,
    read_record,
    read_runs,
    samples_file,
    write_samples,
)
from gdaopt.studies.study_directory import content, sole_writer, versions
from gdaopt.support.files import write_text
from gdaopt.support.validation import as_path

PICTURES = {
    "convergence": "the objective over the steps, and its gap to a lower bound",
    "graph": "which features a metric joins, and how strongly",
    "discs": "the Gershgorin discs of a metric, raw and aligned",
    "left_ends": "the left-ends of these discs over the steps",
}
"""The pictures of a run, and what they show."""

_TRACE = "-trace.csv"
_METRIC = "-metric.csv"


class RunDirectory:
    """A directory for the results of one data set, written class by class.

    Its ``with`` block goes on with a run of the same data, options and versions. With `force` it
    begins anew: files of an earlier run go when this one is finished, and all other files stay.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        dataset: Dataset,
        options: Mapping[str, Any],
        *,
        force: bool = False,
    ) -> None:
        self.path = as_path("path", path)
        self.results: dict[str, Result] = {}
        self._dataset = dataset
        self._options = dict(options)
        self._force = force
        self._stems = file_stems(dataset.classes)
        self._stale: dict[str, str] = {}
        self._accuracy: dict[str, float] | None = None
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as held:
            held.enter_context(sole_writer(self.path))
            if content(self.path):
                self._look()
            self._write_record()  # first: it says that the files beside it are ours
            write_samples(self.path, self._dataset)
            self._held = held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def add(self, name: str, result: Result) -> None:
        """Write a class's result, metric and trace, and note them in ``result.json``."""
        stem = self._stems[name]
        result.save(self.path / f"{stem}.npz")
        result.trace.to_csv(self.path / f"{stem}{_TRACE}")
        metric = _metric_text(result, self._dataset.feature_names)
        write_text(self.path / f"{stem}{_METRIC}", metric)
        results = {**self.results, name: result}
        self.results = {name: results[name] for name in self._dataset.classes if name in results}
        self._write_record()

    def finish(self, accuracy: Mapping[str, float] | None = None) -> None:
        """Draw the pictures, note the accuracy, and remove files of an earlier run."""
        self._accuracy = None if accuracy is None else dict(accuracy)
        runs = read_runs([self.path])
        title = f"{self._dataset.name}: each class against the rest"
        write_pictures(runs, self.path, title, names=PICTURES, replace=True)
        for name in self._stale.keys() - set(self._files()):
            if _digest(self.path / name) == self._stale[name]:
                (self.path / name).unlink(missing_ok=True)
        self._stale = {}
        self._write_record()

    def _look(self) -> None:
        record = read_record(self.path)
        self._stale = _files_of_earlier_run(self.path, record)
        if self._force:
            return
        identity = json.loads(json.dumps(self._identity()))
        if record is None or not identity.items() <= record.items():
            raise InvalidInputError(
                f"{self.path} already holds files; pass --force to replace an earlier run, "
                "or another --out"
            )
        for name in filter(record["classes"].__contains__, self._dataset.classes):
            try:
                result = Result.load(self.path / f"{self._stems[name]}.npz")
            except (InvalidInputError, OSError):
                continue
            if result.status != "interrupted":
                self.results[name] = result

    def _files(self) -> list[str]:
        stems = [self._stems[name] for name in self.results]
        files = [f"{stem}{end}" for stem in stems for end in (".npz", _METRIC, _TRACE)]
        return [*files, *picture_names(PICTURES), samples_file(self._dataset)]

    def _write_record(self) -> None:
        write_text(self.path / RECORD, json.dumps(self._record(), indent=2, ensure_ascii=False))

    def _identity(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "dataset": self._dataset.name,
            "data_sha256": self._dataset.sha256,
            "samples": len(self._dataset.labels),
            "features": list(self._dataset.feature_names),
            "scaling": self._scaling(),
            "options": self._options,
            "versions": versions(),
        }

    def _scaling(self) -> dict[str, list[float | None] | None]:
        """Return means, none of sparse samples, and spreads, null for constant features."""
        features = self._dataset.features
        means, spreads = feature_scales(features, self._options["scale"])
        spread = [number if math.isfinite(number) else None for number in spreads.tolist()]
        return {"means": None if is_sparse(features) else means.tolist(), "spreads": spread}

    def _record(self) -> dict[str, Any]:
        stems = self._stems
        return {
            **self._identity(),
            "samples_file": samples_file(self._dataset),
            "classes": {
                name: {
                    "file": f"{stems[name]}.npz",
                    "metric": f"{stems[name]}{_METRIC}",
                    "trace": f"{stems[name]}{_TRACE}",
                }
                | summary(result)
                for name, result in self.results.items()
            },
            "accuracy": self._accuracy,
            # With their SHA-256; those of an earlier run until this one has finished.
            "files": {**self._stale, **{name: _digest(self.path / name) for name in self._files()}},
        }


def _metric_text(result: Result, names: Sequence[str]) -> str:
    """Return a metric as a table of K rows and columns, or, of many features, as its entries."""
    if result.features is None:
        table = pd.DataFrame(result.metric, index=list(names), columns=list(names))
        return table.to_csv(index_label="feature")
    upper = triu(result.sparse_metric).tocoo()
    rows, columns = (np.array(names)[places] for places in upper.coords)
    entries = {"feature": rows, "other feature": columns, "entry": upper.data}
    return pd.DataFrame(entries).to_csv(index=False)


def _files_of_earlier_run(path: Path, record: Mapping[str, Any] | None) -> dict[str, str]:
    files = {} if record is None else record.get("files")
    if not isinstance(files, dict):  # of another program
        return {}
    digests = {name: said for name, said in files.items() if said and Path(name).name == name}
    return {name: said for name, said in digests.items() if _digest(path / name) == said}


def _digest(file: Path) -> str | None:
    try:
        if file.is_symlink() or not file.is_file():
            return None
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except (OSError, ValueError):  # a ValueError: names that no file can have
        return None


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
