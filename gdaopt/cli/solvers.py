"""``gdaopt solvers``: which solvers work here."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

__all__ = ["solvers"]


def solvers() -> None:
    """List the solvers that CVXPY knows, and whether each solves a tiny linear program here."""
    from gdaopt.backends import solvers as probe_all

    table = Table("solver", "works", "why not")
    table.add_row("analytic", "yes", "")
    for info in probe_all():
        table.add_row(info.name, "yes" if info.usable else "no", info.reason)
    Console().print(table)
