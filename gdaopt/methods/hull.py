"""Methods over the convex hull of atoms: what `certified` and `frank-wolfe` share.

They see a metric as ``B + Σ_k w_k u_k u_k'`` (DESIGN section 4), price atoms with the set's exact
oracle, and stop on its certificate.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gdaopt.certificate import certify_point
from gdaopt.master.active_set import ActiveSet
from gdaopt.methods.base import check_start
from gdaopt.methods.bounds import RunningBounds
from gdaopt.methods.state import Clock, State
from gdaopt.methods.whole_set import WholeSetMethod
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.sets import PricedAtoms
from gdaopt.validation import FloatArray

__all__ = ["HullMethod", "HullRun"]


@dataclass(frozen=True, kw_only=True, eq=False)
class HullMethod(WholeSetMethod):
    """A method over any set that sees a metric as a sum of atoms."""

    @abstractmethod
    def begin(self, problem: MetricProblem, clock: Clock) -> HullRun:
        """Return a run of this method."""

    def states(self, problem: MetricProblem, clock: Clock) -> Iterator[State]:
        """Yield the start and the state after each step."""
        yield from self.begin(problem, clock).states(self.start(problem))

    def start(self, problem: MetricProblem) -> ActiveSet:
        """Return the initial metric as a list of atoms: ``B + (τ/K) I`` unless one is given."""
        feasible_set = problem.feasible_set
        initial = self.initial_metric(problem)
        if initial is not None:
            return ActiveSet(*feasible_set.decomposed(initial)).without_zeros()
        return ActiveSet(*feasible_set.centre(problem.n_features))


class HullRun(ABC):
    """One run: its problem, its point, its atoms.

    Parameters
    ----------
    problem : MetricProblem
        The problem.
    clock : Clock
        Says how much time is left.
    """

    point: Point
    active_set: ActiveSet
    best: PricedAtoms  # for the gradient at the point
    prices: FloatArray  # of the list's atoms, for the same gradient
    n_priced: int = 1  # how many of the best the method wants to see

    def __init__(self, problem: MetricProblem, clock: Clock) -> None:
        self.problem = problem
        self.feasible_set = problem.feasible_set
        self.budget = self.feasible_set.budget(problem.n_features)
        self.atom_weights = problem.objective.atom_weights(
            self.feasible_set.base(problem.n_features)
        )
        self.clock = clock
        self.bounds = RunningBounds()
        self._oracle_calls = 0

    @property
    def gap(self) -> float:
        """Objective minus the largest lower bound so far."""
        return self.point.value - self.bounds.lower_bound

    @property
    def level(self) -> float:
        """What an atom of the list costs, averaged by weights: better ones lower the objective."""
        return float(self.active_set.weights @ self.prices) / self.budget

    def states(self, active_set: ActiveSet) -> Iterator[State]:
        """Yield the start, then the states of the rounds."""
        self.move_to(active_set)
        check_start(self.point)
        yield self.certified_state()
        yield from self.rounds()

    @abstractmethod
    def rounds(self) -> Iterator[State]:
        """Yield the states after the start; end by raising `RunEnded`."""

    def move_to(self, active_set: ActiveSet) -> None:
        """Take atoms and weights, and evaluate the objective there."""
        self.active_set = active_set
        self.point = self.atom_weights.at(active_set.atoms, active_set.weights).point()

    def certified_state(self, **columns: Any) -> State:
        """Price the atoms at the current point, certify it, and return its state."""
        start = time.perf_counter()
        gradient = self.point.gradient()
        priced = time.perf_counter()
        self.best = self.feasible_set.best_atoms(gradient, self.n_priced, self.active_set.atoms)
        self.prices = self.active_set.atoms.quadratic_forms(gradient)
        self._oracle_calls += 1
        bounds = self.bounds.add(certify_point(self.problem, self.point, self.best))
        seconds = {
            "objective_seconds": columns.pop("objective_seconds", 0.0) + priced - start,
            "solve_seconds": columns.pop("solve_seconds", 0.0) + time.perf_counter() - priced,
        }
        return State(
            point=self.point,
            objective=self.point.value,
            atoms=self.active_set.atoms,
            weights=self.active_set.weights,
            oracle_calls=self._oracle_calls,
            **bounds,
            **columns,
            **seconds,
        )
