"""The short step, from a Lipschitz constant of the gradient."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.protocol import Line
from gdaopt.steps.protocol import Step
from gdaopt.validation import store_number

if TYPE_CHECKING:
    from gdaopt.problem import MetricProblem

__all__ = ["Short"]


@dataclass(frozen=True)
class Short(Step):
    """Minimise the quadratic upper bound: ``γ = min(1, -φ'(0) / (L ‖D‖²))`` (Demyanov, Rubinov).

    Parameters
    ----------
    lipschitz : float, optional
        L, a Lipschitz constant of the objective's gradient over the set. When left out, it is the
        objective's own constant. The larger L is, the shorter are the steps.

    Raises
    ------
    InvalidInputError
        When L is not positive; at the start of a run, when L is left out and the objective knows no
        constant.

    Examples
    --------
    >>> Short(lipschitz=8.0)
    Short(lipschitz=8.0)
    """

    lipschitz: float | None = None

    def __post_init__(self) -> None:
        if self.lipschitz is not None:
            store_number(self, "lipschitz", above=0)

    def prepared(self, problem: MetricProblem) -> Step:
        """Return the rule with the objective's constant, unless it has one already."""
        if self.lipschitz is not None:
            return self
        constant = problem.objective.lipschitz(problem.feasible_set.min_eigenvalue)
        if constant is None:
            raise InvalidInputError(
                "the objective knows no Lipschitz constant of its gradient; define "
                "lipschitz(min_eigenvalue), or pass gda.steps.Short(lipschitz=...)"
            )
        # A constant of 0 means that the objective is flat: then any L will do.
        return replace(self, lipschitz=constant or 1.0)

    def size(self, line: Line, iteration: int) -> float:  # noqa: ARG002 (not needed)
        """Return the minimiser of the quadratic upper bound over [0, 1]."""
        if self.lipschitz is None:
            raise InvalidInputError("Short has no Lipschitz constant; use what prepared() returns")
        slope = line.derivatives(0.0)[0]
        length = line.direction.norm_squared()
        return min(1.0, max(0.0, -slope) / (self.lipschitz * length)) if length > 0 else 0.0
