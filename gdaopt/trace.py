"""The trace of a run: its history, one row for each recorded step."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.support.files import write_atomically, write_text
from gdaopt.support.text import ShownAsTable, html_table, number_text, text_table
from gdaopt.support.validation import FloatArray, check_name, read_only

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["StepColumns", "Trace", "TraceRow"]


@dataclass(frozen=True, eq=False, kw_only=True)
class StepColumns(ShownAsTable):
    """What a method says of one of its steps; None where a column does not apply.

    ``docs/traces.md`` says what the columns are. Counts are from the start of the run. Times are of
    the step, and in a trace of all steps since the row before. `build_seconds` is for all that
    comes before and after a solver, such as the polytope of a block, and `solve_seconds` for the
    solver with its interface, whether or not one reports a time of its own.
    """

    iteration: int = 0
    round: int = 0
    phase: str = "start"
    block: int | None = None
    objective: float
    block_gap: float | None = None
    lower_bound: float | None = None
    step: float | None = None
    aligned_spread: float | None = None
    repair_distance: float | None = None
    oracle_calls: int = 0
    eig_iterations: int = 0
    eigen_decompositions: int = 0
    build_seconds: float | None = None
    write_seconds: float | None = None
    canonicalize_seconds: float | None = None
    solve_seconds: float | None = None
    unpack_seconds: float | None = None
    reported_seconds: float | None = None
    eig_seconds: float = 0.0
    objective_seconds: float = 0.0
    solver: str = ""
    solver_status: str = ""
    scaling: str = ""


@dataclass(frozen=True, kw_only=True)
class TraceRow(StepColumns):
    """A run after one of its steps: what the method said, and what was measured after it.

    `lambda_min` and the left-ends are None where they take longer than what was left of the time
    limit, for components of over 1000 features.
    """

    relative_gap: float | None
    lambda_min: float | None
    left_end_min: float | None
    left_end_max: float | None
    matrix_trace: float
    constraint_violation: float | None
    seconds: float


def relative_gap(objective: float, lower_bound: float) -> float:
    """Return ``(objective - lower_bound) / |objective|``; without a gap 0, even where Q is 0."""
    gap = objective - lower_bound
    if lower_bound == -math.inf:
        return math.inf
    if gap == 0 or objective == 0:
        return math.copysign(math.inf, gap) if gap else 0.0
    return gap / abs(objective)


_TYPES = {each.name: str(each.type) for each in fields(TraceRow)}
_ARRAY_TYPES: dict[str, type] = {"str": np.str_, "int": np.int64}  # of others float64
_PRINTED = (
    *("iteration", "phase", "block", "objective", "relative_gap"),
    *("lambda_min", "oracle_calls", "seconds"),
)
_FIRST, _LAST = 5, 5  # rows in print


@dataclass(frozen=True, eq=False)
class Trace:
    """The history of a run: rows, and the left-ends after each; printing shows the main columns.

    Attributes
    ----------
    rows : tuple of TraceRow
        The rows. Iterating over a trace, and indexing it, gives its rows as well.
    left_ends : ndarray of shape (n_rows, K)
        Left-ends of the metric after each row's step, under the scalars used for that step; for a
        step without scalars under the first eigenvectors of the components of the graph, so that
        all features of a component have one left-end, its smallest eigenvalue. NaN where the
        columns `left_end_min` and ``left_end_max`` are None.
    iterates : ndarray of shape (n_rows, K, K) or None
        The metric of each row, when the method was asked to keep them.
    multipliers : ndarray of shape (n_rows, m) or None
        Of the linear constraints in the certificate of each row, NaN where there is none; in the
        last row those of the result. None when the problem has no constraints.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> gda.solve(problem, "alternating", solver="analytic").trace[0].phase
    'start'
    """

    rows: tuple[TraceRow, ...]
    left_ends: FloatArray
    iterates: FloatArray | None = None
    multipliers: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TraceRow]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> TraceRow:
        return self.rows[index]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Trace)
            and self.rows == other.rows
            and same_array(self.left_ends, other.left_ends)
            and same_array(self.iterates, other.iterates)
            and same_array(self.multipliers, other.multipliers)
        )

    __hash__ = None  # type: ignore[assignment]  # an array has no hash

    def __repr__(self) -> str:
        return f"{self._title()}\n{text_table(self._printed(), _PRINTED)}"

    def _repr_html_(self) -> str:
        return html_table(self._printed(), caption=self._title(), header=_PRINTED)

    def _title(self) -> str:
        return f"trace of {len(self)} rows (to_pandas() gives all rows and columns)"

    def _printed(self) -> list[tuple[str, ...]]:
        """Return the cells of the first and last rows, with a row of dots for the rows between."""
        cells = [tuple(number_text(getattr(row, name)) for name in _PRINTED) for row in self.rows]
        if len(cells) <= _FIRST + _LAST + 1:
            return cells
        return [*cells[:_FIRST], ("…",) * len(_PRINTED), *cells[-_LAST:]]

    @staticmethod
    def columns() -> tuple[str, ...]:
        """Return the names of the columns, in order."""
        return tuple(_TYPES)

    def column(self, name: str) -> np.ndarray:
        """Return a column as an array of text, whole numbers, or float64 with NaN for None."""
        check_name("trace column", name, self.columns())
        values = [getattr(row, name) for row in self.rows]
        return np.array(
            [np.nan if value is None else value for value in values],
            dtype=_ARRAY_TYPES.get(_TYPES[name], np.float64),
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a data frame; None becomes NaN, and ``<NA>`` in the column block."""
        import pandas as pd  # slow to import, and needed here only

        frame = pd.DataFrame({name: self.column(name) for name in self.columns()})
        return frame.astype({"block": "Int64"})

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the rows as CSV, atomically; None becomes an empty cell."""
        return write_text(path, self.to_pandas().to_csv(index=False))

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Write the rows as parquet, atomically."""
        return write_atomically(path, lambda file: self.to_pandas().to_parquet(file, index=False))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return all of the trace as arrays for `from_arrays`."""
        arrays = {name: self.column(name) for name in self.columns()}
        arrays["left_ends"] = self.left_ends
        kept = {"iterates": self.iterates, "multipliers": self.multipliers}
        return arrays | {name: array for name, array in kept.items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Trace:
        """Return the trace whose arrays `to_arrays` returned; refuse what makes no trace."""
        _check_arrays(arrays)
        columns = {name: _values(name, arrays[name]) for name in cls.columns()}
        rows = tuple(
            TraceRow(**dict(zip(columns, values, strict=True)))
            for values in zip(*columns.values(), strict=True)
        )
        kept = {
            name: read_only(np.asarray(arrays[name], dtype=np.float64))
            for name in ("left_ends", "iterates", "multipliers")
            if name in arrays
        }
        return cls(rows, **kept)


def same_array(a: FloatArray | None, b: FloatArray | None) -> bool:
    """Say whether both are None, or both are arrays and equal."""
    return a is b or (a is not None and b is not None and np.array_equal(a, b, equal_nan=True))


def _check_arrays(arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse arrays of other kinds than theirs, and of other lengths than each other."""
    n_rows = len(np.atleast_1d(arrays["objective"]))
    size = arrays["left_ends"].shape[-1]
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_TYPES, (n_rows,))
    shapes |= {"left_ends": (n_rows, size), "iterates": (n_rows, size, size)}
    if "multipliers" in arrays:
        shapes["multipliers"] = (n_rows, *arrays["multipliers"].shape[1:2])
    for name in [*_TYPES, *(shapes.keys() & arrays.keys() - _TYPES.keys())]:
        array, kind = arrays[name], _ARRAY_TYPES.get(_TYPES.get(name, ""), np.float64)
        if array.shape != shapes[name] or array.dtype.kind != np.dtype(kind).kind:
            raise InvalidInputError(
                f"{name} of the trace is {array.dtype} of shape {array.shape}; it has {n_rows} "
                f"rows, for {size} features"
            )
    if not n_rows or not size:
        raise InvalidInputError(f"the trace has {n_rows} rows, for {size} features")
    for name in ("objective", "seconds"):
        if not np.isfinite(arrays[name]).all():
            raise InvalidInputError(f"column {name} of the trace holds other than finite numbers")
    block = arrays["block"][~np.isnan(arrays["block"])]
    if not np.isin(block, np.arange(size)).all():
        raise InvalidInputError(f"column block of the trace holds other than 0 to {size - 1}")


def _values(name: str, column: np.ndarray) -> Sequence[Any]:
    """Return a column's values as Python objects, None for NaN."""
    number = int if _TYPES[name] == "int | None" else float
    if column.dtype.kind != "f":
        return list(column.tolist())
    return [None if math.isnan(value) else number(value) for value in column]
