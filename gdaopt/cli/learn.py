"""``gdaopt learn``: a metric for a data set, with what matters to it and how good it is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from gdaopt.cli import options as option
from gdaopt.cli.output import Output, last_words
from gdaopt.datasets import TableFormat
from gdaopt.datasets.remarks import remarks
from gdaopt.errors import InvalidInputError
from gdaopt.methods.run import watched
from gdaopt.status import FAILURES
from gdaopt.studies.learner_options import LearnerOptions
from gdaopt.studies.sources import load_source
from gdaopt.support.text import plain

if TYPE_CHECKING:
    from gdaopt.studies.learned_report import Part

_MOST_ROWS = 10  # that are printed; report.html has all
_SLOW = (
    "a round takes {:.0f} s; ten or more make a metric, and the accuracy takes five more. "
    "Faster are fewer samples (--max-samples; half of them take a fourth of the time), fewer "
    "features (--drop), and --no-accuracy"
)
_LONG = 10  # seconds: the first round of a metric that takes as long is worth a word
_SILENCE = 20  # seconds without a word on a run, if there is no line that changes


@option.spread
def learn(
    source: option.Source,
    *,
    options: LearnerOptions,
    columns: option.Columns,
    form: TableFormat,
    data_dir: option.DataDir = None,
    test: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="also judge the metric by the samples of this file"),
    ] = None,
    accuracy: Annotated[
        bool,
        typer.Option(
            "--accuracy/--no-accuracy",
            help="judge the metric, and the ranking of features, by a cross-validation, which "
            "learns 5 times more",
        ),
    ] = True,
    out: Annotated[
        Path | None, typer.Option(help="output directory (default: ./gdaopt-DATASET)")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="say more of each run")] = False,
    force: Annotated[bool, typer.Option("--force", help="replace an earlier run there")] = False,
) -> None:
    """Learn a metric from a data set, and say what matters and how good it is.

    Writes report.html, result.json, rankings of the features and edges (features.csv, edges.csv),
    pictures, the samples, the learner (learned.joblib, which joblib.load reads), its metric
    (learned-metric.csv), its whole result (learned.npz) and its trace. gdaopt apply classifies and
    transforms new samples. When it was killed or interrupted, the same command goes on with what is
    missing. Exit code 75: another command is writing to the directory.
    """
    # scikit-learn is slow to import
    from gdaopt.studies import learned_report
    from gdaopt.studies.applying import LearnedRun
    from gdaopt.studies.learned_study import PAGE, Learning, check_start
    from gdaopt.studies.measuring import Judgement

    output = Output()
    study: Learning | None = None

    def describe() -> str:
        if study is None:
            return "nothing was written"
        return (
            f"{len(study.done)} of {len(study.tasks)} metrics are learned and kept in "
            f"{study.path}; run the same command again to go on"
        )

    with last_words(describe), output.progress() as progress:
        task = progress.add_task("")

        doing, told, rounds = "", time.monotonic(), list[float]()

        def say(what: str) -> None:
            nonlocal doing
            doing = what
            progress.update(task, description=plain(what))

        def watch(line: str) -> None:
            nonlocal told
            words = f"{doing}: {' '.join(line.split())}"
            progress.update(task, description=plain(words))
            rounds.append(time.monotonic())
            if len(rounds) == 2 and (seconds := rounds[1] - rounds[0]) >= _LONG:
                output.print(plain(f"note: {_SLOW.format(seconds)}"))
            if not output.is_terminal and time.monotonic() - told >= _SILENCE:
                told = time.monotonic()
                output.say(words)

        def show(key: str, _: int, __: int, row: Mapping[str, Any] | None) -> None:
            assert study is not None
            name = study.label(key)
            say(f"learning {name}")
            if row is not None and row["status"] in FAILURES:
                output.print(plain(f"{name}: {row['status']} ({row['message']})"))

        say(f"reading {source}")
        dataset = load_source(source, data_dir=data_dir, form=form, **vars(columns))
        notes = remarks(dataset)
        outline = f"{dataset.name}: {options.outline(dataset)}"
        for note in notes:
            output.print(plain(f"note: {note}"))
        output.print(plain(outline))
        say("evaluating the objective at the start")
        check_start(dataset, options)
        study = Learning(
            out or Path(f"gdaopt-{dataset.name}"),
            dataset,
            options,
            {
                "source": source,
                "table": None if dataset.schema is None else dataset.schema.record(),
            },
            force=force,
            verbose=verbose,
        )
        for key in study.done:
            output.print(plain(f"{study.label(key)}: there already"))
        with watched(watch):
            importance = study.run(show)
        rows = {name: row for name, (row, _) in study.runs.items()}
        results = [result for _, result in study.runs.values()]
        parts: list[Part] = []
        numbers: dict[str, Any] = {"accuracy": None, "test": None}
        if accuracy:
            try:
                with watched(watch):
                    judgement, importance = study.measure(importance, say)
            except InvalidInputError as error:
                parts.append(learned_report.Part("How good it is", [f"Not measured: {error}"]))
            else:
                n_folds = len(importance.folds)
                how = learned_report.describe_folds(len(dataset.labels), n_folds)
                parts.append(learned_report.describe_judgement(judgement, how, options.search))
                numbers["accuracy"] = judgement.record()
        if test is not None:
            run = LearnedRun.load(study.path)
            new = run.read(test, form=form)
            if new.labels is None:
                raise InvalidInputError(f"{test} has no column of labels to judge by")
            judgement = Judgement.of_samples(run, new.features, new.labels)
            how = ", ".join([f"of {test}", *run.describe_overlap(new.features)])
            parts.append(learned_report.describe_judgement(judgement, how, options.search))
            numbers["test"] = judgement.record()
        parts.append(learned_report.describe_importance(importance))
        parts.append(learned_report.describe_fits(rows, results, options.make_method().name))
        say("drawing")
        about = learned_report.Part("What was learned from", [outline, *notes])
        study.report(importance, [*parts, about], numbers)
    for part in parts:
        _print_part(output, part)
    output.print()
    output.say(f"written to {study.path}; {PAGE} there has all of it, with pictures")
    if {row["status"] for row in rows.values()} & FAILURES:
        raise typer.Exit(1)


def _print_part(output: Output, part: Part) -> None:
    """Print what a terminal has room for: the first rows of tables."""
    output.print(f"\n{part.heading}")
    for sentence in part.sentences:
        output.print(plain(f"{sentence}."))
    for of_part in part.tables:
        if not of_part.is_for_terminals:
            continue
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
        for place, heading in enumerate(of_part.header):
            table.add_column(plain(heading), justify="right" if place else "left", overflow="fold")
        for row in of_part.rows[:_MOST_ROWS]:
            table.add_row(*map(plain, row))
        output.print(table)
        if len(of_part.rows) > _MOST_ROWS:
            output.print(f"and {len(of_part.rows) - _MOST_ROWS} more")
