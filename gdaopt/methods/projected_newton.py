"""Projected Newton steps for objectives that keep metrics positive definite by themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from gdaopt.certificate import Certificate
from gdaopt.certificate.tangent import dual_bound, trace_multiplier
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.spectrum import is_at_least
from gdaopt.methods.base import Demand, Method, States, check_start
from gdaopt.methods.context import Context
from gdaopt.methods.stopping import LowerBound, Patience
from gdaopt.objectives.protocol import BarrierPoint, NewtonModel
from gdaopt.problem import MetricProblem
from gdaopt.state import State
from gdaopt.support.deadline import check_time
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, is_finite

_SINGLE = 100  # features: with more of them directions are computed in single precision
_NEAR_ZERO = 1e-2  # entries of that size go to 0 in a step, in units of the diagonal
_NEARER, _FARTHER = 0.1, 2.0  # times that size after a step that was shortened, or was not
_RELEASED = 0.5  # share of the largest slope: entries that leave 0 have a larger one
_CLOSE = 1e-3  # share of the objective: at such a gap, every entry that wants to leaves 0
_LOOSE, _TIGHT = 0.3, 1e-3  # share of its norm: the residual that is left of Newton's equation
_MOST_PRODUCTS = 30  # with the Hessian in a step
_DECREASE = 1e-4  # share of what the slope promises: a step has to reach it
_SHORTEST = 2.0**-30
_ROUND_OFF = 1e-13  # share of the objective
_PATIENCE = 4  # steps without progress: the remaining gap is then round-off
_MOST_CUT = 12  # steps in turn that would leave the set: its boundary binds


@dataclass(frozen=True, kw_only=True, eq=False)
class ProjectedNewton(Method):
    """Newton's method for objectives with a barrier, `gdaopt.LogDet` and `gdaopt.GMML`.

    In each step the entries that are at 0, or near it and on the way there, stay or become 0; the
    others follow Newton's equation, solved by conjugate gradients ("Algorithm: projected Newton").
    The run ends when 4 steps in a row lowered neither the objective nor the gap (`Patience`). It
    ends for *slow_progress* if the bound on the smallest eigenvalue binds, or the cone around a
    fixed path; its message then says that ``"certified"`` goes on from there. The options are those
    of `Method`.

    Raises
    ------
    InvalidInputError
        For a problem whose objective has no barrier.

    Examples
    --------
    >>> import numpy as np, gdaopt as gda
    >>> S = np.array([[1.0, 0.2, 0.4], [0.2, 1.0, 0.3], [0.4, 0.3, 1.0]])
    >>> problem = gda.MetricProblem(gda.LogDet(S), gda.GraphMetrics(trace_bound=100.0))
    >>> result = gda.solve(problem, "projected-newton")
    >>> result.metric.round(3)
    array([[ 1.2  , -0.106, -0.449],
           [-0.106,  1.108, -0.29 ],
           [-0.449, -0.29 ,  1.266]])
    >>> result.status, result.relative_gap < 1e-6
    ('converged', True)
    """

    name: ClassVar[str] = "projected-newton"
    takes: ClassVar[tuple[Demand, ...]] = ()

    def check(self, problem: MetricProblem) -> None:
        super().check(problem)
        if not problem.objective.barrier:
            raise InvalidInputError(
                f"method {self.name!r} needs an objective that is infinite if the metric is not "
                f"positive definite, such as gdaopt.LogDet; {shortened(problem.objective)} is not: "
                "take 'certified'"
            )
        if not problem.feasible_set.family.is_entrywise:
            raise InvalidInputError(
                f"method {self.name!r} keeps signs and zeros of entries, and the members of "
                f"{shortened(problem.feasible_set)} have to keep more: take 'certified'"
            )

    def states(self, problem: MetricProblem, context: Context) -> States:
        with context.timed("objective"):
            initial = self.initial_metric(problem)
            run = _Run(problem, initial)
            check_start(problem, run.point)
            state = run.certify()
        yield state
        patience = Patience(run.lower_bound, _PATIENCE, "steps")
        number, ending = 0, None
        while ending is None:
            number, before = number + 1, run.point.value
            with context.timed("solve"):
                direction = run.find_direction()
            if not is_finite(direction):
                return "stalled", "stopped: Newton's equation leaves floating point"
            with context.timed("objective"):
                step = run.move_along(direction)
                if run.n_cut == _MOST_CUT:
                    least = problem.feasible_set.min_eigenvalue
                    return (
                        "slow_progress",
                        f"stopped: min_eigenvalue {least:g} or a fixed path binds, and Newton "
                        "steps do not go along such a bound; take method 'certified', or lower it",
                    )
                columns = {"iteration": number, "round": number, "newton_steps": number}
            with context.completing("objective"):
                state = run.certify(phase="newton", step=step, **columns)
            yield state
            if before - run.point.value <= _ROUND_OFF * abs(before):
                ending = patience.check(run.point)
        return ending


class _Run:
    """One run; its matrices are in units of the current metric, whose diagonal is 1 in them."""

    def __init__(self, problem: MetricProblem, initial: FloatArray | None) -> None:
        self._problem, self._set = problem, problem.feasible_set
        self._base, self._budget = problem.members.base, problem.members.budget
        self._has_base = bool(self._base.any())
        self._dtype: type = np.float32 if problem.n_features > _SINGLE else np.float64
        self._near_zero = _NEAR_ZERO
        self._released = math.inf
        self.lower_bound = LowerBound()
        self.n_cut = 0  # steps in turn that would have left the set
        self.point = problem.objective.at(self._find_start(initial))

    def _find_start(self, initial: FloatArray | None) -> FloatArray:
        """Return a member near `initial`, or else near the start of the objective's own."""
        metric = (
            self._problem.objective.first_metric(self._feasible) if initial is None else initial
        )
        atomic_part = self._feasible(metric - self._base)
        if not (is_finite(atomic_part) and is_at_least(atomic_part, 0.0)):
            return self._problem.central_metric()
        return self._base + self._within_trace(atomic_part)

    def _feasible(self, atomic_part: FloatArray) -> FloatArray:
        return self._set.family.with_feasible_entries(atomic_part)

    def _within_trace(self, atomic_part: FloatArray) -> FloatArray:
        """Return the matrix, scaled to the trace bound if it has a larger trace."""
        total = float(np.trace(atomic_part))
        return (self._budget / total) * atomic_part if total > self._budget else atomic_part

    def find_direction(self) -> FloatArray:
        """Return the step to the minimiser of the quadratic model on the free entries."""
        point = self.point
        units = np.sqrt(np.diagonal(point.metric))
        products = np.outer(units, units)
        model = cast(BarrierPoint, point).newton_model(units, self._dtype)
        atomic_part = (point.metric - self._base) / products
        gradient = point.gradient() * products
        free = self._free(atomic_part, gradient / model.of_entries, gradient, point.value)
        to_zero = np.where(free, 0.0, -atomic_part)
        # Accuracy is worth its price near the optimum only.
        gap = self.lower_bound.gap
        share = abs(gap / point.value) if point.value else math.inf
        accuracy = max(_TIGHT, min(_LOOSE, math.sqrt(share)))
        solved = partial(_solve, model, free.astype(self._dtype), accuracy)
        multiplier = trace_multiplier(self._problem, point)
        right = -gradient - multiplier * np.diag(units**2)
        if to_zero.any():
            right -= model.hessian(to_zero.astype(self._dtype))
        direction = (to_zero + solved(right)) * products
        if multiplier > 0:  # the trace bound binds: a better multiplier keeps it
            of_trace = solved(-np.diag(units**2)) * products
            fall = -float(np.trace(of_trace))
            if fall > 0:  # else it is round-off
                excess = float(np.trace(point.metric + direction)) - self._set.trace_bound
                direction += (excess / fall) * of_trace
        return np.asarray(direction)

    def _free(
        self, atomic_part: FloatArray, shifts: FloatArray, gradient: FloatArray, value: float
    ) -> Any:
        """Return which entries follow Newton's equation; the others go to 0 or stay there."""
        at_zero = atomic_part == 0
        leaves = self._feasible(atomic_part - shifts) != 0
        candidates = np.abs(gradient[at_zero & leaves])
        largest = float(candidates.max()) if len(candidates) else 0.0
        is_close = self.lower_bound.gap < _CLOSE * abs(value)
        self._released = 0.0 if is_close else _RELEASED * min(self._released, largest)
        stays = at_zero & (np.abs(gradient) <= self._released)
        goes = ~leaves & (np.abs(atomic_part) <= self._near_zero)
        return np.eye(len(at_zero), dtype=bool) | ~(goes | stays)

    def move_along(self, direction: FloatArray) -> float:
        """Take a step along the projected path, and return its size."""
        point, step, cut = self.point, 1.0, False
        gradient, most = point.gradient(), point.value + _ROUND_OFF * abs(point.value)
        while step > _SHORTEST:
            # A direction's terms may be so large that its trace is off by their round-off.
            atomic_part = self._within_trace(
                self._feasible(point.metric - self._base + step * direction)
            )
            metric = self._base + atomic_part
            if not self._has_base or is_at_least(atomic_part, 0.0):
                reached = self._problem.objective.at(metric)
                promised = float(np.vdot(gradient, metric - point.metric))
                if reached.value <= most + _DECREASE * promised:
                    self.point = reached
                    break
            elif is_at_least(metric, 0.0):
                cut = True
            step /= 2
        else:
            step = 0.0
        self._near_zero *= _FARTHER if step == 1 else _NEARER
        self.n_cut = self.n_cut + 1 if cut else 0
        return step

    def certify(self, **columns: Any) -> State:
        """Return the state at the point, with the best bound of the dual problem so far."""
        value, bound = self.point.value, dual_bound(self._problem, self.point)
        error = bound.round_off
        self.lower_bound.add(
            Certificate(value, bound.value, "dual", round_off=error, gap_round_off=error)
        )
        return State(point=self.point, **self.lower_bound.columns(), **columns)


def _solve(model: NewtonModel, free: Any, accuracy: float, right: FloatArray) -> FloatArray:
    """Solve ``P ∇²Q[D] = P R`` for D = P D by conjugate gradients, where P keeps `free` entries."""
    residual = right.astype(free.dtype) * free
    solution = np.zeros_like(residual)
    preconditioned = model.inverse(residual) * free
    direction = preconditioned
    size = first = float(np.vdot(residual, preconditioned))
    for _ in range(_MOST_PRODUCTS):
        check_time()
        product = model.hessian(direction) * free
        curvature = float(np.vdot(direction, product))
        if not (size > 0 and curvature > 0):  # round-off is all that is left
            break
        solution += (size / curvature) * direction
        residual -= (size / curvature) * product
        preconditioned = model.inverse(residual) * free
        size, before = float(np.vdot(residual, preconditioned)), size
        if not size > accuracy**2 * first:
            break
        direction = preconditioned + (size / before) * direction
    exact = solution.astype(np.float64)
    symmetric: FloatArray = (exact + exact.T) / 2
    return symmetric
