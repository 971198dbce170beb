"""The data that a command is given: the name of a known data set, or a file."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gdaopt.datasets import BUILTIN, FROM_UCI, Dataset, TableFormat, load, read_table
from gdaopt.datasets.svmlight import is_svmlight, load_svmlight
from gdaopt.datasets.tabular import column_names
from gdaopt.errors import InvalidInputError
from gdaopt.support.text import reason
from gdaopt.support.validation import as_path, check_instance, unknown_name


def load_source(
    source: str,
    label: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    impute: str | None = None,
    form: TableFormat | None = None,
) -> Dataset:
    """Return the data set of a name or a file; refuse options that do not go with it."""
    check_instance("source", source, str)
    form = TableFormat() if form is None else form
    check_instance("form", form, TableFormat)
    drop, keep = column_names("drop", drop), column_names("keep", keep)
    for name, value in (("label", label), ("impute", impute)):
        if value is not None:
            check_instance(name, value, str)
    is_missing = is_table(source) and not Path(source).expanduser().exists()
    if is_missing and (not Path(source).suffix or Path(source).stem in BUILTIN):
        raise unknown_name("data set (and no file of this name):", source, BUILTIN)
    if not is_table(source):
        options = {"label": label, "drop": drop, "keep": keep, "impute": impute, **form.record()}
        check_no_table(source, options)
    if data_dir is not None and source not in FROM_UCI:
        data_dir = as_path("data_dir", data_dir)
        raise InvalidInputError(
            f"--data-dir {data_dir} goes with {', '.join(FROM_UCI)}, not with {source}; "
            "leave it out"
        )
    if is_svmlight(source):
        return load_svmlight(source)
    if is_table(source):
        return read_table(source, label, drop=drop, keep=keep, impute=impute, form=form)
    return load(source, data_dir)


def is_table(source: str) -> bool:
    """Say whether a source is a file with a table: neither a known data set nor sparse samples."""
    return source not in BUILTIN and not is_svmlight(source)


def check_no_table(source: str | os.PathLike[str], options: Mapping[str, Any]) -> None:
    """Refuse options of tables, by their names, for another kind of data."""
    for name, value in options.items():
        if value not in (None, ()):
            option = name.replace("_", "-")
            shown = ",".join(value) if isinstance(value, tuple) else value
            raise InvalidInputError(
                f"--{option} {shown} goes with a table, which {source} is not; leave it out"
            )


def read_edges(path: str | os.PathLike[str]) -> tuple[tuple[str, str], ...]:
    r"""Return the pairs of names in a CSV file of two columns without a header."""
    path = as_path("path", path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [(place, line) for place, line in enumerate(csv.reader(file), 1) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(
            f"cannot read the edges of {path} as CSV in UTF-8: {reason(error)}"
        ) from error
    for place, line in lines:
        if len(line) != 2:
            raise InvalidInputError(
                f"line {place} of {path} has {len(line)} names, not 2: a line names the two "
                "features of an edge, separated by a comma"
            )
    return tuple((line[0].strip(), line[1].strip()) for _, line in lines)
