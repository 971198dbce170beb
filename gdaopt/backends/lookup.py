"""What is known of a solver, asked by its name; and the solvers that others add.

Others add solvers by entry points in the group ``gdaopt.backends``, and by files that the
environment variable ``GDAOPT_BACKEND_MODULES`` names, which worker processes inherit.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from gdaopt.backends.catalogue import CATALOGUE, SolverEntry
from gdaopt.backends.protocol import Backend
from gdaopt.errors import InvalidInputError, SolverFailedError
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.text import reason
from gdaopt.support.validation import check_instance, unknown_name

_GROUP = "gdaopt.backends"
_MODULES = "GDAOPT_BACKEND_MODULES"


def entry_of(name: str) -> SolverEntry:
    """Return the entry of a solver; nearly empty for a solver that newer versions of CVXPY add."""
    _add_foreign()
    return CATALOGUE.get(name) or SolverEntry(name.lower(), hint="see the documentation of CVXPY")


def own_backends() -> list[str]:
    """Return the names of the solvers that are not called through CVXPY."""
    _add_foreign()
    return [name for name, entry in CATALOGUE.items() if entry.backend]


def add_module(path: str | os.PathLike[str]) -> None:
    """Add the solvers of a Python file, here and in the worker processes that are started later.

    Each `SolverEntry` in it is added under the name of its variable.
    """
    _add_file(Path(path).absolute())
    known = os.environ.get(_MODULES, "").split(os.pathsep)
    os.environ[_MODULES] = os.pathsep.join(filter(None, [*known, os.path.abspath(path)]))


def _add_file(path: Path) -> None:
    name = f"gdaopt_backends_{path.stem}"
    loader = SourceFileLoader(name, str(path))
    sys.modules[name] = module = ModuleType(name)  # where dataclasses look for it
    try:
        loader.exec_module(module)
    except Exception as error:  # of any kind: the file may hold anything
        raise InvalidInputError(
            f"the backends of {path} cannot be loaded: {reason(error)}"
        ) from error
    found = {name: one for name, one in vars(module).items() if isinstance(one, SolverEntry)}
    if not any(entry.backend for entry in found.values()):
        raise InvalidInputError(
            f"{path} has no SolverEntry with a backend; write one, such as "
            "mine = SolverEntry(backend=MyBackend)"
        )
    CATALOGUE.update(found)


@cache
def _add_foreign() -> None:
    """Add the solvers of entry points, and of the files that the environment names."""
    for point in entry_points(group=_GROUP):
        try:
            entry = point.load()
            check_instance(f"the entry point {point.value}", entry, SolverEntry)
        except Exception as error:  # of any kind; solvers of others still work
            entry = SolverEntry(backend=_failing(reason(error)))
        CATALOGUE.setdefault(point.name, entry)
    for path in filter(None, os.environ.get(_MODULES, "").split(os.pathsep)):
        _add_file(Path(path))


def _failing(why: str) -> Callable[..., Backend]:
    """Return a backend that cannot be made."""

    def fail(*_: object, **__: object) -> Backend:
        raise SolverFailedError(f"it cannot be loaded: {why}")

    return fail


def tolerance_options(solver: str, tolerance: float) -> dict[str, Any]:
    """Return the options that ask a solver, by its canonical name, for a tolerance.

    They are empty for ``"analytic"``, and for a solver whose tolerances are not known here: it uses
    its defaults.
    """
    entry = entry_of(solver)
    asked = dict.fromkeys(entry.tolerances, tolerance)
    return {entry.tolerances_in: asked} if entry.tolerances_in else asked


def check_option_names(solver: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a solver of CVXPY does not know, where this can be told."""
    known, hides = _option_names(solver), entry_of(solver).hides
    if not known:
        return
    for name in options:
        if name not in known and name not in _of_cvxpy() and not (hides and hides(name)):
            raise unknown_name(f"option of {solver}", name, known)


@cache
def _option_names(solver: str) -> frozenset[str]:
    """Return the names of a solver's options; none where the solver refuses unknown ones."""
    options = entry_of(solver).options
    return frozenset(options() if callable(options) else options)


def _of_cvxpy() -> set[str]:
    """Return the names of CVXPY's own options, which every solver may be given."""
    # The first passes all on to the second, but may be a subclass's or patched.
    functions = (cp.Problem.solve, cp.Problem._solve)
    return {name for function in functions for name in inspect.signature(function).parameters}
