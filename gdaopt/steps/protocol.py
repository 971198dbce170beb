"""The interface of step rules: how far to go along a direction, γ between 0 and 1."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from gdaopt.objectives.protocol import Line
from gdaopt.validation import number

if TYPE_CHECKING:
    from gdaopt.problem import MetricProblem

__all__ = ["Step", "step_size"]


class Step(ABC):
    """A rule for the step length of Frank–Wolfe; subclass it for one of your own.

    Examples
    --------
    >>> import gdaopt as gda
    >>> class Timid(gda.steps.Step):
    ...     def size(self, line, iteration):
    ...         return gda.steps.Exact().size(line, iteration) / 2
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> gda.solve(problem, step=Timid(), solver="analytic").status
    'stalled'
    """

    @abstractmethod
    def size(self, line: Line, iteration: int) -> float:
        """Return γ in [0, 1].

        Parameters
        ----------
        line : Line
            The objective along the direction; γ = 1 is the program's vertex.
        iteration : int
            Number of steps taken before with the same polytope: 0, 1, …
        """

    def prepared(self, problem: MetricProblem) -> Step:  # noqa: ARG002 (for subclasses)
        """Return the rule for one run of a problem: itself, unless it keeps or needs something."""
        return self


def step_size(step: Step, line: Line, iteration: int) -> float:
    """Return γ by a rule, which may be a user's own.

    Raises
    ------
    InvalidInputError
        When the rule returns anything but a number in [0, 1].
    """
    gamma = step.size(line, iteration)
    return number(f"the size of a step by {type(step).__name__}", gamma, at_least=0, at_most=1)
