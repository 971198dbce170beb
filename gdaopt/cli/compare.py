"""``gdaopt compare``: the same problems by several methods and solvers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich import box
from rich.table import Table

from gdaopt.cli import options as option
from gdaopt.cli.output import Output, run_study
from gdaopt.datasets import TableFormat
from gdaopt.datasets.remarks import remarks
from gdaopt.status import FAILURES
from gdaopt.studies.comparison import Comparison, ComparisonOptions
from gdaopt.studies.comparison_table import BRIEF, brief_cells, latex, verdict
from gdaopt.studies.sources import load_source
from gdaopt.support.files import write_text
from gdaopt.support.text import plain
from gdaopt.support.validation import check_name

_FAILURES = FAILURES | {"failed", "died"}


@option.spread
def compare(
    source: option.Source,
    *,
    options: ComparisonOptions,
    columns: option.Columns,
    form: TableFormat,
    data_dir: option.DataDir = None,
    out: Annotated[
        Path | None, typer.Option(help="output directory (default: ./gdaopt-compare-DATASET)")
    ] = None,
    page_format: option.PageFormat = "markdown",
) -> None:
    """Solve the same problems by several methods and solvers, and compare the runs.

    Writes comparison.md, comparison.parquet, pictures, and each run's result (tasks/); with
    --format latex also comparison.tex.
    When it was interrupted, the same command goes on with what is missing. Exit code 75: another
    command is writing to the directory.
    """
    output = Output()
    check_name("--format", page_format, option.PAGE_FORMATS)
    dataset = load_source(source, data_dir=data_dir, form=form, **vars(columns))
    for remark in remarks(dataset):
        output.say(f"note: {remark}")
    comparison = Comparison(out or Path(f"gdaopt-compare-{dataset.name}"), dataset, options)
    for sentence in comparison.left_out:
        output.say(f"left out: {sentence}")
    rows = run_study(output, comparison, "runs")
    if page_format == "latex":
        write_text(comparison.path / "comparison.tex", latex(rows, dataset.name))
    output.print(_table(rows))
    said = verdict(rows)
    if said is not None:
        output.print(plain(f"{said}."))
        output.print()
    output.print(plain(f"Pictures: {', '.join(comparison.pictures)}."))
    output.say(f"written to {comparison.path}; comparison.md there says more of each run")
    statuses = {row["status"] for row in rows}
    if "died" in statuses:
        output.print("some runs died; run the same command again to try them again")
    if statuses & _FAILURES:
        raise typer.Exit(1)


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for heading, is_number in BRIEF.items():
        justify: Literal["left", "right"] = "right" if is_number else "left"
        is_name = heading == "method"
        table.add_column(heading, justify=justify, no_wrap=not is_name, min_width=18 * is_name)
    for name in dict.fromkeys(row["class"] for row in rows):
        table.add_row(plain(f"{name}:"))
        same = [row for row in rows if row["class"] == name]
        for row in same:
            method, *cells = map(plain, brief_cells(row, same))
            table.add_row(method.replace(":", ": "), *cells)  # long names break at spaces
        table.add_section()
    return table
