"""Pictures of convergence."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.plotting.canvas import AxesArray, axes_of_shape, iteration_axis, log_or_linear
from gdaopt.plotting.runs import Results, named_runs
from gdaopt.plotting.style import COLOURS, GREY, LINE_STYLES, MARKERS, write_legend
from gdaopt.printing import shortened
from gdaopt.result import Result
from gdaopt.validation import FloatArray, flag

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["convergence", "largest_bound"]

_BETWEEN_MARKERS = 0.12  # distance of markers on a line, as a share of the panel's diagonal
_LENGTHS_DIFFER = 10  # a run this many times longer than another hides it on a linear axis
_LEGEND_ROW = 110  # characters that fit, about
_ROUND_OFF = 1e-12  # share of |objective|: smaller gaps come from its last digits
_BOUND = "largest lower bound"
_BOUND_STYLE: dict[str, Any] = {"linestyle": (0, (6, 3)), "linewidth": 0.9}


def convergence(
    results: Results,
    ax: Any = None,
    *,
    relative: bool = False,
    problems: Sequence[Hashable] | None = None,
) -> AxesArray:
    """Draw objective and gap of each run against its iterations and against its seconds.

    The gaps of all runs of one problem are measured from one value, which the label of their axis
    names. It is the largest lower bound that any of these runs ends with, so that the gap certifies
    each run as tightly as the best of them can; without lower bounds, it is the best value among
    the runs. The bound is also a dashed line in the panels of the objective, unless it is so low
    that the curves would become flat.

    Axes are logarithmic, except that of an objective with values that are not positive, and that of
    the iterations unless some run takes over ten times as many as another. Gaps that are not above
    round-off are not drawn.

    Parameters
    ----------
    results : Result, sequence of Result, or mapping of str to Result
        The runs; the keys of a mapping are their names in the legend.
    ax : 2×2 array of matplotlib.axes.Axes, optional
        Where to draw, with None for a panel that is not wanted; by default a new figure.
    relative : bool, optional
        Divide objectives and gaps by the magnitude of the objective at the start of the first run
        of the problem, so that problems of different scales can share a picture.
    problems : sequence of hashable, optional
        For each run a label that stands for its problem; by default all runs solve one problem.
        With several problems, the runs of one problem share colour and marker, and differ in line
        style.

    Returns
    -------
    2×2 array of matplotlib.axes.Axes
        Rows: objective, gap. Columns: iterations, seconds. The legend is in the first panel that
        was passed, or above the panels of a new figure.

    Raises
    ------
    InvalidInputError
        When there are no runs, when the axes have another shape, and when there is not one label
        in `problems` for each run.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> axes = convergence({"run": gda.solve(problem, solver="analytic")})
    >>> axes.shape, axes[1, 1].get_xlabel()
    ((2, 2), 'seconds')
    """
    relative = flag("relative", relative)
    curves = _curves(named_runs(results), problems, relative)
    axes = axes_of_shape(ax, (2, 2), width=9, height=6.5)
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
        _write_legend(panels[0][0], handles[0], is_new=ax is None)
    return axes


@dataclass(frozen=True, eq=False, kw_only=True)
class _Curve:
    """One run as it is drawn: its values and its style."""

    name: str
    problem: Hashable
    iteration: FloatArray
    seconds: FloatArray
    objective: FloatArray
    gap: FloatArray
    bound: float  # the largest lower bound of the problem; -inf when there is none
    reference: str  # names the value from which the gap is measured
    style: dict[str, Any]


def _curves(
    runs: list[tuple[str, Result]], problems: Sequence[Hashable] | None, relative: bool
) -> list[_Curve]:
    """Return the curves of the runs, with the gaps of each problem measured from one value."""
    labels: list[Hashable] = [None] * len(runs)
    if problems is not None:
        if not (isinstance(problems, Sequence) and all(isinstance(p, Hashable) for p in problems)):
            raise InvalidInputError(
                f"problems must be a list of labels, such as texts, got {shortened(problems)}"
            )
        labels = list(problems)
    if len(labels) != len(runs):
        raise InvalidInputError(f"problems has {len(labels)} labels for {len(runs)} runs")
    distinct = list(dict.fromkeys(labels))
    curves = []
    for number, ((name, result), label) in enumerate(zip(runs, labels, strict=True)):
        same = [run for (_, run), other in zip(runs, labels, strict=True) if other == label]
        # With one problem every run has a colour of its own; with several, every problem has.
        colour = number if len(distinct) == 1 else distinct.index(label)
        dashes = number if len(distinct) == 1 else labels[:number].count(label)
        bound = largest_bound(same)
        gap, reference = _gap(result, same, bound)
        scale = (abs(same[0].trace[0].objective) or 1.0) if relative else 1.0
        curves.append(
            _Curve(
                name=name,
                problem=label,
                iteration=result.trace.column("iteration"),
                seconds=result.trace.column("seconds"),
                objective=result.trace.column("objective") / scale,
                gap=gap / scale,
                bound=bound / scale,
                reference=reference,
                style={
                    "color": COLOURS[colour % len(COLOURS)],
                    "marker": MARKERS[colour % len(MARKERS)],
                    "linestyle": LINE_STYLES[dashes % len(LINE_STYLES)],
                },
            )
        )
    return curves


def largest_bound(runs: Sequence[Result]) -> float:
    """Return the largest lower bound among runs of one problem; -inf when there is none."""
    known = (run.lower_bound for run in runs)
    return max((bound for bound in known if bound is not None), default=-math.inf)


def _gap(result: Result, same: Sequence[Result], bound: float) -> tuple[FloatArray, str]:
    """Return a run's gaps, NaN where they are round-off, and what they are measured from."""
    objective = result.trace.column("objective")
    if bound > -math.inf:
        reference, name = bound, _BOUND
    else:
        reference = min(float(run.trace.column("objective").min()) for run in same)
        name = "best value among the runs" if len(same) > 1 else "best value of the run"
    gap: FloatArray = objective - reference
    return np.where(gap > _ROUND_OFF * np.abs(objective), gap, np.nan), name


def _write_legend(panel: Axes, lines: dict[str, Line2D], is_new: bool) -> None:
    """Write the legend: above all panels of a new figure, else into the caller's panel."""
    if not is_new:
        write_legend(panel, lines, fontsize="small", handlelength=4)
        return
    figure = panel.get_figure(root=True)
    assert figure is not None
    columns = max(1, min(len(lines), _LEGEND_ROW // (max(map(len, lines)) + 8)))
    write_legend(
        figure,
        lines,
        loc="outside upper left",
        ncols=columns,
        fontsize="small",
        frameon=False,
        handlelength=4,
    )


def _label(curves: Sequence[_Curve], quantity: str, relative: bool) -> str:
    """Return the label of a vertical axis."""
    if quantity == "objective":
        return "objective / objective at start" if relative else "objective"
    references = " or ".join(dict.fromkeys(curve.reference for curve in curves))
    return f"gap{' / objective at start' if relative else ''}\n(objective − {references})"


def _draw(ax: Axes, curves: Sequence[_Curve], time: str, quantity: str) -> dict[str, Line2D]:
    """Draw one panel; return its lines by their names in the legend."""
    lines = {}
    for number, curve in enumerate(curves):
        values = getattr(curve, quantity)
        shown = np.isfinite(values)
        # The markers of equal curves are side by side.
        first = _BETWEEN_MARKERS * number / len(curves)
        (lines[curve.name],) = ax.plot(
            getattr(curve, time)[shown],
            values[shown],
            label=curve.name,
            markevery=(first, _BETWEEN_MARKERS),
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
        lengths = [length for curve in curves if (length := curve.iteration.max()) > 0]
        if lengths and max(lengths) > _LENGTHS_DIFFER * min(lengths):
            ax.set_xscale("symlog", linthresh=1)
            ax.set_xlim(-0.2, 1.5 * max(lengths))
            ax.xaxis.set_major_formatter("{x:g}")
    if quantity == "objective":
        return lines | _draw_bounds(ax, curves, time)
    if not any(np.isfinite(curve.gap).any() for curve in curves):
        ax.text(0.5, 0.5, "no gap", transform=ax.transAxes, ha="center", color=GREY)
        ax.set_xticks([])
        ax.set_yticks([])
    return lines


def _draw_bounds(ax: Axes, curves: Sequence[_Curve], time: str) -> dict[str, Line2D]:
    """Draw the largest lower bound of each problem, unless it is too low for the panel.

    Return the line that stands for all of them in the legend.
    """
    from matplotlib.lines import Line2D

    objectives = np.concatenate([curve.objective for curve in curves])
    low, high = float(objectives.min()), float(objectives.max())
    # The curves keep a third of the panel's height, which is logarithmic for positive values.
    floor = low * (low / high) ** 2 if low > 0 else 3 * low - 2 * high
    problems = list(dict.fromkeys(curve.problem for curve in curves))
    lines = {}
    for problem in problems:
        same = [curve for curve in curves if curve.problem == problem]
        bound = same[0].bound
        if floor <= bound <= high:
            times = np.concatenate([getattr(curve, time) for curve in same])
            ax.plot(
                [times.min(), times.max()],
                [bound, bound],
                color=GREY if len(problems) == 1 else same[0].style["color"],
                label=f"_{_BOUND}",
                **_BOUND_STYLE,
            )
            lines[_BOUND] = Line2D([], [], color=GREY, **_BOUND_STYLE)
    return lines
