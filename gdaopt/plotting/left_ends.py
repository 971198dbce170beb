"""Left-ends over a run."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.plotting.canvas import iteration_axis, new_axes
from gdaopt.plotting.style import BLUE, LEGEND_ABOVE, SHADE
from gdaopt.trace import Trace, TraceRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["left_ends"]

_MOST_LINES = 30  # features with a line of their own
_LINEAR = 1e-9  # of the largest left-end: below, an axis with zeros is linear


def left_ends(trace: Trace, min_eigenvalue: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw the band of the scaled left-ends over the iterations of a run, with λ_min and ρ.

    The left-ends are those after each step, under the scalars used for it; the smallest bounds
    λ_min from below. Realignment, before each block, closes the band at λ_min when the graph is
    connected; the step then opens it again, down to ρ at most.

    Parameters
    ----------
    trace : Trace
        Of a run.
    min_eigenvalue : float, optional
        ρ; no line when left out.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes when left out.

    Returns
    -------
    matplotlib.axes.Axes
        A filled band between smallest and largest left-end, a thin line for each feature (up to 30
        of them), thick lines for λ_min and ρ, and areas behind the steps of the diagonal (or
        behind every other round of a method that has none). The vertical axis is logarithmic, with
        a linear part around zero when some left-end is not positive.

    Raises
    ------
    InvalidInputError
        For a trace without rows.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0, min_eigenvalue=1e-3))
    >>> ax = left_ends(gda.solve(problem, solver="analytic").trace, min_eigenvalue=1e-3)
    >>> ax.get_xlabel(), ax.get_yscale()
    ('iteration', 'log')
    """
    if len(trace) == 0:
        raise InvalidInputError("trace has no rows")
    ax = new_axes() if ax is None else ax
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
    drawn = [lowest, highest, smallest[known]]
    if min_eigenvalue is not None:
        label = f"ρ = {min_eigenvalue:.3g}"
        ax.axhline(min_eigenvalue, color="#D55E00", linestyle="--", linewidth=1.4, label=label)
        drawn.append(np.array([min_eigenvalue]))
    values = np.concatenate(drawn)
    if values.min() > 0:
        ax.set_yscale("log")
    elif values.max() > 0:
        threshold = _LINEAR * float(values.max())
        ax.set_yscale("symlog", linthresh=threshold)
        if values.min() > -threshold:
            ax.set_ylim(bottom=-threshold)  # zeros up to round-off: nothing to see below
    iteration_axis(ax)
    ax.set_ylabel("left-ends of the scaled discs")
    ax.set_xlim(iterations[0] - 0.5, iterations[-1] + 0.5)
    ax.legend(**LEGEND_ABOVE)
    return ax


def _shade_blocks(ax: Axes, trace: Trace) -> None:
    """Shade the diagonal's steps, or every other round of a method without such steps."""
    diagonal = any(row.phase == "diagonal" for row in trace)
    label = "steps of the diagonal" if diagonal else "every other round"

    def is_shaded(row: TraceRow) -> bool:
        return row.phase == "diagonal" if diagonal else row.round % 2 == 1

    for (_, shaded), group in groupby(trace, key=lambda row: (row.round, is_shaded(row))):
        if shaded:
            rows = list(group)
            first, last = rows[0].iteration - 0.5, rows[-1].iteration + 0.5
            ax.axvspan(first, last, facecolor=SHADE, edgecolor="none", zorder=0, label=label)
            label = f"_{label.lstrip('_')}"  # once in the legend
