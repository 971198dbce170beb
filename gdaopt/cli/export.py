"""``gdaopt export``: single recorded programs for other solvers and collections."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gdaopt.bench.export import EXPORTS
from gdaopt.bench.export import export as write_program
from gdaopt.bench.recorded import load_programs
from gdaopt.cli.output import Output
from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened
from gdaopt.support.validation import check_name


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
    out.mkdir(parents=True, exist_ok=True)
    output = Output()
    for number in chosen:
        one = programs[number]
        for name in formats or EXPORTS:
            file = out / f"{recorded.stem}-{number:05d}-{one.kind}{EXPORTS[name]}"
            path = write_program(one, file)
            output.say(str(path))
