"""The adaptive step: a backtracked estimate of the Lipschitz constant along the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gdaopt.deadline import check_time
from gdaopt.objectives.protocol import Line
from gdaopt.steps.protocol import Step
from gdaopt.validation import store_number

if TYPE_CHECKING:
    from gdaopt.problem import MetricProblem

__all__ = ["Adaptive"]

_MOST_INCREASES = 200  # more than enough for the estimate to pass every true constant
_PROBE = 1e-3  # step of the difference that estimates the first curvature
_ROUND_OFF = 1e-14  # of the value: a smaller decrease cannot be seen


@dataclass(frozen=True)
class Adaptive(Step):
    """The short step with a local estimate L of the Lipschitz constant.

    The estimate starts at the first direction's curvature. Each step first lowers it, then raises
    it until the decrease that it promises is true: ``φ(γ) ≤ φ(0) + γ φ'(0) + γ² L ‖D‖² / 2``. The
    objective never rises.

    Parameters
    ----------
    decrease, increase : float, optional
        Factors on the estimate, below and above 1.

    Notes
    -----
    Source: Pedregosa, Negiar, Askari, Jaggi, *Linearly convergent Frank–Wolfe with backtracking
    line-search*, AISTATS 2020, algorithm 2.

    Examples
    --------
    >>> Adaptive()
    Adaptive(decrease=0.9, increase=2.0)
    """

    decrease: float = 0.9
    increase: float = 2.0

    def __post_init__(self) -> None:
        store_number(self, "increase", above=1)
        store_number(self, "decrease", above=0, at_most=1)

    def prepared(self, problem: MetricProblem) -> Step:  # noqa: ARG002 (not needed)
        """Return the rule for one run, with an estimate of its own."""
        return _Backtracking(self)

    def size(self, line: Line, iteration: int) -> float:
        """Return the first step of a run."""
        return _Backtracking(self).size(line, iteration)


class _Backtracking(Step):
    """The rule in one run, which passes its estimate from step to step."""

    def __init__(self, rule: Adaptive) -> None:
        self._rule = rule
        self._estimate: float | None = None

    def size(self, line: Line, iteration: int) -> float:  # noqa: ARG002 (not needed)
        value, (slope, curvature) = line.value(0.0), line.derivatives(0.0)
        length = line.direction.norm_squared()
        if not slope < 0 or length == 0:
            return 0.0
        if self._estimate is None:
            if not curvature > 0:
                curvature = abs(line.derivatives(_PROBE)[0] - slope) / _PROBE
            self._estimate = max(curvature / length, -_ROUND_OFF * slope / length)
        else:
            self._estimate *= self._rule.decrease
        for _ in range(_MOST_INCREASES):
            check_time()
            gamma = min(1.0, -slope / (self._estimate * length))
            bound = value + gamma * slope + gamma**2 * self._estimate * length / 2
            if line.value(gamma) <= bound:
                return gamma
            if value - bound <= _ROUND_OFF * abs(value):
                break
            self._estimate *= self._rule.increase
        return 0.0
