"""What a study of solvers compares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from gdaopt.backends import ANALYTIC, find_backend, solvers
from gdaopt.backends.lookup import entry_of
from gdaopt.bench.replayed import Start
from gdaopt.bench.sequences import KINDS
from gdaopt.errors import InvalidInputError
from gdaopt.support.text import shortened
from gdaopt.support.validation import check_name, integer, number, store_checked

ALL = "all"
"""In the place of solvers: every one that works here."""

STARTS: tuple[Start, ...] = get_args(Start)
METHODS = tuple(dict.fromkeys(KINDS.values()))
"""The methods of whole runs."""


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """What to compare, and how; the options of ``gdaopt bench``, which says what each means.

    ``"analytic"`` is always among the solvers, as the reference. Bad options are refused.
    """

    solvers: Sequence[str] = (ALL,)
    programs: Sequence[str] = tuple(KINDS)
    starts: Sequence[str] = STARTS
    tolerances: Sequence[float] = (1e-6, 1e-4)
    runs: Sequence[str] = METHODS
    repeats: int = 3
    steps: int = 300
    most: int = 100
    cap: float = 10.0
    budget: float = 60.0
    jobs: int = 1

    def __post_init__(self) -> None:
        for name, known in (("programs", KINDS), ("starts", STARTS), ("runs", METHODS)):
            values = _sequence(name, getattr(self, name))
            for value in values:
                check_name(name.removesuffix("s"), value, known)
            ordered = tuple(word for word in known if word in values)
            object.__setattr__(self, name, ordered)
        if not self.programs or not self.starts:
            raise InvalidInputError("programs and starts must have at least one name each")
        asked = _sequence("tolerances", self.tolerances)
        tolerances = {number("each of tolerances", one, above=0) for one in asked}
        if not tolerances or max(tolerances) >= 1:
            raise InvalidInputError(
                f"tolerances must be numbers between 0 and 1, at least one, got {shortened(asked)}"
            )
        object.__setattr__(self, "tolerances", tuple(sorted(tolerances)))
        for name in ("repeats", "steps", "most", "jobs"):
            store_checked(self, integer, name, at_least=1)
        for name in ("cap", "budget"):
            store_checked(self, number, name, above=0)
        object.__setattr__(self, "solvers", _canonical(_sequence("solvers", self.solvers)))

    def record(self) -> dict[str, Any]:
        """Return what all rows depend on, as plain values; solvers may come and go."""
        return {
            **{name: list(getattr(self, name)) for name in ("programs", "starts", "runs")},
            "tolerances": list(self.tolerances),
            **{name: getattr(self, name) for name in ("repeats", "steps", "most", "cap", "budget")},
        }


def starts_of(solver: str, starts: Sequence[str]) -> list[str]:
    """Return the starts that a solver has."""
    if solver == ANALYTIC:
        return ["re-solve"]
    return [start for start in starts if start != "hot" or entry_of(solver).hot]


def _canonical(names: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the solvers that are meant, ``"analytic"`` first."""
    if any(isinstance(name, str) and name.lower() == ALL for name in names):
        if len(names) > 1:
            raise InvalidInputError(f"solvers: {ALL!r} stands alone, got {shortened(names)}")
        usable = (info.name for info in solvers() if info.usable)
        found = [name for name in usable if not entry_of(name).is_twin]
    else:
        found = [find_backend(name) for name in names]
    return tuple(dict.fromkeys([ANALYTIC, *found]))


def _sequence(name: str, values: Any) -> tuple[Any, ...]:
    """Return values as a tuple; refuse a text, which would be read letter by letter."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InvalidInputError(f"{name} must be a list, got {shortened(values)}")
    return tuple(values)
