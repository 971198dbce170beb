"""What every state of a run must keep, whatever the method is.

No value at a member of the set may be below a lower bound that is claimed: that would prove that
the gradient is wrong or that the objective is not convex.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gdaopt.certificate import certify_point
from gdaopt.certificate.certify import value_below
from gdaopt.errors import InvalidInputError, LeftDomainError
from gdaopt.linalg.spectrum import is_at_least
from gdaopt.methods.run import Listener, Run
from gdaopt.objectives.check import check_gradient
from gdaopt.objectives.protocol import Point
from gdaopt.state import State
from gdaopt.status import ENDED_NORMALLY
from gdaopt.support.validation import FloatArray, is_finite

_ROOM = 0.01  # share of the way into the set


class PostConditions(Listener):
    """The listener that keeps the conditions.

    States are checked in full if a round begins, if the trace has a row of them, and at the end.
    The last state of these is `last_checked`.
    """

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self._allowance: float | None = None  # for the least value
        self._bound = -math.inf
        self._by: FloatArray | None = None  # the multipliers that it was found with

    def started(self, run: Run) -> None:
        """Check the start, and the gradient there unless the objective is `tested`."""
        self._problem, start = run.problem, run.state
        self._is_tested = bool(run.problem.objective.tested)
        broken = self._find_fault(start)
        if broken and run.method.initial is not None:
            raise InvalidInputError(f"the run cannot start at initial: {broken}")
        if broken:
            raise LeftDomainError(f"the start of the method is outside of the problem: {broken}")
        self.last_checked = self._best = self._least = start
        self._start_metric = start.metric
        self._take_value(start)
        if not (self._is_tested or run.context.is_over):
            self._check_gradient_at_start()

    def stepped(self, run: Run) -> None:
        """Check the state, and the bounds that have been claimed so far."""
        self._check(run.state, in_full=run.begins_round or run.is_due)
        self.check_lower_bound(*run.claimed)

    def ended(self, run: Run) -> None:
        """Check the last state in full, or go back to the one before; look back if there is time.

        Whoever listens afterwards measures a state that keeps the conditions.
        """
        assert run.ending is not None
        try:
            self._check(run.state, in_full=True)
        except LeftDomainError as error:
            run.go_back(self.last_checked, str(error))
        self.check_lower_bound(*run.claimed)
        is_normal = run.ending[0] in ENDED_NORMALLY
        if is_normal and not (self._is_tested or run.context.is_over):
            self._check_end(run.state)

    def _check(self, state: State, in_full: bool) -> None:
        """Take the next state; refuse one that breaks a condition."""
        if state is self.last_checked:
            return
        broken = self._find_fault(state, in_full)
        if broken:
            raise LeftDomainError(
                f"step {state.iteration} left the domain of the problem: {broken}"
            )
        if in_full:
            if self.last_checked.objective <= self._best.objective:
                self._best = self.last_checked
            self.last_checked = state
        self._take_value(state)

    def _find_fault(self, state: State, in_full: bool = True) -> str:
        """Return a sentence on what is wrong with a state, an empty one if nothing is.

        Unless it is checked in full, it has to be finite, no more.
        """
        if not math.isfinite(state.objective):
            return f"the objective is {state.objective}"
        if not is_finite(state.metric):
            return "entries of the metric are not finite"
        try:
            return "; ".join(self._problem.members.violations(state.metric)) if in_full else ""
        except InvalidInputError as error:  # which is no symmetric K×K matrix
            return str(error)

    def _take_value(self, state: State) -> None:
        """Take the value of a member, and the bound that its state has, if it has one."""
        if state.objective < self._least.objective:
            self._least, self._allowance = state, None
        bound = -math.inf if state.lower_bound is None else state.lower_bound
        self.check_lower_bound(bound, state.multipliers)

    def check_lower_bound(self, lower_bound: float, multipliers: FloatArray | None) -> None:
        """Take a lower bound that is claimed; refuse it if a value so far is below it."""
        if lower_bound > self._bound:
            self._bound, self._by, self._allowance = lower_bound, multipliers, None
        least = self._least
        if self._bound <= least.objective:
            return
        if self._allowance is None:
            self._allowance = self._find_allowance(least)
        if self._bound - least.objective > self._allowance:
            raise value_below(least.objective, self._bound)

    def _find_allowance(self, state: State) -> float:
        """Return by how much the value of a member, slightly outside, can be below the optimum."""
        problem = self._problem
        point = problem.objective.at(state.metric)
        certificate = certify_point(problem, point, multipliers=self._by)
        if certificate.reason:
            return math.inf
        inside = problem.objective.at(problem.made_feasible(state.metric)).value - point.value
        allowed = certificate.allowance + max(inside, 0.0)
        if not self._is_tested:
            # Terms that cancel at the member, such as at an optimum of 0, do not elsewhere.
            allowed += problem.objective.at(problem.central_metric()).round_off().value
        return allowed

    def _check_gradient_at_start(self) -> None:
        """Compare the gradient at the start with differences."""
        point, feasible_set = self.last_checked.point, self._problem.feasible_set
        size = len(point.metric)
        room = _ROOM * feasible_set.budget(size) / size
        atomic_part = point.metric - feasible_set.base(size)
        is_inside = is_at_least(atomic_part, room)
        self._check_gradient(point if is_inside else self._inside(point))

    def _check_end(self, state: State) -> None:
        """Look once more at the gradient, and at the value where the last tangent is least."""
        problem, point = self._problem, state.point
        if state.metric is not self._start_metric:  # the start has been checked
            self._check_gradient(self._inside(point))
        if problem.members.names or not problem.objective.convex or state.colors is not None:
            return  # in the last case the bound is one for the balanced metrics only
        feasible_set, size = problem.feasible_set, len(point.metric)
        best = feasible_set.family.best_atoms(feasible_set.family.gradient_at(point)).atoms[:1]
        vertex = best.added_to(feasible_set.base(size), np.array([feasible_set.budget(size)]))
        there = problem.objective.at(_between(vertex, point.metric))
        if math.isfinite(there.value):
            self._take_value(replace(state, point=there))

    def _check_gradient(self, point: Point) -> None:
        if math.isfinite(point.value) and point.degenerate_reason() is None:
            edges = self._problem.feasible_set.family.edges_of(len(point.metric))
            check_gradient(self._problem.objective, point, edges, self._rng)

    def _inside(self, point: Point) -> Point:
        """Return a point nearby, inside of the set and at random: kinks are at entries of 0."""
        feasible_set, size = self._problem.feasible_set, len(point.metric)
        entries = np.triu(self._rng.uniform(-0.5, 0.5, (size, size)) / size, 1)
        entries += entries.T
        # Either sign is allowed or one of them is, or none.
        edges = feasible_set.family.with_feasible_entries(entries)
        edges = edges + feasible_set.family.with_feasible_entries(-entries) / 2
        dominant = feasible_set.budget(size) / size * (np.eye(size) + edges)
        metric = _between(point.metric, feasible_set.base(size) + dominant)
        return self._problem.objective.at(metric)

    def best(self, last: State) -> State:
        """Return the best state checked in full, or the last if only round-off is between them."""
        states = self._best, last
        rise = last.objective - self._best.objective
        if rise <= 0 or rise <= sum(state.point.round_off().value for state in states):
            return last
        return self._best


def _between(metric: FloatArray, other: FloatArray) -> FloatArray:
    """Return a metric a hundredth of the way to another one."""
    return np.asarray((1 - _ROOM) * metric + _ROOM * other)
