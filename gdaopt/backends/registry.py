"""Solvers and backends by name: which work here, as a tiny linear program shows.

An installed solver need not work, or may even end or hang the process that calls it. So worker
processes, with a time limit for each solver, make the list of all solvers. A solver that the user
names is tried in this process, where it is going to run anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import Any

import numpy as np

from gdaopt.backends.arrays import LinearArrays
from gdaopt.backends.catalogue import entry_of, list_backends
from gdaopt.backends.cvxpy import CvxpyBackend
from gdaopt.backends.options import check_numbers, check_option_names, suggest_names
from gdaopt.backends.protocol import ANALYTIC, Backend, Stopwatch
from gdaopt.errors import (
    GdaoptError,
    InfeasibleProblemError,
    InvalidInputError,
    SolverFailedError,
    SolverNotFoundError,
)
from gdaopt.support.cvxpy_loading import cp, cvxpy_internals
from gdaopt.support.text import ShownAsTable, html_table, reason, shortened
from gdaopt.support.validation import FloatArray, check_name, unknown_name
from gdaopt.support.warning_filters import ignoring

# Seconds of a probe, with the start of the worker and what the solver compiles: MPAX takes 5 s.
_TIME_LIMIT = 60.0

_CONES = {  # and the names of their constraints in CVXPY
    "second-order": {"SOC"},
    "semidefinite": {"PSD", "SvecPSD"},
    "exponential": {"ExpCone"},
}


@dataclass(frozen=True)
class SolverInfo(ShownAsTable):
    """One solver: its kind, whether it solves a linear program here, and if not, why."""

    name: str
    usable: bool
    reason: str = ""
    cones: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The version of its package; empty if it is not installed."""
        return entry_of(self.name).version

    @property
    def licence(self) -> str:
        """The SPDX identifier of the solver's licence, or ``"proprietary"``."""
        return entry_of(self.name).licence

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Kinds of algorithm that it has for linear programs, the default first."""
        return entry_of(self.name).algorithms


class _Solvers(list[SolverInfo]):
    """What notebooks show as one table."""

    def _repr_html_(self) -> str:
        rows = [
            (info.name, info.version, info.licence, ", ".join(info.algorithms), _remark(info))
            for info in self
        ]
        header = ("solver", "version", "licence", "algorithms", "cones, or why it does not work")
        working = sum(info.usable for info in self)
        return html_table(rows, caption=f"{working} of {len(self)} solvers work", header=header)


def _remark(info: SolverInfo) -> str:
    return ", ".join(info.cones) if info.usable else info.reason


def solvers() -> list[SolverInfo]:
    """Return every solver: those that are called without CVXPY, then all that CVXPY knows.

    The usable ones come first, and notebooks show a table. Each has a ``name``, says whether it is
    ``usable``, or else the ``reason``, and has its ``version``, ``licence``, ``algorithms`` and
    ``cones``. The first call tries all of CVXPY's that are installed, in worker processes. This
    takes a few seconds, and more if a solver compiles its code, as MPAX does. A solver that ends
    its process, or does not answer within a minute, does not work.

    Examples
    --------
    >>> [info.name for info in solvers()][:2]
    ['analytic', 'highspy']
    """
    backends = (_probe(name, isolate=False) for name in list_backends().values())
    return _Solvers(sorted([*backends, *_probe_all()], key=lambda info: not info.usable))


@cache
def _probe_all() -> tuple[SolverInfo, ...]:
    """Try CVXPY's. One worker tries most of them, a second one the solvers that run alone."""

    def probe_in_turn(alone: bool) -> list[SolverInfo]:
        """Try solvers in the worker process of this thread."""
        names = (name for name in cvxpy_internals.list_solvers() if entry_of(name).alone == alone)
        return [_probe(name, isolate=True) for name in names]

    with ThreadPoolExecutor(2) as threads:  # each waits for the worker process that it has
        probed = [info for group in threads.map(probe_in_turn, (False, True)) for info in group]
    return tuple(sorted(probed, key=lambda info: info.name))


def find_solver(name: str, cone: str | None = None, *, closed_form: bool = True) -> str:
    """Return the canonical name of a solver that works here, whatever its case.

    Linear programs are solved by all of them. Programs over a cone are solved by those of CVXPY
    that support it, and in closed form, if they have one.
    """
    if cone is not None:
        check_name("cone", cone, _CONES)
    asked = name.strip().upper() if isinstance(name, str) else ""
    backends = list_backends()
    solver = backends.get(asked)
    if solver is not None and (cone is None or (closed_form and solver == ANALYTIC)):
        return solver
    listed = cvxpy_internals.list_solvers()
    why = ""
    if solver is not None:
        why = f"solver {solver} has no {cone} cone"  # only linear programs can do without CVXPY
    elif asked in listed:
        solver, info = asked, _probe_here(asked)
        if not info.usable:
            why = f"solver {solver} does not work here: {info.reason}"
        elif cone is not None and cone not in info.cones:
            why = f"solver {solver} has no {cone} cone"
        else:
            return solver
    else:
        names = [*listed, *(() if cone else backends.values())]
        why = str(unknown_name("solver", name, names))
    # To try them all would take seconds.
    installed = [*backends.values(), *sorted(cp.installed_solvers())]
    others = (each for each in installed if each != solver and (not cone or cone in _cones(each)))
    where = "Installed here, with that cone" if cone else "Installed here"
    raise SolverNotFoundError(f"{why}. {where}: {', '.join(others)}")


@cache
def _probe_here(name: str) -> SolverInfo:
    """Try a solver in this process."""
    return _probe(name, isolate=False)


def _probe(name: str, *, isolate: bool) -> SolverInfo:
    """Try a solver on a tiny program."""
    interface = cvxpy_internals.solver_interface(name)
    try:
        if interface is not None:
            interface.import_solver()
    except Exception as error:  # without a licence, solvers' modules raise errors of any kind
        return SolverInfo(name, False, f"{reason(error)}; {entry_of(name).hint}")
    limit = _TIME_LIMIT if isolate else None
    try:
        with ignoring(category=Warning):  # only the answer counts here
            backend = make_backend(name, isolate=isolate)
            point = backend.minimize(_TinyProgram(), np.ones(1), Stopwatch(), limit).point
    except GdaoptError as error:
        return SolverInfo(name, False, reason(error))
    if abs(float(point[0]) - 2) > 1e-2:
        return SolverInfo(name, False, f"answered {point[0]} to min x, x >= 2")
    return SolverInfo(name, True, cones=_cones(name))


class _TinyProgram:
    """What solvers are tried on: min x, x ≥ 2. See `gdaopt.backends.protocol.LinearProgram`."""

    name = "probe"

    def minimize(self, _cost: FloatArray) -> FloatArray:
        return np.array([2.0])

    def arrays(self, cost: FloatArray) -> LinearArrays:
        """Return the program with the bound as a row."""
        return LinearArrays.of(cost, [[1.0]], row_lower=2.0, lower=-np.inf)


def _cones(name: str) -> tuple[str, ...]:
    """Return the cones of a solver, as CVXPY's interface lists them."""
    supported = cvxpy_internals.list_cones(name)
    return tuple(cone for cone, names in _CONES.items() if names & supported)


_accepted: set[tuple[str, str]] = set()  # solvers and options that a trial has found good


def check_solver_options(solver: str, options: Mapping[str, Any]) -> None:
    """Refuse options that the backend of a canonical name does not know, or values of them.

    CVXPY's solvers are tried with them, because most refuse what is wrong only when they are used.
    """
    if not options:
        return
    tried = solver, _write_options(options)
    if tried in _accepted:
        return
    check_numbers(solver, options)
    if entry_of(solver).backend:
        make_backend(solver, options)
        return
    check_option_names(solver, options)
    error = _refusal(solver, options)
    if error is not None:
        raise InvalidInputError(
            f"{solver} refuses the options {shortened(dict(options))}: "
            f"{reason(error).removesuffix('.')}; {suggest_names(solver, options)}"
        ) from error
    if tried[1]:
        _accepted.add(tried)


def _write_options(options: Mapping[str, Any]) -> str:
    """Return options as text; empty if they have none, as numbers of 5,000 digits."""
    try:
        return repr(options)
    except Exception:  # they may hold anything, and raise it
        return ""


def _refusal(solver: str, options: Mapping[str, Any]) -> BaseException | None:
    """Return the error that a solver raises on a tiny program with options, if it raises one."""
    try:
        with ignoring(category=Warning):
            backend = make_backend(solver, {**options, "verbose": False})
            backend.minimize(_TinyProgram(), np.ones(1), Stopwatch(), _TIME_LIMIT)
    except InfeasibleProblemError:
        return None  # a wrong answer is no refusal
    except SolverFailedError as error:
        return error.__cause__  # none where it ended without an answer, such as at a limit
    return None


def make_backend(
    solver: str,
    options: Mapping[str, Any] | None = None,
    *,
    isolate: bool = False,
    hot: bool | None = None,
) -> Backend:
    """Return a new backend by its canonical name."""
    backend = entry_of(solver).backend
    if backend is None:
        return CvxpyBackend(solver, options or {}, isolate=isolate, hot=bool(hot))
    make = resolve_name(backend) if isinstance(backend, str) else backend
    made: Backend = make(options or {}, isolate=isolate, hot=hot)
    return made
