"""``problem.solve(method="gdaopt")``: the methods of this package as a solve method of CVXPY."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gdaopt.certificate import certify
from gdaopt.errors import InfeasibleProblemError, NoInteriorError
from gdaopt.methods.certified import Certified
from gdaopt.methods.solve import solve
from gdaopt.objectives import Quadratic
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.support.cvxpy_loading import when_cvxpy_is_used
from gdaopt.support.validation import FloatArray

if TYPE_CHECKING:
    import cvxpy as cp

    from gdaopt.constraints import LinearConstraints
    from gdaopt.modelling.model import Model

__all__ = ["NAME", "solve_model"]

NAME = "gdaopt"
"""What CVXPY calls the solve method."""

_STATUSES = {
    "converged": "optimal",
    "iteration_limit": "user_limit",
    "time_limit": "user_limit",
    "interrupted": "user_limit",
}


def solve_model(
    problem: cp.Problem,
    *,
    by: str = "certified",
    warm_start: bool = True,
    **options: Any,
) -> float:
    """Solve a CVXPY problem over metrics: ``problem.solve(method="gdaopt")``.

    Afterwards the problem, its variable and its constraints have the values that CVXPY's own
    solvers give them. The status is ``optimal`` where the certified gap is within the tolerance, or
    is nothing but round-off; ``user_limit`` where a limit ended the run; ``infeasible`` where no
    metric keeps all constraints; else ``optimal_inaccurate``. The affine constraints have dual
    values, those of the set have none. `solver_stats.extra_stats` is the `Result`, with the gap.

    Parameters
    ----------
    problem : cvxpy.Problem
        See `MetricProblem.from_cvxpy`.
    by : str, optional
        The method, as for `gdaopt.solve`.
    warm_start : bool, optional
        Begin near the value that the variable has, such as that of the last solve. Only
        ``"certified"`` does, whose result does not depend on the start.
    **options
        Of the method, such as `tolerance`, `time_limit`, `verbose` and `solver`.

    Returns
    -------
    float
        The value of the problem.

    Raises
    ------
    InvalidInputError
        See `MetricProblem.from_cvxpy` and `gdaopt.solve`.
    NoInteriorError
        When only members on the boundary of the set keep all constraints.
    cvxpy.SolverError
        When a solver of the method's linear or conic programs fails.
    """
    import cvxpy as cp
    from cvxpy.problems.problem import SolverStats
    from cvxpy.reductions.solution import Solution, failure_solution

    from gdaopt.modelling.model import read_model

    try:
        model = read_model(problem)
        posed = MetricProblem(model.objective, model.feasible_set, model.rows)
    except NoInteriorError:
        raise
    except InfeasibleProblemError:
        solution = failure_solution(cp.settings.INFEASIBLE)
        if isinstance(problem.objective, cp.Maximize):
            solution.opt_val = -np.inf
        problem.unpack(solution)
        problem._solver_stats = SolverStats(NAME)  # not those of an earlier solve
        return float(problem.value)
    if by == Certified.name:
        options.setdefault("initial", _initial(model, posed, warm_start))
    result = solve(posed, by, **options)
    if result.status == "solver_failed":
        raise cp.SolverError(f"{result.message}; try another solver, or by='certified'")
    values: dict[int, Any] = {variable.id: None for variable in problem.variables()}
    values[model.metric.id] = result.metric
    for constraint in problem.constraints:  # those of the set keep no values of an earlier solve
        for variable in constraint.dual_variables:
            variable.save_value(None)
    of_trace = 0.0 if model.trace_row is None else _multiplier_of_trace(posed, result)
    duals = model.dual_values(result.multipliers, of_trace, result.objective)
    problem.unpack(Solution(_status(posed, result), None, values, duals, {}))
    problem._solver_stats = SolverStats(
        f"{NAME} {result.method}",
        solve_time=result.seconds,
        num_iters=result.iterations,
        extra_stats=cast("Any", result),  # an object of the solver's own, as CVXPY allows
    )
    return float(problem.value)


def _status(posed: MetricProblem, result: Result) -> str:
    """Return CVXPY's word for how a run ended.

    A run that stalled is at the optimum where the certified gap is nothing but the certificate's
    allowance for round-off: so it is where the least value is 0, to which no tolerance is relative.
    """
    if result.status == "stalled" and result.gap is not None:
        certificate = certify(posed, result.metric, multipliers=result.multipliers)
        if result.gap <= 2 * certificate.allowance:
            return "optimal"
    return _STATUSES.get(result.status, "optimal_inaccurate")


def _initial(model: Model, posed: MetricProblem, warm_start: bool) -> FloatArray | None:
    """Return a member of the problem to begin at; None for the middle of the set.

    Without rows it is the solution where that has a closed form or is a projection. Else it is near
    the value of the variable.
    """
    objective = model.objective
    if posed.rows is None:
        if isinstance(objective, Quadratic) and objective.bend == 0:
            return model.feasible_set.minimize_linear(objective.linear).vertex
        if model.distance is not None:
            nearest = model.feasible_set.projected(model.distance.nearest()).point
            return posed.made_feasible(nearest)
    wanted = model.metric.value
    if not warm_start or wanted is None or not np.isfinite(wanted).all():
        return None
    found = posed.made_feasible((wanted + wanted.T) / 2)
    if posed.rows is not None:
        found = _within(posed.rows, found, posed.central_metric())
    return None if posed.violations(found) else found


def _within(rows: LinearConstraints, metric: FloatArray, inner: FloatArray) -> FloatArray:
    """Return the metric on the way to an inner one at which all inequalities hold."""
    here, there = rows.residuals(metric), rows.residuals(inner)
    breaks = ~rows.is_equality & (here > 0) & (there < 0)
    share = float(np.max(here[breaks] / (here[breaks] - there[breaks]), initial=0.0))
    moved: FloatArray = (1 - share) * metric + share * inner
    return moved


def _multiplier_of_trace(posed: MetricProblem, result: Result) -> float:
    """Return the multiplier of the trace bound: what the best atom would lower the objective by."""
    gradient = posed.gradient_at(posed.objective.at(result.metric), result.multipliers)
    return max(-float(posed.feasible_set.best_atoms(gradient).prices[0]), 0.0)


def _register() -> None:
    import cvxpy as cp

    cp.Problem.register_solve(NAME, solve_model)


when_cvxpy_is_used(_register)
