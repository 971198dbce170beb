"""Pictures of the smallest eigenvalues over runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.plotting.canvas import axes_or_new, fit_text, scale
from gdaopt.plotting.left_ends import set_scale
from gdaopt.plotting.legends import legend_above
from gdaopt.plotting.runs import COLUMNS, TIMES, Results, Time, named_runs
from gdaopt.plotting.style import GREY, look
from gdaopt.support.validation import check_name, flag

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def eigenvalues(
    results: Results, ax: Axes | None = None, *, x: Time = "iterations", legend: bool = True
) -> Axes:
    """Draw the smallest eigenvalue λ_min of the metric after each step of runs, and ρ.

    Parameters
    ----------
    results : Result, sequence of Result, or mapping of str to Result
        The runs; the keys of a mapping are their names in the legend.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default new axes.
    x : {"iterations", "seconds", "oracle_calls"}, optional
        What stands on the horizontal axis.
    legend : bool, optional
        Whether to write the legend, above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        A line for each run, and a dashed one at each ρ, the smallest eigenvalue that the sets of
        the runs allow. The vertical axis is logarithmic; when some value is not positive, it is
        linear around zero. Steps whose eigenvalues were not measured are left out.

    Raises
    ------
    InvalidInputError
        When there are no runs, when none of their eigenvalues was measured, and for an unknown `x`.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0, min_eigenvalue=1e-3))
    >>> ax = eigenvalues({"run": gda.solve(problem, "certified")})
    >>> ax.get_ylabel(), ax.get_yscale()
    ('smallest eigenvalue', 'log')
    """
    from gdaopt.plotting.ticks import time_axis

    runs, legend = named_runs(results), flag("legend", legend)
    check_name("x", x, TIMES)
    measured = [run.trace.column("lambda_min") for _, run in runs]
    known = np.concatenate([values[np.isfinite(values)] for values in measured])
    if not known.size:
        raise InvalidInputError("no eigenvalue of the runs was measured; there is nothing to draw")
    ax = axes_or_new(ax)
    size, lines = scale(ax), {}
    for number, ((name, run), values) in enumerate(zip(runs, measured, strict=True)):
        shown = np.isfinite(values)
        style: dict[str, Any] = {"linewidth": 1.3 * size, "markersize": 4 * size}
        times = run.trace.column(COLUMNS[x])[shown]
        (lines[name],) = ax.plot(
            times, values[shown], label=name, markevery=0.12, **style, **look(number, number)
        )
    least = sorted({run.feasible_set.min_eigenvalue for _, run in runs})
    for rho in least:
        style = {"color": GREY, "linestyle": "--", "linewidth": size}
        lines[rf"$\rho$ = {rho:.3g}"] = ax.axhline(rho, label="_rho", **style)
    set_scale(ax, known, np.append(known, least))
    time_axis(ax, x, [run.trace.column(COLUMNS[x]).max() for _, run in runs])
    ax.grid(alpha=0.3)
    fit_text(ax, x=TIMES[x], y=["smallest eigenvalue", r"$\lambda_{\min}$"])
    if legend:
        mathematics = [name for name in lines if name not in dict(runs)]
        legend_above(ax, lines, mathematics, handlelength=3)
    return ax
