"""Arguments and options that several commands share: what defines a problem, and its data."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Any

import typer

from gdaopt.datasets import BUILTIN, FROM_UCI, TableFormat
from gdaopt.datasets.columns import IMPUTE
from gdaopt.errors import InvalidInputError
from gdaopt.objectives import OBJECTIVES
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
Label = Annotated[str | None, typer.Option(help="label column of the table (default: the last)")]
Drop = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS",
        help="columns of the table to leave out, separated by commas (a name with a comma in "
        "double quotes)",
    ),
]
Keep = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS",
        help="columns to read though they look like an ID, or hold many texts, of which each "
        "becomes a feature",
    ),
]
Impute = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(IMPUTE),
        help="what replaces missing values of the table, by column (default: they are an error)",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        help="decimal mark of the file, a point or a comma (default: what fits, for each column)",
    ),
]
Thousands = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        help="what stands between groups of digits in the file, as in 1,234: a comma, a point, "
        "an apostrophe or a space (default: what fits)",
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="TEXTS",
        help="what stands for a missing value in the file beside nothing, ?, NA and their like: "
        "texts or numbers such as -99, separated by commas",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="of the text (default: utf-8, utf-16 if it says so, or else cp1252)"),
]
SkipRows = Annotated[
    int | None,
    typer.Option(help="lines above that of the names (default: those that leave columns unnamed)"),
]
TableName = Annotated[
    str | None,
    typer.Option("--table", help="sheet of a workbook, or file in an archive of several"),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        help=f"directory with the file of {', '.join(FROM_UCI)} (default: $GDAOPT_DATA, the "
        "cache, or UCI)"
    ),
]
Positive = Annotated[
    str | None, typer.Option(help="class to learn against the rest (default: each in turn)")
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
Scale = Annotated[
    str,
    typer.Option(
        help="features are " + ", ".join(f"{words} ({name})" for name, words in SCALES.items())
    ),
]
MetricSet = Annotated[
    str,
    typer.Option("--metrics", help=f"kind of the feasible set: {', '.join(SETS)}; see gdaopt.sets"),
]
ObjectiveName = Annotated[
    str,
    typer.Option(
        "--objective",
        help=f"what is minimised: {', '.join(OBJECTIVES)}; see gdaopt.objectives. All but glr go "
        "best with --trace-bound auto",
    ),
]
TraceBound = Annotated[
    str,
    typer.Option(
        help="C, the largest trace: a number, or "
        + ", ".join(f"{name} ({words})" for name, words in TRACE_BOUNDS.items())
    ),
]
MinEigenvalue = Annotated[float, typer.Option(help="ρ, the smallest eigenvalue allowed")]
EdgeFloor = Annotated[
    float | None,
    typer.Option(
        help="ε, an option of alternating and joint: edges of weight ≥ ε connect all features "
        "(default: 0, no edge floor)"
    ),
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


def table_format(
    decimal: str | None,
    thousands: str | None,
    missing: str | None,
    encoding: str | None,
    skip_rows: int | None,
    table: str | None,
) -> TableFormat:
    """Return how a file is written, by the options above."""
    return TableFormat(
        decimal=decimal,
        thousands=thousands,
        missing=tuple(read_names(missing)),
        encoding=encoding,
        skip_rows=skip_rows,
        table=table,
    )


def table_options(
    label: str | None, drop: str | None, keep: str | None, impute: str | None, form: TableFormat
) -> dict[str, Any]:
    """Return the options of `load_source` that go with tables, by the options above."""
    names = {"drop": read_names(drop), "keep": read_names(keep)}
    return {"label": label, "impute": impute, "form": form, **names}


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
