"""The npz file of a result: how it is written, and how it is read and checked."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.sets import FeasibleSet, set_of_record
from gdaopt.support.files import (
    DamagedError,
    allowance,
    opened,
    parse_json,
    read_arrays,
    write_atomically,
)
from gdaopt.support.text import html_table, number_text, reason
from gdaopt.support.validation import FloatArray, read_only
from gdaopt.trace import Trace, relative_gap, same_array

__all__ = [
    "FAILURES",
    "Result",
    "Status",
    "is_result_file",
    "read_result",
    "with_current_solver",
    "write_result",
]

Status = Literal[
    "converged",
    "stationary",
    "stalled",
    "iteration_limit",
    "time_limit",
    "interrupted",
    "solver_failed",
    "left_domain",
    "disconnected",
    "infeasible",
]

FAILURES = frozenset({"solver_failed", "left_domain"})
"""The statuses of runs that something went wrong in."""

_FORMAT = 2
_ARRAYS = ("metric", "atoms", "weights", "multipliers")
_RECORD = "result"
_NUMBERS = ("objective", "seconds", "tracing_seconds")
_OPTIONAL_NUMBERS = ("lower_bound", "frank_wolfe_gap", "repair_distance", "constraint_violation")
_ROW = 2000  # bytes that a row of a trace takes in memory
_COUNTS = ("components", "iterations", "oracle_calls", "eigen_decompositions")
_OTHERS = ("constraints", "feasible_set", "solved_by")
_TEXTS = ("status", "message", "method", "solver")
_LATER: dict[str, Any] = {  # values that older files lack
    "frank_wolfe_gap": None,
    "repair_distance": None,
    "eigen_decompositions": 0,
    "constraints": [],
    "constraint_violation": None,
    "solved_by": {},
}


def write_result(path: str | os.PathLike[str], fields: Mapping[str, Any]) -> Path:
    """Write the fields of a result to one npz file; see `gdaopt.Result.save`."""
    path = Path(path)
    if path.suffix != ".npz":
        path = path.with_name(path.name + ".npz")
    columns = fields["trace"].to_arrays()
    plain = {
        name: value
        for name, value in fields.items()
        if name not in (*_ARRAYS, "feasible_set", "trace")
    }
    record = {"format": _FORMAT, **plain, "feasible_set": fields["feasible_set"].record()}
    arrays: dict[str, Any] = {
        **{name: fields[name] for name in _ARRAYS if fields[name] is not None},
        "left_ends": columns.pop("left_ends"),
        _RECORD: np.array(json.dumps(record)),
        **{f"trace/{name}": column for name, column in columns.items()},
    }
    return write_atomically(path, lambda file: np.savez_compressed(file, **arrays))


def read_result(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of the result that `write_result` wrote.

    Raises
    ------
    InvalidInputError
        When the file is not a saved result, is damaged, or is of a format that is not read here.
    OSError
        When it cannot be read.
    """
    try:
        arrays = read_arrays(path)
        record = parse_json(str(arrays[_RECORD]))
        written = record.pop("format")
        if written == _FORMAT:
            columns = {
                name.removeprefix("trace/"): array
                for name, array in arrays.items()
                if name == "left_ends" or name.startswith("trace/")
            }
            n_rows = arrays["trace/objective"].size
            if n_rows * _ROW > allowance(path):
                raise ValueError(f"it is too small for {n_rows} rows of a trace")
            trace = Trace.from_arrays(columns)
            record = with_current_solver({**_LATER, **record})
            _check_record(record)
            record["constraints"] = tuple(record["constraints"])
            _check_arrays(arrays, trace, len(record["constraints"]))
            feasible_set: FeasibleSet = set_of_record(record.pop("feasible_set"))
            feasible_set.check_size(len(arrays["metric"]))
            of_result = {name: read_only(arrays[name]) for name in _ARRAYS if name in arrays}
            return {"feasible_set": feasible_set, "trace": trace, **record, **of_result}
        is_newer = bool(written > _FORMAT)
    except OSError:
        raise
    except Exception as error:  # of any kind: the file may hold anything
        raise InvalidInputError(f"{path} is not a saved gdaopt result: {reason(error)}") from error
    if is_newer:
        raise InvalidInputError(f"{path} was written by a newer gdaopt; upgrade to read it")
    raise InvalidInputError(
        f"{path} was written before gdaopt 0.1.0, in a format that is no longer read; "
        "solve the problem again"
    )


def with_current_solver(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record that was read with the current name of its solver.

    Older files name the solver of methods without programs "closed form".
    """
    return {**record, "solver": "analytic"} if record.get("solver") == "closed form" else record


def is_result_file(path: Path) -> bool:
    """Say whether `write_result` wrote a file, by the names of its arrays alone."""
    try:
        with open(path, "rb") as file, opened(file) as archive:
            return {f"{_RECORD}.npy", "metric.npy"} <= set(archive.namelist())
    except DamagedError:
        return False


def _check_record(record: Mapping[str, Any]) -> None:
    """Refuse a record with unknown fields, or with values of the wrong kind."""
    unknown = record.keys() - {*_NUMBERS, *_OPTIONAL_NUMBERS, *_COUNTS, *_TEXTS, *_OTHERS}
    if unknown:
        raise ValueError(f"it has the unknown {', '.join(sorted(unknown))}")
    for name in (*_NUMBERS, *_OPTIONAL_NUMBERS):
        value = record[name]
        if value is None and name in _OPTIONAL_NUMBERS:
            continue
        is_open = name == "lower_bound" and value == -math.inf
        if type(value) not in (int, float) or not (math.isfinite(value) or is_open):
            raise ValueError(f"its {name} is {value!r}, not a number")
    for name in _COUNTS:
        if type(record[name]) is not int:
            raise ValueError(f"its {name} is {record[name]!r}, not a whole number")
    for name in _TEXTS:
        if type(record[name]) is not str:
            raise ValueError(f"its {name} is {record[name]!r}, not a text")
    names = record["constraints"]
    if type(names) is not list or any(type(name) is not str for name in names):
        raise ValueError(f"its constraints are {names!r}, not names")
    counts = record["solved_by"]
    if type(counts) is not dict or any(type(count) is not int for count in counts.values()):
        raise ValueError(f"its solved_by is {counts!r}, not counts")
    if record["status"] not in get_args(Status):
        raise ValueError(f"its status is {record['status']!r}, which is unknown")


def _check_arrays(arrays: Mapping[str, np.ndarray], trace: Trace, n_constraints: int) -> None:
    """Refuse arrays of numbers that do not belong to one metric."""
    size = trace.left_ends.shape[1]
    expected: dict[str, tuple[int | None, ...]] = {
        "metric": (size, size),
        "atoms": (None, size),
        "weights": (None,),
        "multipliers": (n_constraints,),
    }
    for name in expected.keys() & arrays.keys() | {"metric"}:
        array, shape = arrays[name], expected[name]
        if array.dtype != np.float64 or not np.isfinite(array).all():
            raise ValueError(f"its {name} holds other than finite numbers")
        if len(shape) != array.ndim or any(
            wanted not in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
        ):
            raise ValueError(f"its {name} has shape {array.shape}, for {size} features")
    if ("atoms" in arrays) != ("weights" in arrays) or (
        "atoms" in arrays and len(arrays["atoms"]) != len(arrays["weights"])
    ):
        raise ValueError("its atoms and weights do not go together")


# Fields that are not numbers or texts
_NO_VALUES = ("metric", "feasible_set", "trace", "atoms", "weights", "multipliers")


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """What `gdaopt.solve` returns: a metric, and how it was found; printing it gives a summary.

    Attributes
    ----------
    metric : ndarray of shape (K, K)
        A member of the feasible set, read-only.
    feasible_set : FeasibleSet
        The set of the problem.
    objective : float
        Q at the metric.
    status : str
        How the run ended. ``converged``: ``Q - lower_bound`` is within the tolerances.
        ``stationary``: so is `frank_wolfe_gap`, of an objective that is not convex. ``stalled``:
        going on would not help, most often because the objective decreases by no more than the
        tolerance. ``iteration_limit``, ``time_limit``: a limit was reached. ``interrupted``: by the
        user or the callback. ``solver_failed``: a solver did not solve a program.
        ``left_domain``: a step led outside of the set, the linear constraints or the objective's
        domain, and the metric is the last one that was checked before.
        ``disconnected``: a step would have disconnected a graph with an edge floor.
        ``infeasible``: the edge floors left a program without a feasible point. In each case the
        metric is a member of the set.
    message : str
        The reason for the status.
    lower_bound, gap, relative_gap : float or None
        The certificate ``lower_bound ≤ Q*``, where Q* is the least objective over the feasible
        set; ``gap = objective - lower_bound``; and ``gap / |objective|``. None without a
        certificate.
    frank_wolfe_gap : float or None
        For an objective that is not convex, which has no certificate: by how much a tangent at the
        metric falls over the feasible set at most, 0 at a stationary point. None for a convex one.
    components : int
        Number of components of the metric's graph.
    iterations, oracle_calls, eigen_decompositions : int
        Number of steps; of calls of the linear minimisation oracle, each a program solved or a
        search for atoms; and of full eigen-decompositions for projections.
    repair_distance : float or None
        How far the solver's last point was moved into the set, as the largest change of an entry;
        None when no solver was called.
    seconds, tracing_seconds : float
        Wall time of the run; and the wall time of the trace, callbacks and printing, which is not
        part of it.
    method, solver : str
        Names of the method and of the solver; ``"analytic"`` where no solver was called: the
        linear minimisation has a closed form.
    solved_by : dict of str to int
        How many programs each solver has solved, ``"analytic"`` among them: a program whose costs
        are 0 needs no solver, and a fall-back may have taken over. Empty where a method has no
        programs.
    trace : Trace
        The history of the run.
    atoms, weights : ndarrays of shape (n, K) and (n,), or None
        Unit vectors and their weights, for methods that find the metric as a sum
        ``metric = B + Σ_k weights[k] · outer(atoms[k], atoms[k])``, where B is the base of the set.
    constraints : tuple of str
        The names of the problem's linear constraints, row by row.
    multipliers : ndarray of shape (m,) or None
        Their multipliers λ in the last certificate: Q* falls by about ``λ_k`` when the bound of row
        k rises by 1. None without constraints or certificate.
    constraint_violation : float or None
        The largest distance of the metric to a constraint that it breaks; None without constraints.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> gda.solve(problem, "alternating", solver="analytic")
    alternating: 2×2 metric
      status              stalled
      reason              no block improves on its own: ...
    """

    metric: FloatArray
    feasible_set: FeasibleSet
    objective: float
    status: Status
    message: str
    lower_bound: float | None
    frank_wolfe_gap: float | None = None
    components: int
    iterations: int
    oracle_calls: int
    eigen_decompositions: int = 0
    repair_distance: float | None = None
    seconds: float
    tracing_seconds: float
    method: str
    solver: str
    solved_by: dict[str, int] = field(default_factory=dict)
    trace: Trace
    atoms: FloatArray | None = None
    weights: FloatArray | None = None
    constraints: tuple[str, ...] = ()
    multipliers: FloatArray | None = None
    constraint_violation: float | None = None

    @property
    def gap(self) -> float | None:
        """Return ``objective - lower_bound``; None without a certificate."""
        return None if self.lower_bound is None else self.objective - self.lower_bound

    @property
    def relative_gap(self) -> float | None:
        """Return ``gap / |objective|``; None without a certificate."""
        if self.lower_bound is None:
            return None
        return relative_gap(self.objective, self.lower_bound)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Result)
            and np.array_equal(self.metric, other.metric)
            and self.feasible_set == other.feasible_set
            and self._record() == other._record()
            and self.trace == other.trace
            and same_array(self.atoms, other.atoms)
            and same_array(self.weights, other.weights)
            and same_array(self.multipliers, other.multipliers)
        )

    __hash__ = None  # type: ignore[assignment]  # an array has no hash

    def __repr__(self) -> str:
        lines = [f"  {name:<20}{text}" for name, text in self._summary().items()]
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        """Return the summary as a table for notebooks."""
        return html_table(self._summary().items(), caption=self._title())

    def _title(self) -> str:
        """Return the first line of the summary."""
        return f"{self.method}: {len(self.metric)}×{len(self.metric)} metric"

    def _summary(self) -> dict[str, str]:
        """Return the lines of the summary by their names."""
        start = self.trace[0].objective
        certified = self.lower_bound is not None and self.lower_bound > -math.inf
        lines = {
            "status": self.status,
            "reason": self.message,
            "objective": f"{self.objective:.8g} (at the start {start:.8g})",
            "relative gap": f"{self.relative_gap:.3g}" if certified else "not certified",
            "smallest eigenvalue": number_text(self.trace[-1].lambda_min),
            "components": str(self.components),
            "steps": str(self.iterations),
            "oracle calls": f"{self.oracle_calls} ({self._who_solved()})",
        }
        if self.frank_wolfe_gap is not None:
            lines["relative gap"] = "not certified, since the objective is not convex"
            lines["Frank–Wolfe gap"] = f"{self.frank_wolfe_gap:.3g}"
        if self.constraint_violation is not None:
            lines["constraints"] = (
                f"{len(self.constraints)}, kept to {self.constraint_violation:.3g}"
            )
        if self.eigen_decompositions:
            lines["projections"] = f"{self.eigen_decompositions} eigen-decompositions"
        beside = f"{self.tracing_seconds:.3g} for the trace, callbacks and printing"
        return lines | {"seconds": f"{self.seconds:.3g} (and {beside})"}

    def _who_solved(self) -> str:
        """Say who solved how many programs."""
        if self.solver == "analytic":
            return self.solver
        total = sum(self.solved_by.values())
        others = [
            f"{count} of {total} by {name}"
            for name, count in self.solved_by.items()
            if name != self.solver
        ]
        return ", ".join([f"programs solved by {self.solver}", *others])

    def _record(self) -> dict[str, Any]:
        """Return the fields that are neither arrays, nor the feasible set, nor the trace."""
        return {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name not in _NO_VALUES
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the whole result to one npz file, atomically and without pickle.

        Parameters
        ----------
        path : path-like
            The file; ``.npz`` is added when it is missing.

        Returns
        -------
        pathlib.Path
            The file that was written. Its arrays are ``metric`` and ``left_ends``; ``atoms`` and
            ``weights`` where the result has them; the columns and any iterates of the trace, as
            ``trace/...``; and ``result``, which is JSON text of everything else.
        """
        return write_result(path, {each.name: getattr(self, each.name) for each in fields(self)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a result that `save` wrote.

        Raises
        ------
        InvalidInputError
            When the file is not a saved result, is damaged, or was written by another version in a
            format that this version does not read. One that would take more than 256 MiB and
            than a hundred times its size is not read either.
        """
        return cls(**read_result(path))
