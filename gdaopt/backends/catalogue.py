"""What is known of each solver: package, licence, algorithms, options, tolerances.

The facts are data, in ``solvers.toml`` beside this file: a table there, and no code, adds a solver.
Others add an entry to `CATALOGUE`, or name one by an entry point in the group ``gdaopt.backends``;
or they write a file that the environment variable ``GDAOPT_BACKEND_MODULES`` names, which worker
processes inherit. The other modules ask `entry_of`.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from types import ModuleType
from typing import Any

from gdaopt.backends.protocol import Backend
from gdaopt.errors import InvalidInputError, SolverFailedError
from gdaopt.support.text import reason
from gdaopt.support.validation import check_instance

THREADS = "threads"
"""The option of all solvers that take a number of threads, whatever they call it themselves."""


@dataclass(frozen=True)
class SolverEntry:
    """One solver.

    One number can be asked of all solvers as their tolerance. What it means differs, so that what
    was reached has to be measured at the answer.

    Attributes
    ----------
    package, licence : str
        The package that brings it, as indices call it; an SPDX identifier or ``"proprietary"``.
    algorithms : tuple of str
        Kinds of algorithm that it has for linear programs, the default first.
    hint : str
        How to get it.
    backend : callable or str, optional
        What makes its ``Backend``, or ``"module:name"`` of that; by default it is called through
        CVXPY. It is called with the options of the solver, and with the keywords ``isolate`` and
        ``hot``; it refuses options that it does not know with an InvalidInputError.
    twin_of : str
        Its namesake, by whose code it solves linear programs, and others by branch and bound. It
        takes from there all that is not said of it.
    alone : bool
        Whether it is solved in a worker process that loads no other solver: because it prints what
        no option silences, or because its libraries clash with those of highspy.
    hot : bool
        Whether it can be started from its last answer. Others are at most told what has changed.
    tolerances, loosening : tuple of str
        The names of the options that are tolerances, none if we do not know them; and of those that
        would loosen them, which are 0 if a tolerance is asked.
    share_of_gap : float
        The share of a certified gap that its tolerances have to be so that the answer reaches this
        gap; 0 if we do not know it.
    threads : str
        The option with the number of threads; empty if there is none.
    time_limit : str
        The option with the seconds that it may take; empty if it is not used.
    inside, outside : str and tuple of str
        The option of CVXPY whose value holds the solver's own, if these do not stand beside those
        of CVXPY; and which of them stand beside it all the same.
    message : str
        The protocol buffer that this value is, as ``"module:name"``, with the options for fields,
        by names with dots; empty if it is a mapping.
    second_opinion : mapping, optional
        The options with which it is asked again after it has called a program infeasible.
    ignores_unknown : bool
        Whether it ignores an option that it does not know.
    options : tuple of str
        Names of more options, which are suggested for a misspelt one. If it ignores what it does
        not know, these have to be all: any other name is refused.
    """

    package: str = ""
    licence: str = "unknown"
    algorithms: tuple[str, ...] = ("unknown",)
    hint: str = 'pip install "gdaopt[solvers]"'
    backend: Callable[..., Backend] | str | None = None
    twin_of: str = ""
    alone: bool = False
    hot: bool = False
    tolerances: tuple[str, ...] = ()
    loosening: tuple[str, ...] = ()
    share_of_gap: float = 0.0
    threads: str = ""
    time_limit: str = ""
    inside: str = ""
    outside: tuple[str, ...] = ()
    message: str = ""
    second_opinion: Mapping[str, Any] | None = None
    ignores_unknown: bool = False
    options: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The version of its package that is installed; empty if there is none."""
        try:
            return version(self.package)
        except (PackageNotFoundError, ValueError):  # of a solver without a package
            return ""

    @property
    def option_names(self) -> set[str]:
        """The names by which users may write its options, as far as they are known."""
        threads = (THREADS, self.threads) if self.threads else ()
        names = {*self.tolerances, *self.loosening, *threads, self.time_limit, *self.options}
        return names - {""}


def _read_catalogue() -> dict[str, SolverEntry]:
    tables = tomllib.loads(Path(__file__).with_name("solvers.toml").read_text(encoding="utf-8"))
    entries = {}
    for name, table in tables.items():
        facts: dict[str, Any] = tables.get(table.get("twin_of"), {}) | table
        lists = {key: tuple(fact) for key, fact in facts.items() if isinstance(fact, list)}
        entries[name] = SolverEntry(**(facts | lists))
    return entries


CATALOGUE = _read_catalogue()
"""The entries of all solvers by name."""


# --- Solvers by name ------------------------------------------------------------------------------

_GROUP = "gdaopt.backends"
_MODULES = "GDAOPT_BACKEND_MODULES"


def entry_of(name: str) -> SolverEntry:
    """Return the entry of a solver; nearly empty for a solver that newer versions of CVXPY add."""
    _add_foreign()
    return CATALOGUE.get(name) or SolverEntry(name.lower(), hint="see the documentation of CVXPY")


def list_backends() -> dict[str, str]:
    """Return the names of the solvers that are not called through CVXPY, by these in capitals."""
    _add_foreign()
    return {name.upper(): name for name, entry in CATALOGUE.items() if entry.backend}


def tolerance_options(solver: str, tolerance: float) -> dict[str, Any]:
    """Return the options that ask a solver for a tolerance; none if these are not known."""
    entry = entry_of(solver)
    return dict.fromkeys(entry.tolerances, tolerance) | dict.fromkeys(entry.loosening, 0.0)


def add_module(path: str | os.PathLike[str]) -> None:
    """Add each `SolverEntry` of a Python file by its name, here and in workers started later."""
    _add_file(Path(path).absolute())
    modules = os.environ.get(_MODULES, "").split(os.pathsep)
    os.environ[_MODULES] = os.pathsep.join(filter(None, [*modules, os.path.abspath(path)]))


def _add_file(path: Path) -> None:
    name = f"gdaopt_backends_{path.stem}"
    loader = SourceFileLoader(name, str(path))
    sys.modules[name] = module = ModuleType(name)  # where dataclasses look for it
    try:
        loader.exec_module(module)
    except Exception as error:  # the file may hold anything, and raise it
        raise InvalidInputError(
            f"the backends of {path} cannot be loaded: {reason(error)}"
        ) from error
    entries = {name: one for name, one in vars(module).items() if isinstance(one, SolverEntry)}
    if not any(entry.backend for entry in entries.values()):
        raise InvalidInputError(
            f"{path} has no SolverEntry with a backend; write one, such as "
            "mine = SolverEntry(backend=MyBackend)"
        )
    CATALOGUE.update(entries)


@cache
def _add_foreign() -> None:
    """Add the solvers of entry points, and of the files that the environment names."""
    for point in entry_points(group=_GROUP):
        try:
            entry = point.load()
            check_instance(f"the entry point {point.value}", entry, SolverEntry)
        except Exception as error:  # whatever it raises, the other solvers still work
            entry = SolverEntry(backend=_failing_backend(reason(error)))
        CATALOGUE.setdefault(point.name, entry)
    for path in filter(None, os.environ.get(_MODULES, "").split(os.pathsep)):
        _add_file(Path(path))


def _failing_backend(why: str) -> Callable[..., Backend]:
    """Return a backend that cannot be made."""

    def fail(*_: object, **__: object) -> Backend:
        raise SolverFailedError(f"it cannot be loaded: {why}")

    return fail
