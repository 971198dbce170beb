"""Pictures of convergence: quantities of runs over their iterations, seconds or programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.plotting.arguments import axes_of_shape, axes_or_new
from gdaopt.plotting.canvas import FAINT, MUTED, drawing, ink
from gdaopt.plotting.curves import Curve, Problems, check_one_problem, curves_of
from gdaopt.plotting.legends import legend_beside
from gdaopt.plotting.quantities import QUANTITIES, Problem, Quantity, quantity_of
from gdaopt.plotting.runs import named_runs
from gdaopt.plotting.ticks import iteration_axis, magnitude_axis
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_name, finite_array, flag
from gdaopt.trace import COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import ColorType

    from gdaopt.plotting.runs import Runs

Time = Literal["iterations", "seconds", "oracle_calls"]

_TIMES: Mapping[str, tuple[str, str]] = {
    "iterations": ("iteration", "iteration"),
    "seconds": ("seconds", "seconds"),
    "oracle_calls": ("oracle_calls", "oracle calls"),
}
"""What can stand on the horizontal axis: the column of the trace, and the label of the axis."""

_BETWEEN_MARKERS = 0.12  # distance of markers on a line, as a share of the panel's diagonal
_THIN, _EDGE = 0.7, 0.5  # line widths: of lower bounds, and of the edges of bands


def convergence(
    runs: Runs,
    ax: Any = None,
    *,
    x: Time | None = None,
    y: str | None = None,
    relative: bool = False,
    problems: Problems = None,
    bands: tuple[float, float] = (0.25, 0.75),
    color_by: Literal["method", "problem"] | None = None,
    colors: Sequence[ColorType] | None = None,
    lower_bounds: bool = False,
    legend: bool = True,
) -> Any:
    """Draw objective and gap of each run against its iterations and against its seconds.

    That takes 2×2 axes. With `x` or `y`, or on one axes, only that quantity is drawn.

    The gaps of all runs of one problem are measured from one value: the largest lower bound that
    any of these runs ends with, or without lower bounds the best value among the runs. The bound is
    also a dashed line beside the objective, unless it is so low that the curves would become flat;
    a dashed line beside the smallest eigenvalues is ρ, the least that the set allows. Gaps that are
    not above round-off are not drawn. An axis is logarithmic if its values are positive and span a
    power of ten. An axis of iterations is logarithmic if some run takes over ten times as many as
    another.

    Repeats of a run, such as with several seeds, are drawn as their median and as a band between
    two of their quantiles. The band begins where all repeats have begun; a repeat that has ended
    keeps its last value.

    Parameters
    ----------
    runs : Result, Trace or DataFrame, a list of these, or a mapping of str to these
        The runs; the keys of a mapping are their names in the legend. A list of its repeats may
        stand in place of a run. A data frame has the columns of a trace, as `Trace.to_pandas` and
        files of `Trace.to_csv` have; it needs iteration and objective.
    ax : matplotlib.axes.Axes, or a 2×2 array of them, optional
        Where to draw, with None for a panel that is not wanted; by default a new figure.
    x : {"iterations", "seconds", "oracle_calls"}, optional
        The quantity on the horizontal axis, if one axes is drawn; by default iterations.
    y : {"gap", "objective"} or a column of the trace, optional
        The quantity on the vertical axis, if one axes is drawn; by default the gap. Columns are
        numbers, such as ``"lambda_min"``, the smallest eigenvalue, or your own, see
        ``trace_columns`` of `gdaopt.methods.Method`.
    relative : bool, optional
        Divide objectives and gaps by the magnitude of the objective at the start of the first run
        of the problem.
    problems : sequence of hashable, or mapping of str to hashable, optional
        For each run a label that stands for its problem, or for repeats of several problems a list
        of labels; by default all runs solve one problem.
    bands : pair of float, optional
        The quantiles between which the band of repeats lies.
    color_by : {"method", "problem"}, optional
        With several problems, colour and marker show the method or the problem, and the line style
        shows the other one. The method is that of the result, with its solver, or the name of the
        run if only its trace is known. By default problem, if all runs have one method. The runs of
        one problem all differ.
    colors : sequence of colours of matplotlib, optional
        One for each run of one problem; with several problems, for each method or problem. By
        default those of the style (``rcParams["axes.prop_cycle"]``).
    lower_bounds : bool, optional
        Beside the objective of each run, draw the lower bound that it had after each step, as a
        thin line without markers, instead of the largest bound of all.
    legend : bool, optional
        Whether to write the legend: above all panels if they are all that a figure holds, and
        otherwise above the first panel.

    Returns
    -------
    matplotlib.axes.Axes, or a 2×2 array of them
        One axes, or rows: objective, gap; columns: iterations, seconds.

    Raises
    ------
    InvalidInputError
        When there are no runs, when the axes have another shape, when `problems` does not have one
        label for each run, or when no value was measured. Without `problems`, also when the runs
        solve different problems, which an objective below the lower bound of another run proves.
        Also for wrong or too few colours, and for lower bounds beside gaps alone.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> axes = convergence({"run": gda.solve(problem, "alternating", solver="analytic")})
    >>> axes.shape, axes[1, 1].get_xlabel()
    ((2, 2), 'seconds')
    >>> run = gda.solve(problem, "alternating")
    >>> convergence({"run": run}, x="oracle_calls").get_xlabel()
    'oracle calls'
    >>> convergence({"run": run}, y="lambda_min").get_ylabel()
    'smallest eigenvalue'
    >>> ax = convergence({"repeats": [run, run.trace]}, y="gap")  # a median and a band
    >>> len(ax.lines), len(ax.collections)
    (1, 1)
    """
    from matplotlib.axes import Axes

    relative, legend = flag("relative", relative), flag("legend", legend)
    lower_bounds = flag("lower_bounds", lower_bounds)
    is_single = isinstance(ax, Axes) or x is not None or y is not None
    if x is not None:
        check_name("x", x, _TIMES)
    named = named_runs(runs)
    if y is not None:
        every = (name for repeats in named.values() for run in repeats for name in run.columns)
        check_name("y", y, dict.fromkeys([*QUANTITIES, *(n for n in every if n not in COLUMNS)]))
    if lower_bounds and is_single and y != "objective":
        raise InvalidInputError('lower bounds stand beside the objective; pass y="objective"')
    quantiles = _quantiles(bands)
    shown = ("objective", "gap") if not is_single else (y or "gap",)
    if problems is None and {"objective", "gap"} & {*shown}:
        check_one_problem(named)
    curves = curves_of(named, problems, relative=relative, color_by=color_by, colors=colors)
    axes: Any
    panels: list[tuple[Axes, str, str]]
    if is_single:
        column = y or "gap"
        if column != "gap" and not any(
            np.isfinite(quantity_of(column).values(*run)).any()
            for curve in curves
            for run in curve.runs
        ):
            raise InvalidInputError(f"{column} was not measured in any run; nothing can be drawn")
        axes = axes_or_new(ax)
        panels = [(axes, x or "iterations", column)]
    else:
        axes = axes_of_shape(ax, (2, 2), width=9, height=6.5)
        panels = [
            (panel, time, quantity)
            for row, quantity in zip(axes, ("objective", "gap"), strict=True)
            for panel, time in zip(row, ("iterations", "seconds"), strict=True)
            if panel is not None
        ]
    with drawing(*(panel for panel, _, _ in panels)):
        handles = [_draw(*panel, curves, quantiles, lower_bounds) for panel in panels]
        if legend and panels:
            levels = [name for name in handles[0] if name not in named]
            legend_beside([each for each, _, _ in panels], handles[0], levels, handlelength=3)
    return axes


def _quantiles(bands: Any) -> tuple[float, float]:
    """Return the quantiles of a band; refuse what are none."""
    low, high = finite_array("bands", bands, ndim=1)[[0, -1]].tolist()
    if not 0 <= low < high <= 1 or np.size(bands) != 2:
        raise InvalidInputError(
            f"bands must be two quantiles, such as (0.25, 0.75), got {shortened(bands)}"
        )
    return low, high


def _draw(
    ax: Axes,
    time: str,
    name: str,
    curves: Sequence[Curve],
    quantiles: tuple[float, float],
    lower_bounds: bool,
) -> dict[str, Any]:
    """Draw a quantity on one panel; return what the legend shows, by its names."""
    from matplotlib.patches import Patch

    quantity, (column, label) = quantity_of(name), _TIMES[time]
    handles: dict[str, Any] = {}
    drawn: list[FloatArray] = []
    for number, curve in enumerate(curves):
        times, values, band = curve.sample(column, quantity.values, quantiles, quantity.missing)
        (handles[curve.name],) = ax.plot(
            times,
            values,
            label=curve.name,
            # The markers of equal curves are side by side.
            markevery=(_BETWEEN_MARKERS * number / len(curves), _BETWEEN_MARKERS),
            **curve.style,
        )
        if band is not None:
            _draw_band(ax, times, band, curve.style)
            drawn += band
    if any(len(curve.runs) > 1 for curve in curves):
        low, high = (f"{100 * quantile:g}" for quantile in quantiles)
        swatch = Patch(facecolor=ink(FAINT), edgecolor=ink(MUTED), linewidth=0.6)
        handles[f"median, {low} to {high} % of repeats"] = swatch
    if name == "objective" and lower_bounds:
        handles |= _draw_bounds(ax, curves, column, quantiles)
    else:
        handles |= _draw_levels(ax, curves, quantity)
    ends = [run.column(column) for curve in curves for run, _ in curve.runs]
    if time == "seconds":
        magnitude_axis(ax, np.concatenate(ends), "x")
    else:
        iteration_axis(ax, [each.max() for each in ends])
    drawn += [np.asarray(line.get_ydata(), dtype=np.float64) for line in ax.lines]
    if sum(map(len, drawn)):
        quantity.axis(ax, np.concatenate(drawn))
    else:
        ax.text(0.5, 0.5, f"no {name}", transform=ax.transAxes, ha="center", color=ink(MUTED))
        ax.set(xticks=[], yticks=[])
    problems = dict.fromkeys(problem for curve in curves for _, problem in curve.runs)
    ax.set_xlabel(label)
    ax.set_ylabel(" or ".join(dict.fromkeys(map(quantity.label, problems))))
    ax.grid(alpha=0.3)
    return handles


def _draw_band(
    ax: Axes, times: FloatArray, band: tuple[FloatArray, FloatArray], style: Mapping[str, Any]
) -> None:
    """Draw an area between quantiles, whose edges have the line style of the median."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgba

    ax.fill_between(
        times,
        *band,
        facecolor=to_rgba(style["color"], FAINT),
        edgecolor=style["color"],
        linestyle=style["linestyle"],
        linewidth=_EDGE * rcParams["lines.linewidth"],
    )


def _draw_levels(ax: Axes, curves: Sequence[Curve], quantity: Quantity) -> dict[str, Any]:
    """Draw what stands beside a quantity for each problem; return what the legend shows.

    A level has the colour of its problem, if a colour stands for a problem.
    """
    from matplotlib.lines import Line2D

    handles: dict[str, Any] = {}
    of_problem: dict[Problem, set[Any]] = {}
    for curve in curves:
        for _, problem in curve.runs:
            of_problem.setdefault(problem, set()).add(curve.style["color"])
    used = [colour for colours in of_problem.values() for colour in colours]
    is_of_problems = len(of_problem) > 1 and len(used) == len(of_problem) == len(set(used))
    for problem, colours in of_problem.items():
        name, value = ("", math.nan) if quantity.level is None else quantity.level(problem)
        if np.isfinite(value):
            colour = colours.pop() if is_of_problems else ink(MUTED)
            ax.axhline(value, color=colour, linestyle="--", label=f"_{name}")
            if name in handles:  # one entry stands for the colours of all problems
                colour = ink(MUTED)
            handles[name] = Line2D([], [], color=colour, linestyle="--")
    return handles


def _draw_bounds(
    ax: Axes, curves: Sequence[Curve], column: str, quantiles: tuple[float, float]
) -> dict[str, Any]:
    """Draw the lower bounds of each run that do not make the curves flat; of repeats the median."""
    from matplotlib import rcParams
    from matplotlib.lines import Line2D

    name, width = "lower bounds (thin)", _THIN * rcParams["lines.linewidth"]
    handles: dict[str, Any] = {}
    for curve in curves:
        times, bounds, _ = curve.sample(
            column, lambda run, problem: problem.shown(run.column("lower_bound")), quantiles
        )
        if len(times):
            style = {key: curve.style[key] for key in ("color", "linestyle")} | {"linewidth": width}
            ax.plot(times, bounds, label=f"_{name}", **style)
            handles[name] = Line2D([], [], color=ink(MUTED), linewidth=width)
    return handles
