"""``gdaopt plot``: pictures of saved runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gdaopt.cli.output import Output
from gdaopt.studies.directory_lock import sole_writer
from gdaopt.studies.pictures import select_runs, write_pictures
from gdaopt.studies.saved_runs import read_runs


def plot(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR|FILE...",
            help="what gdaopt learn or gdaopt compare wrote, or saved results (npz)",
        ),
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="a run to draw, by its name in the pictures; several with several --only "
            "(default: all)",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="output directory (default: DIR; else ./gdaopt-plots)"),
    ] = None,
    picture_format: Annotated[
        str, typer.Option("--format", metavar="png|pdf|svg", help="of the pictures")
    ] = "png",
) -> None:
    """Draw saved runs: convergence, Gershgorin discs, left-ends, times, and graphs.

    Several directories are compared in the same pictures. Where there are many runs, pictures show
    the first of them; --only chooses others. Earlier pictures are replaced, no other files. Exit
    code 75: another command is writing to the output directory.
    """
    runs = read_runs(paths)
    if only:
        runs = select_runs(runs, only)
    folder = out or (paths[0] if len(paths) == 1 and paths[0].is_dir() else Path("gdaopt-plots"))
    title = ", ".join(path.resolve().name for path in paths)
    output = Output()
    with sole_writer(folder):
        paths = write_pictures(runs, folder, title, suffix=picture_format)
    for path in paths:
        output.say(str(path))
