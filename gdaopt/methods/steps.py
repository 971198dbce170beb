"""Step rules: how far to go along a direction, γ between 0 and 1."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.protocol import Line
from gdaopt.support.validation import check_name, number, store_checked

if TYPE_CHECKING:
    from gdaopt.problem import MetricProblem

__all__ = ["STEPS", "Adaptive", "Agnostic", "Exact", "Full", "Short", "Step"]


class Step(ABC):
    """A rule for the step length of Frank–Wolfe; subclass it for one of your own.

    Examples
    --------
    >>> import gdaopt as gda
    >>> class Timid(gda.methods.steps.Step):
    ...     def size(self, line, iteration):
    ...         return gda.methods.steps.Exact().size(line, iteration) / 2
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> gda.solve(problem, "alternating", step=Timid(), solver="analytic").status
    'block_minimum'
    """

    @abstractmethod
    def size(self, line: Line, iteration: int, /) -> float:
        """Return γ in [0, 1], along a line that ends at the program's vertex, where γ = 1.

        The iteration is the number of steps taken before with the same polytope: 0, 1, …
        """

    def checked_size(self, line: Line, iteration: int) -> float:
        """Return γ by the rule, which may be a user's own; refuse what is not in [0, 1]."""
        gamma = self.size(line, iteration)
        return number(f"the size of a step by {type(self).__name__}", gamma, at_least=0, at_most=1)

    def prepared(self, _problem: MetricProblem, /) -> Step:
        """Return the rule for one run of a problem: itself, unless it keeps or needs something."""
        return self


@dataclass(frozen=True)
class Agnostic(Step):
    """``γ = 2 / (t + 2)`` after t steps with the same polytope; the first step goes to the vertex.

    Over a fixed polytope ``Q - Q* ≤ 2 L diam² / (t + 2)`` (Jaggi 2013, theorem 1).
    """

    def size(self, _line: Line, iteration: int) -> float:
        return 2 / (iteration + 2)


@dataclass(frozen=True)
class Full(Step):
    """Go to the vertex, γ = 1; the objective may rise."""

    def size(self, *_: object) -> float:
        return 1.0


@dataclass(frozen=True)
class Short(Step):
    """Minimise the quadratic upper bound: ``γ = min(1, -φ'(0) / (L ‖D‖²))`` (Demyanov, Rubinov).

    Parameters
    ----------
    lipschitz : float, optional
        L, a Lipschitz constant of the objective's gradient over the set. When left out, it is the
        objective's own constant; an objective that knows none is refused.
    """

    lipschitz: float | None = None

    def __post_init__(self) -> None:
        store_checked(self, number, "lipschitz", above=0)

    def prepared(self, problem: MetricProblem) -> Step:
        if self.lipschitz is not None:
            return self
        constant = problem.objective.lipschitz(problem.feasible_set.min_eigenvalue)
        if constant is None:
            raise InvalidInputError(
                "the objective knows no Lipschitz constant of its gradient; define "
                "lipschitz(min_eigenvalue), or pass gda.methods.steps.Short(lipschitz=...)"
            )
        # A constant of 0 means that the objective is flat: then any L will do.
        return replace(self, lipschitz=constant or 1.0)

    def size(self, line: Line, _iteration: int) -> float:
        if self.lipschitz is None:
            raise InvalidInputError(
                "Short has no Lipschitz constant; use the rule that prepared() returns"
            )
        slope = line.derivatives(0.0)[0]
        length = line.direction.norm_squared()
        return min(1.0, max(0.0, -slope) / (self.lipschitz * length)) if length > 0 else 0.0


_MOST_INCREASES = 200  # more than enough for the estimate to pass every true constant
_PROBE = 1e-3  # step of the difference that estimates the first curvature
_ROUND_OFF = 1e-15  # share of a value or a slope: smaller changes cannot be seen


@dataclass
class Adaptive(Step):
    """The short step with a local estimate L of the Lipschitz constant.

    Each step first lowers it, then raises it until the decrease that it promises is true:
    ``φ(γ) ≤ φ(0) + γ φ'(0) + γ² L ‖D‖² / 2``. The objective never rises.

    Parameters
    ----------
    decrease, increase : float, optional
        Factors on the estimate, below and above 1.

    Notes
    -----
    Source: Pedregosa, Negiar, Askari, Jaggi, *Linearly convergent Frank–Wolfe with backtracking
    line-search*, AISTATS 2020, algorithm 2.
    """

    decrease: float = 0.9
    increase: float = 2.0
    _estimate: float | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        store_checked(self, number, "increase", above=1)
        store_checked(self, number, "decrease", above=0, at_most=1)

    def prepared(self, _: MetricProblem) -> Step:
        return replace(self)

    def size(self, line: Line, _iteration: int) -> float:
        value, (slope, curvature) = line.value(0.0), line.derivatives(0.0)
        length = line.direction.norm_squared()
        if not slope < 0 or length == 0:
            return 0.0
        if self._estimate is None:
            if not curvature > 0:
                curvature = abs(line.derivatives(_PROBE)[0] - slope) / _PROBE
            self._estimate = max(curvature / length, -_ROUND_OFF * slope / length)
        else:
            self._estimate *= self.decrease
        for _ in range(_MOST_INCREASES):
            gamma = min(1.0, -slope / (self._estimate * length))
            bound = value + gamma * slope + gamma**2 * self._estimate * length / 2
            if line.value(gamma) <= bound:
                return gamma
            if value - bound <= _ROUND_OFF * abs(value):
                break
            self._estimate *= self.increase
        return 0.0


_BALANCED = 1e-14  # the balance of two sums that are equal up to round-off
_MOST_EVALUATIONS = 120  # enough to reach round-off when every second step is a bisection


@dataclass(frozen=True)
class Exact(Step):
    """Minimise along the direction: Newton's method on the slope, safeguarded by a bracket.

    If the line has a ``balance``, Newton's method works on that: on the graph Laplacian
    regulariser it takes three or four evaluations, and on the slope thirty. If the objective is
    not convex, a slope of 0 need not be a minimum: runs then take steps of `Adaptive`.

    Parameters
    ----------
    accuracy : float, optional
        Largest slope at the result, as a share of that at γ = 0, and largest share of the decrease
        that may be missed.
    """

    accuracy: float = 1e-9

    def __post_init__(self) -> None:
        store_checked(self, number, "accuracy", above=0)

    def prepared(self, problem: MetricProblem) -> Step:
        return self if problem.objective.convex else Adaptive().prepared(problem)

    def size(self, line: Line, iteration: int) -> float:
        has_balance = line.has_balance
        first, rate = line.balance(0.0)
        if not first < (-_BALANCED if has_balance else 0.0):
            return 0.0
        # φ' = (e^h - 1) f, and f never rises with γ: a bound on h bounds the slope.
        allowed = -self.accuracy * first
        if has_balance:
            allowed = max(-self.accuracy * math.expm1(first), _BALANCED)
        low, high = 0.0, math.inf  # the slope at γ = 1 is not known yet
        gamma, value, fallen, is_slow = low, first, 0.0, False
        last, last_value = math.nan, math.nan
        beyond = 2 / (iteration + 2) if math.isnan(rate) else 1.0  # if no bracket is known
        for _ in range(_MOST_EVALUATIONS):
            if math.isnan(rate):
                rate = (value - last_value) / (gamma - last)
            trial = gamma - value / rate if rate > 0 else math.nan
            is_newton = not is_slow and low < trial < min(high, 1.0)
            if not is_newton:
                trial, beyond = (low + high) / 2 if high <= 1 else beyond, 1.0
            last, last_value = gamma, value
            gamma, before = trial, abs(value)
            value, rate = line.balance(gamma)
            # A slope that has fallen by decades can still be steep. By convexity φ has fallen by
            # `fallen` at least on the way, and is above its minimum by `excess` at most.
            fallen = max(fallen, -value * gamma)
            excess = value * (gamma - low) if value > 0 else -value * (min(high, 1.0) - gamma)
            is_lowest = excess <= self.accuracy * fallen - _ROUND_OFF * first * gamma
            if (abs(value) <= allowed and (has_balance or is_lowest)) or gamma in (low, high):
                break
            if gamma == 1 and value < 0:
                return 1.0
            is_slow = is_newton and not abs(value) < before / 4
            if value < 0:
                low = gamma
            else:  # also NaN, beyond the domain
                high = gamma
        return gamma if abs(value) <= allowed else low


STEPS: dict[str, type[Step]] = {
    "exact": Exact,
    "adaptive": Adaptive,
    "short": Short,
    "agnostic": Agnostic,
    "full": Full,
}
"""The step rules by their names."""


def find_step(step: str | Step) -> Step:
    """Return the step rule of a name, or the object itself; refuse anything else."""
    if isinstance(step, Step):
        return step
    check_name("step", step, STEPS)
    return STEPS[step]()
