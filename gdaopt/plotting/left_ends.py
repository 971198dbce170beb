"""Pictures of the left-ends over a run."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.plotting.arguments import axes_or_new
from gdaopt.plotting.canvas import SHADE, cycle_colour, drawing, ink
from gdaopt.plotting.legends import legend_beside
from gdaopt.plotting.runs import History, as_history
from gdaopt.plotting.ticks import count_axis, eigenvalue_axis
from gdaopt.support.validation import flag

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gdaopt.plotting.runs import Run

_THIN = 0.4  # line widths
_MOST_LINES = 30  # features: with more of them, only the band is drawn


def left_ends(run: Run, ax: Axes | None = None, *, legend: bool = True) -> Axes:
    """Draw the band of the scaled left-ends over the iterations of a run, with λ_min and ρ.

    The left-ends belong to the metric after each step, under the scalars used for that step; the
    smallest of them is a lower bound of λ_min. The alignment before each block closes the band at
    λ_min when the graph is connected. The step then opens the band again, but not below ρ.

    The steps of other methods have no scalars. Their left-ends are shown under the first
    eigenvectors of the connected components, which are the smallest eigenvalues of these: the band
    is a line while the graph is connected, and otherwise each component has a line of its own.

    Parameters
    ----------
    run : Result, Trace or DataFrame
        The run, its trace, or a table as `Trace.to_pandas` makes it; ρ is the smallest eigenvalue
        that the feasible set of a result allows.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default new axes.
    legend : bool, optional
        Whether to write the legend, above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        A filled band between smallest and largest left-end, a thin line for each feature when there
        are at most 30, thick lines for λ_min and ρ, and shaded areas behind the steps of the
        diagonal; a table has no left-ends of features, and only a result knows ρ. If the trace
        names no scaling at all, the left-ends are the raw ones, and the label of the axis says so.

    Raises
    ------
    InvalidInputError
        For something that is not a run, and for a run whose trace has no rows.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0, min_eigenvalue=1e-3))
    >>> ax = left_ends(gda.solve(problem, "alternating", solver="analytic"))
    >>> ax.get_xlabel(), ax.get_yscale()
    ('iteration', 'log')
    """
    from matplotlib import rcParams

    history = as_history(run)
    legend = flag("legend", legend)
    ax = axes_or_new(ax)
    with drawing(ax):
        width = rcParams["lines.linewidth"]
        iterations = history.column("iteration")
        ends, rho = history.left_ends, history.min_eigenvalue
        _shade_diagonal_steps(ax, history)
        if ends is not None and ends.shape[1] <= _MOST_LINES:
            thin: dict[str, Any] = {"linewidth": _THIN * width, "alpha": 0.5}
            for feature in ends.T:
                ax.plot(iterations, feature, label="_left-end", color=cycle_colour(0), **thin)
        if ends is None:
            lowest, highest = history.column("left_end_min"), history.column("left_end_max")
        else:
            lowest, highest = ends.min(axis=1), ends.max(axis=1)
        ax.fill_between(
            iterations,
            lowest,
            highest,
            facecolor=(cycle_colour(0), 0.2),
            edgecolor=cycle_colour(0),
            linewidth=0.7 * width,
            label="left-ends",
        )
        smallest = history.column("lambda_min")
        is_known = np.isfinite(smallest)
        ax.plot(
            iterations[is_known],
            smallest[is_known],
            color=ink(),
            marker="" if len(iterations) > 1 else "o",
            label=r"$\lambda_{\min}$",
        )
        levels = smallest[is_known]
        if np.isfinite(rho):
            ax.axhline(rho, color=cycle_colour(1), linestyle="--", label=rf"$\rho$ = {rho:.3g}")
            levels = np.append(levels, rho)
        eigenvalue_axis(ax, np.concatenate([lowest, highest]), levels)
        count_axis(ax, "x")
        ax.set_xlim(iterations[0] - 0.5, iterations[-1] + 0.5)
        ax.set_xlabel("iteration")
        ax.set_ylabel("scaled left-ends" if any(history.column("scaling")) else "raw left-ends")
        if legend:
            legend_beside([ax])
    return ax


def _shade_diagonal_steps(ax: Axes, run: History) -> None:
    label = "diagonal steps"
    steps = zip(run.column("iteration"), run.column("phase"), strict=True)
    for is_diagonal, group in groupby(steps, key=lambda step: step[1] == "diagonal"):
        if is_diagonal:
            iterations = [float(iteration) for iteration, _ in group]
            first, last = iterations[0] - 0.5, iterations[-1] + 0.5
            ax.axvspan(first, last, facecolor=ink(SHADE), edgecolor="none", zorder=0, label=label)
            label = f"_{label.lstrip('_')}"  # only the first area is in the legend
