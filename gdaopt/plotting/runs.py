"""The ways to pass runs to a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from gdaopt.errors import InvalidInputError
from gdaopt.result import Result

__all__ = ["Results", "named_runs"]

Results = Result | Sequence[Result] | Mapping[str, Result]
"""A run, runs, or runs by the names for the legend."""


def named_runs(results: Results) -> list[tuple[str, Result]]:
    """Return the names and runs of what a caller passed.

    Runs without a name get their method's, with a number where it is not the only one.

    Raises
    ------
    InvalidInputError
        For anything else, or for none.
    """
    if isinstance(results, Result):
        results = [results]
    runs = list(results.items() if isinstance(results, Mapping) else _numbered(results))
    for _, run in runs:
        if not isinstance(run, Result):
            raise InvalidInputError(f"results must hold runs (gdaopt.Result), got {run!r}")
    if not runs:
        raise InvalidInputError("results is empty; pass at least one run")
    return runs


def _numbered(results: Iterable[Result]) -> list[tuple[str, Result]]:
    """Return the runs by method and solver, numbered where these are not enough."""
    runs = list(results)
    names = [
        f"{run.method}, {run.solver}" if isinstance(run, Result) else repr(run) for run in runs
    ]
    numbers = {name: count(1) for name in names}
    return [
        (name if names.count(name) == 1 else f"{name} ({next(numbers[name])})", run)
        for name, run in zip(names, runs, strict=True)
    ]
