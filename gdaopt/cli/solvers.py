"""``gdaopt solvers``: which solvers work here."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

__all__ = ["solvers"]


def solvers() -> None:
    """List the solvers that CVXPY knows, whether each works here, and which cones it has.

    Works: it has solved a tiny linear program just now.
    """
    from gdaopt.backends import solvers as probe_all

    table = Table("solver", "works", "cones beyond linear programs", "why not")
    table.add_row("analytic", "yes", "", "")
    for info in probe_all():
        works = "yes" if info.usable else "no"
        table.add_row(info.name, works, ", ".join(info.cones), info.reason)
    Console().print(table)
