"""Convergence plots."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.plotting.canvas import AxesArray, axes_of_shape, iteration_axis, log_or_linear
from gdaopt.plotting.runs import Results, named_runs
from gdaopt.plotting.style import COLOURS, GREY, LINE_STYLES, MARKERS, write_legend
from gdaopt.result import Result
from gdaopt.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["convergence"]

_MARKERS_A_LINE = 8
_ROUND_OFF = 1e-12  # of |objective|: smaller gaps are differences of its last digits
_BOUND: dict[str, Any] = {"linestyle": (0, (6, 3)), "linewidth": 0.8}


def convergence(
    results: Results,
    ax: Any = None,
    *,
    relative: bool = False,
    problems: Sequence[Hashable] | None = None,
) -> AxesArray:
    """Draw objective and gap of each run against its iterations and against its seconds.

    The gap is measured from what is known, and its axis says which: the certified lower bound of
    the same row where the run has them; else the largest lower bound of the other runs of the same
    problem; else the best value among the runs of the same problem. Lower bounds are dashed curves
    in the objective's panels. Axes are logarithmic, but for iterations and for an objective that is
    not positive; gaps that are not above round-off are left out.

    Parameters
    ----------
    results : Result, sequence of Result, or mapping of str to Result
        The runs; a mapping's keys are their names in the legend.
    ax : 2×2 array of matplotlib.axes.Axes, optional
        Where to draw, with None for a panel to leave out; a new figure when left out.
    relative : bool, optional
        Divide objectives and gaps by the magnitude of the objective at the start of the problem's
        first run, so that problems of different scales can share a picture.
    problems : sequence of hashable, optional
        For each run a label of the problem it is of; one problem when left out. Runs of one of
        several problems share colour and marker, and differ in line style.

    Returns
    -------
    2×2 array of matplotlib.axes.Axes
        Rows: objective, gap. Columns: iterations, seconds. The legend is in the first panel.

    Raises
    ------
    InvalidInputError
        For no runs, axes of another shape, or not one problem for each run.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> axes = convergence({"run": gda.solve(problem, solver="analytic")})
    >>> axes.shape, axes[1, 1].get_xlabel()
    ((2, 2), 'seconds')
    """
    axes = axes_of_shape(ax, (2, 2), width=9, height=6.5)
    curves = _curves(named_runs(results), problems, relative)
    panels = [
        (panel, time, quantity)
        for row, quantity in zip(axes, ("objective", "gap"), strict=True)
        for panel, time in zip(row, ("iteration", "seconds"), strict=True)
        if panel is not None
    ]
    handles = []
    for panel, time, quantity in panels:
        handles.append(_draw(panel, curves, time, quantity))
        panel.set_ylabel(_label(curves, quantity, relative))
        panel.grid(alpha=0.3)
    if panels:
        write_legend(panels[0][0], handles[0], fontsize="small", handlelength=4)
    return axes


@dataclass(frozen=True, eq=False, kw_only=True)
class _Curve:
    """What is drawn of a run, and how."""

    name: str
    iteration: FloatArray
    seconds: FloatArray
    objective: FloatArray
    lower_bound: FloatArray
    gap: FloatArray
    reference: str  # what the gap is measured from
    style: dict[str, Any]


def _curves(
    runs: list[tuple[str, Result]], problems: Sequence[Hashable] | None, relative: bool
) -> list[_Curve]:
    """Return the curves of the runs, measured within each problem."""
    labels: list[Hashable] = [None] * len(runs) if problems is None else list(problems)
    if len(labels) != len(runs):
        raise InvalidInputError(f"problems has {len(labels)} labels for {len(runs)} runs")
    distinct = list(dict.fromkeys(labels))
    curves = []
    for number, ((name, result), label) in enumerate(zip(runs, labels, strict=True)):
        same = [run for (_, run), other in zip(runs, labels, strict=True) if other == label]
        # Of one problem every run has a colour of its own, of several every problem.
        colour = number if len(distinct) == 1 else distinct.index(label)
        dashes = number if len(distinct) == 1 else labels[:number].count(label)
        gap, reference = _gap(result, same)
        scale = (abs(same[0].trace[0].objective) or 1.0) if relative else 1.0
        curves.append(
            _Curve(
                name=name,
                iteration=result.trace.column("iteration"),
                seconds=result.trace.column("seconds"),
                objective=result.trace.column("objective") / scale,
                lower_bound=result.trace.column("lower_bound") / scale,
                gap=gap / scale,
                reference=reference,
                style={
                    "color": COLOURS[colour % len(COLOURS)],
                    "marker": MARKERS[colour % len(MARKERS)],
                    "linestyle": LINE_STYLES[dashes % len(LINE_STYLES)],
                },
            )
        )
    return curves


def _gap(result: Result, same: Sequence[Result]) -> tuple[FloatArray, str]:
    """Return a run's gaps, NaN where there is none to draw, and what they are measured from."""
    objective = result.trace.column("objective")
    own = result.trace.column("lower_bound")
    bounds = np.concatenate([run.trace.column("lower_bound") for run in same])
    if np.isfinite(own).any():
        reference, name = own, "lower bound"
    elif np.isfinite(bounds).any():
        reference, name = np.full_like(own, np.nanmax(bounds)), "lower bound"
    else:
        best = min(float(run.trace.column("objective").min()) for run in same)
        reference = np.full_like(own, best)
        name = "best value among the runs" if len(same) > 1 else "best value of the run"
    gap: FloatArray = objective - reference
    return np.where(gap > _ROUND_OFF * np.abs(objective), gap, np.nan), name


def _label(curves: Sequence[_Curve], quantity: str, relative: bool) -> str:
    """Return the label of a vertical axis."""
    if quantity == "objective":
        return "objective / objective at start" if relative else "objective"
    references = " or ".join(dict.fromkeys(curve.reference for curve in curves))
    return f"gap{' / objective at start' if relative else ''}\n(objective − {references})"


def _draw(ax: Axes, curves: Sequence[_Curve], time: str, quantity: str) -> dict[str, Line2D]:
    """Draw one panel, and return the lines by their names in the legend."""
    lines = {}
    for number, curve in enumerate(curves):
        values = getattr(curve, quantity)
        shown = np.isfinite(values)
        every = max(1, int(shown.sum()) // _MARKERS_A_LINE)
        (lines[curve.name],) = ax.plot(
            getattr(curve, time)[shown],
            values[shown],
            label=curve.name,
            markevery=(number * every // len(curves), every),  # side by side on equal curves
            markersize=4,
            linewidth=1.3,
            **curve.style,
        )
    log_or_linear(ax, "y")
    if time == "seconds":
        ax.set_xlabel("seconds")
        log_or_linear(ax, "x")
    else:
        iteration_axis(ax)
    if quantity == "objective":
        return lines | _draw_bounds(ax, curves, time)
    if not any(np.isfinite(curve.gap).any() for curve in curves):
        ax.text(0.5, 0.5, "no gap", transform=ax.transAxes, ha="center", color=GREY)
        ax.set_xticks([])
        ax.set_yticks([])
    return lines


def _draw_bounds(ax: Axes, curves: Sequence[_Curve], time: str) -> dict[str, Line2D]:
    """Draw the lower bounds, but for early ones so far down that they would squash the rest."""
    objectives = np.concatenate([curve.objective for curve in curves])
    floor = 2 * objectives.min() - objectives.max()
    lines = {}
    for curve in curves:
        known = np.isfinite(curve.lower_bound)
        if known.any():
            known[known] = curve.lower_bound[known] >= min(floor, curve.lower_bound[known].max())
            (lines["lower bound"],) = ax.plot(
                getattr(curve, time)[known],
                curve.lower_bound[known],
                color=curve.style["color"],
                label="_lower bound",
                **_BOUND,
            )
    return lines
