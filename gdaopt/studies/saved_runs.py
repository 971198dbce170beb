"""Reading the runs that `gdaopt learn`, `gdaopt compare` or `Result.save` wrote."""

from __future__ import annotations

import csv
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gdaopt.datasets import Dataset
from gdaopt.datasets.svmlight import is_svmlight, read_numbered, svmlight_lines
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.samples import is_sparse
from gdaopt.result import Result
from gdaopt.studies.comparison_table import name_among
from gdaopt.studies.pictures import Run
from gdaopt.studies.study_directory import RECORD, read_study
from gdaopt.support.files import npz_path, write_text
from gdaopt.support.validation import as_path

# Options that, beside class and feasible set, make two problems different.
_PROBLEM = ("data_sha256", "samples", "scale", "objective", "constraints", "edge_floor")


def read_runs(paths: Iterable[str | os.PathLike[str]]) -> list[Run]:
    """Return the runs saved in directories and files, at least one for each.

    They are named as by `make_runs`, those of files after their file; with several directories the
    directory comes first.
    """
    read = [as_path("path", path) for path in paths]
    prefixes = _prefixes(read)
    return [run for path, prefix in zip(read, prefixes, strict=True) for run in _read(path, prefix)]


def _prefixes(paths: list[Path]) -> list[str]:
    if len(paths) == 1:
        return [""]
    names = [path.resolve().name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    return [f"{name}: " for name in names]


def _read(path: Path, prefix: str) -> list[Run]:
    file = path if path.is_file() else npz_path(path)
    if file.is_file() and not path.is_dir():
        name = prefix.removesuffix(": ").removesuffix(".npz") or file.stem
        return [_of_file(file, name)]
    if not path.is_dir():
        raise InvalidInputError(f"there is no directory or file {path}")
    runs = (
        _read_study(path, prefix) if (path / RECORD).exists() else _read_loose_files(path, prefix)
    )
    if not runs:
        raise InvalidInputError(
            f"{path} holds no results: no {RECORD} of gdaopt learn or gdaopt compare with rows, "
            "and no npz file that Result.save wrote"
        )
    return runs


def _read_study(path: Path, prefix: str) -> list[Run]:
    try:
        options, entries = read_study(path)
        read = [
            (entry["row"], Result.load(path / file))
            for entry in entries
            for file in entry["files"]
            if "objective" in entry["row"] and file.endswith(".npz")
        ]
        return make_runs(options, read, prefix)
    except InvalidInputError:
        raise
    except (LookupError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"what {path / RECORD} lists is damaged: {error!r}; remove it to read the npz files "
            "beside it"
        ) from error


def make_runs(
    options: Mapping[str, Any], read: Iterable[tuple[Mapping[str, Any], Result]], prefix: str = ""
) -> list[Run]:
    """Return the runs of a study from its options, rows and results.

    Those of learn are named after their class, those of compare after their method, and solver
    if several differ in it alone.
    """
    read = list(read)
    rows = [row for row, _ in read]
    is_learned = options["study"] == "learn"
    several = len(options["classes"]) > 1
    # Learn has the edge floor among its own options, and 0 stands for none.
    problem = tuple(options.get(name) or None for name in _PROBLEM)
    hash(problem)  # refuses a list in place of a value
    features = options.get("features")
    if features is not None and any(len(features) != result.n_features for _, result in read):
        raise ValueError(f"{len(features)} names of features")
    return [
        Run(
            name=prefix + (row["class"] if is_learned else name_among(row, rows)),
            problem=(*problem, row["class"], result.feasible_set),
            result=result,
            feature_names=None if features is None else tuple(map(str, features)),
            group=row["class"] if several and not is_learned else "",
        )
        for row, result in read
    ]


def _of_file(path: Path, name: str) -> Run:
    """Return the run of a file; its problem is told by its set and by Q in the middle of it."""
    result = Result.load(path)
    problem: tuple[Hashable, ...] = (str(path.resolve()),)
    if result.central_objective is not None:
        value = f"{result.central_objective:.9e}"  # methods differ in the last digits
        problem = (result.feasible_set, result.n_features, result.constraints, value)
    return Run(name=name, problem=problem, result=result)


def _read_loose_files(path: Path, prefix: str) -> list[Run]:
    runs = []
    for file in sorted(path.glob("*.npz")):
        try:
            runs.append(_of_file(file, f"{prefix}{file.stem}"))
        except (InvalidInputError, OSError):
            continue  # another program wrote this npz file
    return runs


def samples_file(dataset: Dataset) -> str:
    """Return the name of the file with the samples that a run has learned from."""
    return "samples.svmlight" if is_sparse(dataset.features) else "samples.csv"


def write_samples(folder: Path, dataset: Dataset) -> None:
    """Write the samples of a data set, not scaled, to the last bit."""
    path = folder / samples_file(dataset)
    if is_sparse(dataset.features):
        lines = svmlight_lines(dataset.features, dataset.labels, int(dataset.feature_names[0]))
        write_text(path, "".join(lines))
        return
    table = pd.DataFrame(dataset.features, columns=list(dataset.feature_names))
    table.insert(len(table.columns), "label", dataset.labels, allow_duplicates=True)
    write_text(path, table.to_csv(index=False))


def read_samples(path: Path, name: str, feature_names: Sequence[str]) -> Dataset:
    """Read what `write_samples` wrote; the name of the data set and its features are not in it."""
    if is_svmlight(path):
        return Dataset(name, *read_numbered(path, feature_names), tuple(feature_names))
    with path.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    features = [[float(text) for text in row[:-1]] for row in rows]
    return Dataset(
        name, np.array(features), np.array([row[-1] for row in rows]), tuple(feature_names)
    )
