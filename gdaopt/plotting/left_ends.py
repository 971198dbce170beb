"""Pictures of the left-ends over a run, and of the smallest eigenvalues over runs."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.plotting.canvas import (
    BLUE,
    COLUMNS,
    GREY,
    ORANGE,
    SHADE,
    TIMES,
    Results,
    Time,
    axes_or_new,
    checked_run,
    fit_text,
    look,
    named_runs,
    scale,
)
from gdaopt.plotting.legends import legend_above
from gdaopt.result import Result
from gdaopt.support.validation import FloatArray, check_name, flag
from gdaopt.trace import Trace, TraceRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LINES = 30  # features: with more of them, only the band is drawn
_LINEAR = 1e-9  # share of the largest left-end below which an axis with zeros is linear


def left_ends(result: Result, ax: Axes | None = None, *, legend: bool = True) -> Axes:
    """Draw the band of the scaled left-ends over the iterations of a run, with λ_min and ρ.

    The left-ends belong to the metric after each step, under the scalars used for that step; the
    smallest of them is a lower bound of λ_min. The alignment before each block closes the band at
    λ_min when the graph is connected. The step then opens the band again, but not below ρ.

    The steps of other methods have no scalars. Their left-ends are shown under the first
    eigenvectors of the connected components, which are the smallest eigenvalues of these: the band
    is a line while the graph is connected, and otherwise each component has a line of its own.

    Parameters
    ----------
    result : Result
        The run; ρ is the smallest eigenvalue that its feasible set allows.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default new axes.
    legend : bool, optional
        Whether to write the legend, above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        A filled band between smallest and largest left-end, a thin line for each feature when there
        are at most 30, thick lines for λ_min and ρ, and shaded areas behind the steps of the
        diagonal (for a method without such steps, behind every other round). Where the trace
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
    trace, rho = checked_run(result).trace, result.feasible_set.min_eigenvalue
    if len(trace) == 0:
        raise InvalidInputError("the trace of the run has no rows; there is nothing to draw")
    from gdaopt.plotting.ticks import whole_numbers

    legend = flag("legend", legend)
    ax = axes_or_new(ax)
    size = scale(ax)
    iterations = trace.column("iteration")
    ends = trace.left_ends
    _shade_blocks(ax, trace)
    if ends.shape[1] <= _MOST_LINES:
        thin: dict[str, Any] = {"color": BLUE, "linewidth": 0.5 * size, "alpha": 0.5}
        for feature in ends.T:
            ax.plot(iterations, feature, label="_left-end", **thin)
    lowest, highest = ends.min(axis=1), ends.max(axis=1)
    ax.fill_between(
        iterations,
        lowest,
        highest,
        facecolor=f"{BLUE}33",
        edgecolor=BLUE,
        linewidth=size,
        label="left-ends",
    )
    smallest = trace.column("lambda_min")
    is_known = np.isfinite(smallest)
    ax.plot(
        iterations[is_known],
        smallest[is_known],
        color="black",
        linewidth=1.4 * size,
        marker="" if len(trace) > 1 else "o",
        markersize=6 * size,
        label=r"$\lambda_{\min}$",
    )
    style: dict[str, Any] = {"color": ORANGE, "linestyle": "--", "linewidth": 1.4 * size}
    ax.axhline(rho, label=rf"$\rho$ = {rho:.3g}", **style)
    set_scale(ax, np.concatenate([lowest, highest]), np.append(smallest[is_known], rho))
    whole_numbers(ax)
    ax.set_xlim(iterations[0] - 0.5, iterations[-1] + 0.5)
    kind = "scaled" if any(trace.column("scaling")) else "raw"
    labels = [f"left-ends of the {kind} discs", f"left-ends, {kind}", "left-ends"]
    fit_text(ax, x=["iteration"], y=labels)
    if legend:
        handles = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        legend_above(ax, handles, mathematics=handles)
    return ax


def set_scale(ax: Axes, ends: FloatArray, eigenvalues: FloatArray) -> None:
    """Make the vertical axis logarithmic, and linear around zero where values are not positive."""
    from gdaopt.plotting.ticks import symmetric_log

    values = np.concatenate([ends[np.isfinite(ends)], eigenvalues])  # some were not measured
    largest, round_off = float(values.max()), _LINEAR * float(values.max())
    if values.min() > 0:
        ax.set_yscale("log")
    elif largest > 0 and values.min() > -round_off:
        symmetric_log(ax, "y", round_off)
        ax.set_ylim(bottom=-round_off)  # what is below zero is round-off
    elif largest > 0:
        # Decades below the eigenvalues would take room from the left-ends that are negative.
        positive = eigenvalues[eigenvalues > round_off]
        symmetric_log(ax, "y", float(positive.min(initial=largest)))


def _shade_blocks(ax: Axes, trace: Trace) -> None:
    """Shade the steps of the diagonal; for a method without such steps, every other round."""
    diagonal = any(row.phase == "diagonal" for row in trace)
    label = "diagonal steps" if diagonal else "odd rounds"

    def is_shaded(row: TraceRow) -> bool:
        return row.phase == "diagonal" if diagonal else row.round % 2 == 1

    for (_, shaded), group in groupby(trace, key=lambda row: (row.round, is_shaded(row))):
        if shaded:
            rows = list(group)
            first, last = rows[0].iteration - 0.5, rows[-1].iteration + 0.5
            ax.axvspan(first, last, facecolor=SHADE, edgecolor="none", zorder=0, label=label)
            label = f"_{label.lstrip('_')}"  # only the first area is in the legend


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
        the runs allow. Steps whose eigenvalues were not measured are left out.

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
    finite = np.concatenate([values[np.isfinite(values)] for values in measured])
    if not finite.size:
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
    set_scale(ax, finite, np.append(finite, least))
    time_axis(ax, x, [run.trace.column(COLUMNS[x]).max() for _, run in runs])
    ax.grid(alpha=0.3)
    fit_text(ax, x=TIMES[x], y=["smallest eigenvalue", r"$\lambda_{\min}$"])
    if legend:
        mathematics = [name for name in lines if name not in dict(runs)]
        legend_above(ax, lines, mathematics, handlelength=3)
    return ax
