"""The common part of `certified` and `frank-wolfe`: methods over the convex hull of atoms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gdaopt.certificate import Certificate, certify_point
from gdaopt.certificate.tangent import nothing_to_certify
from gdaopt.errors import InvalidInputError, RoundOffError, TimeLimitError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import AtomsDirection
from gdaopt.master.active_set import ActiveSet
from gdaopt.methods.base import Method, check_start
from gdaopt.methods.context import Context
from gdaopt.methods.stopping import LowerBound
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.sets.members import Support
from gdaopt.state import State
from gdaopt.support.deadline import unlimited
from gdaopt.support.validation import FloatArray

_SHORTEST_STEP = 2.0**-10  # share of a step that goes too far: a shorter one is not worth a round
_ROUND_OFF = 1e-13  # share of the objective


class HullRun:
    """One run: its current point, the active set whose sum it is, and the certificate so far.

    Attributes
    ----------
    is_central : bool
        Whether the run has begun in the middle of the set.
    newton_steps : int
        So far, in the weights and in the directions of atoms.
    best, prices
        The best atoms by the gradient at the point, and the prices of the active set's.
    offered : Atoms or None
        Those that minimise the tangent, if they had to be looked for.
    multipliers : ndarray or None
        Of the linear constraints, if there are any.
    n_priced : int
        How many of the best atoms the method wants to see.
    """

    active_set: ActiveSet
    point: Point
    best: Support
    prices: FloatArray
    offered: Atoms | None = None
    n_priced: int = 1

    def __init__(
        self,
        problem: MetricProblem,
        context: Context,
        start: ActiveSet | None = None,
        multipliers: FloatArray | None = None,
    ) -> None:
        """Begin at some atoms, or in the middle of the set."""
        self.problem = problem
        self.members = problem.members
        self.budget = problem.members.budget
        self.base_point = problem.objective.at(problem.members.base)
        self.context = context
        self.lower_bound = LowerBound()
        self.newton_steps = 0
        self.is_central = start is None
        self._search = problem.members.multipliers()
        self._oracle_calls = 0
        self._certified: ActiveSet | None = None  # the last one that has been certified
        self.move_to(ActiveSet(*problem.members.centre).without_zeros() if start is None else start)
        check_start(problem, self.point)
        if multipliers is None:
            multipliers = self._search.tight(self.point)
        self.multipliers = multipliers

    @property
    def level(self) -> float:
        """The mean price of the active set, by weights: atoms below it lower the objective."""
        return float(self.active_set.weights @ self.prices) / self.budget

    def list_joining(self) -> Atoms:
        """Return the atoms that lower the objective."""
        atoms = self.best.atoms[self.best.prices < self.level]
        return atoms if self.offered is None else atoms.joined(self.offered)

    def move_to(self, active_set: ActiveSet, point: Point | None = None) -> None:
        """Take atoms and weights, and evaluate the objective there unless that has been done."""
        if point is None:
            point = self.base_point.line(AtomsDirection(active_set.weights, active_set.atoms)).at(
                1.0
            )
        self.active_set, self.point = active_set, point

    def move_down(self, active_set: ActiveSet, point: Point | None = None) -> bool:
        """Move unless the objective rises by more than round-off, or a row breaks; say whether."""
        before = self.active_set, self.point
        with unlimited():
            self.move_to(active_set, point)
            is_down = self.point.value <= before[1].value + _ROUND_OFF * abs(before[1].value)
        if is_down and self.members.names:
            is_down = not self.problem.violations(self.point.metric)
        if not is_down:
            self.active_set, self.point = before
        return is_down

    def certify(self, **columns: Any) -> Iterator[State]:
        """Price the atoms at the current point, certify it, and yield its state.

        A step to a point that carries no information is shortened first. When the time is up before
        atoms are priced, the state has an earlier lower bound, and is the last.
        """
        late: TimeLimitError | None = None
        with self.context.completing("objective"):
            share = self._step_back()
        self.lower_bound.frank_wolfe_gap = math.inf  # it belongs to another point
        with self.context.completing("solve"):
            try:
                self.lower_bound.add(self._best_certificate())
            except TimeLimitError as error:
                late = error
        if self.is_central and self.problem.objective.convex:  # the first gap is kept
            self.problem.take_centre(self.point.value, self.lower_bound.frank_wolfe_gap)
        if "step" in columns:
            columns["step"] *= share
        yield State(
            point=self.point,
            atoms=self.active_set.atoms,
            weights=self.active_set.weights,
            oracle_calls=self._oracle_calls,
            newton_steps=self.newton_steps,
            **self.lower_bound.columns(),
            **columns,
        )
        if late is not None:
            raise late

    def _step_back(self) -> float:
        """Halve the last step until the objective carries information at its end.

        Return the share of the step that is left. If it would be tiny, the run ends.
        """
        target, share = self.active_set, 1.0
        while True:
            gradient = self.members.feasible_set.family.gradient_at(
                self.point
            )  # which the point keeps
            reason = nothing_to_certify(self.point, gradient)
            if reason is None or self._certified is None:
                break
            share /= 2
            if share < _SHORTEST_STEP:
                raise RoundOffError(reason)
            self.move_to(self._certified.on_the_way(target, share))
        self._certified = self.active_set
        return share

    def _best_certificate(self) -> Certificate:
        """Return the certificate by the current multipliers, or by better ones.

        These are looked for if the lower bound is not raised. The atoms that the search finds are
        offered to the method, beside those that the current multipliers price.
        """
        certificate, self.offered = self._certificate(), None
        if certificate.lower_bound > self.lower_bound.value:
            return certificate
        multipliers = self._search.tight(self.point)
        if multipliers is None:
            return certificate
        joining, by_rows = self.list_joining(), self._search.atoms
        self.offered = joining if by_rows is None else joining.joined(by_rows)
        before = self.multipliers, self.best, self.prices
        self.multipliers = multipliers
        other = self._certificate()
        if _order(other) > _order(certificate):
            return other
        self.multipliers, self.best, self.prices = before
        return certificate

    def _certificate(self) -> Certificate:
        """Price the atoms at the current point by the current multipliers, and certify it."""
        gradient = self.members.feasible_set.family.gradient_at(self.point)
        try:
            self.best = self.members.support(
                gradient, self.multipliers, self.n_priced, self.active_set.atoms
            )
        except InvalidInputError as error:
            if self.multipliers is None:  # the gradient is not symmetric
                raise
            raise RoundOffError(
                "stopped: the constraints' multipliers leave floating point"
            ) from error
        self.prices = self.active_set.atoms.quadratic_forms(self.best.priced)
        self._oracle_calls += 1
        return certify_point(self.problem, self.point, self.best)


def _order(certificate: Certificate) -> tuple[float, float]:
    """Return what orders certificates: the bound, or how small the Frank–Wolfe gap is."""
    return certificate.lower_bound, -certificate.frank_wolfe_gap


def split_metric(problem: MetricProblem, metric: FloatArray) -> ActiveSet:
    """Return a member of the set as a sum of atoms."""
    atomic_part = metric - problem.members.base
    return ActiveSet(*problem.feasible_set.family.decomposed(atomic_part)).without_zeros()


def split_initial(method: Method, problem: MetricProblem) -> ActiveSet | None:
    """Return `initial` as a sum of atoms; None without one."""
    initial = method.initial_metric(problem)
    return None if initial is None else split_metric(problem, initial)


def active_set_of(state: State) -> ActiveSet:
    """Return the atoms of a state with their weights."""
    assert state.atoms is not None
    assert state.weights is not None
    return ActiveSet(state.atoms, state.weights)
