"""``gdaopt plot``: pictures of saved runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gdaopt.printing import plain
from gdaopt.studies.directory_lock import sole_writer
from gdaopt.studies.pictures import write_pictures
from gdaopt.studies.saved_runs import read_runs

__all__ = ["plot"]


def plot(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="what gdaopt learn wrote, or saved results (npz)"),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="output directory (default: DIR; ./gdaopt-plots for several)"),
    ] = None,
    picture_format: Annotated[
        str, typer.Option("--format", metavar="png|pdf|svg", help="of the pictures")
    ] = "png",
) -> None:
    """Draw saved runs: convergence, Gershgorin discs, left-ends, times, and graphs.

    Several directories are compared in the same pictures. Earlier pictures are replaced, no other
    files. Exit code 75: another command is writing to the output directory.
    """
    runs = read_runs(folders)
    folder = out or (folders[0] if len(folders) == 1 else Path("gdaopt-plots"))
    title = ", ".join(path.resolve().name for path in folders)
    console = Console(highlight=False, markup=False, emoji=False)
    with sole_writer(folder):
        paths = write_pictures(runs, folder, title, suffix=picture_format)
    for path in paths:
        console.print(plain(str(path)), soft_wrap=True)
