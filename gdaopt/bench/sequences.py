"""What solvers are compared on: sequences of programs of runs, random ones, and of others; options.

Those of runs and random ones are recorded by a task of the study, from data and seeds alone, so
that nobody has to keep them. Each of others, by arrays or in MPS files, gets a reference before any
solver is timed: the answer of HiGHS, whose multipliers have to prove that it is optimal, and which
has to have the optimum that a manifest states.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from gdaopt.backends import LinearArrays, solvers
from gdaopt.backends.catalogue import entry_of
from gdaopt.backends.highspy import HighsModel
from gdaopt.backends.protocol import ANALYTIC
from gdaopt.bench.mps import MPS_ENDING, read_mps
from gdaopt.bench.recorded import RecordedProgram, load_programs, recording, save_programs
from gdaopt.bench.replayed import Start
from gdaopt.datasets import Dataset
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import all_edges
from gdaopt.linalg.gershgorin import align
from gdaopt.linalg.laplacian import generalized_laplacian
from gdaopt.objectives import GLR
from gdaopt.problem import MetricProblem
from gdaopt.programs import JointPolytope, Knapsack
from gdaopt.programs.base import Polytope
from gdaopt.programs.linear import LinearPolytope
from gdaopt.sets import GraphMetrics
from gdaopt.solving import solve
from gdaopt.studies.class_problems import ProblemOptions
from gdaopt.studies.named_options import SolverSpec
from gdaopt.support.files import parse_json
from gdaopt.support.options import option, read_numbers, read_words
from gdaopt.support.text import shortened
from gdaopt.support.validation import (
    FloatArray,
    as_path,
    as_tuple,
    check_instance,
    check_name,
    integer,
    number,
    store_checked,
)

# How accurate references are, relative to the largest bound, or to the terms of the value.
_PROVEN = 1e-7
# How near stated optima have to be to these, relative to the terms of the value.
_STATED = 1e-6

KINDS = {"diagonal": "alternating", "column": "alternating", "joint": "joint"}
"""The kinds of programs, and the method whose run solves them."""

GENERATED = ("synthetic", "random")
"""Data that are made rather than loaded, in each size: runs on two clouds, and random programs."""

_SEED = 0
_RHO = 1e-6
_ACCURATE = 1e-6  # the relative gap of the bound that whole runs are compared with
_BOUND_SECONDS = 120.0

ALL = "all"
"""In the place of solvers: every one that works here."""

STARTS: tuple[Start, ...] = get_args(Start)
METHODS = tuple(dict.fromkeys(KINDS.values()))
"""The methods of whole runs."""


def make_reference(
    arrays: LinearArrays,
    name: str,
    optimum: float | None = None,
    *,
    sign: float = 1.0,
    constant: float = 0.0,
) -> RecordedProgram:
    """Return a program with its reference; refuse one whose optimum cannot be proven.

    The optimum is counted as the author does; see `gdaopt.bench.mps.MpsProgram`.
    """
    check_instance(name, arrays, LinearArrays)
    answer = HighsModel({}).minimize(arrays, hot=False)
    if answer.status != "optimal":
        raise InvalidInputError(
            f"{name} has no reference: HiGHS calls it {answer.status}; leave it out"
        )
    assert answer.row_duals is not None
    residuals = arrays.residuals(answer.point, answer.row_duals)
    bounds = np.abs(np.concatenate([arrays.lower_bounds, arrays.upper_bounds]))
    largest = float(bounds.max(where=np.isfinite(bounds), initial=1.0))
    if not max(residuals.feasibility / largest, abs(residuals.gap)) <= _PROVEN:
        raise InvalidInputError(
            f"{name} has no reference: HiGHS' answer breaks a bound by "
            f"{residuals.feasibility:.3g}, and its multipliers leave a gap of {residuals.gap:.3g}; "
            "leave it out"
        )
    polytope = LinearPolytope.of(arrays, answer.point, sign, constant)
    program = RecordedProgram(
        kind="linear", cost=arrays.cost, polytope=polytope, point=answer.point, gap=0.0
    )
    size = max(float(np.abs(arrays.cost) @ np.abs(answer.point)), abs(constant), 1.0)
    if optimum is not None and not abs(program.value - optimum) <= _STATED * size:
        raise InvalidInputError(
            f"{name} has the optimum {program.value!r}, as multipliers prove, and not {optimum!r}, "
            "as is stated; correct what is stated"
        )
    return program


def read_programs(source: Path) -> list[RecordedProgram]:
    """Return the programs of an MPS file or a folder of them, in order, with their references."""
    if not source.exists():
        raise InvalidInputError(f"there is no {source}; name an MPS file, or a folder of them")
    programs = []
    for path, stated in _list_files(source) if source.is_dir() else [(source, None)]:
        if not path.is_file():
            raise InvalidInputError(f"{source} names {path.name}, which is not there")
        optimum = None if stated is None else number(f"the optimum of {path}", stated)
        arrays, sign, constant = read_mps(path)
        programs.append(make_reference(arrays, str(path), optimum, sign=sign, constant=constant))
    if not programs:
        raise InvalidInputError(
            f"{source} has no files that end with .mps or .mps.gz, or lists none; write other "
            "formats as MPS first, as by readModel and writeModel of highspy"
        )
    return programs


def _list_files(folder: Path) -> Sequence[tuple[Path, Any]]:
    """Return the files of a folder, in order, with the optima that are stated."""
    manifest = folder / "manifest.json"
    if manifest.is_file():
        text = _text(manifest)
        try:
            entries = parse_json(text)["programs"]
            return [(folder / str(one["file"]), one.get("optimum")) for one in entries]
        except (LookupError, TypeError, AttributeError, json.JSONDecodeError) as error:
            raise InvalidInputError(
                f'{manifest} must have the form {{"programs": [{{"file": …, "optimum": …}}, …]}}, '
                f"got {shortened(text)}"
            ) from error
    names: Iterable[str] = (path.name for path in folder.iterdir())
    # The series of the MIP workshop's competition of 2023 have one.
    for series in sorted(folder.glob("*.test")):
        names = [Path(line.strip()).name for line in _text(series).splitlines()]
        return [(folder / name, None) for name in names if MPS_ENDING.search(name)]
    return [(folder / name, None) for name in sorted(names) if MPS_ENDING.search(name)]


def _text(path: Path) -> str:
    """Return the text of a list of files; editors of Windows begin it with a mark."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not in UTF-8; save it in this encoding") from error


@dataclass(frozen=True, eq=False, repr=False)
class ProgramSequence:
    """Where programs come from.

    Attributes
    ----------
    source : str
        The name of a data set, one of ``GENERATED``, or the name of a user's programs.
    dataset : Dataset or None
        The data, if they are loaded. The problem learns their first class.
    size : int or None
        The number of features, if they are made.
    programs : tuple of RecordedProgram
        The programs of a user.

    Examples
    --------
    >>> from gdaopt.backends import LinearArrays
    >>> programs = [LinearArrays.of([-1, -2], [[1, 1]], row_upper=[5 + k]) for k in (0, 1)]
    >>> [program.value for program in ProgramSequence.from_arrays("mine", programs).programs]
    [-10.0, -12.0]
    """

    source: str
    dataset: Dataset | None = None
    size: int | None = None
    programs: tuple[RecordedProgram, ...] = ()

    def __repr__(self) -> str:
        count = f", {len(self.programs)} programs" if self.programs else ""
        return f"ProgramSequence({self.name}{count})"

    @classmethod
    def from_arrays(
        cls,
        name: str,
        programs: Iterable[LinearArrays],
        optima: Iterable[float | None] | None = None,
    ) -> ProgramSequence:
        """Return a sequence of any linear programs.

        Parameters
        ----------
        name : str
            The name in tables.
        programs : iterable of LinearArrays
            In order, such as `LinearArrays.of` returns.
        optima : iterable of float or None, optional
            Their least values, as far as these are known. An InvalidInputError refuses a value that
            HiGHS does not confirm, and a program for which HiGHS does not find and prove an
            optimum.
        """
        arrays = list(programs)
        values = [None] * len(arrays) if optima is None else list(optima)
        if len(values) != len(arrays):
            raise InvalidInputError(f"got {len(arrays)} programs and {len(values)} optima")
        references = (
            make_reference(one, f"program {i} of {name}", optimum)
            for i, (one, optimum) in enumerate(zip(arrays, values, strict=True))
        )
        return cls(name, programs=tuple(references))

    @classmethod
    def from_mps(cls, source: str | os.PathLike[str]) -> ProgramSequence:
        """Return the programs of an MPS file, or of a folder of MPS files.

        Parameters
        ----------
        source : path-like
            A file, or a folder with files that end with ``.mps`` or ``.mps.gz``. A
            ``manifest.json`` there may say which, in which order, and the optima that are known,
            with constants and the largest values if files maximise; each program has to have an
            optimum.

        Raises
        ------
        InvalidInputError
            For a file that is damaged or holds no linear program, and for a stated optimum that is
            wrong.
        """
        path = as_path("source", source)
        name = MPS_ENDING.sub("", path.resolve().name)
        return cls(name, programs=tuple(read_programs(path)))

    @classmethod
    def from_recorded(cls, path: str | os.PathLike[str]) -> ProgramSequence:
        """Return the programs of a file; see `gdaopt.bench.load_programs`."""
        return cls(as_path("path", path).stem, programs=tuple(load_programs(path)))

    @property
    def name(self) -> str:
        """The source, with the size if there are several."""
        return self.source if self.size is None else f"{self.source}-{self.size}"

    @property
    def has_runs(self) -> bool:
        """Whether the programs belong to runs that can be made again."""
        return self.source != "random" and not self.programs

    @property
    def has_closed_form(self) -> bool:
        """Whether ``"analytic"`` solves all of its programs."""
        return all(program.is_exact for program in self.programs)

    @property
    def sha256(self) -> str | None:
        """What tells the data from others; None if a name does."""
        if self.dataset is not None:
            return self.dataset.sha256
        if not self.programs:
            return None
        digest = hashlib.sha256()
        for program in self.programs:
            digest.update(repr(program.structure[:2]).encode())
            for array in (program.cost, program.point, *program.numbers().values()):
                digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def problem(self) -> MetricProblem:
        """Return the problem whose runs are recorded."""
        if self.dataset is not None:
            options = ProblemOptions()
            return options.problem(self.dataset, options.classes(self.dataset)[0])
        assert self.size is not None
        X, z = _make_clouds(self.size)
        return MetricProblem(GLR(X, z), GraphMetrics(float(self.size), _RHO))


def record_task(
    path: Path,
    sequence: ProgramSequence,
    kinds: tuple[str, ...],
    steps: int,
    most: int,
    bounded: bool,
) -> dict[str, Any]:
    """Record the programs of a sequence at `path`; return their kinds, and a bound if asked."""
    bound = None
    if sequence.programs:
        programs = _choose_evenly(sequence.programs, (*kinds, "linear"), most)
    elif sequence.has_runs:
        programs = _record_runs(sequence, kinds, steps, most, Path(f"{path}.run.npz"))
    else:
        assert sequence.size is not None
        programs = [_make_random(sequence.size, kind, i) for kind in kinds for i in range(most)]
    save_programs(f"{path}.npz", programs)
    if bounded:
        bound = solve(
            sequence.problem(),
            "certified",
            tolerance=_ACCURATE,
            time_limit=_BOUND_SECONDS,
            trace_every=0,
        ).lower_bound
    return {"kinds": [program.kind for program in programs], "lower_bound": bound}


def _record_runs(
    sequence: ProgramSequence, kinds: tuple[str, ...], steps: int, most: int, file: Path
) -> list[RecordedProgram]:
    programs = []
    for method in dict.fromkeys(KINDS[kind] for kind in kinds):
        with recording(file):  # one program a step
            solve(
                sequence.problem(), method, solver="analytic", max_iterations=steps, trace_every=0
            )
        programs += _choose_evenly(load_programs(file), kinds, most)
        file.unlink()
    return programs


def _choose_evenly(
    programs: Sequence[RecordedProgram], kinds: tuple[str, ...], most: int
) -> list[RecordedProgram]:
    """Return at most so many programs of each kind, spread evenly, in order."""
    chosen: list[int] = []
    for kind in kinds:
        places = [i for i, program in enumerate(programs) if program.kind == kind]
        evenly = np.linspace(0, len(places) - 1, min(most, len(places))).round().astype(int)
        chosen += [places[i] for i in evenly]
    return [programs[i] for i in sorted(chosen)]


def _make_clouds(size: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(_SEED)
    X = rng.standard_normal((60, size))
    z = np.where(np.arange(60) < 25, 1.0, -1.0)
    X[z > 0, :5] += 1.5
    return X / np.sqrt(2 * size), z


def _make_random(size: int, kind: str, number: int) -> RecordedProgram:
    rng = np.random.default_rng([_SEED, size, sorted(KINDS).index(kind), number])
    weights = np.triu(rng.random((size, size)) / size, 1)
    metric = generalized_laplacian(weights + weights.T, rng.uniform(0.1, 1, size))
    alignment = align(metric, min_eigenvalue=_RHO)
    slack = alignment.left_ends - _RHO
    trace_bound = 1.5 * float(np.trace(metric))
    polytope: Polytope
    if kind == "diagonal":
        cost = rng.standard_normal(size)
        polytope = Knapsack.diagonal(metric, slack, trace_bound)
    elif kind == "column":
        column = int(rng.integers(size))
        others = np.delete(np.arange(size), column)
        cost = rng.standard_normal(size - 1)
        polytope = Knapsack.column(metric, alignment.v, slack, column, others, np.zeros(size - 1))
    else:
        edges = all_edges(size)
        cost = rng.standard_normal(size + len(edges[0]))
        polytope = JointPolytope(alignment.v, _RHO, trace_bound, edges, np.zeros(len(edges[0])))
    point = polytope.minimize(cost)
    gap = float(cost @ (polytope.current - point))
    return RecordedProgram(kind=kind, cost=cost, polytope=polytope, point=point, gap=gap)


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """What to compare, and how: the options of ``gdaopt bench``."""

    solvers: Sequence[str] = option(
        (ALL,),
        f"names, separated by commas, or {ALL}: see gdaopt solvers; options follow a colon, as in "
        "HIGHS:solver=ipm",
        read=read_words,
    )
    programs: Sequence[str] = option(tuple(KINDS), f"of {', '.join(KINDS)}", read=read_words)
    starts: Sequence[str] = option(
        STARTS,
        f"of {', '.join(STARTS)}: everything anew, what was compiled is kept, or started from the "
        "last answer, where the solver can",
        read=read_words,
    )
    tolerances: Sequence[float] = option(
        (1e-6, 1e-4),
        "asked of each solver; its answers are judged by them",
        read=lambda text: read_numbers("--tolerances", text, float),
        text="1e-6,1e-4",
    )
    runs: Sequence[str] = option(
        METHODS,
        f"methods of whole runs: of {', '.join(METHODS)}; or none",
        read=read_words,
    )
    repeats: int = option(3, "of each sequence; the least time of a program counts")
    steps: int = option(300, "most steps of a run")
    most: int = option(
        100, "programs of each kind: spread evenly over the programs of a run, or random ones"
    )
    cap: float = option(10.0, "seconds for a program, and what one counts that is not verified")
    budget: float = option(60.0, "seconds for all programs of a cell, and for a whole run")
    jobs: int = option(1, "cells at a time; more than one blurs the times")

    def __post_init__(self) -> None:
        for name, words in (("programs", KINDS), ("starts", STARTS), ("runs", METHODS)):
            values = as_tuple(name, getattr(self, name))
            for value in values:
                check_name(name.removesuffix("s"), value, words)
            object.__setattr__(self, name, tuple(word for word in words if word in values))
        if not self.programs or not self.starts:
            raise InvalidInputError("programs and starts must have at least one name each")
        asked = as_tuple("tolerances", self.tolerances)
        tolerances = {number("each of tolerances", one, above=0) for one in asked}
        if not tolerances or max(tolerances) >= 1:
            raise InvalidInputError(
                f"tolerances must be numbers between 0 and 1, at least one, got {shortened(asked)}"
            )
        object.__setattr__(self, "tolerances", tuple(sorted(tolerances)))
        store_checked(self, integer, "repeats", "steps", "most", "jobs", at_least=1)
        store_checked(self, number, "cap", "budget", above=0)
        object.__setattr__(self, "solvers", _find_solvers(as_tuple("solvers", self.solvers)))

    def record(self) -> dict[str, Any]:
        """Return what all rows depend on, as plain values; solvers may come and go."""
        return {
            **{name: list(getattr(self, name)) for name in ("programs", "starts", "runs")},
            "tolerances": list(self.tolerances),
            **{name: getattr(self, name) for name in ("repeats", "steps", "most", "cap", "budget")},
        }


def starts_of(solver: str, starts: Sequence[str]) -> list[str]:
    """Return the starts that a solver has."""
    if solver == ANALYTIC:
        return ["re-solve"]
    entry = SolverSpec.parse(solver).entry
    return [start for start in starts if start != "hot" or entry.hot]


def _find_solvers(names: tuple[Any, ...]) -> tuple[str, ...]:
    if any(isinstance(name, str) and name.lower() == ALL for name in names):
        if len(names) > 1:
            raise InvalidInputError(f"solvers: {ALL!r} stands alone, got {shortened(names)}")
        usable = (info.name for info in solvers() if info.usable)
        solvers_asked = [name for name in usable if not entry_of(name).twin_of]
    else:
        solvers_asked = [str(SolverSpec.find(name)) for name in names]
    return tuple(dict.fromkeys([ANALYTIC, *solvers_asked]))
