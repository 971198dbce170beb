"""Open-loop steps, which do not look at the objective."""

from __future__ import annotations

from dataclasses import dataclass

from gdaopt.objectives.protocol import Line
from gdaopt.steps.protocol import Step

__all__ = ["Agnostic", "Full"]


@dataclass(frozen=True)
class Agnostic(Step):
    """``γ = 2 / (t + 2)`` after t steps with the same polytope; the first step goes to the vertex.

    Over a fixed polytope ``Q - Q* ≤ 2 L diam² / (t + 2)`` (Jaggi 2013, theorem 1).

    Examples
    --------
    >>> [Agnostic().size(None, iteration) for iteration in range(3)]
    [1.0, 0.6666666666666666, 0.5]
    """

    def size(self, line: Line, iteration: int) -> float:  # noqa: ARG002 (not needed)
        """Return ``2 / (iteration + 2)``."""
        return 2 / (iteration + 2)


@dataclass(frozen=True)
class Full(Step):
    """Go to the vertex, γ = 1; the objective may rise.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> trace = gda.solve(problem, solver="analytic", step="full", max_iterations=1).trace
    >>> [row.step for row in trace]
    [None, 1.0]
    """

    def size(self, line: Line, iteration: int) -> float:  # noqa: ARG002 (not needed)
        """Return 1."""
        return 1.0
