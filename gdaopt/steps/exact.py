"""The exact step: the minimiser of the objective along the direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gdaopt.deadline import check_time
from gdaopt.objectives.protocol import Line
from gdaopt.steps.adaptive import Adaptive
from gdaopt.steps.protocol import Step
from gdaopt.validation import store_number

if TYPE_CHECKING:
    from gdaopt.problem import MetricProblem

__all__ = ["Exact"]

_BALANCED = 1e-14  # the balance of two sums that are equal up to round-off
_ROUND_OFF = 1e-15  # of a slope
_MOST_EVALUATIONS = 120  # enough for bisection at every other one to reach round-off


@dataclass(frozen=True)
class Exact(Step):
    """Minimise along the direction: Newton's method on the slope, safeguarded by a bracket.

    Where the line has a `balance`, Newton's method works on that instead: on the graph Laplacian
    regulariser it takes three or four evaluations, and on the slope thirty. A Newton step is
    replaced by bisection when it leaves the bracket, or when the step before left a quarter or more
    of the slope; a step beyond γ = 1 is replaced by γ = 1. Where the line does not know its
    curvature, that of the secant through the last two points takes its place, and the first trial
    is that of `Agnostic`: of late steps, γ = 1 is far beyond the minimum. Where the
    objective is not convex, a slope of 0 need not be a minimum: runs then take steps of `Adaptive`,
    after which the objective is lower for sure.

    Parameters
    ----------
    accuracy : float, optional
        Largest slope at the result, as a share of that at γ = 0, and largest share of the decrease
        that may be missed.

    Examples
    --------
    >>> class Parabola:
    ...     def value(self, gamma):
    ...         return (gamma - 0.25) ** 2
    ...
    ...     def derivatives(self, gamma):
    ...         return 2 * (gamma - 0.25), 2.0
    >>> Exact().size(Parabola(), iteration=0)
    0.25
    """

    accuracy: float = 1e-9

    def __post_init__(self) -> None:
        store_number(self, "accuracy", above=0)

    def prepared(self, problem: MetricProblem) -> Step:
        """Return the rule itself for a convex objective, and `Adaptive` for any other."""
        return self if problem.is_convex else Adaptive().prepared(problem)

    def size(self, line: Line, iteration: int) -> float:
        """Return the minimiser of φ over [0, 1]."""
        balance = getattr(line, "balance", None)
        function: Callable[[float], tuple[float, float]] = balance or line.derivatives
        first, rate = function(0.0)
        if not first < (-_BALANCED if balance else 0.0):
            return 0.0
        # φ' = (e^h - 1) f, and f never rises with γ: a bound on h bounds the slope.
        allowed = -self.accuracy * (math.expm1(first) if balance else first)
        low, high = 0.0, math.inf  # nothing is known yet of γ = 1
        gamma, value, fallen, is_slow = low, first, 0.0, False
        last, last_value = math.nan, math.nan
        beyond = 2 / (iteration + 2) if math.isnan(rate) else 1.0  # where no bracket is known
        for _ in range(_MOST_EVALUATIONS):
            check_time()
            if math.isnan(rate):
                rate = (value - last_value) / (gamma - last)
            trial = gamma - value / rate if rate > 0 else math.nan
            is_newton = not is_slow and low < trial < min(high, 1.0)
            if not is_newton:
                trial, beyond = (low + high) / 2 if high <= 1 else beyond, 1.0
            last, last_value = gamma, value
            gamma, before = trial, abs(value)
            value, rate = function(gamma)
            # A slope that has fallen by decades can still be steep. By convexity φ has fallen by
            # `fallen` at least on the way, and is above its minimum by `excess` at most.
            fallen = max(fallen, -value * gamma)
            excess = value * (gamma - low) if value > 0 else -value * (min(high, 1.0) - gamma)
            is_lowest = excess <= self.accuracy * fallen - _ROUND_OFF * first * gamma
            if (abs(value) <= allowed and (balance or is_lowest)) or gamma in (low, high):
                break
            if gamma == 1 and value < 0:
                return 1.0
            is_slow = is_newton and not abs(value) < before / 4
            if value < 0:
                low = gamma
            else:  # also NaN, beyond the domain
                high = gamma
        return gamma if abs(value) <= allowed else low
