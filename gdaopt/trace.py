"""The trace of a run: its history, one row for each recorded step."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.state import State
from gdaopt.support.extras import cli_extra
from gdaopt.support.files import write_atomically, write_text
from gdaopt.support.text import ShownAsTable, html_table, number_text, text_table
from gdaopt.support.validation import FloatArray, check_name, read_only

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "Column", "Moment", "Trace", "TraceRow"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Moment:
    """A state of a run, and what was found out about it: columns are measured of both.

    Attributes
    ----------
    state : State
        The state.
    seconds : float
        Since the start of the run, without its pauses.
    timings : mapping of str to float
        Seconds since the row before, by stage.
    lower_bound : float
        The largest certified one so far, -inf before the first.
    left_ends : ndarray of shape (K,) or None
        Under the scalars of the step; None if they take longer than what is left of the time
        limit, for components of over 1000 features.
    lambda_min : float or None
        The smallest eigenvalue of the metric, None with the left-ends.
    scaling : str
        How the scalars of the left-ends were found.
    constraint_violation : float or None
        The largest distance to a linear constraint that is broken, None without constraints.
    """

    state: State
    seconds: float
    timings: Mapping[str, float]
    lower_bound: float
    left_ends: FloatArray | None
    lambda_min: float | None
    scaling: str
    constraint_violation: float | None


Measure = Callable[[Moment], Any]


class Column(NamedTuple):
    """A column of the trace: its name, its type as a text, what it says, and how it is measured."""

    name: str
    type: str
    meaning: str
    measure: Measure
    is_printed: bool


def _column(
    meaning: str, measure: Measure | None = None, default: Any = None, *, is_printed: bool = False
) -> Any:
    """Declare a column, a field of the state by default; a file may lack all that have defaults."""
    metadata = {"meaning": meaning, "measure": measure, "is_printed": is_printed}
    return field(default=default, metadata=metadata)


def _stage(name: str, default: float | None = None) -> Measure:
    return lambda moment: moment.timings.get(name, default)


@dataclass(frozen=True, eq=True, kw_only=True)
class TraceRow(ShownAsTable):
    """A run after one of its steps: the declaration of all columns of the trace.

    None if a column does not apply to a method, was not measured, or is lacking in the file that
    the trace was read from. A column of a trace is a line here.
    """

    iteration: int = _column("which step it was, 0 for the start", is_printed=True)
    round: int = _column("in which pass over all blocks")
    phase: str = _column(
        "what moved: `start`, `diagonal`, `column`, `joint`, `weights` or the variant of a "
        "Frank–Wolfe step; with many samples the first rounds of `certified` are `sample`, which "
        "solve problems of fewer samples",
        default="",
        is_printed=True,
    )
    block: int | None = _column("the index of the column that moved", is_printed=True)
    objective: float = _column("Q after the step", is_printed=True)
    block_gap: float | None = _column(
        "the Frank–Wolfe gap of the block before the step, which bounds what moving it alone gains"
    )
    lower_bound: float | None = _column(
        "the largest certified lower bound of the optimum so far",
        lambda moment: None if moment.lower_bound == -math.inf else moment.lower_bound,
    )
    step: float | None = _column("the step size γ")
    aligned_spread: float | None = _column("how far apart the last alignment left the left-ends")
    repair_distance: float | None = _column(
        "how far a solver's point was moved to be feasible, as the largest change of an entry"
    )
    oracle_calls: int = _column(
        "calls of the linear minimisation oracle, from the start of the run", is_printed=True
    )
    eig_iterations: int = _column(
        "LOBPCG iterations from the start of the run; none up to K = 256, where a dense solver is "
        "faster"
    )
    eigen_decompositions: int = _column(
        "eigen-decompositions for projections, from the start of the run"
    )
    build_seconds: float | None = _column(
        "time since the row before for all that comes before and after a solver, such as the "
        "polytope of a block; the next two and `unpack_seconds` are parts of it",
        _stage("build"),
    )
    write_seconds: float | None = _column("for writing programs", _stage("write"))
    canonicalize_seconds: float | None = _column(
        "for bringing programs into the form of a solver's interface", _stage("canonicalize")
    )
    solve_seconds: float | None = _column(
        "for the solver with its interface, or for the closed form", _stage("solve")
    )
    unpack_seconds: float | None = _column("for reading its answer", _stage("unpack"))
    reported_seconds: float | None = _column(
        "what the solver reports of itself", _stage("reported")
    )
    eig_seconds: float = _column("for eigenvectors of alignments", _stage("eig", 0.0))
    objective_seconds: float = _column("for evaluations of the objective", _stage("objective", 0.0))
    solver: str = _column("who solved the program", default="")
    solver_status: str = _column("how it ended", default="")
    scaling: str = _column(
        "how the scalars of the left-ends were found; `components` for a step without scalars",
        lambda moment: moment.scaling,
        default="",
    )
    relative_gap: float | None = _column(
        "the distance of Q to the lower bound as a share of Q",
        lambda moment: (
            None
            if moment.lower_bound == -math.inf
            else relative_gap(moment.state.objective, moment.lower_bound)
        ),
        is_printed=True,
    )
    lambda_min: float | None = _column(
        "the smallest eigenvalue of the metric", lambda moment: moment.lambda_min, is_printed=True
    )
    left_end_min: float | None = _column(
        "the smallest left-end of the discs under the scalars of the step",
        lambda moment: None if moment.left_ends is None else float(moment.left_ends.min()),
    )
    left_end_max: float | None = _column(
        "the largest left-end",
        lambda moment: None if moment.left_ends is None else float(moment.left_ends.max()),
    )
    matrix_trace: float = _column(
        "the trace of the metric", lambda moment: float(np.trace(moment.state.metric))
    )
    constraint_violation: float | None = _column(
        "the largest distance to a linear constraint that is broken",
        lambda moment: moment.constraint_violation,
    )
    seconds: float = _column(
        "wall time since the start of the run, without the time of the tracer",
        lambda moment: moment.seconds,
        is_printed=True,
    )
    user_columns: Mapping[str, float | None] = field(default_factory=dict, hash=False)
    """What the functions of ``trace_columns`` returned, by the names of their columns."""


COLUMNS: dict[str, Column] = {
    each.name: Column(
        each.name,
        str(each.type),
        each.metadata["meaning"],
        each.metadata["measure"] or attrgetter(f"state.{each.name}"),
        each.metadata["is_printed"],
    )
    for each in fields(TraceRow)
    if each.name != "user_columns"
}
"""The columns that every trace has, by their names, in order."""


def relative_gap(objective: float, lower_bound: float) -> float:
    """Return ``(objective - lower_bound) / |objective|``; without a gap 0, even if Q is 0."""
    gap = objective - lower_bound
    if lower_bound == -math.inf:
        return math.inf
    if gap == 0 or objective == 0:
        return math.copysign(math.inf, gap) if gap else 0.0
    return gap / abs(objective)


_ARRAY_TYPES: dict[str, type] = {"str": np.str_, "int": np.int64}  # others are float64
_USER = "user/"  # begins the names of the user's columns among arrays
_NEEDED = ("iteration", "round", "phase", "objective", "seconds")  # in each file
_PRINTED = tuple(name for name, column in COLUMNS.items() if column.is_printed)
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
        all features of a component have one left-end, its smallest eigenvalue. NaN if the
        columns ``left_end_min`` and ``left_end_max`` are None.
    iterates : ndarray of shape (n_rows, K, K) or None
        The metric of each row, when the method was asked to keep them.
    multipliers : ndarray of shape (n_rows, m) or None
        Multipliers of the linear constraints in the certificate of each row, NaN if there is
        none; the last row has those of the result. None when the problem has no constraints.

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
        return f"{self._title()}\n{text_table(self._list_cells(), self._header())}"

    def _repr_html_(self) -> str:
        return html_table(self._list_cells(), caption=self._title(), header=self._header())

    def _header(self) -> tuple[str, ...]:
        """Return the names of the columns that are printed."""
        return (*_PRINTED, *self._user_columns())

    def _title(self) -> str:
        return f"trace of {len(self)} rows (to_pandas() gives all rows and columns)"

    def _list_cells(self) -> list[tuple[str, ...]]:
        """Return the cells of the first and last rows, with a row of dots for the rows between."""
        cells = [
            (
                *(number_text(getattr(row, name)) for name in _PRINTED),
                *(number_text(value) for value in row.user_columns.values()),
            )
            for row in self.rows
        ]
        if len(cells) <= _FIRST + _LAST + 1:
            return cells
        return [*cells[:_FIRST], ("…",) * len(self._header()), *cells[-_LAST:]]

    def _user_columns(self) -> tuple[str, ...]:
        """Return the names of the user's columns."""
        return tuple(self.rows[0].user_columns) if self.rows else ()

    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns, in order, the user's own last."""
        return (*COLUMNS, *self._user_columns())

    def column(self, name: str) -> np.ndarray:
        """Return a column as an array of text, whole numbers, or float64 with NaN for None."""
        check_name("trace column", name, self.columns())
        is_of_user = name not in COLUMNS
        values = [row.user_columns[name] if is_of_user else getattr(row, name) for row in self.rows]
        kind = np.float64 if is_of_user else _ARRAY_TYPES.get(COLUMNS[name].type, np.float64)
        if None in values:
            values = [np.nan if value is None else value for value in values]
            kind = np.float64
        return np.array(values, dtype=kind)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a data frame; None becomes NaN, and ``<NA>`` among whole numbers."""
        with cli_extra("a trace as a table"):
            import pandas as pd

        frame = pd.DataFrame({name: self.column(name) for name in self.columns()})
        return frame.astype(
            {name: "Int64" for name, each in COLUMNS.items() if each.type == "int | None"}
        )

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the rows as CSV, atomically; None becomes an empty cell."""
        return write_text(path, self.to_pandas().to_csv(index=False))

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Write the rows as parquet, atomically."""
        return write_atomically(path, lambda file: self.to_pandas().to_parquet(file, index=False))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return all of the trace as arrays for `from_arrays`."""
        arrays = {name: self.column(name) for name in COLUMNS}
        arrays |= {f"{_USER}{name}": self.column(name) for name in self._user_columns()}
        for name, array in list(arrays.items()):
            is_whole = name in COLUMNS and COLUMNS[name].type == "int"
            if is_whole and array.dtype.kind == "f":  # an older file lacked it
                del arrays[name]
        arrays["left_ends"] = self.left_ends
        options = {"iterates": self.iterates, "multipliers": self.multipliers}
        return arrays | {name: array for name, array in options.items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Trace:
        """Return the trace whose arrays `to_arrays` returned; refuse what makes no trace.

        Other versions may have other columns: those that are lacking have their defaults, and those
        that are not known here are left out.
        """
        _check_arrays(arrays)
        columns = {name: _values(name, arrays[name]) for name in COLUMNS if name in arrays}
        user_columns = {
            name.removeprefix(_USER): _values(name, array)
            for name, array in arrays.items()
            if name.startswith(_USER)
        }
        rows = tuple(
            TraceRow(
                **{name: values[number] for name, values in columns.items()},
                user_columns={name: values[number] for name, values in user_columns.items()},
            )
            for number in range(len(columns["objective"]))
        )
        options = {
            name: read_only(np.asarray(arrays[name], dtype=np.float64))
            for name in ("left_ends", "iterates", "multipliers")
            if name in arrays
        }
        return cls(rows, **options)


def same_array(a: FloatArray | None, b: FloatArray | None) -> bool:
    """Say whether both are None, or both are arrays and equal."""
    return a is b or (a is not None and b is not None and np.array_equal(a, b, equal_nan=True))


def _check_arrays(arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse arrays of other kinds than theirs, and of other lengths than each other."""
    n_rows = len(np.atleast_1d(arrays["objective"]))
    size = arrays["left_ends"].shape[-1]
    users = [name for name in arrays if name.startswith(_USER)]
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys([*COLUMNS, *users], (n_rows,))
    shapes |= {"left_ends": (n_rows, size), "iterates": (n_rows, size, size)}
    if "multipliers" in arrays:
        shapes["multipliers"] = (n_rows, *arrays["multipliers"].shape[1:2])
    types = {name: column.type for name, column in COLUMNS.items()}
    for name in dict.fromkeys([*_NEEDED, *(name for name in shapes if name in arrays)]):
        array, kind = arrays[name], _ARRAY_TYPES.get(types.get(name, ""), np.float64)
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
    block = arrays.get("block", np.full(1, np.nan))
    if not np.isin(block[~np.isnan(block)], np.arange(size)).all():
        raise InvalidInputError(f"column block of the trace holds other than 0 to {size - 1}")


def _values(name: str, column: np.ndarray) -> Sequence[Any]:
    """Return a column's values as Python objects, None for NaN."""
    is_whole = name in COLUMNS and COLUMNS[name].type == "int | None"
    number = int if is_whole else float
    if column.dtype.kind != "f":
        return list(column.tolist())
    return [None if math.isnan(value) else number(value) for value in column]
