"""How the seconds of runs split into parts, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.plotting.arguments import axes_or_new
from gdaopt.plotting.canvas import HATCHES, cycle_colour, drawing, letters
from gdaopt.plotting.legends import legend_beside, short_label
from gdaopt.plotting.runs import History, named_runs
from gdaopt.plotting.ticks import name_rows
from gdaopt.support.validation import flag

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gdaopt.plotting.runs import Runs

_ROOM_FOR_TOTALS = 1.35  # the horizontal axis over the longest bar
_PARTS = {
    "build": "build_seconds",
    "solve": "solve_seconds",
    "eigenvectors": "eig_seconds",
    "objective": "objective_seconds",
}


def time_split(
    runs: Runs, ax: Axes | None = None, *, relative: bool = False, legend: bool = True
) -> Axes:
    """Draw how the seconds of each run split into parts, as a stacked bar.

    The parts are columns of the trace: building programs, solving them, eigenvectors, the
    objective, and the rest.

    Parameters
    ----------
    runs : Result, Trace or DataFrame, a list of these, or a mapping of str to these
        The runs, as for `convergence`; for repeats the mean is drawn.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default new axes.
    relative : bool, optional
        Draw shares of each run's total instead of seconds.
    legend : bool, optional
        Whether to write the legend, above the bars.

    Returns
    -------
    matplotlib.axes.Axes
        A row for each run, the first on top, with a bar for each part and the total at the end.

    Raises
    ------
    InvalidInputError
        When there are no runs.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> ax = time_split({"run": gda.solve(problem, "alternating", solver="analytic")})
    >>> [bars.get_label() for bars in ax.containers]
    ['build', 'solve', 'eigenvectors', 'objective', 'rest']
    """
    named = named_runs(runs)
    splits = [_split(repeats) for repeats in named.values()]
    rows = np.arange(len(named))
    totals = np.array([sum(split.values()) for split in splits])
    ax = axes_or_new(ax, width=8, height=1.6 + 0.4 * len(named))
    relative, legend = flag("relative", relative), flag("legend", legend)
    unit = np.where(totals > 0, totals, 1.0) if relative else np.ones(len(named))
    left = np.zeros(len(named))
    with drawing(ax):
        for number, part in enumerate(splits[0]):
            widths = np.array([split[part] for split in splits]) / unit
            bars = ax.barh(
                rows,
                widths,
                left=left,
                height=0.6,
                label=part,
                facecolor=cycle_colour(number),
                hatch=HATCHES[number],
                edgecolor=ax.get_facecolor(),
            )
            left = left + widths
        ends = [f"{total:.3g} s" for total in totals]
        ax.bar_label(bars, ends, padding=3, fontsize="small")
        name_rows(ax, [short_label(name, letters(ax)) for name in named])
        ax.set_xlabel("share of the seconds" if relative else "seconds")
        ax.set_xlim(0, _ROOM_FOR_TOTALS * (float(left.max()) or 1.0))
        if legend:
            legend_beside([ax])
    return ax


def _split(repeats: Sequence[History]) -> dict[str, float]:
    """Return the seconds of each part, in the mean of repeats."""
    parts = {
        part: float(np.mean([np.nansum(run.column(name)) for run in repeats]))
        for part, name in _PARTS.items()
    }
    seconds = float(np.mean([run.seconds for run in repeats]))
    return parts | {"rest": max(seconds - sum(parts.values()), 0.0)}
