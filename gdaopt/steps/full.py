"""The full step, to the vertex that the program returns."""

from __future__ import annotations

from dataclasses import dataclass

from gdaopt.objectives.protocol import Line
from gdaopt.steps.protocol import Step

__all__ = ["Full"]


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
