"""The trace of a run: rows, and the left-ends beside them (DESIGN section 7)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import unknown_name
from gdaopt.io import write_atomically, write_text
from gdaopt.validation import FloatArray, read_only

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Trace", "TraceRow", "relative_gap", "same_array"]


@dataclass(frozen=True, kw_only=True)
class TraceRow:
    """One step of a run; None where a column does not apply or was not measured.

    Attributes
    ----------
    iteration : int
        0 is the start.
    round : int
        Sweep over all blocks, from 1; 0 for the start.
    phase : str
        What moved: ``"start"``, ``"diagonal"``, ``"column"``, ``"joint"``, ``"weights"``, or the
        variant of a Frank–Wolfe step.
    block : int or None
        Column index.
    objective : float
        Q at the metric after the step.
    block_gap : float or None
        Frank–Wolfe gap of the block's program before the step; it bounds this block's problem only.
    lower_bound, relative_gap : float or None
        The largest certified lower bound up to this row, and how far the objective is above it.
    step : float or None
        γ.
    lambda_min : float
        Smallest eigenvalue of the metric after the step.
    left_end_min, left_end_max : float
        Of the metric after the step, under the scalars used for the step.
    aligned_spread : float
        Largest minus smallest left-end right after the last alignment, before the block's steps.
    matrix_trace : float
        tr M.
    repair_distance : float or None
        How far the solver's point was moved back into the polytope (largest entry).
    oracle_calls, eig_iterations, eigen_decompositions : int
        Programs solved or atoms priced, LOBPCG iterations, and full eigen-decompositions for
        projections, cumulative.
    build_seconds, solve_seconds : float or None
        Of the programs since the row before; build_seconds is None when the solver does not report
        its own time.
    eig_seconds, objective_seconds : float
        Time since the row before in alignments, and in the objective: gradients, line search,
        values.
    seconds : float
        Cumulative wall time, without the tracer's own.
    solver, solver_status : str
        Who solved the row's program, and how it ended.
    scaling : str
        How the scalars were found (see `gdaopt.linalg.eigen.Alignment`).
    """

    iteration: int
    round: int
    phase: str
    block: int | None = None
    objective: float
    block_gap: float | None = None
    lower_bound: float | None = None
    relative_gap: float | None = None
    step: float | None = None
    lambda_min: float | None = None
    left_end_min: float | None = None
    left_end_max: float | None = None
    aligned_spread: float | None = None
    matrix_trace: float | None = None
    repair_distance: float | None = None
    oracle_calls: int
    eig_iterations: int
    eigen_decompositions: int = 0
    build_seconds: float | None = None
    solve_seconds: float | None = None
    eig_seconds: float | None = None
    objective_seconds: float | None = None
    seconds: float
    solver: str = ""
    solver_status: str = ""
    scaling: str = ""


def relative_gap(objective: float, lower_bound: float) -> float:
    """Return ``(objective - lower_bound) / |objective|``: 0 for no gap, also where Q is 0.

    Examples
    --------
    >>> relative_gap(-4.0, -5.0)
    0.25
    """
    gap = objective - lower_bound
    if lower_bound == -math.inf:
        return math.inf
    if gap == 0 or objective == 0:
        return math.copysign(math.inf, gap) if gap else 0.0
    return gap / abs(objective)


_TEXT = ("phase", "solver", "solver_status", "scaling")
_COUNTS = ("iteration", "round", "oracle_calls", "eig_iterations", "eigen_decompositions")


@dataclass(frozen=True, eq=False)
class Trace:
    """The rows of a run, and the left-ends of the metric after each.

    Attributes
    ----------
    rows : tuple of TraceRow
        The rows; iterating over a trace and indexing it give them too.
    left_ends : ndarray of shape (n_rows, K)
        Under the scalars used for the step.
    iterates : ndarray of shape (n_rows, K, K) or None
        The metrics, where the method was asked to keep them.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> trace = gda.solve(problem, "alternating", solver="analytic").trace
    >>> trace[0].phase, len(trace) == len(trace.column("objective")) == len(trace.to_pandas())
    ('start', True)
    """

    rows: tuple[TraceRow, ...]
    left_ends: FloatArray
    iterates: FloatArray | None = None

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
            and np.array_equal(self.left_ends, other.left_ends)
            and same_array(self.iterates, other.iterates)
        )

    __hash__ = None  # type: ignore[assignment]  # an array has no hash

    @staticmethod
    def columns() -> tuple[str, ...]:
        """Return the names of the columns, in order."""
        return tuple(field.name for field in fields(TraceRow))

    def column(self, name: str) -> np.ndarray:
        """Return one column: text, whole numbers, or float64 with NaN for None.

        Raises
        ------
        InvalidInputError
            For an unknown name.
        """
        if name not in self.columns():
            raise unknown_name("trace column", name, self.columns())
        values = [getattr(row, name) for row in self.rows]
        if name in _TEXT:
            return np.array(values, dtype=np.str_)
        if name in _COUNTS:
            return np.array(values, dtype=np.int64)
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a data frame; missing values are NaN, a missing block ``<NA>``."""
        import pandas as pd  # on demand: importing gdaopt stays quick

        frame = pd.DataFrame({name: self.column(name) for name in self.columns()})
        return frame.astype({"block": "Int64"})

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the rows as CSV, atomically; None is an empty cell."""
        return write_text(path, self.to_pandas().to_csv(index=False))

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Write the rows as parquet, atomically."""
        return write_atomically(path, lambda file: self.to_pandas().to_parquet(file, index=False))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the columns, the left-ends and any iterates as arrays, for `from_arrays`."""
        arrays = {name: self.column(name) for name in self.columns()}
        arrays["left_ends"] = self.left_ends
        return arrays if self.iterates is None else arrays | {"iterates": self.iterates}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Trace:
        """Return the trace that `to_arrays` came from."""
        # A column that came later has a default, which older files stand for.
        columns = {name: _values(name, arrays[name]) for name in cls.columns() if name in arrays}
        rows = tuple(
            TraceRow(**dict(zip(columns, values, strict=True)))
            for values in zip(*columns.values(), strict=True)
        )
        iterates = arrays.get("iterates")
        return cls(
            rows,
            read_only(np.asarray(arrays["left_ends"], dtype=np.float64)),
            None if iterates is None else read_only(np.asarray(iterates, dtype=np.float64)),
        )


def same_array(a: FloatArray | None, b: FloatArray | None) -> bool:
    """Say whether both are None or equal."""
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def _values(name: str, column: np.ndarray) -> Sequence[Any]:
    """Return a column's values as Python objects, None for NaN."""
    values: list[Any] = column.tolist()
    if name in _TEXT or name in _COUNTS:
        return values
    values = [None if value != value else value for value in values]
    return [None if v is None else int(v) for v in values] if name == "block" else values
