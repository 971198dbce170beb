"""The application and its commands."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from gdaopt.cli.compare import compare
from gdaopt.cli.errors import errors_shown
from gdaopt.cli.export import export
from gdaopt.cli.learn import learn
from gdaopt.cli.plot import plot
from gdaopt.cli.solvers import solvers

__all__ = ["app"]


class _Group(TyperGroup):
    """Commands that show the package's own errors as one sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with errors_shown():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Group,
    help="Learn positive definite metrics without projections.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(learn)
app.command()(compare)
app.command()(plot)
app.command()(solvers)
app.command()(export)
