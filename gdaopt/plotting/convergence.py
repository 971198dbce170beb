"""Convergence plots."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import TYPE_CHECKING

from gdaopt.plotting.axes import new_axes
from gdaopt.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["convergence"]

_LINE_STYLES = ("-", "--", "-.", ":")  # told apart in grey print too


def convergence(results: Mapping[str, Result], ax: Axes | None = None) -> Axes:
    """Draw the objective of each run against its steps, relative to the run's start.

    Parameters
    ----------
    results : mapping of str to Result
        The runs, by the names for the legend.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes when left out.

    Returns
    -------
    matplotlib.axes.Axes
        One line for each run: ``iteration`` against ``objective`` over the start's.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> ax = convergence({"run": gda.solve(problem, solver="analytic")})
    >>> len(ax.lines)
    1
    """
    ax = new_axes() if ax is None else ax
    for (name, result), style in zip(results.items(), cycle(_LINE_STYLES), strict=False):
        objective = result.trace.column("objective")
        ax.plot(result.trace.column("iteration"), objective / objective[0], style, label=name)
    ax.set_xlabel("step")
    ax.set_ylabel("objective / objective at start")
    ax.grid(alpha=0.3)
    for text in ax.legend().get_texts():
        text.set_parse_math(False)  # a name may hold dollar signs
    return ax
