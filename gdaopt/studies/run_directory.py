"""The directory that a learning run writes: results, traces, pictures, and the options."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from itertools import chain, count
from pathlib import Path
from typing import Any

from gdaopt.datasets import Dataset
from gdaopt.errors import InvalidInputError
from gdaopt.io import write_text
from gdaopt.result import Result
from gdaopt.studies.learning import summary
from gdaopt.studies.pictures import Run, picture_names, write_pictures
from gdaopt.studies.saved_runs import FORMAT, RECORD, read_record
from gdaopt.studies.versions import versions

__all__ = ["RunDirectory"]

_LONGEST_STEM = 50  # characters: file systems allow 255 bytes, endings included
_PICTURES = ("convergence", "discs", "left_ends", "graph")


class RunDirectory:
    """A directory for the results of one data set, written class by class.

    Parameters
    ----------
    path : path-like
        Created when it is missing, with its parents.
    dataset : Dataset
        What is learned from.
    options : mapping
        The options of the run, kept in ``result.json``.
    force : bool, optional
        Allow a directory that holds files: those of the same names are replaced, those of an
        earlier run are removed once the new run is finished, and all others stay.

    Raises
    ------
    InvalidInputError
        When the directory holds files and `force` is off, or when it cannot be written to.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        dataset: Dataset,
        options: Mapping[str, Any],
        *,
        force: bool = False,
    ) -> None:
        self.path = Path(path)
        self._dataset = dataset
        self._options = dict(options)
        self._results: dict[str, Result] = {}
        self._stems = _file_stems(dataset.classes)
        _prepare(self.path, force)
        self._stale = _files_of_earlier_run(self.path)

    def add(self, name: str, result: Result) -> None:
        """Write a class's result and trace, and note them in ``result.json``."""
        self._results[name] = result
        stem = self._stems[name]
        result.save(self.path / f"{stem}.npz")
        result.trace.to_csv(self.path / f"{stem}-trace.csv")
        self._write_record()

    def finish(self) -> None:
        """Draw the pictures; remove the files of an earlier run that this one did not replace."""
        runs = [
            Run(
                name=name,
                problem=name,
                result=result,
                feature_names=self._dataset.feature_names,
            )
            for name, result in self._results.items()
        ]
        title = f"{self._dataset.name}: each class against the rest"
        write_pictures(runs, self.path, title, names=_PICTURES, replace=True)
        for file in self._stale - set(self._files()):
            (self.path / file).unlink(missing_ok=True)
        self._stale = set()
        self._write_record()

    def _files(self) -> list[str]:
        """Return the names of the files of this run."""
        stems = [self._stems[name] for name in self._results]
        files = [f"{stem}{end}" for stem in stems for end in (".npz", "-trace.csv")]
        return [*files, *picture_names(_PICTURES), RECORD]

    def _write_record(self) -> None:
        write_text(self.path / RECORD, json.dumps(self._record(), indent=2, ensure_ascii=False))

    def _record(self) -> dict[str, Any]:
        """Return what ``result.json`` holds."""
        files = self._files()
        stems = self._stems
        return {
            "format": FORMAT,
            "dataset": self._dataset.name,
            "samples": len(self._dataset.labels),
            "features": list(self._dataset.feature_names),
            "options": self._options,
            "classes": {
                name: {"file": f"{stems[name]}.npz", "trace": f"{stems[name]}-trace.csv"}
                | summary(result)
                for name, result in self._results.items()
            },
            # The files of an earlier run are on the list until this run has finished.
            "files": [*files, *sorted(self._stale - set(files))],
            "versions": versions(),
        }


def _prepare(path: Path, force: bool) -> None:
    """Create the directory, and make sure that it can be written to before any work starts."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()) and not force:
            raise InvalidInputError(
                f"{path} already holds files; pass --force to replace an earlier run, "
                "or another --out"
            )
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise InvalidInputError(f"cannot write to {path}: {error}; choose another --out") from error


def _file_stems(classes: Iterable[str]) -> dict[str, str]:
    """Return a file name for each class: its label where that is one, and no name twice.

    Names that differ in case only count as the same, as on many file systems.

    Examples
    --------
    >>> _file_stems(["setosa", "a/b", "a b", "..", "A_B"])
    {'setosa': 'setosa', 'a/b': 'a_b', 'a b': 'a_b-2', '..': 'class', 'A_B': 'A_B-3'}
    """
    stems: dict[str, str] = {}
    taken: set[str] = set()
    for name in classes:
        safe = re.sub(r"[^\w.+-]+", "_", name).lstrip(".")[:_LONGEST_STEM] or "class"
        candidates = chain([safe], (f"{safe}-{number}" for number in count(2)))
        stems[name] = next(stem for stem in candidates if stem.casefold() not in taken)
        taken.add(stems[name].casefold())
    return stems


def _files_of_earlier_run(path: Path) -> set[str]:
    """Return the names of the files that an earlier run says it wrote, none outside of `path`."""
    record = read_record(path)
    files = [] if record is None else record.get("files")
    return {Path(str(name)).name for name in files} if isinstance(files, list) else set()
