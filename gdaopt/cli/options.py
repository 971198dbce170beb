"""Arguments and options that several commands share: what defines a problem, and its data."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from gdaopt.datasets import BUILTIN, FROM_UCI, TableFormat
from gdaopt.datasets.columns import IMPUTE
from gdaopt.errors import InvalidInputError
from gdaopt.scaling import SCALES, TRACE_BOUNDS
from gdaopt.sets import SETS
from gdaopt.support.text import shortened

Source = Annotated[
    str,
    typer.Argument(
        metavar="DATASET|FILE",
        help=f"{', '.join(BUILTIN)}, a table (.csv, .tsv, .txt, .xlsx or .parquet, also packed as "
        ".gz or .zip), or sparse samples in an svmlight file (.svm, .svmlight, .libsvm); "
        f"{', '.join(FROM_UCI)} are downloaded from UCI on first use",
    ),
]
PageFormat = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="markdown|latex",
        help="of the tables: with latex they are also written as .tex, for booktabs and siunitx",
    ),
]
PAGE_FORMATS = ("markdown", "latex")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns of a table are features, and which one holds the labels."""

    label: Annotated[
        str | None, typer.Option(help="label column of the table (default: the last)")
    ] = None
    drop: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="columns of the table to leave out, separated by commas (a name with a comma in "
            "double quotes)",
        ),
    ] = None
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="columns to read though they look like an ID, or hold many texts, of which each "
            "becomes a feature",
        ),
    ] = None
    impute: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(IMPUTE),
            help="what replaces missing values of the table, by column (default: they are an "
            "error)",
        ),
    ] = None

    def read(self) -> dict[str, Any]:
        """Return these options as `load_source` takes them."""
        names = {"drop": read_names(self.drop), "keep": read_names(self.keep)}
        return {"label": self.label, "impute": self.impute, **names}


@dataclass(frozen=True, kw_only=True)
class Format:
    """How the file of a table is written."""

    decimal: Annotated[
        str | None,
        typer.Option(
            metavar="MARK",
            help="decimal mark of the file, a point or a comma (default: what fits, for each "
            "column)",
        ),
    ] = None
    thousands: Annotated[
        str | None,
        typer.Option(
            metavar="MARK",
            help="what stands between groups of digits in the file, as in 1,234: a comma, a "
            "point, an apostrophe or a space (default: what fits)",
        ),
    ] = None
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="TEXTS",
            help="what stands for a missing value in the file beside nothing, ?, NA and their "
            "like: texts or numbers such as -99, separated by commas",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(help="of the text (default: utf-8, utf-16 if it says so, or else cp1252)"),
    ] = None
    skip_rows: Annotated[
        int | None,
        typer.Option(
            help="lines above that of the names (default: those that leave columns unnamed)"
        ),
    ] = None
    table: Annotated[
        str | None, typer.Option(help="sheet of a workbook, or file in an archive of several")
    ] = None

    def read(self) -> TableFormat:
        """Return what these options say."""
        return TableFormat(**{**vars(self), "missing": tuple(read_names(self.missing))})


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Have a command take the fields of its parameters that are dataclasses as options."""
    groups: dict[str, Any] = {}
    parameters: list[Parameter] = []
    for parameter in signature(command, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            of_group = signature(groups[parameter.name], eval_str=True)
            parameters += of_group.parameters.values()
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def call(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{each.name: values.pop(each.name) for each in fields(group)})
        command(**values)

    call.__annotations__ = {each.name: each.annotation for each in parameters}
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return call


DataDir = Annotated[
    Path | None,
    typer.Option(
        help=f"directory with the file of {', '.join(FROM_UCI)} (default: $GDAOPT_DATA, the "
        "cache, or UCI)"
    ),
]
MaxClasses = Annotated[
    int,
    typer.Option(help="most classes to learn in turn; more look like a target of regression"),
]
MaxSamples = Annotated[
    str,
    typer.Option(
        metavar="N|all",
        help="learn from at most about so many samples, drawn at random in the proportions of the "
        "classes: the time of an evaluation grows with the square of their number",
    ),
]
SCALE = "features are " + ", ".join(f"{words} ({name})" for name, words in SCALES.items())
TRACE_BOUND = "C, the largest trace: a number, or " + ", ".join(
    f"{name} ({words})" for name, words in TRACE_BOUNDS.items()
)
MetricSet = Annotated[
    str,
    typer.Option("--metrics", help=f"kind of the feasible set: {', '.join(SETS)}; see gdaopt.sets"),
]
Edges = Annotated[
    Path | None,
    typer.Option(
        help="CSV file of the only pairs of features that may have an edge, with two names and no "
        "header: one pair a line (default: all pairs may)"
    ),
]


def read_max_samples(text: str) -> int | None:
    """Return the number in an option of `MaxSamples`; None for all samples."""
    if text == "all":
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(
            f"--max-samples must be a whole number or all, got {shortened(text)}"
        ) from None


def read_names(text: str | None) -> list[str]:
    """Return the names in a list that commas separate; none for None.

    >>> read_names('id, "length, cm"')
    ['id', 'length, cm']
    """
    if not text:
        return []
    (names,) = csv.reader([text.replace("\n", " ")], skipinitialspace=True)
    return [name.strip() for name in names]


def read_number(text: str) -> str | float:
    """Return the number that a text stands for; a text that is not a number stays as it is."""
    try:
        return float(text)
    except ValueError:
        return text
