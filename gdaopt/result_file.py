"""The npz file of a result: how it is written, and how it is read and checked."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from gdaopt.archives import DamagedError, allowance, opened, read_arrays
from gdaopt.errors import InvalidInputError
from gdaopt.io import parse_json, write_atomically
from gdaopt.printing import reason
from gdaopt.sets import FeasibleSet, set_of_record
from gdaopt.trace import Trace
from gdaopt.validation import read_only

__all__ = ["FAILURES", "Status", "is_result_file", "read_result", "write_result"]

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
            record = {**_LATER, **record}
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


def is_result_file(path: Path) -> bool:
    """Say whether `write_result` wrote a file, by the names of its arrays alone."""
    try:
        with open(path, "rb") as file, opened(file) as archive:
            return {f"{_RECORD}.npy", "metric.npy"} <= set(archive.namelist())
    except DamagedError:
        return False


def _check_record(record: Mapping[str, Any]) -> None:
    """Refuse a record whose values are not of their kinds, or that has others."""
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
