"""The common part of `certified` and `frank-wolfe`: methods over the convex hull of atoms."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from typing import Any

from gdaopt.certificate import Certificate, certify_point
from gdaopt.certificate.tangent import nothing_to_certify
from gdaopt.errors import InvalidInputError, RoundOffError, TimeLimitError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import AtomsDirection
from gdaopt.master.master_point import ActiveSet
from gdaopt.methods.base import Method, States, check_start
from gdaopt.methods.context import Context
from gdaopt.methods.stopping import LowerBound
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.sets.members import Support
from gdaopt.state import State
from gdaopt.support.validation import FloatArray

_SHORTEST_STEP = 2.0**-10  # of a step that goes too far: a shorter one is not worth a round


class HullRun(ABC):
    """One run: its problem, its current point and the active set that the point is a sum of."""

    point: Point
    active_set: ActiveSet
    best: Support  # by the gradient at the point
    prices: FloatArray  # of the atoms of the active set, for the same gradient
    evaluation_seconds: float  # of the objective and its gradient at the start
    offered: Atoms | None = None  # that minimise the tangent, where they had to be looked for
    n_priced: int = 1  # how many of the best the method wants to see

    def __init__(
        self,
        method: Method,
        problem: MetricProblem,
        context: Context,
        start: ActiveSet | None = None,
    ) -> None:
        self._start = start
        if start is None and (initial := method.initial_metric(problem)) is not None:
            base = problem.feasible_set.base(problem.n_features)
            self._start = ActiveSet(*problem.feasible_set.family.decomposed(initial - base))
        self.problem = problem
        self.feasible_set = problem.feasible_set
        self.budget = self.feasible_set.budget(problem.n_features)
        self.base = problem.objective.at(self.feasible_set.base(problem.n_features))
        self.context = context
        self.lower_bound = LowerBound()
        self._tight_multipliers = problem.members.multipliers()
        self.multipliers: FloatArray | None = None  # of the linear constraints, where there are any
        self._oracle_calls = 0
        self._certified: ActiveSet | None = None  # the last one that has been certified
        self._unpriced: TimeLimitError | None = None  # why its atoms have no prices

    @property
    def gap(self) -> float:
        """What the run wants to close: see `LowerBound.left`."""
        return self.lower_bound.left(self.point.value)

    @property
    def level(self) -> float:
        """The mean price of the active set, by weights: atoms below it lower the objective."""
        return float(self.active_set.weights @ self.prices) / self.budget

    def states(self) -> States:
        """Yield the state at the start, then those of the rounds; return how the run ended."""
        start = ActiveSet(*self.problem.members.centre) if self._start is None else self._start
        begin = time.perf_counter()
        self.begin_at(start)
        self.evaluation_seconds = time.perf_counter() - begin
        first = self.certified_state()
        if self._start is None and self.problem.objective.convex:
            self.problem.take_central_gap(first.frank_wolfe_gap)
        yield first
        return (yield from self.rounds())

    def begin_at(self, start: ActiveSet) -> None:
        """Move to the start, and find multipliers of the linear constraints there."""
        self.move_to(start.without_zeros())
        check_start(self.problem, self.point)
        self.multipliers = self._tight_multipliers.tight(self.point)

    def check_priced(self) -> None:
        """End the run if there was no time to price the atoms of the last state."""
        if self._unpriced is not None:
            raise self._unpriced

    @abstractmethod
    def rounds(self) -> States:
        """Yield the states after the start; return how the run ended."""

    def move_to(self, active_set: ActiveSet, point: Point | None = None) -> None:
        """Take atoms and weights, and evaluate the objective there unless that has been done."""
        self.active_set = active_set
        if point is None:
            point = self.base.line(AtomsDirection(active_set.weights, active_set.atoms)).at(1.0)
        self.point = point

    def _step_back(self) -> float:
        """Halve the last step until the objective carries information at its end.

        Return the share of the step that is left; where that would be tiny, the run ends.
        """
        target, share = self.active_set, 1.0
        while True:
            gradient = self.feasible_set.family.gradient_at(self.point)  # which the point keeps
            reason = nothing_to_certify(self.point, gradient)
            if reason is None or self._certified is None:
                break
            share /= 2
            if share < _SHORTEST_STEP:
                raise RoundOffError(reason)
            self.move_to(self._certified.on_the_way(target, share))
        self._certified = self.active_set
        return share

    def _certificate(self) -> Certificate:
        """Price the atoms at the current point by the current multipliers, and certify it."""
        members = self.problem.members
        gradient = self.feasible_set.family.gradient_at(self.point)
        try:
            self.best = members.support(
                gradient, self.multipliers, self.n_priced, self.active_set.atoms
            )
        except InvalidInputError as error:
            raise RoundOffError(
                "stopped: the constraints' multipliers leave floating point"
            ) from error
        self.prices = self.active_set.atoms.quadratic_forms(self.best.priced)
        self._oracle_calls += 1
        return certify_point(self.problem, self.point, self.best)

    def certified_state(self, **columns: Any) -> State:
        """Price the atoms at the current point, certify it, and return its state.

        A step to a point that carries no information is shortened first. When the time is up before
        atoms are priced, the state has an earlier lower bound, and is the last.
        """
        with self.context.completing():
            with self.context.timed("objective"):
                share = self._step_back()
            self.lower_bound.frank_wolfe_gap = math.inf  # it belongs to another point
            with self.context.timed("solve"):
                try:
                    self.lower_bound.add(self._best_certificate())
                except TimeLimitError as error:
                    self._unpriced = error
        if "step" in columns:
            columns["step"] *= share
        return State(
            point=self.point,
            atoms=self.active_set.atoms,
            weights=self.active_set.weights,
            oracle_calls=self._oracle_calls,
            **self.lower_bound.columns(),
            **columns,
        )

    def _best_certificate(self) -> Certificate:
        """Return the certificate by the master problem's multipliers, or by better ones.

        These are looked for where the lower bound is not raised; the atoms that the search finds
        are offered to the method, beside those that the master problem's multipliers price.
        """
        certificate, self.offered = self._certificate(), None
        if certificate.lower_bound > self.lower_bound.value:
            return certificate
        joining = self.best.atoms[self.best.prices < self.level]
        convex = self.problem.objective.convex
        for multipliers in self._tight_multipliers.candidates(self.point, convex=convex):
            by_rows = self._tight_multipliers.atoms
            self.offered = joining if by_rows is None else joining.joined(by_rows)
            own, self.multipliers = (self.multipliers, self.best, self.prices), multipliers
            other = self._certificate()
            if other.lower_bound > self.lower_bound.value:
                return other
            if _proven(other) > _proven(certificate):
                certificate = other
            else:
                self.multipliers, self.best, self.prices = own
        return certificate


def _proven(certificate: Certificate) -> tuple[float, float]:
    """Return what orders certificates: the bound, or how small the Frank–Wolfe gap is."""
    return certificate.lower_bound, -certificate.frank_wolfe_gap
