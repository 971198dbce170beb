"""Frank–Wolfe with the exact oracle: vanilla, with away steps, and pairwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gdaopt.linalg.directions import AtomsDirection, DenseDirection, Direction
from gdaopt.master.active_set import ActiveSet
from gdaopt.methods.base import Method, States
from gdaopt.methods.context import Context
from gdaopt.methods.hull import HullRun, split_initial
from gdaopt.methods.steps import Step, find_step
from gdaopt.methods.stopping import StallRule
from gdaopt.problem import MetricProblem
from gdaopt.state import State
from gdaopt.support.validation import FloatArray, check_name

_VARIANTS = ("vanilla", "away", "pairwise")
_ROUNDS = 2  # rounds of K steps that have to change the objective together
_REFRESH_EVERY = 50  # steps: the metric is then summed up anew from its atoms


@dataclass(frozen=True, kw_only=True, eq=False)
class FrankWolfe(Method):
    """Frank–Wolfe over any set, with its exact linear minimisation oracle.

    A round is K steps. The run ends for *slow_progress* when two rounds in a row change the
    objective by less than `tolerance` of its size together (`StallRule`).

    Parameters
    ----------
    variant : {"vanilla", "away", "pairwise"}, optional
        The step goes towards the best vertex; or away from the worst atom of the active set if
        that promises more; or it moves weight from the worst atom to the best vertex.
    step : str or Step, optional
        A name from `gdaopt.methods.steps`, or an object. At γ = 1 an atom has lost its weight.
    **limits
        See `Method`.

    Notes
    -----
    Source: Lacoste-Julien, Jaggi, *On the global linear convergence of Frank–Wolfe optimization
    variants*, NeurIPS 2015. The base of the set counts as an atom of price 0.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> gda.solve(problem, "frank-wolfe", variant="pairwise").status
    'converged'
    """

    name: ClassVar[str] = "frank-wolfe"

    variant: str = "vanilla"
    step: str | Step = "exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("variant", self.variant, _VARIANTS)
        find_step(self.step)

    def states(self, problem: MetricProblem, context: Context) -> States:
        return (yield from _Run(self, problem, context).states())


class _Run(HullRun):
    def __init__(self, method: FrankWolfe, problem: MetricProblem, context: Context) -> None:
        super().__init__(problem, context, split_initial(method, problem))
        self._method = method
        self._step = find_step(method.step).prepared(problem)

    def states(self) -> States:
        yield from self.certify()
        size = self.problem.n_features
        stall = StallRule(
            self.problem, self.point, self._method.tolerance, rounds=_ROUNDS, rises_count=True
        )
        round_, ending = 0, None
        while ending is None:
            round_ += 1
            for iteration in range((round_ - 1) * size, round_ * size):
                yield from self._advance(iteration, round_)
            ending = stall.check(self.point)
        return ending

    def _advance(self, iteration: int, round_: int) -> Iterator[State]:
        with self.context.timed("objective"):
            gap = self.level * self.budget - self.budget * min(float(self.best.prices[0]), 0.0)
            target, change, phase = self._change()
            gamma = 0.0
            if change.any():
                line = self.point.line(self._direction(target, change))
                gamma = self._step.checked_size(line, iteration)
            if gamma > 0:
                weights = target.weights + gamma * change
                if gamma == 1:
                    weights[weights < self._round_off] = 0.0
                moved = ActiveSet(target.atoms, np.maximum(weights, 0.0)).without_zeros()
                if (iteration + 1) % _REFRESH_EVERY == 0:
                    self.move_to(moved)
                else:
                    self.active_set, self.point = moved, line.at(gamma)
        yield from self.certify(
            iteration=iteration + 1,
            round=round_,
            phase=phase,
            step=gamma,
            block_gap=max(gap, 0.0),
        )

    @property
    def _round_off(self) -> float:
        """The largest weight that rounding leaves on an atom that a full step removes."""
        return 1e-14 * self.budget

    def _change(self) -> tuple[ActiveSet, FloatArray, str]:
        """Return the active set with the best atom, its change of weights at γ = 1, and a name."""
        price = float(self.best.prices[0])
        target = self.active_set
        towards = np.zeros(len(target))  # the base's weights, all zero
        if price < 0:
            best = self.best.atoms[:1]
            target = target.with_new(best)
            towards = np.zeros(len(target))
            towards[target.nearest(best)[0]] = self.budget
        variant = self._method.variant
        worst, worst_price = self._worst()
        toward_gain, away_gain = self.level - min(price, 0.0), worst_price - self.level
        if variant == "vanilla" or (variant == "away" and toward_gain >= away_gain):
            return target, towards - target.weights, "towards"
        removed = np.zeros(len(target))
        if worst is None:
            weight = self.budget - float(target.weights.sum())
        else:
            weight = float(target.weights[worst])
            removed[worst] = self.budget
        if variant == "pairwise":
            return target, (towards - removed) * (weight / self.budget), "pairwise"
        if weight >= self.budget:  # it is all there is
            return target, towards - target.weights, "towards"
        return target, (target.weights - removed) * (weight / (self.budget - weight)), "away"

    def _worst(self) -> tuple[int | None, float]:
        """Return the atom of a weight that costs the most, None for the base, and its price."""
        held = np.where(self.active_set.weights > 0, self.prices, -np.inf)
        has_base = self.active_set.total < self.budget - self._round_off
        if has_base and not (held >= 0).any():
            return None, 0.0
        worst = int(held.argmax())
        return worst, float(held[worst])

    def _direction(self, target: ActiveSet, change: FloatArray) -> Direction:
        """Return the change of the metric, in the form that is cheaper to follow."""
        changed = np.flatnonzero(change)
        size = self.problem.n_features
        direction = AtomsDirection(change[changed], target.atoms[changed])
        if len(changed) <= size:
            return direction
        return DenseDirection(direction.added_to(np.zeros((size, size)), 1.0))
