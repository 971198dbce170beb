"""The command ``python experiments/table1``: its options, its progress, and what it prints."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from gdaopt.cli.options import DataDir
from gdaopt.cli.output import errors_shown
from gdaopt.datasets import Dataset, load
from gdaopt.errors import DownloadError, GdaoptError, InvalidInputError
from gdaopt.studies.study_directory import sole_writer
from gdaopt.studies.task_workers import TaskWorkers
from gdaopt.support.validation import integer, unknown_name
from table1.outcome import Outcome
from table1.protocol import AGGREGATIONS, CLASSIFIERS, SCALINGS, Protocol
from table1.published import DATASETS
from table1.rows import DEFAULT, ROWS, available, find_rows
from table1.study import Part, Table1, write_outcome
from table1.tables import error_table, nearness

_MISSING = 3  # exit code: a data set cannot be had
_SPEED_OVER = 600.0  # seconds over which the speed is averaged, since tasks differ
_EXTRA = [name for name in ROWS if name not in DEFAULT]
_EXTRA_DATASET, _EXTRA_SEEDS = "iris", 2  # a task of an extra row takes minutes

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
@errors_shown()
def table1(
    datasets: Annotated[
        str, typer.Option(help=f"data sets, separated by commas, of {', '.join(DATASETS)}")
    ] = ",".join(DATASETS),
    rows: Annotated[
        str | None,
        typer.Option(
            help=f"rows, separated by commas, of {', '.join(ROWS)} (default: all but "
            f"{', '.join(_EXTRA)}; metric-learn's where it is installed)"
        ),
    ] = None,
    extra: Annotated[
        bool,
        typer.Option(
            "--extra",
            help=f"also run {', '.join(_EXTRA)} on {_EXTRA_SEEDS} seeds of {_EXTRA_DATASET}",
        ),
    ] = False,
    classifiers: Annotated[
        str, typer.Option(help="classifiers to show, separated by commas; all are computed")
    ] = ",".join(CLASSIFIERS),
    seeds: Annotated[int, typer.Option(help="how many splits: seeds 0, 1, …")] = 50,
    scaling: Annotated[
        str,
        typer.Option(help="; ".join(f"{name}: {words}" for name, words in SCALINGS.items())),
    ] = Protocol.scaling,
    aggregation: Annotated[
        str,
        typer.Option(help=f"the headline: {' or '.join(AGGREGATIONS)}; both are computed"),
    ] = Protocol.aggregation,
    jobs: Annotated[int, typer.Option(help="tasks at a time; no number depends on it")] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="address of a Dask cluster that computes the tasks, as tcp://host:port. Its "
            "workers need this folder, experiments, on their PYTHONPATH"
        ),
    ] = None,
    data_dir: DataDir = None,
    out: Annotated[Path, typer.Option(help="output directory")] = Path("gdaopt-table1"),
    figures: Annotated[
        Path | None, typer.Option(help="directory for copies of table1.md, .tex, .parquet and .png")
    ] = None,
) -> None:
    """Measure the paper's Table 1 again: errors of learned metrics, beside the published ones.

    Writes table1.md, .tex, .parquet and .png, comparisons of all pairs of rows, what is known of
    each metric, and a file for each task (tasks/). When it was interrupted, the same command goes
    on with what is missing; so does one with more seeds, rows or data sets. Exit code 1: a task
    failed; 3: a data set cannot be had, and the others were run; 75: another command is writing to
    the directory.
    """
    start = time.monotonic()
    console = Console(highlight=False, markup=False, emoji=False)
    protocol = Protocol(scaling=scaling, aggregation=aggregation)
    integer("seeds", seeds, at_least=1)
    workers = TaskWorkers(jobs=jobs, scheduler=scheduler)
    shown = _names("classifier", classifiers, CLASSIFIERS)
    names = _names("data set", datasets, DATASETS)
    chosen, left_out = available(DEFAULT if rows is None else find_rows(rows.split(",")))
    found, missing = _found(names, data_dir)
    for sentence in (*left_out, *missing):
        console.print(f"left out: {sentence}", soft_wrap=True)
    if names and not found:
        raise typer.Exit(_MISSING)
    parts = [Part(dataset, row, seeds) for row in chosen for dataset in found]
    if extra:  # first, since its tasks take longest
        least = min(seeds, _EXTRA_SEEDS)
        rest = [row for row in _EXTRA if row not in chosen]
        parts = [Part(load(_EXTRA_DATASET), row, least) for row in rest] + parts
    study = Table1(
        out,
        parts,
        protocol,
        classifiers=shown,
        left_out=left_out,
        missing=missing,
    )
    if figures is not None:
        with sole_writer(figures, "--figures"):  # refused here rather than in the end
            pass
    n_missing = len(study.tasks) - len(study.done)
    outcome = _run(study, workers, console)
    _tell(outcome, console)
    minutes = (time.monotonic() - start) / 60
    console.print(f"{n_missing} tasks in {minutes:.1f} minutes, {jobs} at a time")
    console.print(f"written to {study.path}", soft_wrap=True)
    if figures is not None:
        with sole_writer(figures, "--figures"):
            write_outcome(outcome, figures)
        console.print(f"written to {figures}", soft_wrap=True)
    statuses = {task["status"] for block in outcome.blocks for task in block.failed}
    if "died" in statuses:
        console.print("some tasks died; run the same command again to try them again")
    if statuses:
        raise typer.Exit(1)
    if missing:
        raise typer.Exit(_MISSING)


def _names(what: str, text: str, known: Sequence[str] | Mapping[str, str]) -> list[str]:
    """Return names separated by commas, each once."""
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in known:
            raise unknown_name(what, name, known)
    return names


def _found(names: Sequence[str], data_dir: Path | None) -> tuple[list[Dataset], list[str]]:
    """Return the data sets that can be had, and for each other one a sentence on how to get it."""
    found, missing = [], []
    for name in names:
        try:
            found.append(load(name, data_dir))
        except (DownloadError, InvalidInputError) as error:
            missing.append(f"{name}: {error}")
    return found, missing


def _run(study: Table1, workers: TaskWorkers, console: Console) -> Outcome:
    """Run the study with a bar on the terminal, and a line for each task that failed or died."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("time left"),
        TimeRemainingColumn(),
    )
    done, total = len(study.done), len(study.tasks)
    if done:
        console.print(f"{done} of {total} tasks are there already")
    with Progress(
        *columns, console=console, transient=True, speed_estimate_period=_SPEED_OVER
    ) as progress:
        bar = progress.add_task("tasks", total=total, completed=done)

        def show(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
            progress.update(bar, completed=done, total=total)
            if row is not None and row["status"] != "finished":
                said = f"{study.label(key)}: {row['status']} ({row['message']})"
                progress.print(said, soft_wrap=True)

        try:
            return study.run(workers, show)
        except KeyboardInterrupt:
            progress.stop()
            console.print(
                f"interrupted: {len(study.done)} of {total} tasks are done; "
                "run the same command again to go on"
            )
            raise typer.Exit(130) from None
        except GdaoptError:
            progress.stop()  # so that the error stands on a line of its own
            raise


def _tell(outcome: Outcome, console: Console) -> None:
    """Print the protocol, the errors by the headline, and how many are near the published ones."""
    for sentence in outcome.protocol.description():
        console.print(f"* {sentence}")
    for classifier in outcome.classifiers:
        told = error_table(outcome, classifier, outcome.protocol.aggregation, is_short=True)
        table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False, pad_edge=False)
        for number, heading in enumerate(told.head):
            table.add_column(heading, justify="right" if number else "left")
        for cells in told.body:
            table.add_row(*cells)
        console.print(table)
        console.print()
    shown = AGGREGATIONS[outcome.protocol.aggregation]
    console.print(f"error in % by {shown}, ± its standard error (less the published one)")
    for aggregation in outcome.aggregations:
        console.print(nearness(outcome, aggregation))
