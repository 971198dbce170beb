"""``gdaopt learn``: a metric for each class of a data set, with a table, files and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from gdaopt.cli.options import (
    DataDir,
    Drop,
    EdgeFloor,
    Edges,
    Impute,
    Label,
    MaxClasses,
    MaxSamples,
    MetricSet,
    MinEigenvalue,
    ObjectiveName,
    Positive,
    Scale,
    Source,
    TraceBound,
    read_max_samples,
    read_names,
    read_number,
)
from gdaopt.cli.progress import last_words
from gdaopt.datasets.remarks import remarks
from gdaopt.methods import METHODS, State, make_method
from gdaopt.problem import MetricProblem
from gdaopt.result import FAILURES, Result
from gdaopt.studies.closing import closing
from gdaopt.studies.learning import (
    LearningOptions,
    check_starts,
    learn_classes,
    load_source,
    read_edges,
    summary,
)
from gdaopt.studies.pictures import MOST_PANELS
from gdaopt.studies.run_directory import RunDirectory
from gdaopt.support.text import plain

__all__ = ["learn"]

_SECONDS = {
    "build": "build_seconds",
    "solve": "solve_seconds",
    "eig": "eig_seconds",
    "obj": "objective_seconds",
}


def learn(
    context: typer.Context,
    source: Source,
    label: Label = None,
    drop: Drop = None,
    impute: Impute = None,
    data_dir: DataDir = None,
    positive: Positive = None,
    max_classes: MaxClasses = 20,
    max_samples: MaxSamples = "4000",
    scale: Scale = "unit",
    method: Annotated[str, typer.Option(help=", ".join(METHODS))] = "alternating",
    solver: Annotated[
        str | None,
        typer.Option(
            help="for methods that solve programs: any solver that CVXPY knows and that has the "
            "cones, highspy (HiGHS without CVXPY), or analytic; see gdaopt solvers (default: the "
            "method's)"
        ),
    ] = None,
    objective: ObjectiveName = "glr",
    metric_set: MetricSet = "graph",
    trace_bound: TraceBound = "K",
    min_eigenvalue: MinEigenvalue = 1e-6,
    edge_floor: EdgeFloor = None,
    edges: Edges = None,
    tolerance: Annotated[
        float | None, typer.Option(help="relative gap or decrease that ends a run")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="seconds for each class; the first evaluation of its objective is completed "
            "whatever the limit is"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="output directory (default: ./gdaopt-DATASET)")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="replace an earlier run there")] = False,
) -> None:
    """Learn a metric for each class of a data set against the rest.

    Writes result.json, pictures (gdaopt plot draws more), the samples (samples.csv), and for each
    class its metric (CLASS-metric.csv), its whole result (CLASS.npz) and its trace
    (CLASS-trace.csv). gdaopt apply classifies and transforms new samples with them. When it was
    killed or interrupted, the same command goes on with the classes that are missing. Exit code 75:
    another command is writing to the directory.
    """
    # Labels and file names are shown as they are: no markup, no emoji codes.
    console = Console(highlight=False, markup=False, emoji=False)
    options = LearningOptions(
        positive=positive,
        scale=scale,
        trace_bound=read_number(trace_bound),
        min_eigenvalue=min_eigenvalue,
        objective=objective,
        set=metric_set,
        max_classes=max_classes,
        max_samples=read_max_samples(max_samples),
        edges=None if edges is None else read_edges(edges),
    )
    asked: dict[str, Any] = {
        "solver": solver,
        "edge_floor": edge_floor,
        "tolerance": tolerance,
        "time_limit": time_limit,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    runner = make_method(method, on_interrupt="return", **given)
    directory: RunDirectory | None = None

    def kept() -> str:
        if directory is None:
            return "nothing was written"
        return (
            f"{len(directory.results)} of {len(classes)} classes are learned and kept in "
            f"{directory.path}; run the same command again to go on"
        )

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with (
        last_words(kept),
        Progress(
            *columns, console=console, transient=True, disable=not console.is_terminal
        ) as progress,
    ):
        task = progress.add_task("")

        def say(what: str) -> None:
            progress.update(task, description=what)

        def problems(names: Sequence[str]) -> Iterator[tuple[str, MetricProblem]]:
            for name in names:
                say(f"{plain(name)}: building the objective")
                problem = options.problem(dataset, name)
                say(f"{plain(name)}: evaluating the objective at the start")
                yield name, problem

        def show(name: str, state: State) -> None:
            say(
                f"{plain(name)}: round {state.round}, step {state.iteration}, "
                f"objective {state.objective:.6g}"
            )

        say(f"reading {plain(source)}")
        dropped = read_names(drop)
        dataset = load_source(source, label, data_dir, drop=dropped, impute=impute)
        classes = options.classes(dataset)  # before anything is printed
        for remark in remarks(dataset):
            progress.print(plain(f"note: {remark}"))
        progress.print(plain(f"{dataset.name}: {options.statement(dataset)}"))
        check_starts(problems(classes), runner)
        directory = RunDirectory(
            out or Path(f"gdaopt-{dataset.name}"),
            dataset,
            {
                "source": source,
                "label": label,
                "drop": dropped,
                "impute": impute,
                "positive": positive,
                "scale": scale,
                "objective": objective,
                "set": metric_set,
                "trace_bound": options.trace_bound,
                "min_eigenvalue": min_eigenvalue,
                "edge_floor": edge_floor or 0.0,
                "edges": None if edges is None else str(edges),
                "max_samples": options.max_samples,
                "method": method,
                "solver": runner.solver_name,
                "tolerance": runner.tolerance,
                "time_limit": time_limit,
            },
            force=force,
        )
        context.with_resource(directory)  # until the command ends
        floor = f", edge floor ε = {edge_floor:g}" if edge_floor else ""
        progress.print(f"method {method}, solver {runner.solver_name}{floor}")
        for name in directory.results:
            progress.print(plain(f"{name}: there already"))
        missing = [name for name in classes if name not in directory.results]
        for name, result in learn_classes(problems(missing), runner, show):
            directory.add(name, result)
            progress.print(plain(f"{name}: {result.status} ({result.message})"))
        say("drawing")
        directory.finish()
    console.print(_table(directory.results))
    console.print(
        "gap: how far the objective can be above the optimum, as a share of the objective; comp: "
        "components of the graph; oracle calls: programs solved, or searches for the best atoms; "
        "build, solve, eig, obj: seconds in building programs, in oracle calls, in eigenvectors "
        "and in the objective"
    )
    for sentence in closing(directory.results.values(), method, edge_floor or 0.0):
        console.print(sentence)
    if len(directory.results) > MOST_PANELS:
        console.print(
            f"discs, left-ends and graphs are drawn of the first {MOST_PANELS} of "
            f"{len(directory.results)} runs; gdaopt plot --only NAME draws others"
        )
    console.print(plain(f"written to {directory.path}"), soft_wrap=True)
    statuses = {result.status for result in directory.results.values()}
    if "interrupted" in statuses:
        raise typer.Exit(130)
    if statuses & FAILURES:
        raise typer.Exit(1)


def _table(results: dict[str, Result]) -> Table:
    """Return the closing table, one row a class."""
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False, pad_edge=False)
    table.add_column("class", min_width=8, overflow="fold")
    for heading in ("objective", "gap", "λ_min", "comp", "oracle\ncalls"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in _SECONDS:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("status", overflow="fold")
    for name, result in results.items():
        row = summary(result)
        table.add_row(
            plain(name),
            f"{row['objective']:.6g}",
            "" if row["relative_gap"] is None else f"{row['relative_gap']:.1e}",
            "" if row["lambda_min"] is None else f"{row['lambda_min']:.2g}",
            str(row["components"]),
            str(row["oracle_calls"]),
            *(f"{row[key]:.2f}" for key in _SECONDS.values()),
            str(row["status"]),
        )
    return table
