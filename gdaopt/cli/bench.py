"""``gdaopt solvers``, ``bench`` and ``export``: solvers that work here, and recorded programs.

Every solver is timed and judged alike on the programs, which are also written for other software.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from gdaopt.bench.export import EXPORTS
from gdaopt.bench.export import export as write_program
from gdaopt.bench.mps import MPS_ENDING
from gdaopt.bench.recorded import load_programs
from gdaopt.bench.sequences import GENERATED, BenchOptions, ProgramSequence
from gdaopt.bench.study import Bench
from gdaopt.bench.table import latex
from gdaopt.cli import options as option
from gdaopt.cli.output import Output, run_study
from gdaopt.datasets import FROM_UCI, TableFormat
from gdaopt.errors import InvalidInputError
from gdaopt.studies.sources import is_table, load_source
from gdaopt.support.files import write_text
from gdaopt.support.options import read_numbers, read_words
from gdaopt.support.text import shortened
from gdaopt.support.validation import as_path, check_name


@option.spread
def bench(
    *,
    data: Annotated[
        str,
        typer.Option(
            help="data sets or CSV files, separated by commas, whose first class is learned; "
            "synthetic: runs on two clouds; random: programs of no run, both in each size; "
            "recorded programs (.npz), MPS files and directories of them (a name with a comma in "
            "double quotes)"
        ),
    ] = "wine,breast_cancer,synthetic,random",
    sizes: Annotated[str, typer.Option(help="features of synthetic and random data")] = "50,200",
    options: BenchOptions,
    columns: option.Columns,
    form: TableFormat,
    data_dir: option.DataDir = None,
    out: Annotated[Path, typer.Option(help="output directory")] = Path("gdaopt-bench"),
    page_format: option.PageFormat = "markdown",
) -> None:
    """Solve recorded programs and whole runs by many solvers, timed and judged alike.

    A program counts as solved when the point that the solver returned is feasible and optimal up
    to the tolerance, whatever the solver says of it. Writes bench.md, summary, programs and runs as
    CSV and parquet, and the pictures times.png, profiles.png and pareto.png; with --format latex
    also bench.tex. When it was interrupted, the same command goes on with what is missing; it may
    name other solvers. Exit code 75: another command is writing to the directory.
    """
    output = Output()
    check_name("--format", page_format, option.PAGE_FORMATS)
    of_tables = {"form": form, **vars(columns)}
    numbers = read_numbers("--sizes", sizes, int)
    study = Bench(out, _sequences(read_words(data), numbers, of_tables, data_dir), options)
    about, most_seconds = study.estimate()
    used = dict.fromkeys(task.about["solver"] for task in study.tasks.values())
    output.say(
        f"{len(study.tasks) - len(study.done)} cells by {', '.join(used)}: about "
        f"{about / 60:.0f} min where programs are small, at most {most_seconds / 60:.0f} min"
    )
    summary, _ = run_study(output, study, "cells")
    if page_format == "latex":
        write_text(study.path / "bench.tex", latex(summary, options))
    verified = summary.groupby("solver", sort=False)[["verified", "wrong", "infeasible"]].sum()
    for name, row in verified.iterrows():
        output.say(
            f"{name}: {row['verified']} answers verified, {row['wrong']} wrong, "
            f"{row['infeasible']} called infeasible"
        )
    output.say(f"written to {study.path}")
    if len(study.done) < len(study.tasks):
        output.print("some cells died; run the same command again to try them again")
        raise typer.Exit(1)


def _sequences(
    sources: Sequence[str],
    sizes: Sequence[int],
    of_tables: Mapping[str, Any],
    data_dir: Path | None,
) -> list[ProgramSequence]:
    sequences = []
    for source in dict.fromkeys(sources):
        if source.lower().endswith(".npz"):
            sequences.append(ProgramSequence.from_recorded(source))
            continue
        if as_path("data", source).is_dir() or MPS_ENDING.search(source):
            sequences.append(ProgramSequence.from_mps(source))
            continue
        if source not in GENERATED:
            dataset = load_source(
                source,
                data_dir=data_dir if source in FROM_UCI else None,
                **(of_tables if is_table(source) else {}),
            )
            sequences.append(ProgramSequence(dataset.name, dataset))
            continue
        for size in dict.fromkeys(sizes):
            if size < 5:
                raise InvalidInputError(f"--sizes must be at least 5, got {size}")
            sequences.append(ProgramSequence(source, size=size))
    return sequences


def export(
    recorded: Annotated[
        Path,
        typer.Argument(
            metavar="PROGRAMS.npz",
            help='recorded programs: what gdaopt.bench.recording("PROGRAMS.npz") wrote',
        ),
    ],
    program: Annotated[
        list[int] | None,
        typer.Option(help="number of a program, from 0; may be repeated (default: all)"),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="mps, or python (a CVXPY problem); default: both"),
    ] = None,
    out: Annotated[Path, typer.Option(help="output directory")] = Path("gdaopt-programs"),
) -> None:
    """Write recorded linear programs as MPS files, and as CVXPY problems in Python files.

    They are in the units in which solvers see them. Earlier files of the same names are replaced.
    """
    programs = load_programs(recorded)
    chosen = program or range(len(programs))
    for number in chosen:
        if not 0 <= number < len(programs):
            raise InvalidInputError(
                f"--program {number}: {shortened(str(recorded))} holds {len(programs)} programs, "
                f"0 to {len(programs) - 1}"
            )
    for name in formats or ():
        check_name("format", name, EXPORTS)
    out = as_path("out", out)
    out.mkdir(parents=True, exist_ok=True)
    output = Output()
    for number in chosen:
        one = programs[number]
        for name in formats or EXPORTS:
            file = out / f"{recorded.stem}-{number:05d}-{one.kind}{EXPORTS[name]}"
            path = write_program(one, file)
            output.say(str(path))


def solvers() -> None:
    """List the solvers that work here, and say why other solvers do not.

    analytic, the exact solution in closed form, and highspy, HiGHS by its own interface, solve
    linear programs without CVXPY, as do backends of other packages and of --backend-module. All
    other solvers are called through CVXPY. A solver works when it has solved a tiny linear program
    just now, in a process of its own.
    """
    from gdaopt.backends import solvers as probe_all

    output = Output()
    with output.status("trying all solvers"):
        probed = probe_all()
    usable = _table("solver", "version", "licence", "algorithms", "cones beyond linear programs")
    unusable = _table("solver", "licence", "algorithms", "why it does not work here")
    for info in probed:
        name, algorithms = info.name, ", ".join(info.algorithms)
        if info.usable:
            cones = ", ".join(info.cones)
            usable.add_row(name, info.version, info.licence, algorithms, cones)
        else:
            unusable.add_row(name, info.licence, algorithms, info.reason)
    output.print("Working here:", usable, "Not working here:", unusable)


def _table(*titles: str) -> Table:
    return Table(*(Column(title, overflow="fold") for title in titles))
