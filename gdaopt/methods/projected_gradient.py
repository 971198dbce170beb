"""Projected gradients: the standard method, to which this package offers alternatives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gdaopt.errors import RoundOffError
from gdaopt.linalg.projection import Projection, positive_part, project_spectrum
from gdaopt.methods.base import Method, States
from gdaopt.methods.context import Context
from gdaopt.methods.stopping import LowerBound, Patience
from gdaopt.objectives.protocol import Point, minimised
from gdaopt.problem import MetricProblem
from gdaopt.state import State
from gdaopt.support.validation import FloatArray, check_name

_PROJECTIONS = ("dykstra", "clip")
_FIRST_STEP = 0.1  # share of the distance across the set
_SHORTER, _LONGER = 2.0, 0.9  # the curvature's estimate, after a step that is refused or taken
_PROJECTION_ACCURACY = 1e-3  # share of the last step
_LEAST_ACCURACY = 1e-12  # share of C
_ROUND_OFF = 1e-14  # share of the values that a sufficient decrease compares
_PATIENCE = 200  # steps without a smaller gap


@dataclass(frozen=True, kw_only=True, eq=False)
class ProjectedGradient(Method):
    """Accelerated projected gradients over any set, with backtracking and restarts.

    Each step costs one projection or more, and each projection costs eigen-decompositions. If log Q
    is convex, the method minimises log Q. The run ends when the certified gap has not become
    smaller in 200 steps (`Patience`).

    Parameters
    ----------
    projection : {"dykstra", "clip"}, optional
        ``"dykstra"`` finds the nearest member of the set. ``"clip"`` is the heuristic of the
        literature: entries that must be 0 in the set, or have the wrong sign, become 0, eigenvalues
        below ρ become ρ, a trace above C is scaled down, and the result is made feasible. It takes
        one eigen-decomposition and is **no projection**: the run may end anywhere.
    **limits
        See `Method`.

    Notes
    -----
    Source: Beck, Teboulle, *A fast iterative shrinkage-thresholding algorithm*, 2009; restarts by
    O'Donoghue, Candès, 2015.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> result = gda.solve(problem, "projected-gradient")
    >>> result.status, result.eigen_decompositions > 0
    ('converged', True)
    """

    name: ClassVar[str] = "projected-gradient"

    projection: str = "dykstra"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("projection", self.projection, _PROJECTIONS)

    def states(self, problem: MetricProblem, context: Context) -> States:
        return (yield from _Run(self, problem, context).states(self.start_point(problem)))


class _Run:
    """One run: the metric x, the point y that gradients are taken at, and the step's length."""

    def __init__(self, method: ProjectedGradient, problem: MetricProblem, context: Context) -> None:
        self._context = context
        self._problem = problem
        self._feasible_set = problem.feasible_set
        self._project = self._nearest if method.projection == "dykstra" else self._clip
        self._lower_bound = LowerBound()
        self._decompositions = 0
        self._repair_distance = 0.0
        self._correction: FloatArray | None = None
        self._accuracy = _PROJECTION_ACCURACY
        self._unit = 1.0

    def states(self, start: Point) -> States:
        x = start
        ahead: FloatArray | None = None  # where y is, unless it is x
        # Values of any size are compared, and logarithms, whose round-off is absolute.
        self._unit = 1.0 if self._problem.objective.log_convex else abs(x.value)
        yield self._certify(x)
        slope = _norm(self._gradient(x))
        if slope == 0:
            return "stalled", "the gradient is 0"
        curvature = slope / (_FIRST_STEP * self._feasible_set.budget(self._problem.n_features))
        inertia = 1.0
        patience = Patience(self._lower_bound, _PATIENCE, "steps")
        iteration, ending = 0, None
        while ending is None:
            iteration += 1
            with self._context.timed("solve"):
                y = x if ahead is None else self._problem.objective.at(ahead)
                if y is not x and (y.degenerate_reason() or not self._is_inside(y, curvature)):
                    y, inertia = x, 1.0  # outside of the objective's domain, or of float64
                following, curvature = self._step(y, curvature)
                if not self._value(following) <= self._value(x) and y is not x:
                    y, inertia = x, 1.0  # the momentum has carried it too far
                    following, curvature = self._step(y, curvature)
                if self._value(following) > self._value(x) + self._noise(x):
                    following = x
            restart = float(np.vdot(y.metric - following.metric, following.metric - x.metric)) > 0
            inertia = 1.0 if restart else inertia
            gained = (1 + math.sqrt(1 + 4 * inertia**2)) / 2
            ahead = following.metric + (inertia - 1) / gained * (following.metric - x.metric)
            length = _norm(following.metric - x.metric)
            self._accuracy = _PROJECTION_ACCURACY * (length or self._accuracy)
            step = 1 / curvature
            x, inertia, curvature = following, gained, _LONGER * curvature
            yield self._certify(
                x,
                iteration=iteration,
                round=iteration,
                phase="projection",
                step=step,
                repair_distance=self._repair_distance,
                oracle_calls=iteration,
            )
            ending = patience.check(x)
        return ending

    def _is_inside(self, y: Point, curvature: float) -> bool:
        """Say whether the squares of a step from y, which a projection adds up, stay in float64."""
        with np.errstate(over="ignore", invalid="ignore"):
            return math.isfinite(_norm(self._gradient(y) / curvature))

    def _step(self, y: Point, curvature: float) -> tuple[Point, float]:
        """Return the projected step from y that decreases enough, and the curvature it needed."""
        gradient, value = self._gradient(y), self._value(y)
        while True:
            target = y.metric - gradient / curvature
            moved = self._problem.objective.at(self._project(target))
            change = moved.metric - y.metric
            allowed = float(np.vdot(gradient, change)) + curvature / 2 * float((change**2).sum())
            if self._value(moved) <= value + allowed + self._noise(y) or not change.any():
                return moved, curvature
            curvature *= _SHORTER
            if curvature == math.inf:
                raise RoundOffError(
                    f"no step is short enough: Q is {moved.value:.6g} after the shortest one"
                )

    def _value(self, point: Point) -> float:
        return minimised(point, self._problem.objective.log_convex).value

    def _gradient(self, point: Point) -> FloatArray:
        gradient = point.gradient()
        return gradient / point.value if self._problem.objective.log_convex else gradient

    def _noise(self, point: Point) -> float:
        return _ROUND_OFF * max(abs(self._value(point)), self._unit)

    def _nearest(self, target: FloatArray) -> FloatArray:
        bound = self._feasible_set.trace_bound
        accuracy = min(max(self._accuracy / bound, _LEAST_ACCURACY), _PROJECTION_ACCURACY)
        near = self._feasible_set.projected(target, accuracy=accuracy, correction=self._correction)
        self._correction = near.correction
        return self._make_feasible(near)

    def _clip(self, target: FloatArray) -> FloatArray:
        """Return a member of the set that is not the nearest."""
        base = self._feasible_set.base(len(target))
        budget = self._feasible_set.budget(len(target))
        feasible = self._feasible_set.family.with_feasible_entries(target - base)
        clipped = project_spectrum(feasible, positive_part)
        trace = float(np.trace(clipped))
        clipped *= min(1.0, budget / trace) if trace > 0 else 1.0
        return self._make_feasible(Projection(clipped + base, eigen_decompositions=1))

    def _make_feasible(self, projection: Projection) -> FloatArray:
        self._decompositions += projection.eigen_decompositions
        feasible = self._feasible_set.made_feasible(projection.nearest)
        self._repair_distance = float(np.abs(feasible - projection.nearest).max())
        return feasible

    def _certify(self, point: Point, **columns: Any) -> State:
        state = State(point=point, eigen_decompositions=self._decompositions, **columns)
        return self._lower_bound.certify(self._problem, self._context, state)


def _norm(matrix: FloatArray) -> float:
    return math.sqrt(float((matrix**2).sum()))
