"""The application: commands, and how errors are shown."""

from __future__ import annotations

import sys
from typing import Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from gdaopt.cli.compare import compare
from gdaopt.cli.learn import learn
from gdaopt.cli.plot import plot
from gdaopt.cli.solvers import solvers
from gdaopt.cli.table1 import table1
from gdaopt.errors import GdaoptError

__all__ = ["app"]


class _Group(TyperGroup):
    """Shows the package's own errors as one sentence; all others are bugs and keep their trace."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except GdaoptError as error:
            Console(stderr=True, highlight=False).print(
                f"error: {error}", style="red", markup=False, soft_wrap=True
            )
            sys.exit(2)


app = typer.Typer(
    cls=_Group,
    help="Learn positive definite metrics without projections.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(learn)
app.command()(compare)
app.command()(table1)
app.command()(plot)
app.command()(solvers)
