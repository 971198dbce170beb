"""What callers of pictures pass as runs: results, traces and tables of these, and repeats."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.result import Result
from gdaopt.support.text import plain, shortened
from gdaopt.support.validation import FloatArray
from gdaopt.trace import COLUMNS, Trace

if TYPE_CHECKING:
    import pandas as pd

    Run = Result | Trace | pd.DataFrame
    """A run: its result, its trace, or the table of its trace."""

    Runs = Run | Sequence[Run | Sequence[Run]] | Mapping[Any, Run | Sequence[Run]]
    """One run, several runs, or runs by their names; a list under a name holds repeats."""


@dataclass(frozen=True, eq=False, kw_only=True)
class History:
    """What pictures show of a run.

    Attributes
    ----------
    column : callable
        Returns a column of the trace by its name, NaN if a number is missing.
    columns : tuple of str
        The names of the columns that it has.
    left_ends : ndarray of shape (n_rows, K) or None
        Those of each feature; None of a table, which has the smallest and the largest.
    n_features : int or None
        K, None of a table.
    lower_bound : float
        The largest one that was certified, -inf without any.
    min_eigenvalue : float
        The least that the set allows, NaN if only the trace is known.
    seconds : float
        The time of the run.
    method : str
        Method and solver, empty if only the trace is known.
    """

    column: Callable[[str], Any]
    columns: tuple[str, ...]
    left_ends: FloatArray | None
    n_features: int | None
    lower_bound: float
    min_eigenvalue: float = math.nan
    seconds: float
    method: str = ""


def as_history(run: Run) -> History:
    """Return what pictures show of a run; refuse what is none, and one without rows."""
    if isinstance(run, Result):
        return replace(
            _of_trace(run.trace),
            n_features=run.n_features,
            lower_bound=-math.inf if run.lower_bound is None else run.lower_bound,
            min_eigenvalue=run.feasible_set.min_eigenvalue,
            seconds=run.seconds,
            method=f"{run.method}, {run.solver}",
        )
    if isinstance(run, Trace):
        return _of_trace(run)
    if hasattr(run, "to_numpy") and hasattr(run, "columns"):
        return _of_table(run)
    raise InvalidInputError(
        "pass runs, as gdaopt.solve returns them, their traces, or tables of these; got "
        f"{shortened(run)}"
    )


def _of_trace(trace: Trace) -> History:
    if len(trace) == 0:
        raise InvalidInputError("the trace of the run has no rows; there is nothing to draw")
    bounds, ends = trace.column("lower_bound"), trace.left_ends
    return History(
        column=trace.column,
        columns=trace.columns(),
        left_ends=ends,
        n_features=ends.shape[1],
        lower_bound=float(np.nanmax(bounds, initial=-math.inf)),
        seconds=trace[-1].seconds,
    )


def _of_table(table: pd.DataFrame) -> History:
    names = tuple(map(str, table.columns))
    if len(table) == 0:
        raise InvalidInputError("the table of the run has no rows; there is nothing to draw")

    def column(name: str) -> Any:
        is_text = name in COLUMNS and COLUMNS[name].type == "str"
        if name not in names:
            return np.full(len(table), "" if is_text else np.nan)
        if is_text:
            return table[name].fillna("").to_numpy()
        try:
            return table[name].to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"column {name!r} of the table of a run holds other than numbers"
            ) from None

    for name in ("iteration", "objective"):
        if not np.isfinite(np.asarray(column(name), dtype=np.float64)).all():
            raise InvalidInputError(
                f"the table of a run needs numbers in its column {name!r}; it has the columns "
                f"{shortened(names)}; pass it as trace.to_pandas() or trace.to_csv wrote it"
            )
    return History(
        column=column,
        columns=names,
        left_ends=None,
        n_features=None,
        lower_bound=float(np.nanmax(column("lower_bound"), initial=-math.inf)),
        seconds=float(column("seconds")[-1]),
    )


def named_runs(runs: Runs) -> dict[str, list[History]]:
    """Return the runs that a caller passed by name, or by method and solver, with numbers.

    A run is a list of one, and a list of repeats has one name.
    """
    if isinstance(runs, Mapping):
        named = {plain(str(name)): _repeats(entry) for name, entry in runs.items()}
    elif isinstance(runs, Sequence) and not isinstance(runs, str | Trace):
        named = _number_runs([_repeats(entry) for entry in runs])
    else:
        named = _number_runs([_repeats(runs)])
    if not named:
        raise InvalidInputError("runs is empty; pass at least one run")
    return named


def _repeats(entry: Any) -> list[History]:
    """Return a run, or repeats, as a list."""
    if not isinstance(entry, list | tuple):
        return [as_history(entry)]
    if not entry:
        raise InvalidInputError("a list of repeats is empty; pass at least one run")
    return [as_history(run) for run in entry]


def _number_runs(entries: Iterable[list[History]]) -> dict[str, list[History]]:
    """Return the runs named after method and solver, with numbers if names are equal."""
    entries = list(entries)
    names = [plain(repeats[0].method or "run") for repeats in entries]
    numbers = {name: count(1) for name in names}
    return {
        name if names.count(name) == 1 else f"{name} ({next(numbers[name])})": repeats
        for name, repeats in zip(names, entries, strict=True)
    }
