"""Recorded sequences: the linear programs that a run solves, kept in one file.

Solvers can be compared on such a sequence without the run around it (`gdaopt.bench.replay`), and
single programs can be given to others (`gdaopt.bench.export`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.backends import LinearArrays
from gdaopt.backends.arrays import Pattern
from gdaopt.constraints.rows import LinearConstraints
from gdaopt.errors import InvalidInputError, UnwritableError
from gdaopt.programs.base import Polytope, observed
from gdaopt.programs.constrained import ConstrainedPolytope, constrained
from gdaopt.programs.joint import JointPolytope, JointShares
from gdaopt.programs.knapsack import Knapsack
from gdaopt.support.files import parse_json, read_arrays, write_atomically
from gdaopt.support.text import reason, shortened
from gdaopt.support.validation import (
    FloatArray,
    as_path,
    as_vector,
    check_instance,
    positive_vector,
)


@dataclass(frozen=True, eq=False)
class LinearPolytope(Polytope):
    """``{x : lower ≤ x ≤ upper, row_lower ≤ A x ≤ row_upper}``; solvers see it as it is.

    Its author counts a cost as `sign` times the cost, plus `constant`.
    """

    lower_bounds: FloatArray
    upper_bounds: FloatArray
    starts: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]
    coefficients: FloatArray
    current: FloatArray
    sign: float = 1.0
    constant: float = 0.0

    name: ClassVar[str] = "linear program"

    def __post_init__(self) -> None:
        # A pattern that is damaged would let solvers read what lies behind the arrays.
        shape = (len(self.starts) - 1, len(self.current))
        csr_array((self.coefficients, self.columns, self.starts), shape).check_format()
        if not len(self.lower_bounds) == len(self.upper_bounds) == sum(shape):
            raise InvalidInputError(f"the bounds must be {sum(shape)}, of variables and rows")

    @cached_property
    def _pattern(self) -> Pattern:
        return Pattern.of_bounds(self.starts, self.columns, self.lower_bounds, self.upper_bounds)

    def arrays(self, cost: FloatArray) -> LinearArrays:
        bounds = self.lower_bounds, self.upper_bounds
        return LinearArrays(cost, *bounds, self._pattern, self.coefficients)

    def minimize(self, _cost: FloatArray, /) -> FloatArray:
        """Raise InvalidInputError: there is no closed form."""
        raise InvalidInputError(
            "a linear program that is given by its arrays has no closed form; name a solver, such "
            "as 'HIGHS'"
        )

    def point(self, y: FloatArray) -> FloatArray:
        return y

    def coordinates(self, x: FloatArray) -> FloatArray:
        return x

    def made_feasible(self, y: FloatArray) -> FloatArray:
        """Return the point: there is no rule that mends any point in proportion."""
        return y

    def duals(self, _cost: FloatArray, _row_duals: FloatArray | None) -> dict[str, FloatArray]:
        """Return none: its constraints have no names."""
        return {}


_FORMAT = 4
_SCALARS = ("trace_bound", "budget", "min_eigenvalue", "sign", "constant")
_KINDS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "diagonal": (Knapsack, ("floor", "budget", "current")),
    "column": (Knapsack, ("upper", "weights", "floor", "budget", "current")),
    "joint": (
        JointPolytope,
        ("v", "min_eigenvalue", "trace_bound", "edges", "floor", "current"),
    ),
    "linear": (
        LinearPolytope,
        (
            *("lower_bounds", "upper_bounds", "starts", "columns", "coefficients", "current"),
            *("sign", "constant"),
        ),
    ),
}
_IN_FILES = {"diagonal": {"floor": "lower", "budget": "trace_bound"}}
"""Other names that numbers have in files."""

_OF_ALL = ("cost", "point", "gap")
_OF_ROWS = ("coefficients", "residuals")


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordedProgram:
    """One linear program of a run, or of others.

    Attributes
    ----------
    kind : {"diagonal", "column", "joint", "linear"}
        Which program it is; ``"linear"`` is any that others give, by its arrays.
    cost : ndarray of shape (n,)
        Its costs.
    polytope : Polytope
        What a `gdaopt.programs.Program` solves it over.
    point : ndarray of shape (n,)
        The analytic answer. With linear constraints there is none, and this is the answer of
        the run's solver; of others' programs it is HiGHS' answer, which its multipliers prove.
    gap : float
        The Frank–Wolfe gap: the cost at the point where the run was, minus the cost of `point`; 0
        where there was no run.
    """

    kind: str
    cost: FloatArray
    polytope: Polytope
    point: FloatArray
    gap: float

    @property
    def is_exact(self) -> bool:
        """Whether the point is the analytic answer."""
        return not isinstance(self.polytope, ConstrainedPolytope | LinearPolytope)

    @property
    def arrays(self) -> LinearArrays:
        """The program in the units that solvers see."""
        return self.polytope.arrays(self.cost)

    @property
    def value(self) -> float:
        """The least cost; of an MPS file the optimum as its author counts it."""
        least = float(self.cost @ self.point)
        if isinstance(self.polytope, LinearPolytope):
            return self.polytope.sign * least + self.polytope.constant
        return least

    def numbers(self) -> dict[str, Any]:
        """Return the numbers of the polytope by name, those of the rows' constraints left out."""
        inner, rows = _split(self.polytope)
        in_files = _IN_FILES.get(self.kind, {})
        values = {in_files.get(name, name): getattr(inner, name) for name in _KINDS[self.kind][1]}
        if rows is not None:
            values |= {name: getattr(self.polytope, name) for name in _OF_ROWS}
        return values

    @property
    def structure(self) -> tuple[object, ...]:
        """What programs have in common that a backend compiles once."""
        return self.kind, len(self.cost), self.arrays.pattern.key


@contextmanager
def recording(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep the linear programs that are solved inside in one file, which is written at the end.

    Programs whose costs are 0 for all entries that can move are left out: no solver is called.

    Parameters
    ----------
    path : path-like
        The npz file; it is written atomically, whichever way the block ends.

    Raises
    ------
    InvalidInputError
        For a program that is not linear; at the end, when no program was solved.
    UnwritableError
        When the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with gda.bench.recording(Path(folder) / "run.npz"):
    ...         result = gda.solve(problem, "alternating", solver="analytic")
    ...     programs = gda.bench.load_programs(Path(folder) / "run.npz")
    >>> programs[0].kind, programs[0].cost.shape
    ('diagonal', (2,))
    """
    path = as_path("path", path)
    if not path.parent.is_dir():
        raise UnwritableError(2, "its directory does not exist", os.fspath(path))
    seen: list[tuple[str, FloatArray, Polytope, FloatArray, float] | None] = []

    def note(cost: FloatArray, polytope: Polytope, at: FloatArray, found: FloatArray) -> None:
        arrays = polytope.arrays(cost)
        if arrays.cones is not None:
            raise InvalidInputError(f"only linear programs are recorded, not the {polytope.name}")
        moves = bool(arrays.cost.any())
        kind = polytope.name.removesuffix(" program")
        seen.append((kind, cost, polytope, found, float(cost @ at)) if moves else None)

    try:
        with observed(note):
            yield
    finally:
        # The analytic answers are computed here, and not in the time of the run.
        save_programs(path, [_finished(*parts) for parts in seen if parts is not None])
    if not seen:
        raise InvalidInputError(
            "no linear program was solved while programs were recorded; the methods 'alternating' "
            "and 'joint' solve some"
        )


def _finished(
    kind: str, cost: FloatArray, polytope: Polytope, found: FloatArray, value_there: float
) -> RecordedProgram:
    point = found if isinstance(polytope, ConstrainedPolytope) else polytope.minimize(cost)
    gap = value_there - float(cost @ point)
    return RecordedProgram(kind=kind, cost=cost, polytope=polytope, point=point, gap=gap)


def _split(polytope: Polytope) -> tuple[Polytope, LinearConstraints | None]:
    if not isinstance(polytope, ConstrainedPolytope):
        return polytope, None
    inner = polytope.polytope
    return inner.joint if isinstance(inner, JointShares) else inner, polytope.rows


def save_programs(path: str | os.PathLike[str], programs: Iterable[RecordedProgram]) -> Path:
    """Write programs to one npz file, atomically; shared polytopes are written once."""
    programs = checked_programs(programs)
    names = list(_KINDS)
    arrays: dict[str, Any] = {
        "order": np.array([names.index(program.kind) for program in programs], dtype=np.int64)
    }
    record: dict[str, Any] = {"format": _FORMAT, "kinds": names, "labels": None}
    rows = next((_split(program.polytope)[1] for program in programs), None)
    if rows is not None:
        record["labels"] = list(rows.labels)
        arrays |= {f"rows/{name}": value for name, value in _arrays_of_rows(rows).items()}
    for kind in names:
        own = [program for program in programs if program.kind == kind]
        polytopes = {program.polytope: program for program in own}  # each object once
        index = {polytope: i for i, polytope in enumerate(polytopes)}
        of_programs = [
            {"polytope": index[program.polytope]}
            | {name: getattr(program, name) for name in _OF_ALL}
            for program in own
        ]
        of_polytopes = [program.numbers() for program in polytopes.values()]
        arrays |= _joined(kind, of_programs) | _joined(f"{kind} polytopes", of_polytopes)
    arrays["programs"] = np.array(json.dumps(record))
    return write_atomically(as_path("path", path), lambda file: np.savez_compressed(file, **arrays))


def load_programs(path: str | os.PathLike[str]) -> list[RecordedProgram]:
    """Read the programs that were recorded in a file.

    Parameters
    ----------
    path : path-like
        What `recording` wrote; an InvalidInputError refuses any other file.

    Returns
    -------
    list of RecordedProgram
        In the order in which they were solved.

    Raises
    ------
    InvalidInputError
        When the file does not hold recorded programs, is damaged, or is of another version.

    Examples
    --------
    >>> load_programs("no such file.npz")
    Traceback (most recent call last):
    gdaopt.errors.InvalidInputError: there is no file no such file.npz
    """
    path = as_path("path", path)
    try:
        arrays = read_arrays(path)
        record = parse_json(str(arrays["programs"]))
        if record["format"] == _FORMAT:
            return _read(arrays, record)
    except FileNotFoundError as error:
        raise InvalidInputError(f"there is no file {path}") from error
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}: {error.strerror}") from error
    except Exception as error:  # of any kind: the file may hold anything
        raise InvalidInputError(
            f"{path} does not hold recorded programs: {reason(error)}"
        ) from error
    raise InvalidInputError(f"{path} was written by another version of gdaopt; record it again")


def checked_programs(programs: Any) -> list[RecordedProgram]:
    """Return programs as a list; refuse other objects with an InvalidInputError."""
    if not isinstance(programs, Iterable) or isinstance(programs, str | bytes):
        raise InvalidInputError(
            f"programs must be recorded programs, got {shortened(programs)}; load_programs "
            "returns some"
        )
    found = list(programs)
    for program in found:
        check_instance("each of programs", program, RecordedProgram)
    return found


def _joined(title: str, values: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Return one array for each name, with the sizes of its parts, which differ in length."""
    found = {}
    for name in values[0] if values else ():
        parts = [np.ravel(value[name]) for value in values]
        found[f"{title}/{name}"] = np.concatenate(parts)
        found[f"{title}/{name}/sizes"] = np.array([len(part) for part in parts])
    return found


def _parted(arrays: Mapping[str, np.ndarray], title: str) -> Iterator[dict[str, np.ndarray]]:
    """Yield the values by name that `_joined` has joined."""
    parts = {}
    for key in arrays:
        if key.startswith(f"{title}/") and not key.endswith("/sizes"):
            ends = arrays[f"{key}/sizes"].cumsum()
            parts[key.removeprefix(f"{title}/")] = np.split(arrays[key], ends[:-1])
    for values in zip(*parts.values(), strict=True):
        yield dict(zip(parts, values, strict=True))


def _read(arrays: Mapping[str, np.ndarray], record: Mapping[str, Any]) -> list[RecordedProgram]:
    rows = None if record["labels"] is None else _rows(arrays, record["labels"])
    kinds = record["kinds"]
    polytopes = {
        kind: [_polytope(kind, values, rows) for values in _parted(arrays, f"{kind} polytopes")]
        for kind in kinds
    }
    left = {kind: _parted(arrays, kind) for kind in kinds}
    programs = []
    for number in arrays["order"].tolist():
        values = next(left[kinds[number]])
        polytope = polytopes[kinds[number]][int(values["polytope"][0])]
        size = len(polytope.current)
        programs.append(
            RecordedProgram(
                kind=kinds[number],
                cost=as_vector("cost", values["cost"], size),
                polytope=polytope,
                point=as_vector("point", values["point"], size),
                gap=float(values["gap"][0]),
            )
        )
    return programs


def _polytope(
    kind: str, values: Mapping[str, np.ndarray], rows: LinearConstraints | None
) -> Polytope:
    make, names = _KINDS[kind]
    in_files, own = _IN_FILES.get(kind, {}), dict[str, Any]()
    for name in names:
        value = values[in_files.get(name, name)]
        own[name] = float(value[0]) if name in _SCALARS else value
    if "edges" in own:
        own["edges"] = tuple(own["edges"].reshape(2, -1))
    polytope = make(**own)
    if rows is None:
        found: Polytope = polytope
        return found
    size = len(polytope.current)
    coefficients = as_vector("coefficients", values["coefficients"], len(rows) * size)
    residuals = as_vector("residuals", values["residuals"], len(rows))
    return constrained(polytope, rows, coefficients.reshape(len(rows), size), residuals)


def _arrays_of_rows(rows: LinearConstraints) -> dict[str, np.ndarray]:
    matrices = rows.matrices
    own = {name: getattr(matrices, name) for name in ("data", "indices", "indptr")}
    own |= {name: getattr(rows, name) for name in ("bounds", "is_equality", "norms", "owners")}
    return own | {"shape": np.array(matrices.shape)}


def _rows(arrays: Mapping[str, np.ndarray], labels: Sequence[str]) -> LinearConstraints:
    parts = (arrays["rows/data"], arrays["rows/indices"], arrays["rows/indptr"])
    matrices = csr_array(parts, shape=tuple(arrays["rows/shape"].tolist()))
    matrices.check_format(full_check=True)
    owners, is_equality = arrays["rows/owners"], arrays["rows/is_equality"]
    if is_equality.dtype != bool or not len(is_equality) == len(owners) == matrices.shape[0]:
        raise ValueError("its rows have other sizes")
    if not set(owners.tolist()) <= set(range(len(labels))):
        raise ValueError("its rows are of unknown constraints")
    return LinearConstraints(
        matrices,
        as_vector("bounds", arrays["rows/bounds"], len(owners)),
        is_equality,
        positive_vector("norms", arrays["rows/norms"], len(owners)),
        owners,
        tuple(map(str, labels)),
    )
