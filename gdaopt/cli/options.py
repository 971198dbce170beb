"""Options that several commands share, and dataclasses whose fields commands take as options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from gdaopt.cli.output import Output
from gdaopt.datasets import BUILTIN, FROM_UCI
from gdaopt.datasets.columns import IMPUTE
from gdaopt.support.options import option, read_names

Source = Annotated[
    str,
    typer.Argument(
        metavar="DATASET|FILE",
        help=f"{', '.join(BUILTIN)}, a table (.csv, .tsv, .txt, .xlsx or .parquet, also packed as "
        ".gz or .zip), or sparse samples in an svmlight file (.svm, .svmlight, .libsvm); "
        f"{', '.join(FROM_UCI)} are downloaded from UCI on first use",
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        help=f"directory with the file of {', '.join(FROM_UCI)} (default: $GDAOPT_DATA, the "
        "cache, or UCI)"
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

    label: str | None = option(None, "label column of the table (default: the last)")
    drop: tuple[str, ...] = option(
        (),
        "columns of the table to leave out, separated by commas (a name with a comma in double "
        "quotes)",
        read=read_names,
        metavar="COLUMNS",
    )
    keep: tuple[str, ...] = option(
        (),
        "columns to read though they look like an ID, or hold many texts, of which each becomes a "
        "feature",
        read=read_names,
        metavar="COLUMNS",
    )
    impute: str | None = option(
        None,
        "what replaces missing values of the table, by column (default: they are an error)",
        metavar="|".join(IMPUTE),
    )


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Have a command take as options the fields of its parameters that are dataclasses.

    Those fields are options that `gdaopt.support.options.option` has made.
    """
    groups: dict[str, Any] = {}
    parameters: list[Parameter] = []
    for parameter in signature(command, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            parameters += _list_options(parameter.annotation)
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def call(**values: Any) -> None:
        with Output().status("reading the options"):  # which tries solvers, too
            for name, group in groups.items():
                values[name] = group(**_take(group, values))
        command(**values)

    call.__annotations__ = {each.name: each.annotation for each in parameters}
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # functions may have one
    return call


def _fields(group: Any) -> list[Field[Any]]:
    return [each for each in fields(group) if "help" in each.metadata]


def _list_options(group: Any) -> list[Parameter]:
    """Return the options of a dataclass as parameters of a command."""
    types, options = get_type_hints(group), []
    for each in _fields(group):
        kind: Any = types[each.name]
        default = each.default
        if each.metadata["read"] is not None:
            kind, default = str | None, each.metadata["text"]
        names = [f"--{each.name.replace('_', '-')}"] if kind is bool else []
        shown = {name: each.metadata[name] for name in ("help", "metavar")}
        annotation = Annotated[kind, typer.Option(*names, **shown)]
        options.append(
            Parameter(each.name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        )
    return options


def _take(group: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a dataclass out of all values, texts as what they stand for."""
    taken: dict[str, Any] = {}
    for each in _fields(group):
        value, read = values.pop(each.name), each.metadata["read"]
        if value is not None:
            taken[each.name] = value if read is None else read(value)
    return taken
