"""The options of CVXPY's solvers: by which names, and where the interface of each looks for them.

Users write all options side by side: a solver's own, ``threads`` for the solvers that have such an
option under any name, and the few of CVXPY itself. Some of CVXPY's interfaces look for a solver's
own inside of another option, a mapping or a protocol buffer. There they may be written as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from gdaopt.backends.catalogue import THREADS, SolverEntry, entry_of
from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened
from gdaopt.support.validation import (
    integer,
    nearest_name,
    number,
    options_mapping,
    unknown_name,
)

COMPILATION = ("gp", "enforce_dpp", "ignore_dpp", "verbose", "canon_backend")
"""The options of CVXPY itself, beside ``warm_start``, which every solver may be given."""

_MOST_THREADS = 512  # HiGHS starts as many, and ends the process where the system has no more


def side_by_side(solver: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in one mapping, by the solver's own names."""
    entry, beside = entry_of(solver), dict(options)
    inside: Mapping[str, Any] = {}
    if entry.inside in beside and (not entry.message or isinstance(beside[entry.inside], Mapping)):
        inside = options_mapping(entry.inside, beside.pop(entry.inside))
    merged: dict[str, Any] = {}
    for written, value in (*beside.items(), *inside.items()):
        name = entry.threads if written == THREADS and entry.threads else written
        if name in merged:
            raise InvalidInputError(f"solver_opts name the option {name} of {solver} twice")
        merged[name] = value
    return merged


def place_options(solver: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options that are side by side where the interface of the solver looks for them."""
    entry = entry_of(solver)
    if not entry.inside:
        return dict(options)
    outside = (entry.inside, *entry.outside)
    beside: dict[str, Any] = {}
    inside: dict[str, Any] = {}
    for name, value in options.items():
        (beside if name in outside else inside)[name] = value
    if entry.message:
        beside[entry.inside] = _write_message(entry, beside.get(entry.inside), inside)
    elif inside:
        beside[entry.inside] = inside
    return beside


def _write_message(entry: SolverEntry, original: object, fields: Mapping[str, Any]) -> Any:
    """Return a copy of a user's protocol buffer, or a new one, with other fields set."""
    kind = resolve_name(entry.message)
    message = kind()
    if original is not None:
        if not isinstance(original, kind):
            module, name = entry.message.split(":")
            raise InvalidInputError(
                f"{entry.inside} must be a {name} of {module}, or a dict of its fields by names "
                f"with dots, got {shortened(original)}"
            )
        message.CopyFrom(original)
    for path, value in fields.items():
        *parts, field = path.split(".")
        owner = message
        for part in parts:
            owner = getattr(owner, part)
        setattr(owner, field, value)
    return message


def check_numbers(solver: str, options: Mapping[str, Any]) -> None:
    """Refuse tolerances and threads that are no such numbers: some solvers ignore what is wrong."""
    entry, values = entry_of(solver), side_by_side(solver, options)
    for name in entry.tolerances:
        if name in values:
            number(f"{name} of {solver}", values[name], at_least=0)
    if entry.threads in values:
        name = f"{entry.threads} of {solver}"
        number(name, integer(name, values[entry.threads], at_least=0), at_most=_MOST_THREADS)


def check_option_names(solver: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a solver would ignore, because it does not know them."""
    entry = entry_of(solver)
    for name in _list_unknown(solver, options) if entry.ignores_unknown else ():
        raise unknown_name(f"option of {solver}", name, entry.option_names)


def suggest_names(solver: str, options: Mapping[str, Any]) -> str:
    """Return the end of a message that options are refused: near names for those not known."""
    names = entry_of(solver).option_names
    near = [nearest_name(name, names, cutoff=0.8) for name in _list_unknown(solver, options)]
    questions = "; ".join(f"did you mean {shortened(name)}?" for name in near if name)
    return questions or "see the options in its documentation"


def _list_unknown(solver: str, options: Mapping[str, Any]) -> list[str]:
    entry = entry_of(solver)
    allowed = {*entry.option_names, *COMPILATION, "warm_start", entry.inside, *entry.outside}
    return [name for name in side_by_side(solver, options) if name not in allowed]
