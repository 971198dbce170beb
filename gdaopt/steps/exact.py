"""The exact step: the minimiser of the objective along the direction."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gdaopt.objectives.protocol import Line
from gdaopt.steps.protocol import Step
from gdaopt.validation import number

__all__ = ["Exact"]

_MOST_EVALUATIONS = 120  # enough for bisection at every other one to reach round-off


@dataclass(frozen=True)
class Exact(Step):
    """Minimise along the direction: Newton's method on the slope, safeguarded by a bracket.

    A Newton step that leaves the bracket, or whose predecessor did not halve it, is replaced by
    bisection; where the line does not know its curvature, a secant through the bracket's ends takes
    Newton's place.

    Parameters
    ----------
    accuracy : float, optional
        Largest slope at the result, as a share of that at γ = 0; the value is then exact to about
        the square of it.

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

    name = "exact"

    def __post_init__(self) -> None:
        number("accuracy", self.accuracy, above=0)

    def size(self, line: Line, iteration: int) -> float:  # noqa: ARG002 (the same at each)
        """Return the minimiser of φ over [0, 1]."""
        first, curvature = line.derivatives(0.0)
        if not first < 0:
            return 0.0
        low, low_slope = 0.0, first
        high, high_slope = 1.0, line.derivatives(1.0)[0]
        if high_slope <= 0:
            return 1.0
        gamma, slope = low, low_slope
        width = math.inf
        for _ in range(_MOST_EVALUATIONS):
            if curvature > 0:
                trial = gamma - slope / curvature
            elif math.isfinite(high_slope):
                trial = low - low_slope * (high - low) / (high_slope - low_slope)
            else:  # γ = 1 is outside of the domain
                trial = math.nan
            halved = high - low <= width / 2
            width = high - low
            gamma = trial if halved and low < trial < high else (low + high) / 2
            slope, curvature = line.derivatives(gamma)
            if abs(slope) <= -self.accuracy * first or gamma in (low, high):
                break
            if slope < 0:
                low, low_slope = gamma, slope
            else:  # also NaN, beyond the domain
                high, high_slope = gamma, slope
        return gamma if abs(slope) <= -self.accuracy * first else low
