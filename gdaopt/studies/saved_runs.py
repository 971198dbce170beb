"""Reading the runs that `gdaopt learn`, `gdaopt compare` or `Result.save` wrote."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
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
from gdaopt.studies.study_directory import read_study
from gdaopt.support.files import npz_path, parse_json, write_text
from gdaopt.support.validation import as_path

RECORD = "result.json"  # in which a learning run says what it wrote
FORMAT = 2  # of that file

# The options that, beside data, class and feasible set, make two problems different.
_PROBLEM = ("scale", "edge_floor")


def read_record(folder: Path) -> dict[str, Any] | None:
    """Return the content of ``result.json``; None where gdaopt wrote no such file."""
    try:
        record = parse_json((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    ours = isinstance(record, dict) and isinstance(record.get("format"), int)
    return record if ours and isinstance(record.get("classes"), dict) else None


def read_runs(paths: Iterable[str | os.PathLike[str]]) -> list[Run]:
    """Return the runs saved in directories and files, at least one for each.

    Runs of learn are named after their class, those of compare after their method, others after
    their file; with several directories the directory comes first.
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
    record = read_record(path)
    if record is not None:
        runs = _read_recorded_runs(path, prefix, record)
    else:
        runs = _read_comparison(path, prefix) or _read_loose_files(path, prefix)
    if not runs:
        raise InvalidInputError(
            f"{path} holds no results: no {RECORD} of gdaopt learn, no results of gdaopt compare, "
            "and no npz file that Result.save wrote"
        )
    return runs


def _read_recorded_runs(path: Path, prefix: str, record: dict[str, Any]) -> list[Run]:
    if record["format"] > FORMAT:
        raise InvalidInputError(f"{path} was written by a newer gdaopt; upgrade to read it")
    try:
        options = record["options"]
        problem = (record["dataset"], record["samples"], *(options[name] for name in _PROBLEM))
        hash(problem)  # refuses a list in place of a value
        features = tuple(str(name) for name in record["features"])
        runs = []
        for name, entry in record["classes"].items():
            result = Result.load(path / Path(entry["file"]).name)
            if len(features) != (size := result.n_features):
                raise ValueError(f"{len(features)} features, {size} in {name}")
            runs.append(
                Run(
                    name=f"{prefix}{name}",
                    problem=(*problem, name, result.feasible_set),
                    result=result,
                    feature_names=features,
                )
            )
        return runs
    except InvalidInputError:
        raise
    except OSError as error:
        raise InvalidInputError(f"cannot read what {path / RECORD} lists: {error}") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidInputError(
            f"{path / RECORD} is damaged: {error!r}; remove it to read the npz files beside it"
        ) from error


def _read_comparison(path: Path, prefix: str) -> list[Run]:
    study = read_study(path)
    if study is None or "methods" not in study[0]:
        return []
    options, rows = study
    rows = {stem: row for stem, row in rows.items() if "objective" in row}
    several = len(options["classes"]) > 1
    runs = []
    for stem, row in rows.items():
        result = Result.load(stem.with_suffix(".npz"))
        name = name_among(row, rows.values())
        runs.append(
            Run(
                name=f"{prefix}{name}",
                problem=(options["data_sha256"], row["class"], result.feasible_set),
                result=result,
                group=row["class"] if several else "",
            )
        )
    return runs


def _of_file(path: Path, name: str) -> Run:
    result = Result.load(path)
    return Run(name=name, problem=(path.stem, result.n_features), result=result)


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
