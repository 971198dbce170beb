"""``gdaopt learn``: a metric for each class of a data set, with a report, files and pictures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from gdaopt.cli import options as option
from gdaopt.cli.output import Output, last_words
from gdaopt.datasets import Dataset
from gdaopt.datasets.remarks import remarks
from gdaopt.errors import GdaoptError
from gdaopt.methods import METHODS, Method, State
from gdaopt.methods.solve import make_method
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.status import FAILURES
from gdaopt.studies.learned_study import PICTURES, Learning
from gdaopt.studies.learning import (
    TIMES,
    LearningOptions,
    advice,
    check_starts,
    load_source,
    outcome,
    read_edges,
    work,
)
from gdaopt.studies.pictures import MOST_PANELS
from gdaopt.support.text import plain

_SECONDS = ("build", "solve", "eig", "obj")  # headings of `TIMES`
_LEGEND = (
    "gap: how far the objective can be above the optimum, as a share of the objective; comp: "
    "components of the graph; oracle calls: programs solved, or searches for the best atoms; "
    "build, solve, eig, obj: seconds in building programs, in oracle calls, in eigenvectors and in "
    "the objective"
)
_FAILURES = {*FAILURES, "interrupted"}
_QUICK = 5.0  # seconds of learning up to which the accuracy is measured unasked


def learn(
    source: option.Source,
    label: option.Label = None,
    drop: option.Drop = None,
    keep: option.Keep = None,
    impute: option.Impute = None,
    decimal: option.Decimal = None,
    thousands: option.Thousands = None,
    missing: option.Missing = None,
    encoding: option.Encoding = None,
    skip_rows: option.SkipRows = None,
    table: option.TableName = None,
    data_dir: option.DataDir = None,
    positive: option.Positive = None,
    max_classes: option.MaxClasses = 20,
    max_samples: option.MaxSamples = "4000",
    scale: option.Scale = "unit",
    method: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(METHODS)} (default: certified, or alternating, which is the paper's, "
            "with --solver)"
        ),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            help="for methods that solve programs, such as alternating: any solver that CVXPY "
            "knows and that has the cones, highspy (HiGHS without CVXPY), or analytic; see gdaopt "
            "solvers (default: the method's)"
        ),
    ] = None,
    objective: option.ObjectiveName = "glr",
    metric_set: option.MetricSet = "graph",
    trace_bound: option.TraceBound = "K",
    min_eigenvalue: option.MinEigenvalue = 1e-6,
    edge_floor: option.EdgeFloor = None,
    edges: option.Edges = None,
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
    accuracy: Annotated[
        bool | None,
        typer.Option(
            "--accuracy/--no-accuracy",
            help="judge the metrics by 5 nearest neighbours in a cross-validation, which learns 5 "
            f"times more (default: where learning took at most {_QUICK:g} s)",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="say more of each run")] = False,
    force: Annotated[bool, typer.Option("--force", help="replace an earlier run there")] = False,
) -> None:
    """Learn a metric for each class of a data set against the rest.

    Writes result.json, pictures (gdaopt plot draws more), the samples (samples.csv, or
    samples.svmlight of sparse ones), and for each class its metric (CLASS-metric.csv), its whole
    result (CLASS.npz) and its trace (CLASS-trace.csv). gdaopt apply classifies and transforms new
    samples with them. When it was killed or interrupted, the same command goes on with the classes
    that are missing. Exit code 75: another command is writing to the directory.
    """
    output = Output()
    options = LearningOptions(
        positive=positive,
        scale=scale,
        trace_bound=option.read_number(trace_bound),
        min_eigenvalue=min_eigenvalue,
        objective=objective,
        set=metric_set,
        max_classes=max_classes,
        max_samples=option.read_max_samples(max_samples),
        edges=None if edges is None else read_edges(edges),
    )
    asked: dict[str, Any] = {
        "solver": solver,
        "edge_floor": edge_floor,
        "tolerance": tolerance,
        "time_limit": time_limit,
    }
    options_asked = {name: value for name, value in asked.items() if value is not None}
    runner = make_method(method, on_interrupt="return", **options_asked)
    study: Learning | None = None
    said: list[str] = []

    def describe() -> str:
        if study is None:
            return "nothing was written"
        return (
            f"{len(study.done)} of {len(classes)} classes are learned and kept in {study.path}; "
            "run the same command again to go on"
        )

    with last_words(describe), output.progress() as progress:
        task = progress.add_task("")

        def say(what: str) -> None:
            progress.update(task, description=plain(what))

        def problems() -> Iterator[tuple[str, MetricProblem]]:
            for name in classes:
                say(f"{name}: building the objective")
                problem = options.problem(dataset, name)
                say(f"{name}: evaluating the objective at the start")
                yield name, problem

        def show_state(name: str, state: State) -> None:
            where = f"round {state.round}, step {state.iteration}"
            say(f"{name}: {where}, objective {state.objective:.6g}")

        def show(name: str, result: Result | None) -> None:
            if result is None:
                say(f"{name}: building the objective")
                return
            output.print(plain(f"{name}: {outcome(result)}"))
            if verbose or result.status in FAILURES:
                output.print(plain(f"{name}: {result.status} ({result.message})"))

        def measure(results: Collection[Result]) -> dict[str, float] | None:
            measured = None
            if not {result.status for result in results} & _FAILURES:
                words, measured = _measure_accuracy(
                    dataset, options, runner, results, accuracy, say
                )
                said.append(words)
            say("drawing")
            return measured

        say(f"reading {source}")
        form = option.table_format(decimal, thousands, missing, encoding, skip_rows, table)
        of_table = option.table_options(label, drop, keep, impute, form)
        dataset = load_source(source, data_dir=data_dir, **of_table)
        classes = options.classes(dataset)  # before anything is printed
        for remark in remarks(dataset):
            output.print(plain(f"note: {remark}"))
        about = options.statement(dataset) if verbose else options.outline(dataset)
        output.print(plain(f"{dataset.name}: {about}"))
        if method is None and solver is not None and not verbose:
            output.print(f"method {runner.name}, since a solver is named")
        check_starts(problems(), runner)
        study = Learning(
            out or Path(f"gdaopt-{dataset.name}"),
            dataset,
            options,
            runner,
            {
                "source": source,
                "table": None if dataset.schema is None else dataset.schema.record(),
                "edge_floor": edge_floor or 0.0,
                "time_limit": time_limit,
            },
            force=force,
            on_state=show_state,
        )
        if verbose:
            floor = f", edge floor ε = {edge_floor:g}" if edge_floor else ""
            output.print(f"method {runner.name}, solver {runner.solver_name}{floor}")
        for key in study.done:
            output.print(plain(f"{study.label(key)}: there already"))
        study.run(show, measure)
        results = [result for _, result in study.runs.values()]
    if verbose:
        output.print(_table([row for row, _ in study.runs.values()]))
        output.print(_LEGEND)
    output.print(f"\nSolved: {work(results)}.")
    sentence = advice(results, runner.name, edge_floor or 0.0)
    if sentence is not None:
        output.print(f"Better: {sentence}.")
    accuracy_said = said[0] if said else "not measured, as not all runs ended well"
    output.print(plain(f"Accuracy: {accuracy_said}."))
    shown = ""
    if len(results) > MOST_PANELS:
        shown = (
            f", of the first {MOST_PANELS} of {len(results)} runs where it has panels for each; "
            "gdaopt plot --only NAME draws others"
        )
    output.print(f"Pictures{shown}:")
    for name, what in PICTURES.items():
        output.print(f"  {name + '.png':<16} {what}")
    output.say(f"written to {study.path}; result.json there has all numbers")
    statuses = {result.status for result in results}
    if "interrupted" in statuses:
        raise typer.Exit(130)
    if statuses & FAILURES:
        raise typer.Exit(1)


def _measure_accuracy(
    dataset: Dataset,
    options: LearningOptions,
    method: Method,
    results: Collection[Result],
    is_asked: bool | None,
    say: Callable[[str], None],
) -> tuple[str, dict[str, float] | None]:
    from gdaopt.studies.applying import FOLDS, NEIGHBORS, cross_validated  # imports scikit-learn

    seconds = sum(result.seconds for result in results)
    if is_asked is False:
        return "not measured", None
    if is_asked is None and seconds > _QUICK:
        said = f"not measured, as learning took {seconds:.0f} s and would be repeated {FOLDS} times"
        return f"{said}; --accuracy measures it", None
    try:
        shares = cross_validated(dataset, options, method, say)
    except GdaoptError as error:
        if is_asked:
            raise
        return f"not measured: {error}", None
    said = (
        f"{shares.learned:.1%} of new samples have the class of their {NEIGHBORS} nearest "
        f"neighbours under the metrics, {shares.without_learning:.1%} without learning "
        f"({FOLDS}-fold cross-validation: metrics are learned without the samples they judge)"
    )
    return said, {"neighbors": NEIGHBORS, "folds": FOLDS, **asdict(shares)}


def _table(rows: Collection[Mapping[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False, pad_edge=False)
    table.add_column("class", min_width=8, overflow="fold")
    for heading in ("objective", "gap", "λ_min", "comp", "oracle\ncalls", *_SECONDS):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("status", overflow="fold")
    for row in rows:
        table.add_row(
            plain(row["class"]),
            f"{row['objective']:.6g}",
            "" if row["relative_gap"] is None else f"{row['relative_gap']:.1e}",
            "" if row["lambda_min"] is None else f"{row['lambda_min']:.2g}",
            str(row["components"]),
            str(row["oracle_calls"]),
            *(f"{row[name]:.2f}" for name in TIMES),
            str(row["status"]).replace("_", " "),  # narrow tables break lines at spaces
        )
    return table
