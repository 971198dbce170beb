"""The result of a run: the metric, how good it is, how the run ended, and its trace."""

from __future__ import annotations

import json
import math
import os
import zipfile
import zlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.io import write_atomically
from gdaopt.sets import FeasibleSet, set_of_record
from gdaopt.trace import Trace, relative_gap, same_array
from gdaopt.validation import FloatArray, read_only

__all__ = ["Result", "Status"]

Status = Literal[
    "converged",
    "stalled",
    "iteration_limit",
    "time_limit",
    "interrupted",
    "solver_failed",
    "disconnected",
    "infeasible",
]

_FORMAT = 2
_ARRAYS = ("metric", "atoms", "weights")
# What reading a damaged file, or one that is none of ours, may raise.
_UNREADABLE = (
    AttributeError,
    EOFError,
    KeyError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """What `gdaopt.solve` returns; printing it gives a summary.

    Attributes
    ----------
    metric : ndarray of shape (K, K)
        A member of the feasible set, read-only.
    feasible_set : FeasibleSet
        The set of the problem.
    objective : float
        Q at the metric.
    status : str
        ``converged``: ``Q - lower_bound`` is within the tolerances. ``stalled``: the objective no
        longer decreases by more than the tolerance. ``iteration_limit``, ``time_limit``,
        ``interrupted``, ``solver_failed``: what stopped the run. ``disconnected``,
        ``infeasible``: the connectivity rule would break the graph, or left a program without a
        point. The metric is a member of the set in each case.
    message : str
        One sentence on the status.
    lower_bound, gap, relative_gap : float or None
        The certificate ``lower_bound ≤ Q*``, ``gap = objective - lower_bound`` and
        ``gap / |objective|``; None when there is none. Q* is the least objective over the
        feasible set.
    components : int
        Number of components of the metric's graph.
    iterations, oracle_calls, eigen_decompositions : int
        Steps taken, subproblems solved, and full eigen-decompositions for projections.
    repair_distance : float or None
        How far the last point of a solver was moved into the set (largest entry); None where no
        solver was asked.
    seconds, tracing_seconds : float
        Wall time of the run, and beside it that of the tracer, callbacks and printing.
    method, solver : str
        What was run.
    trace : Trace
        One row for each step.
    atoms, weights : ndarrays of shape (n, K) and (n,), or None
        Unit vectors and their weights, for methods that find the metric as such a sum:
        ``metric = B + Σ_k weights[k] · outer(atoms[k], atoms[k])``, B the set's base.
    """

    metric: FloatArray
    feasible_set: FeasibleSet
    objective: float
    status: Status
    message: str
    lower_bound: float | None
    components: int
    iterations: int
    oracle_calls: int
    eigen_decompositions: int = 0
    repair_distance: float | None = None
    seconds: float
    tracing_seconds: float
    method: str
    solver: str
    trace: Trace
    atoms: FloatArray | None = None
    weights: FloatArray | None = None

    @property
    def gap(self) -> float | None:
        """Return ``objective - lower_bound``."""
        return None if self.lower_bound is None else self.objective - self.lower_bound

    @property
    def relative_gap(self) -> float | None:
        """Return ``gap / |objective|``."""
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
        )

    __hash__ = None  # type: ignore[assignment]  # an array has no hash

    def __str__(self) -> str:
        start = self.trace[0].objective
        certified = self.lower_bound is not None and self.lower_bound > -math.inf
        gap = f"{self.relative_gap:.3g}" if certified else "not certified"
        lines = {
            "status": f"{self.status} ({self.message})",
            "objective": f"{self.objective:.8g} (start {start:.8g})",
            "relative gap": gap,
            "smallest eigenvalue": f"{self.trace[-1].lambda_min:.6g}",
            "components": str(self.components),
            "steps": f"{self.iterations} ({self.oracle_calls} subproblems by {self.solver})",
            **self._projections(),
            "seconds": f"{self.seconds:.3g} (and {self.tracing_seconds:.3g} for the trace)",
        }
        size = len(self.metric)
        title = f"{self.method}: {size}×{size} metric"
        return "\n".join([title, *(f"  {key:<20}{value}" for key, value in lines.items())])

    def _projections(self) -> dict[str, str]:
        """Return what projections took for printing, where there were any."""
        if not self.eigen_decompositions:
            return {}
        return {"projections": f"{self.eigen_decompositions} eigen-decompositions"}

    def _record(self) -> dict[str, Any]:
        """Return the fields that are neither arrays nor the trace."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in (*_ARRAYS, "feasible_set", "trace")
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write metric, trace and all else to one npz file, atomically and without pickle.

        Parameters
        ----------
        path : path-like
            The file; ``.npz`` is added when it is missing.

        Returns
        -------
        pathlib.Path
            The file written. Its arrays are ``metric``, ``left_ends``, ``atoms`` and ``weights``
            where known, the trace's columns (and any iterates) under ``trace/``, and ``result``,
            the rest as JSON text.
        """
        path = Path(path)
        if path.suffix != ".npz":
            path = path.with_name(path.name + ".npz")
        columns = self.trace.to_arrays()
        known = {name: getattr(self, name) for name in _ARRAYS}
        record = {"format": _FORMAT, **self._record(), "feasible_set": self.feasible_set.record()}
        arrays: dict[str, Any] = {
            **{name: array for name, array in known.items() if array is not None},
            "left_ends": columns.pop("left_ends"),
            "result": np.array(json.dumps(record)),
            **{f"trace/{name}": column for name, column in columns.items()},
        }
        return write_atomically(path, lambda file: np.savez_compressed(file, **arrays))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a result that `save` wrote.

        Raises
        ------
        InvalidInputError
            When the file is none of ours, or of a newer format.
        """
        try:
            with open(path, "rb") as file:
                archive = np.load(file, allow_pickle=False)
                if not isinstance(archive, np.lib.npyio.NpzFile):
                    raise TypeError("it holds a single array")
                arrays = {name: archive[name] for name in archive.files}
            record = json.loads(str(arrays["result"]))
            written = record.pop("format")
            if written == _FORMAT:
                feasible_set = set_of_record(record.pop("feasible_set"))
                columns = {name.removeprefix("trace/"): arrays[name] for name in arrays}
                trace = Trace.from_arrays(columns)
                record |= {name: read_only(arrays[name]) for name in _ARRAYS if name in arrays}
                return cls(feasible_set=feasible_set, trace=trace, **record)
        except _UNREADABLE as error:
            raise InvalidInputError(f"{path} is not a saved gdaopt result: {error}") from error
        if written < _FORMAT:
            raise InvalidInputError(
                f"{path} was written before gdaopt 0.1.0, in a format that is no longer read; "
                "make it anew"
            )
        raise InvalidInputError(f"{path} was written by a newer gdaopt; upgrade to read it")
