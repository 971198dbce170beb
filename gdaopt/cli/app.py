"""The application and its commands."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import gdaopt
from gdaopt.backends.catalogue import add_module
from gdaopt.cli.bench import bench, export, solvers
from gdaopt.cli.compare import compare
from gdaopt.cli.learn import learn
from gdaopt.cli.output import checking_output, last_words, showing_errors
from gdaopt.cli.runs import apply, plot

_KEPT = "a file is written as a whole or not at all, and existing files are kept"


class _Group(TyperGroup):
    """Commands that show the package's own errors, and an interrupt, as one sentence."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program; characters that the terminal does not have are shown as escapes."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        with showing_errors(), checking_output():
            return super().main(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with last_words(lambda: _KEPT):
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    rich_markup_mode="markdown",  # by default the lines of a docstring are kept as they are
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"gdaopt {gdaopt.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    backend_module: Annotated[
        list[Path] | None,
        typer.Option(help="Python file with backends of one's own; may be repeated"),
    ] = None,
    version: Annotated[  # noqa: ARG001 (its callback prints it)
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="show the version"),
    ] = False,
) -> None:
    """Learn positive definite metrics without projections."""
    for path in backend_module or ():
        add_module(path)


for command in (learn, apply, compare, plot, bench, solvers, export):
    app.command()(command)
