"""The options of CVXPY's solvers: by which names, and where the interface of each looks for them.

Users write all options side by side: a solver's own, ``threads`` for the solvers that have such an
option under any name, and the few of CVXPY itself. Some of CVXPY's interfaces look for a solver's
own inside of another option, a mapping or a protocol buffer. There they may be written as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from gdaopt.backends.catalogue import SolverEntry, entry_of
from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened
from gdaopt.support.validation import integer, number, options_mapping, unknown_name

COMPILATION = ("gp", "enforce_dpp", "ignore_dpp", "verbose", "canon_backend")
"""The options of CVXPY itself, beside ``warm_start``, which every solver may be given."""

_THREADS = "threads"
_MOST_THREADS = 512  # HiGHS starts as many, and ends the process where the system has no more


def side_by_side(solver: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in one mapping, by the solver's own names."""
    entry, beside = entry_of(solver), dict(options)
    inner: Mapping[str, Any] = {}
    if entry.inside in beside and (not entry.message or isinstance(beside[entry.inside], Mapping)):
        inner = options_mapping(entry.inside, beside.pop(entry.inside))
    found: dict[str, Any] = {}
    for name, value in (*beside.items(), *inner.items()):
        own = entry.threads if name == _THREADS and entry.threads else name
        if own in found:
            raise InvalidInputError(f"solver_opts name the option {own} of {solver} twice")
        found[own] = value
    return found


def placed(solver: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that are side by side where the interface of the solver looks for them."""
    entry = entry_of(solver)
    if not entry.inside:
        return dict(options)
    found = {name: value for name, value in options.items() if name in _beside(entry)}
    inner = {name: value for name, value in options.items() if name not in found}
    if entry.message:
        found[entry.inside] = _message(entry, found.get(entry.inside), inner)
    elif inner:
        found[entry.inside] = inner
    return found


def _beside(entry: SolverEntry) -> tuple[str, ...]:
    return (entry.inside, *entry.outside)


def _message(entry: SolverEntry, given: object, fields: Mapping[str, Any]) -> Any:
    """Return a copy of the given protocol buffer, or a new one, with other fields set."""
    module, name = entry.message
    kind = getattr(import_module(module), name)
    message = kind()
    if given is not None:
        if not isinstance(given, kind):
            raise InvalidInputError(
                f"{entry.inside} must be a {name} of {module}, or a dict of its fields by names "
                f"with dots, got {shortened(given)}"
            )
        message.CopyFrom(given)
    for path, value in fields.items():
        *parts, field = path.split(".")
        owner = message
        for part in parts:
            owner = getattr(owner, part)
        setattr(owner, field, value)
    return message


def check_numbers(solver: str, options: Mapping[str, Any]) -> None:
    """Refuse tolerances and threads that are no such numbers: some solvers ignore what is wrong."""
    entry, given = entry_of(solver), side_by_side(solver, options)
    for name in entry.tolerances:
        if name in given:
            number(f"{name} of {solver}", given[name], at_least=0)
    if entry.threads in given:
        name = f"{entry.threads} of {solver}"
        number(name, integer(name, given[entry.threads], at_least=0), at_most=_MOST_THREADS)


def check_option_names(solver: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a solver does not know, where its options are known."""
    known, entry = _option_names(solver), entry_of(solver)
    allowed = {*known, *COMPILATION, "warm_start", *_beside(entry)}
    for name in side_by_side(solver, options) if known else ():
        if name not in allowed:
            raise unknown_name(
                f"option of {solver}", name, known | ({_THREADS} if entry.threads else set())
            )


@cache
def _option_names(solver: str) -> frozenset[str]:
    """Return the names of a solver's options; none where they are not known."""
    options = entry_of(solver).options
    return frozenset(options() if callable(options) else options)
