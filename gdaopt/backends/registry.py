"""Solvers and backends by name: which work here.

Every solver that CVXPY knows is tried on a tiny linear program.

An installed solver need not work: its licence may have run out, its libraries may be missing, or it
may even end or hang the process that calls it. The list of all solvers is hence made by worker
processes, with a time limit for each solver. A solver that the user names is tried in this process,
which takes milliseconds, as it is going to run here anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from gdaopt.backends.catalogue import check_option_names, entry_of
from gdaopt.backends.cvxpy import CvxpyBackend, solve_program
from gdaopt.backends.highspy import HighspyBackend
from gdaopt.backends.protocol import AnalyticBackend, Backend
from gdaopt.errors import GdaoptError, SolverNotFoundError
from gdaopt.support.text import reason
from gdaopt.support.validation import check_name, unknown_name
from gdaopt.support.warning_filters import ignoring

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = [
    "BACKENDS",
    "SolverInfo",
    "check_solver_options",
    "find_backend",
    "find_solver",
    "make_backend",
    "solvers",
]

# Of a probe. It counts the start of the worker, and what the solver compiles: MPAX takes 5 s.
_TIME_LIMIT = 60.0

_CONES = {  # and the names of their constraints in CVXPY
    "second-order": {"SOC"},
    "semidefinite": {"PSD", "SvecPSD"},
    "exponential": {"ExpCone"},
}

BACKENDS: dict[str, Callable[..., Backend]] = {
    AnalyticBackend.name: AnalyticBackend,
    HighspyBackend.name: HighspyBackend,
}
"""The backends beside CVXPY's solvers, by name in lower case.

Each is called with the options of the solver, and with the keywords `isolate` and `hot` of
`make_backend`; it refuses options that it does not know with an InvalidInputError.
"""


@dataclass(frozen=True)
class SolverInfo:
    """One solver: its kind, whether it solves a linear program here, and if not, why.

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
    """

    name: str
    usable: bool
    reason: str = ""
    cones: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The version of its package; empty where that is not installed."""
        return entry_of(self.name).version

    @property
    def licence(self) -> str:
        """The SPDX identifier of the solver's licence, or ``"proprietary"``."""
        return entry_of(self.name).licence

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Kinds of algorithm that it has for linear programs, the default first.

        They are ``"simplex"``, ``"interior point"``, ``"first order"``, ``"active set"`` and
        ``"augmented Lagrangian"``.
        """
        return entry_of(self.name).algorithms


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
    """Try all solvers. One worker tries most of them, a second one the solvers that run alone."""

    def probe_in_turn(alone: bool) -> list[SolverInfo]:
        """Try solvers in the worker process of this thread."""
        names = (name for name in _known() if entry_of(name).alone == alone)
        return [_probe(name, isolate=True) for name in names]

    with ThreadPoolExecutor(2) as threads:  # each waits for the worker process that it has
        probed = [info for group in threads.map(probe_in_turn, (False, True)) for info in group]
    return tuple(sorted(probed, key=lambda info: (not info.usable, info.name)))


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
        # Only linear programs can do without CVXPY.
        why = str(unknown_name("solver", name, [*known, *(() if cone else BACKENDS)]))
        if cone is not None and asked.lower() in BACKENDS:
            why = f"solver {asked.lower()} has no {cone} cone"
    else:
        info = _probe_here(canonical)
        if info.usable and (cone is None or cone in info.cones):
            return canonical
        why = f"solver {canonical} does not work here: {info.reason}"
        if info.usable:
            why = f"solver {canonical} has no {cone} cone"
    working = [info.name for info in solvers() if info.usable and (not cone or cone in info.cones)]
    if cone is None:
        working += BACKENDS
    where = "Working here, with that cone" if cone else "Working here"
    raise SolverNotFoundError(f"{why}. {where}: {', '.join(working)}")


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
        return SolverInfo(name, False, f"{reason(error)}; {entry_of(name).hint}")
    problem = _tiny_problem(name)
    (x,) = problem.variables()
    try:
        with ignoring(category=Warning):  # only the answer counts here
            limit = _TIME_LIMIT if isolate else None
            solve_program(problem, name, time_limit=limit, isolate=isolate, name="probe")
    except GdaoptError as error:
        return SolverInfo(name, False, reason(error))
    if x.value is None or abs(float(x.value) - 2) > 1e-2:
        return SolverInfo(name, False, f"answered {x.value} to min x, x >= 2")
    return SolverInfo(name, True, cones=_cones(name))


def _tiny_problem(name: str) -> cp.Problem:
    """Return the program that a solver is tried on."""
    import cvxpy as cp

    x = cp.Variable(name=f"x_{name}")
    return cp.Problem(cp.Minimize(x), [x >= 2])


def _cones(name: str) -> tuple[str, ...]:
    """Return the cones of a solver, as CVXPY's interface lists them."""
    from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC

    if name not in SOLVER_MAP_CONIC:
        return ()
    supported = {constraint.__name__ for constraint in SOLVER_MAP_CONIC[name].SUPPORTED_CONSTRAINTS}
    return tuple(cone for cone, names in _CONES.items() if names & supported)


def find_backend(name: str, cone: str | None = None) -> str:
    """Return the canonical name of a backend that works here.

    Parameters
    ----------
    name : str
        Name of a solver that CVXPY knows, or one of `BACKENDS`, in any case.
    cone : {"second-order", "semidefinite", "exponential"}, optional
        What a solver has to have, where the program is not linear.

    Raises
    ------
    SolverNotFoundError
        See `gdaopt.backends.find_solver`.

    Examples
    --------
    >>> find_backend("Analytic"), find_backend("highs"), find_backend("HiGHSpy")
    ('analytic', 'HIGHS', 'highspy')
    """
    lowered = name.lower() if isinstance(name, str) else ""
    # Programs over cones have a closed form, too; other backends solve linear programs.
    if lowered in BACKENDS and (cone is None or lowered == AnalyticBackend.name):
        return lowered
    return find_solver(name, cone=cone)


def check_solver_options(solver: str, options: Mapping[str, Any]) -> None:
    """Refuse options that the backend of a canonical name does not know, where it can tell.

    Raises
    ------
    InvalidInputError
        With the option.
    """
    if not options:
        return
    if solver in BACKENDS:
        BACKENDS[solver](options)
    else:
        check_option_names(solver, options)


def make_backend(
    solver: str,
    options: Mapping[str, Any] | None = None,
    *,
    isolate: bool = False,
    hot: bool | None = None,
) -> Backend:
    """Return a new backend, for programs of one kind and size.

    Parameters
    ----------
    solver : str
        A canonical name of `find_backend`.
    options : mapping, optional
        Options of the solver.
    isolate : bool, optional
        Whether to solve in a worker process, which is killed when the time limit is over.
    hot : bool, optional
        Whether the solver may start from its last answer; by default highspy does, and CVXPY's
        solvers do not.

    Examples
    --------
    >>> make_backend("highspy", {"solver": "ipm"}).name
    'highspy'
    """
    given = options or {}
    if solver in BACKENDS:
        return BACKENDS[solver](given, isolate=isolate, hot=hot)
    return CvxpyBackend(solver, given, isolate=isolate, hot=bool(hot))
