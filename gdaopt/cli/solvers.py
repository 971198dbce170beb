"""``gdaopt solvers``: which solvers work here."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["solvers"]


def solvers() -> None:
    """List the solvers that CVXPY knows: those that work here, and why the others do not.

    Works: it has solved a tiny linear program just now, in a process of its own.
    """
    import gdaopt
    from gdaopt.backends import solvers as probe_all

    console = Console()
    with console.status("trying all solvers"):
        probed = probe_all()
    usable = Table("solver", "version", "licence", "algorithms", "cones beyond linear programs")
    usable.add_row("analytic", gdaopt.__version__, "Apache-2.0", "closed form", "")
    unusable = Table("solver", "licence", "algorithms", "why it does not work here")
    for info in probed:
        name, algorithms = escape(info.name), ", ".join(info.algorithms)
        if info.usable:
            cones = ", ".join(info.cones)
            usable.add_row(name, info.version, info.licence, algorithms, cones)
        else:
            unusable.add_row(name, info.licence, algorithms, escape(info.reason))
    console.print("Working here:", usable, "Not working here:", unusable)
