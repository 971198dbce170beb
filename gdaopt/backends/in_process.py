"""One solve of a CVXPY problem in the process that calls it: the user's, or a worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gdaopt.warning_filters import ignoring

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["solve_in_process"]


def solve_in_process(
    problem: cp.Problem, solver: str, options: Mapping[str, Any]
) -> tuple[str, float | None]:
    """Solve a CVXPY problem in this process.

    Parameters
    ----------
    problem : cvxpy.Problem
        Its parameters have values; its variables get theirs.
    solver : str
        Canonical name of a CVXPY solver.
    options : mapping
        Arguments of `cvxpy.Problem.solve`.

    Returns
    -------
    status : str
        The status that CVXPY gives the problem.
    solve_seconds : float or None
        The time that the solver reports for itself; None when it reports none.
    """
    for variable in problem.variables():
        variable.save_value(None)  # otherwise a solve that does nothing would keep the last answer
    # CVXPY warns of an inexact answer. The status says so too, and the caller reads that.
    with ignoring("Solution may be inaccurate"):
        problem.solve(solver=solver, **options)
    stats = problem.solver_stats
    return str(problem.status), None if stats is None else stats.solve_time
