"""Which solvers work here: every solver that CVXPY knows is tried on a tiny linear program.

An installed solver need not work: its licence may have run out, its libraries may be missing, or it
may even end or hang the process that calls it. The list of all solvers is hence made by worker
processes, with a time limit for each solver. A solver that the user names is tried in this process,
which takes milliseconds, as it is going to run here anyway.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from gdaopt.backends.catalogue import entry_of
from gdaopt.backends.cvxpy import solve_program
from gdaopt.errors import GdaoptError, SolverNotFoundError
from gdaopt.support.validation import check_name, unknown_name
from gdaopt.support.warning_filters import ignoring

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["SolverInfo", "find_solver", "solvers"]

# Of a probe. It counts the start of the worker, and what the solver compiles: MPAX takes 5 s.
_TIME_LIMIT = 60.0

_CONES = {  # and the names of their constraints in CVXPY
    "second-order": {"SOC"},
    "semidefinite": {"PSD", "SvecPSD"},
    "exponential": {"ExpCone"},
}


@dataclass(frozen=True)
class SolverInfo:
    """One solver: what it is, whether it solves a linear program here, and if not, why.

    Attributes
    ----------
    name : str
        Its name in CVXPY.
    usable : bool
        Whether it solved a tiny linear program.
    reason : str
        Why it does not work; empty for a usable solver.
    cones : tuple of str
        Those of ``"second-order"``, ``"semidefinite"`` and ``"exponential"`` that it supports;
        known of usable solvers only.
    version : str
        The version of its package; empty where that is not installed.
    licence : str
        The SPDX identifier of the solver's licence, or ``"proprietary"``.
    algorithms : tuple of str
        Kinds of algorithm that it has for linear programs, the default first: ``"simplex"``,
        ``"interior point"``, ``"first order"``, ``"active set"``, ``"augmented Lagrangian"``.
    """

    name: str
    usable: bool
    reason: str = ""
    cones: tuple[str, ...] = ()
    version: str = ""
    licence: str = "unknown"
    algorithms: tuple[str, ...] = ()


def solvers() -> list[SolverInfo]:
    """Return every solver that CVXPY knows, the usable ones first.

    The first call tries all that are installed, in worker processes; this takes a few seconds. A
    solver that ends its process, or does not answer within a minute, does not work.

    Examples
    --------
    >>> "HIGHS" in [info.name for info in solvers() if info.usable]
    True
    """
    return list(_all_probed())


@cache
def _all_probed() -> tuple[SolverInfo, ...]:
    """Try all solvers. One worker tries most of them, and a second one those that run alone."""
    together = [name for name in _known() if not entry_of(name).alone]
    alone = [name for name in _known() if entry_of(name).alone]
    with ThreadPoolExecutor(2) as threads:  # each waits for the worker process that it has
        probed = [
            info for group in threads.map(_probe_in_turn, (together, alone)) for info in group
        ]
    return tuple(sorted(probed, key=lambda info: (not info.usable, info.name)))


def _probe_in_turn(names: list[str]) -> list[SolverInfo]:
    """Try solvers in the worker process of this thread."""
    return [_probe(name, isolate=True) for name in names]


def find_solver(name: str, cone: str | None = None) -> str:
    """Return the canonical name of a solver that works here.

    Parameters
    ----------
    name : str
        Name of a solver that CVXPY knows, in upper or lower case.
    cone : {"second-order", "semidefinite", "exponential"}, optional
        The cone that the solver has to support.

    Raises
    ------
    SolverNotFoundError
        When the solver is unknown, is not installed, fails on a tiny program, or lacks the cone.
        The message lists the solvers that work.

    Examples
    --------
    >>> find_solver("highs")
    'HIGHS'
    """
    if cone is not None:
        check_name("cone", cone, _CONES)
    known = _known()
    asked = name.upper() if isinstance(name, str) else ""
    canonical = {candidate.upper(): candidate for candidate in known}.get(asked)
    if canonical is None:
        # Only linear programs have a closed form, "analytic", and can do without CVXPY.
        others = ("highspy", "analytic")
        reason = str(unknown_name("solver", name, [*known, *(() if cone else others)]))
        if cone is not None and asked.lower() in others:
            reason = f"solver {asked.lower()} has no {cone} cone"
    else:
        info = _probe_here(canonical)
        if info.usable and (cone is None or cone in info.cones):
            return canonical
        reason = f"solver {canonical} does not work here: {info.reason}"
        if info.usable:
            reason = f"solver {canonical} has no {cone} cone"
    usable = [info.name for info in solvers() if info.usable and (not cone or cone in info.cones)]
    if cone is None:
        raise SolverNotFoundError(f"{reason}. Working here: {', '.join(usable)}, highspy, analytic")
    raise SolverNotFoundError(f"{reason}. Working here, with that cone: {', '.join(usable)}")


@cache
def _known() -> tuple[str, ...]:
    """Return the names of the conic and quadratic solvers that CVXPY has an interface for."""
    # CVXPY lists only installed solvers in its public functions.
    from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP

    return tuple(sorted({*SOLVER_MAP_CONIC, *SOLVER_MAP_QP}))


@cache
def _probe_here(name: str) -> SolverInfo:
    """Try a solver in this process."""
    return _probe(name, isolate=False)


def _probe(name: str, *, isolate: bool) -> SolverInfo:
    """Try a solver on a tiny program."""
    from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP

    interface = SOLVER_MAP_CONIC.get(name) or SOLVER_MAP_QP[name]
    try:
        interface.import_solver()  # type: ignore[no-untyped-call]  # CVXPY has no types
    except Exception as error:  # without a licence, solvers' modules raise errors of any kind
        return _unusable(name, f"{_in_one_line(error)}; {entry_of(name).hint}")
    problem = _tiny_problem(name)
    (x,) = problem.variables()
    try:
        with ignoring(category=Warning):  # only the answer counts here
            limit = _TIME_LIMIT if isolate else None
            solve_program(problem, name, time_limit=limit, isolate=isolate, name="probe")
    except GdaoptError as error:
        return _unusable(name, _in_one_line(error))
    if x.value is None or abs(float(x.value) - 2) > 1e-2:
        return _unusable(name, f"answered {x.value} to min x, x >= 2")
    return _info(name, usable=True, cones=_cones(name))


def _tiny_problem(name: str) -> cp.Problem:
    """Return the program that a solver is tried on."""
    import cvxpy as cp

    x = cp.Variable(name=f"x_{name}")
    return cp.Problem(cp.Minimize(x), [x >= 2])


def _unusable(name: str, reason: str) -> SolverInfo:
    """Return the line on a solver that does not work."""
    return _info(name, usable=False, reason=reason)


def _info(name: str, *, usable: bool, reason: str = "", cones: tuple[str, ...] = ()) -> SolverInfo:
    """Return what a probe has found, with what is known beforehand."""
    entry = entry_of(name)
    return SolverInfo(
        name,
        usable,
        reason,
        cones,
        version=entry.version,
        licence=entry.licence,
        algorithms=entry.algorithms,
    )


def _in_one_line(error: Exception) -> str:
    """Return the whole message of an error, without line ends."""
    return " ".join(str(error).split()) or type(error).__name__


def _cones(name: str) -> tuple[str, ...]:
    """Return the cones of a solver, as CVXPY's interface lists them."""
    from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC

    if name not in SOLVER_MAP_CONIC:
        return ()
    supported = {constraint.__name__ for constraint in SOLVER_MAP_CONIC[name].SUPPORTED_CONSTRAINTS}
    return tuple(cone for cone, names in _CONES.items() if names & supported)
