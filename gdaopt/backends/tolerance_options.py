"""The options by which solvers are asked for a tolerance, one number for all of them.

What a number means differs between solvers: simplex methods have tolerances of bounds and reduced
costs, interior-point methods of the gap as well, and first-order methods of sums over all rows. So
the same number is only asked of all; what was reached has to be measured at the answer.
"""

from __future__ import annotations

from typing import Any

__all__ = ["TOLERANCE_NAMES", "tolerance_options"]

_EPS = ("eps_abs", "eps_rel")
_OF_HIGHS = (
    "primal_feasibility_tolerance",
    "dual_feasibility_tolerance",
    "ipm_optimality_tolerance",
)

TOLERANCE_NAMES: dict[str, tuple[str, ...]] = {
    "CBC": ("primalTolerance", "dualTolerance"),
    "CLARABEL": ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
    "CVXOPT": ("abstol", "reltol", "feastol"),
    "DAQP": ("primal_tol", "dual_tol"),
    "ECOS": ("abstol", "reltol", "feastol"),
    "HIGHS": _OF_HIGHS,
    "MPAX": _EPS,
    "OSQP": _EPS,
    "PIQP": _EPS,
    "PROXQP": _EPS,
    "QOCO": ("abstol", "reltol"),
    "QPALM": _EPS,
    "SCS": _EPS,
    "SDPA": ("epsilonStar", "epsilonDash"),
    "highspy": _OF_HIGHS,
}
"""The names of the options that are tolerances, by solver."""

_NESTED = {  # in a mapping of their own
    "SCIP": ("scip_params", ("numerics/feastol", "numerics/dualfeastol")),
    "SCIPY": ("scipy_options", ("primal_feasibility_tolerance", "dual_feasibility_tolerance")),
}


def tolerance_options(solver: str, tolerance: float) -> dict[str, Any]:
    """Return the options that ask a solver for a tolerance.

    Parameters
    ----------
    solver : str
        A canonical name of `gdaopt.backends.find_backend`.
    tolerance : float
        What is asked.

    Returns
    -------
    dict
        For `solver_opts`; empty for the closed form, and for a solver whose tolerances CVXPY does
        not pass on (GLPK, GLOP and PDLP) or we do not know: it uses its defaults.

    Examples
    --------
    >>> tolerance_options("SCS", 1e-6)
    {'eps_abs': 1e-06, 'eps_rel': 1e-06}
    >>> tolerance_options("SCIPY", 1e-6)["scipy_options"]["dual_feasibility_tolerance"]
    1e-06
    """
    if solver in _NESTED:
        outer, names = _NESTED[solver]
        return {outer: dict.fromkeys(names, tolerance)}
    return dict.fromkeys(TOLERANCE_NAMES.get(solver, ()), tolerance)
