"""Which solvers work here: every solver that CVXPY knows is tried on a tiny linear program.

An installed solver need not work: its licence may have run out, or its import may fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gdaopt.backends.cvxpy import solve_program
from gdaopt.errors import GdaoptError, SolverNotFoundError, check_name, unknown_name
from gdaopt.warning_filters import ignoring

__all__ = ["SolverInfo", "find_solver", "solvers"]

_HINTS = {
    "ECOS": "pip install ecos (wheels for Python < 3.13, not for macOS on arm64); "
    "CLARABEL solves the same programs",
}

_CONES = {  # and the names of their constraints in CVXPY
    "second-order": {"SOC"},
    "semidefinite": {"PSD", "SvecPSD"},
    "exponential": {"ExpCone"},
}


@dataclass(frozen=True)
class SolverInfo:
    """One solver: whether it solves a linear program here, and if not, why.

    Attributes
    ----------
    name : str
        Its name in CVXPY.
    usable : bool
        Whether it solved a tiny linear program.
    reason : str
        Why it does not work; empty for a usable solver.
    cones : tuple of str
        Those of ``"second-order"``, ``"semidefinite"`` and ``"exponential"`` that it supports.
    """

    name: str
    usable: bool
    reason: str = ""
    cones: tuple[str, ...] = ()


def solvers() -> list[SolverInfo]:
    """Return every solver that CVXPY knows, the usable ones first. Each is tried only once.

    Examples
    --------
    >>> "HIGHS" in [info.name for info in solvers() if info.usable]
    True
    """
    return sorted((_probe(name) for name in _known()), key=lambda info: not info.usable)


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
        others = () if cone else ("highspy", "analytic")
        reason = str(unknown_name("solver", name, [*known, *others]))
    else:
        info = _probe(canonical)
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
def _probe(name: str) -> SolverInfo:
    """Try a solver on ``min x, x ≥ 2``."""
    import cvxpy as cp
    from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP

    interface = SOLVER_MAP_CONIC.get(name) or SOLVER_MAP_QP[name]
    try:
        interface.import_solver()  # type: ignore[no-untyped-call]  # CVXPY has no types
    except Exception as error:  # without a licence, solvers' modules raise errors of any kind
        reason = str(error) or type(error).__name__
        hint = f"; {_HINTS[name]}" if name in _HINTS else ""
        return SolverInfo(name, usable=False, reason=reason + hint)
    x = cp.Variable()
    try:
        with ignoring(category=Warning):  # only the answer counts here
            solve_program(cp.Problem(cp.Minimize(x), [x >= 2]), name, name="probe")
    except GdaoptError as error:
        return SolverInfo(name, usable=False, reason=str(error).splitlines()[0])
    if x.value is None or abs(float(x.value) - 2) > 1e-2:
        return SolverInfo(name, usable=False, reason=f"answered {x.value} to min x, x >= 2")
    return SolverInfo(name, usable=True, cones=_cones(name))


def _cones(name: str) -> tuple[str, ...]:
    """Return the cones of a solver, as CVXPY's interface lists them."""
    from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC

    if name not in SOLVER_MAP_CONIC:
        return ()
    supported = {constraint.__name__ for constraint in SOLVER_MAP_CONIC[name].SUPPORTED_CONSTRAINTS}
    return tuple(cone for cone, names in _CONES.items() if names & supported)
