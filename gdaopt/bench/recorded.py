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
from pathlib import Path
from typing import Any

import numpy as np

from gdaopt.backends import LinearArrays
from gdaopt.errors import InvalidInputError, UnwritableError
from gdaopt.programs.base import Polytope, observed
from gdaopt.programs.constrained import ConstrainedPolytope
from gdaopt.programs.joint import JointPolytope
from gdaopt.programs.knapsack import Knapsack
from gdaopt.programs.linear import LinearPolytope
from gdaopt.support.files import parse_json, read_arrays, write_atomically
from gdaopt.support.text import reason
from gdaopt.support.validation import FloatArray, as_path, as_tuple, as_vector, check_instance

_FORMAT = 5
_SCALARS = ("trace_bound", "budget", "min_eigenvalue", "sign", "constant")
_LAYOUTS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
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
"""What files hold of the polytopes of each name."""

_NAMES_IN_FILES = {"diagonal": {"floor": "lower", "budget": "trace_bound"}}
"""Other names that numbers have in files."""

_OF_PROGRAMS = ("cost", "point", "gap")


@dataclass(frozen=True, eq=False, kw_only=True)
class RecordedProgram:
    """One linear program of a run, or of others.

    Attributes
    ----------
    kind : {"diagonal", "column", "joint", "linear"}
        Which program it is; ``"linear"`` is any program that a user gives as arrays.
    cost : ndarray of shape (n,)
        Its costs.
    polytope : Polytope
        The polytope of the `gdaopt.programs.Program`. With linear constraints of a user, polytope,
        cost and point are in the units that solvers see.
    point : ndarray of shape (n,)
        The analytic answer. With linear constraints there is none, and this is the answer of the
        run's solver. For programs of a user it is the answer of HiGHS, which its multipliers prove.
    gap : float
        The Frank–Wolfe gap of the run: the cost at the point where it was, minus the cost of the
        answer; 0 if there was no run.
    """

    kind: str
    cost: FloatArray
    polytope: Polytope
    point: FloatArray
    gap: float

    @property
    def is_exact(self) -> bool:
        """Whether the point is the analytic answer."""
        return not isinstance(self.polytope, LinearPolytope)

    @property
    def arrays(self) -> LinearArrays:
        """The program in the units that solvers see."""
        return self.polytope.arrays(self.cost)

    @property
    def value(self) -> float:
        """The least cost; for an MPS file the optimum as its author counts it."""
        least = float(self.cost @ self.point)
        if isinstance(self.polytope, LinearPolytope):
            return self.polytope.sign * least + self.polytope.constant
        return least

    @property
    def layout(self) -> str:
        """The name of the polytope, which says which of its numbers files hold."""
        return self.polytope.name.removesuffix(" program")

    def numbers(self) -> dict[str, Any]:
        """Return the numbers of the polytope by their names in files."""
        names = _NAMES_IN_FILES.get(self.layout, {})
        return {
            names.get(name, name): getattr(self.polytope, name) for name in _LAYOUTS[self.layout][1]
        }

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
        The npz file; it is written atomically, also if the block ends with an error.

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
    solved: list[tuple[FloatArray, Polytope, FloatArray, FloatArray]] = []
    n_solved = 0

    def note(cost: FloatArray, polytope: Polytope, at: FloatArray, answer: FloatArray) -> None:
        nonlocal n_solved
        arrays = polytope.arrays(cost)
        if arrays.cones is not None:
            raise InvalidInputError(f"only linear programs are recorded, not the {polytope.name}")
        n_solved += 1
        if arrays.cost.any():
            solved.append((cost, polytope, at, answer))

    try:
        with observed(note):
            yield
    finally:
        # The analytic answers are computed here, and not in the time of the run.
        save_programs(path, _list_recorded(solved))
    if not n_solved:
        raise InvalidInputError(
            "no linear program was solved while programs were recorded; the methods 'alternating' "
            "and 'joint' solve some"
        )


def _list_recorded(
    solved: Iterable[tuple[FloatArray, Polytope, FloatArray, FloatArray]],
) -> Iterator[RecordedProgram]:
    """Yield the programs of costs, polytopes, iterates and answers."""
    with_rows: dict[Polytope, LinearPolytope] = {}
    for cost, polytope, at, answer in solved:
        kind = polytope.name.removesuffix(" program")
        is_exact = not isinstance(polytope, LinearPolytope | ConstrainedPolytope)
        point = polytope.minimize(cost) if is_exact else answer
        gap = float(cost @ at) - float(cost @ point)
        if isinstance(polytope, ConstrainedPolytope):
            arrays, point = polytope.arrays(cost), polytope.coordinates(answer)
            if polytope not in with_rows:
                with_rows[polytope] = LinearPolytope.of(arrays, point)
            cost, polytope = arrays.cost, with_rows[polytope]
        yield RecordedProgram(kind=kind, cost=cost, polytope=polytope, point=point, gap=gap)


def save_programs(path: str | os.PathLike[str], programs: Iterable[RecordedProgram]) -> Path:
    """Write programs to one npz file, atomically; shared polytopes are written once."""
    programs = list_programs(programs)
    names = list(_LAYOUTS)
    arrays: dict[str, Any] = {
        "order": np.array([names.index(program.layout) for program in programs], dtype=np.int64),
        "kinds": np.array([names.index(program.kind) for program in programs], dtype=np.int64),
        "programs": np.array(json.dumps({"format": _FORMAT, "kinds": names})),
    }
    for layout in names:
        of_layout = [program for program in programs if program.layout == layout]
        polytopes = {program.polytope: program for program in of_layout}  # each object once
        index = {polytope: i for i, polytope in enumerate(polytopes)}
        of_programs = [
            {"polytope": index[program.polytope]}
            | {name: getattr(program, name) for name in _OF_PROGRAMS}
            for program in of_layout
        ]
        of_polytopes = [program.numbers() for program in polytopes.values()]
        arrays |= _join(layout, of_programs) | _join(f"{layout} polytopes", of_polytopes)
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
            return _read_programs(arrays, record["kinds"])
    except FileNotFoundError as error:
        raise InvalidInputError(f"there is no file {path}") from error
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}: {error.strerror}") from error
    except Exception as error:  # the file may hold anything, and raise it
        raise InvalidInputError(
            f"{path} does not hold recorded programs: {reason(error)}"
        ) from error
    raise InvalidInputError(f"{path} was written by another version of gdaopt; record it again")


def list_programs(programs: Any) -> list[RecordedProgram]:
    """Return programs as a list; refuse other objects with an InvalidInputError."""
    listed = as_tuple("programs", programs, "recorded programs, as load_programs returns them")
    for program in listed:
        check_instance("each of programs", program, RecordedProgram)
    return list(listed)


def _join(title: str, values: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Return one array for each name, with the sizes of its parts, which differ in length."""
    arrays = {}
    for name in values[0] if values else ():
        parts = [np.ravel(value[name]) for value in values]
        arrays[f"{title}/{name}"] = np.concatenate(parts)
        arrays[f"{title}/{name}/sizes"] = np.array([len(part) for part in parts])
    return arrays


def _split(arrays: Mapping[str, np.ndarray], title: str) -> Iterator[dict[str, np.ndarray]]:
    """Yield the values by name that `_join` has joined."""
    parts = {}
    for key in arrays:
        if key.startswith(f"{title}/") and not key.endswith("/sizes"):
            ends = arrays[f"{key}/sizes"].cumsum()
            parts[key.removeprefix(f"{title}/")] = np.split(arrays[key], ends[:-1])
    for values in zip(*parts.values(), strict=True):
        yield dict(zip(parts, values, strict=True))


def _read_programs(arrays: Mapping[str, np.ndarray], names: Sequence[str]) -> list[RecordedProgram]:
    polytopes = {
        layout: [_make_polytope(layout, values) for values in _split(arrays, f"{layout} polytopes")]
        for layout in names
    }
    rest = {layout: _split(arrays, layout) for layout in names}
    order, programs = arrays["order"], []
    for place, kind in zip(order.tolist(), arrays["kinds"].tolist(), strict=True):
        values = next(rest[names[place]])
        polytope = polytopes[names[place]][int(values["polytope"][0])]
        size = len(polytope.current)
        programs.append(
            RecordedProgram(
                kind=names[kind],
                cost=as_vector("cost", values["cost"], size),
                polytope=polytope,
                point=as_vector("point", values["point"], size),
                gap=float(values["gap"][0]),
            )
        )
    return programs


def _make_polytope(layout: str, values: Mapping[str, np.ndarray]) -> Polytope:
    make, names = _LAYOUTS[layout]
    in_files, numbers = _NAMES_IN_FILES.get(layout, {}), dict[str, Any]()
    for name in names:
        value = values[in_files.get(name, name)]
        numbers[name] = float(value[0]) if name in _SCALARS else value
    if "edges" in numbers:
        numbers["edges"] = tuple(numbers["edges"].reshape(2, -1))
    polytope: Polytope = make(**numbers)
    return polytope
