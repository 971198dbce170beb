"""Pictures of the left-ends over a run."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.plotting.canvas import axes_or_new, iteration_axis
from gdaopt.plotting.runs import checked_run
from gdaopt.plotting.style import BLUE, LEGEND_ABOVE, SHADE
from gdaopt.result import Result
from gdaopt.trace import Trace, TraceRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["left_ends"]

_MOST_LINES = 30  # features: with more of them, only the band is drawn
_LINEAR = 1e-9  # share of the largest left-end below which an axis with zeros is linear


def left_ends(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the band of the scaled left-ends over the iterations of a run, with λ_min and ρ.

    The left-ends are those of the metric after each step, under the scalars used for that step; the
    smallest of them is a lower bound of λ_min. The alignment before each block closes the band at
    λ_min when the graph is connected. The step then opens the band again, but not below ρ.

    Parameters
    ----------
    result : Result
        The run; ρ is the smallest eigenvalue that its feasible set allows.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default new axes.

    Returns
    -------
    matplotlib.axes.Axes
        A filled band between smallest and largest left-end, a thin line for each feature when there
        are at most 30, thick lines for λ_min and ρ, and shaded areas behind the steps of the
        diagonal (for a method without such steps, behind every other round). The vertical axis is
        logarithmic; when some value is not positive, it is linear around zero.

    Raises
    ------
    InvalidInputError
        For something that is not a run, and for a run whose trace has no rows.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0, min_eigenvalue=1e-3))
    >>> ax = left_ends(gda.solve(problem, solver="analytic"))
    >>> ax.get_xlabel(), ax.get_yscale()
    ('iteration', 'log')
    """
    trace, rho = checked_run(result).trace, result.feasible_set.min_eigenvalue
    if len(trace) == 0:
        raise InvalidInputError("the trace of the run has no rows; there is nothing to draw")
    ax = axes_or_new(ax)
    iterations = trace.column("iteration")
    ends = trace.left_ends
    _shade_blocks(ax, trace)
    if ends.shape[1] <= _MOST_LINES:
        for feature in ends.T:
            ax.plot(iterations, feature, color=BLUE, linewidth=0.5, alpha=0.5, label="_left-end")
    lowest, highest = ends.min(axis=1), ends.max(axis=1)
    ax.fill_between(
        iterations, lowest, highest, facecolor=f"{BLUE}33", edgecolor=BLUE, label="left-ends"
    )
    smallest = trace.column("lambda_min")
    known = np.isfinite(smallest)
    ax.plot(
        iterations[known],
        smallest[known],
        color="black",
        linewidth=1.4,
        marker="" if len(trace) > 1 else "o",
        label=r"$\lambda_{\min}$",
    )
    ax.axhline(rho, color="#D55E00", linestyle="--", linewidth=1.4, label=f"ρ = {rho:.3g}")
    values = np.concatenate([lowest, highest, smallest[known], [rho]])
    if values.min() > 0:
        ax.set_yscale("log")
    elif values.max() > 0:
        threshold = _LINEAR * float(values.max())
        ax.set_yscale("symlog", linthresh=threshold)
        if values.min() > -threshold:
            ax.set_ylim(bottom=-threshold)  # what is below zero is round-off
    iteration_axis(ax)
    ax.set_ylabel("left-ends of the scaled discs")
    ax.set_xlim(iterations[0] - 0.5, iterations[-1] + 0.5)
    ax.legend(**LEGEND_ABOVE)
    return ax


def _shade_blocks(ax: Axes, trace: Trace) -> None:
    """Shade the steps of the diagonal; for a method without such steps, every other round."""
    diagonal = any(row.phase == "diagonal" for row in trace)
    label = "steps of the diagonal" if diagonal else "every other round"

    def is_shaded(row: TraceRow) -> bool:
        return row.phase == "diagonal" if diagonal else row.round % 2 == 1

    for (_, shaded), group in groupby(trace, key=lambda row: (row.round, is_shaded(row))):
        if shaded:
            rows = list(group)
            first, last = rows[0].iteration - 0.5, rows[-1].iteration + 0.5
            ax.axvspan(first, last, facecolor=SHADE, edgecolor="none", zorder=0, label=label)
            label = f"_{label.lstrip('_')}"  # only the first area is in the legend
