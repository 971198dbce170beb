"""``problem.solve(method="gdaopt")``: the methods of this package as a solve method of CVXPY."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from gdaopt.certificate import certify_point
from gdaopt.certificate.tangent import is_at_kink
from gdaopt.errors import InfeasibleProblemError, NoInteriorError
from gdaopt.methods.certified import Certified
from gdaopt.methods.conic import SecondOrder, Semidefinite
from gdaopt.methods.solve import make_method, run
from gdaopt.objectives.protocol import Point
from gdaopt.objectives.quadratic import Quadratic
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.status import MADE_NO_PROGRESS
from gdaopt.support.cvxpy_loading import cp, cvxpy_internals

if TYPE_CHECKING:
    from gdaopt.constraints.model import Model, ModelReader

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

    The status is ``optimal`` if the certified gap is within the tolerance, or is only round-off;
    ``user_limit`` if a limit ended the run; ``infeasible`` if no metric keeps all constraints; else
    ``optimal_inaccurate``. At a kink of the objective no gap can be certified, and the status is
    that of the conic solver. The affine constraints have dual values, the constraints of the set
    have none. ``solver_stats.extra_stats`` is the `Result`, with the gap.

    Parameters
    ----------
    problem : cvxpy.Problem
        See `MetricProblem.from_cvxpy`.
    by : str, optional
        The method, as for `gdaopt.solve`.
    warm_start : bool, optional
        Begin with the atoms of the last solve of this problem; or near the value of the variable,
        if it has another one. Only ``"certified"`` uses it: its result does not depend on the
        start.
    **options
        Of the method, such as ``tolerance``, ``time_limit``, ``verbose`` and ``solver``.

    Returns
    -------
    float
        The value of the problem.

    Raises
    ------
    InvalidInputError, NoInteriorError
        See `MetricProblem.from_cvxpy` and `gdaopt.solve`.
    cvxpy.SolverError
        When a solver of the method's linear or conic programs fails.
    """
    memory = _memories.setdefault(problem, _Memory())
    try:
        model, posed = memory.read(problem)
    except NoInteriorError:
        raise
    except InfeasibleProblemError:
        value = -math.inf if isinstance(problem.objective, cp.Maximize) else math.inf
        cvxpy_internals.record_solution(problem, cp.INFEASIBLE, value, {}, {}, NAME)
        return value
    if by == Certified.name and "initial" not in options:
        options |= _start(model, posed, memory.result, warm_start)
    result, point = run(make_method(by, **options), posed)
    if result.status == "solver_failed":
        raise cp.SolverError(f"{result.message}; try another solver, or by='certified'")
    memory.result = result
    of_trace = 0.0
    if model.trace_row is not None:
        # What the best atom would lower the objective by.
        gradient = posed.feasible_set.family.gradient_at(point)
        support = posed.members.support(gradient, result.multipliers)
        of_trace = max(-float(support.prices[0]), 0.0)
    duals = model.dual_values(result.multipliers, of_trace, result.objective)
    value = result.objective if model.distance is None else math.sqrt(max(result.objective, 0.0))
    value = -value if isinstance(problem.objective, cp.Maximize) else value
    cvxpy_internals.record_solution(
        problem,
        _status(posed, result, point),
        value,
        {model.metric.id: result.metric},
        duals,
        f"{NAME} {result.method}",
        solve_time=result.seconds,
        num_iters=result.iterations,
        extra_stats=result,  # CVXPY allows an object of any kind
    )
    return value


class _Memory:
    """What a problem keeps from one solve to the next: as it was read, and the last result."""

    def __init__(self) -> None:
        self.result: Result | None = None
        self._reader: ModelReader | None = None
        self._parameters: list[Any] = []  # their values
        self._read: tuple[Model, MetricProblem] | None = None

    def read(self, problem: cp.Problem) -> tuple[Model, MetricProblem]:
        """Return the problem for the values that its parameters have."""
        from gdaopt.constraints.model import ModelReader

        self._reader = self._reader or ModelReader(problem)
        values = [parameter.value for parameter in problem.parameters()]
        same = all(map(np.array_equal, values, self._parameters))
        if self._read is None or not same:
            self._read = None
            model = self._reader.model()
            posed = MetricProblem(model.objective, model.feasible_set, model.rows)
            self._read, self._parameters = (model, posed), deepcopy(values)
        return self._read


_memories: WeakKeyDictionary[cp.Problem, _Memory] = WeakKeyDictionary()


def _status(posed: MetricProblem, result: Result, point: Point) -> str:
    """Return CVXPY's word for how a run ended.

    A gap that is nothing but round-off is no gap. At a kink of the objective, where gaps tell
    little, the word is that of the conic solver.
    """
    if result.status in MADE_NO_PROGRESS and result.gap is not None:
        certificate = certify_point(posed, point, multipliers=result.multipliers)
        if result.gap <= 2 * certificate.allowance:
            return "optimal"
        is_conic = result.method in (Semidefinite.name, SecondOrder.name)
        if is_conic and is_at_kink(posed, point):
            return result.trace[-1].solver_status
    return _STATUSES.get(result.status, "optimal_inaccurate")


def _start(
    model: Model, posed: MetricProblem, last: Result | None, warm_start: bool
) -> dict[str, Any]:
    """Return the option by which the run begins somewhere else than in the middle of the set."""
    objective, wanted = model.objective, model.metric.value
    if posed.rows is None:
        if isinstance(objective, Quadratic) and objective.bend == 0:
            return {"initial": model.feasible_set.minimize_linear(objective.linear).vertex}
        if model.distance is not None:
            nearest = model.feasible_set.projected(model.distance.nearest()).nearest
            return {"initial": posed.made_feasible(nearest)}
    if not warm_start or wanted is None or not np.isfinite(wanted).all():
        return {}
    if last is not None and last.atoms is not None and np.array_equal(wanted, last.metric):
        return {"warm_start": last}
    metric = posed.made_feasible((wanted + wanted.T) / 2)
    if posed.rows is not None:
        inner = posed.central_metric()
        metric += posed.rows.way_back(metric, inner) * (inner - metric)
    return {} if posed.violations(metric) else {"initial": metric}
