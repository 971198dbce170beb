"""Pictures of what runs spend their time on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gdaopt.plotting.canvas import (
    LETTER_WIDTH,
    axes_or_new,
    fit_text,
    font_size,
    letters,
    panel_width,
    scale,
)
from gdaopt.plotting.legends import legend_above, shortened
from gdaopt.plotting.runs import Results, named_runs
from gdaopt.plotting.style import HATCHES
from gdaopt.result import Result
from gdaopt.support.validation import flag

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#0072B2", "#56B4E9", "#E69F00", "#F0E442", "#FFFFFF")  # dark to bright
_PARTS = {
    "build": "build_seconds",
    "solve": "solve_seconds",
    "eigenvectors": "eig_seconds",
    "objective": "objective_seconds",
}


def time_split(
    results: Results, ax: Axes | None = None, *, relative: bool = False, legend: bool = True
) -> Axes:
    """Draw how the seconds of each run split into parts, as a stacked bar.

    The parts are columns of the trace: building programs, solving them, eigenvectors, the
    objective, and the rest.

    Parameters
    ----------
    results : Result, sequence of Result, or mapping of str to Result
        The runs; the keys of a mapping are their names.
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
    from gdaopt.plotting.ticks import name_rows

    runs = named_runs(results)
    splits = [_split(result) for _, result in runs]
    rows = np.arange(len(runs))
    totals = np.array([sum(split.values()) for split in splits])
    ax = axes_or_new(ax, width=8, height=1.6 + 0.4 * len(runs))
    relative, legend = flag("relative", relative), flag("legend", legend)
    size = scale(ax)
    unit = np.where(totals > 0, totals, 1.0) if relative else np.ones(len(runs))
    left = np.zeros(len(runs))
    for number, part in enumerate(splits[0]):
        widths = np.array([split[part] for split in splits]) / unit
        ax.barh(
            rows,
            widths,
            left=left,
            height=0.6,
            label=part,
            facecolor=_COLOURS[number],
            hatch=HATCHES[number],
            edgecolor="black",
            linewidth=0.6 * size,
        )
        left = left + widths
    totals_size = font_size(ax, "small")
    ends = [f"{total:.3g} s" for total in totals]
    for row, end, text in zip(rows, left, ends, strict=True):
        ax.annotate(
            text,
            (end, row),
            xytext=(4 * size, 0),
            textcoords="offset points",
            va="center",
            fontsize=totals_size,
        )
    ax.set_ylim(len(runs) - 0.5, -0.5)  # the first run on top
    name_rows(ax, [shortened(name, letters(ax)) for name, _ in runs])
    shares = ["share of the run's seconds", "share of the seconds", "share"]
    fit_text(ax, x=shares if relative else ["seconds"])
    # Room for the totals: their width is known in points, the limits are in seconds.
    widest = (LETTER_WIDTH * totals_size * (max(map(len, ends)) + 1) + 4 * size) / 72
    share = min(widest / panel_width(ax), 0.6)
    ax.set_xlim(0, (float(left.max()) or 1.0) / (1 - share))
    if legend:
        bars = {str(bar.get_label()): bar for bar in ax.containers}
        legend_above(ax, bars)
    return ax


def _split(result: Result) -> dict[str, float]:
    parts = {part: float(np.nansum(result.trace.column(name))) for part, name in _PARTS.items()}
    return parts | {"rest": max(result.seconds - sum(parts.values()), 0.0)}
