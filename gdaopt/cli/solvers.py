"""``gdaopt solvers``: which solvers work here."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table


def solvers() -> None:
    """List the solvers that work here, and say why other solvers do not.

    analytic, the exact solution in closed form, and highspy, HiGHS by its own interface, solve
    linear programs without CVXPY, as do backends of other packages and of --backend-module. All
    other solvers are called through CVXPY. A solver works when it has solved a tiny linear program
    just now, in a process of its own.
    """
    from gdaopt.backends import solvers as probe_all

    console = Console()
    with console.status("trying all solvers"):
        probed = probe_all()
    usable = _table("solver", "version", "licence", "algorithms", "cones beyond linear programs")
    unusable = _table("solver", "licence", "algorithms", "why it does not work here")
    for info in probed:
        name, algorithms = escape(info.name), ", ".join(info.algorithms)
        if info.usable:
            cones = ", ".join(info.cones)
            usable.add_row(name, info.version, info.licence, algorithms, cones)
        else:
            unusable.add_row(name, info.licence, algorithms, escape(info.reason))
    console.print("Working here:", usable, "Not working here:", unusable)


def _table(*titles: str) -> Table:
    return Table(*(Column(title, overflow="fold") for title in titles))
