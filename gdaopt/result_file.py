"""The npz file of a result: arrays by their names, and JSON text of everything else.

A trace in it may have other columns than this version's (see `gdaopt.trace.Trace.from_arrays`).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import numpy as np
from scipy.sparse import csr_array

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import as_edges, block_of, sparse_symmetric
from gdaopt.sets import FeasibleSet, has_sparse_members, record_of, set_of_record
from gdaopt.status import Status
from gdaopt.support.files import allowance, npz_path, parse_json, read_arrays, write_atomically
from gdaopt.support.text import reason
from gdaopt.support.validation import as_path, read_only
from gdaopt.trace import Trace

_FORMAT = 2
_RECORD = "result"
_ARRAYS = ("atoms", "weights", "colors", "multipliers")
_IS_SPARSE = "edges"  # the array that a file has if its metric is no K×K array
_ROW = 2000  # bytes that a row of a trace takes in memory

Made = TypeVar("Made")


def write(
    path: str | os.PathLike[str],
    record: Mapping[str, Any],
    feasible_set: FeasibleSet,
    trace: Trace,
    arrays: Mapping[str, np.ndarray],
) -> Path:
    """Write the parts of a result to a file, atomically; return its path."""
    path = npz_path(path)
    text = json.dumps({"format": _FORMAT, **record, "feasible_set": record_of(feasible_set)})
    columns = trace.to_arrays()
    contents: dict[str, Any] = {
        **arrays,
        "left_ends": columns.pop("left_ends"),
        _RECORD: np.array(text),
        **{f"trace/{name}": column for name, column in columns.items()},
    }
    return write_atomically(path, lambda file: np.savez_compressed(file, **contents))


def read(
    path: str | os.PathLike[str],
    kinds: Mapping[str, str],
    make: Callable[[Mapping[str, Any]], Made],
) -> Made:
    """Return what is made of the parts of a file; refuse one that holds no result.

    The fields of the record have the given kinds.
    """
    path = as_path("path", path)
    if not path.is_file():
        path = npz_path(path)
    try:
        arrays = read_arrays(path)
        record = parse_json(str(arrays[_RECORD]))
        if (written := record.pop("format")) != _FORMAT:
            raise ValueError(
                f"its format is {written!r}, and this version of gdaopt reads {_FORMAT}; "
                "upgrade, or solve the problem again"
            )
        n_rows = arrays["trace/objective"].size
        if n_rows * _ROW > allowance(path):
            raise ValueError(f"it is too small for {n_rows} rows of a trace")
        trace = Trace.from_arrays(
            {name.removeprefix("trace/"): array for name, array in arrays.items()}
        )
        feasible_set: FeasibleSet = set_of_record(record.pop("feasible_set"))
        record.setdefault("central_objective", None)  # files of older versions lack it
        _check_record(record, kinds)
        record["constraints"] = tuple(record["constraints"])
        _check_arrays(arrays, trace, len(record["constraints"]))
        feasible_set.budget(len(arrays["metric"]))  # refuses a size that does not fit
        parts: dict[str, Any] = {
            name: read_only(arrays[name]) for name in _ARRAYS if name in arrays
        }
        parts["block"] = read_only(arrays["metric"])
        if _IS_SPARSE in arrays:
            if not has_sparse_members(feasible_set):
                raise ValueError("its metric is sparse, and its set has no sparse metrics")
            parts |= _sparse_of(arrays, feasible_set.min_eigenvalue)
        return make({"feasible_set": feasible_set, "trace": trace, **record, **parts})
    except OSError:
        raise
    except Exception as error:  # any kind: the file may hold anything
        raise InvalidInputError(f"{path} is not a saved gdaopt result: {reason(error)}") from error


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


# What a field of a type has to be, and the check of it.
_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "float": ("a number", _is_number),
    "float | None": ("a number", lambda value: value is None or _is_number(value)),
    "int": ("a whole number", lambda value: type(value) is int),
    "str": ("a text", lambda value: type(value) is str),
    "Status": (f"one of {', '.join(get_args(Status))}", lambda value: value in get_args(Status)),
    "tuple[str, ...]": (
        "names",
        lambda value: type(value) is list and all(type(name) is str for name in value),
    ),
    "dict[str, int]": (
        "counts",
        lambda value: type(value) is dict and all(type(n) is int for n in value.values()),
    ),
}


def _check_record(record: Mapping[str, Any], kinds: Mapping[str, str]) -> None:
    """Refuse a record with unknown fields, or with values of the wrong kind."""
    names = {"has the unknown": record.keys() - kinds.keys(), "lacks": kinds.keys() - record.keys()}
    for what, wrong in names.items():
        if wrong:
            raise ValueError(f"it {what} {', '.join(sorted(wrong))}")
    for name, kind in kinds.items():
        what, is_right = _KINDS[kind]
        value = record[name]
        is_open = name == "lower_bound" and value == -math.inf
        if not (is_open or is_right(value)):
            raise ValueError(f"its {name} is {value!r}, not {what}")


def _check_arrays(arrays: Mapping[str, np.ndarray], trace: Trace, n_constraints: int) -> None:
    """Refuse arrays of numbers that do not belong to one metric."""
    size = trace.left_ends.shape[1]
    n_atoms = len(arrays["atoms"]) if "atoms" in arrays else None
    shapes: dict[str, tuple[int | None, ...]] = {
        "metric": (size, size),
        "atoms": (n_atoms, size),
        "weights": (n_atoms,),
        "colors": (size,),
        "multipliers": (n_constraints,),
    }
    if _IS_SPARSE in arrays:
        n_edges, n_atoms = len(arrays[_IS_SPARSE]), len(arrays.get("weights", ()))
        shapes |= {"metric": (size,), "edge_entries": (n_edges,), "weights": (n_atoms,)}
        shapes |= {"atoms": arrays["atom_features"].shape} if "atoms" in arrays else {}
        _check_indices(arrays, size, n_atoms)
    for name in shapes.keys() & arrays.keys() | {"metric"}:
        array = arrays[name]
        if array.dtype != np.float64 or not np.isfinite(array).all():
            raise ValueError(f"its {name} holds other than finite numbers")
        if array.shape != shapes[name]:
            raise ValueError(f"its {name} has shape {array.shape}, for {size} features")
    if ("atoms" in arrays) != ("weights" in arrays):
        raise ValueError("its atoms and weights do not go together")


def _check_indices(arrays: Mapping[str, np.ndarray], size: int, n_atoms: int) -> None:
    """Refuse edges and features of atoms that are none of K features."""
    edges = arrays[_IS_SPARSE]
    as_edges(edges.T, size)
    keys = edges @ [size, 1]
    if (np.diff(keys) <= 0).any():
        raise ValueError("its edges are not in the order of pairs")
    if "atoms" not in arrays:
        return
    features, starts = arrays["atom_features"], arrays["atom_starts"]
    is_right = features.dtype.kind == starts.dtype.kind == "i" and starts.shape == (n_atoms + 1,)
    is_right = is_right and features.ndim == 1 and bool(((features >= 0) & (features < size)).all())
    is_right = is_right and starts[0] == 0 and starts[-1] == len(features)
    if not (is_right and np.isin(np.diff(starts), (1, 2)).all()):
        raise ValueError("its atoms are no sparse vectors of its features")


def _sparse_of(arrays: Mapping[str, np.ndarray], least: float) -> dict[str, Any]:
    """Return features, block and atoms of a metric that is no K×K array."""
    edges = as_edges(arrays[_IS_SPARSE].T, len(arrays["metric"]))
    metric = sparse_symmetric(arrays["metric"], edges, arrays["edge_entries"])
    parts: dict[str, Any] = {}
    parts["features"], parts["block"] = block_of(metric, least)
    if "atoms" in arrays:
        csr = tuple(arrays[name] for name in ("atoms", "atom_features", "atom_starts"))
        parts["atoms"] = csr_array(csr, shape=(len(csr[2]) - 1, len(arrays["metric"])))
    return parts
