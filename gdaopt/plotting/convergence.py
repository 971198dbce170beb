"""Pictures of runs: their convergence, and what they spend their time on."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.plotting.canvas import (
    COLOURS,
    COLUMNS,
    GREY,
    HATCHES,
    LETTER_WIDTH,
    TIMES,
    Results,
    Time,
    axes_of_shape,
    axes_or_new,
    figure_of,
    fit_text,
    font_size,
    letters,
    look,
    named_runs,
    panel_width,
    scale,
)
from gdaopt.plotting.legends import legend_above, shared_legend, short_label
from gdaopt.result import Result
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_name, flag
from gdaopt.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.typing import ColorType

Quantity = Literal["gap", "objective"]

_QUANTITIES = ("gap", "objective")
_BETWEEN_MARKERS = 0.12  # distance of markers on a line, as a share of the panel's diagonal
_ROUND_OFF = 1e-12  # share of |objective|: smaller gaps come from its last digits
_BOUND = "largest lower bound"
_ROWS: tuple[Quantity, ...] = ("objective", "gap")
_TIMES: tuple[Time, ...] = ("iterations", "seconds")
_LINE, _BOUND_LINE, _MARKER = 1.3, 0.9, 4.0  # points
_COLOURS = ("#0072B2", "#56B4E9", "#E69F00", "#F0E442", "#FFFFFF")  # dark to bright
_PARTS = {
    "build": "build_seconds",
    "solve": "solve_seconds",
    "eigenvectors": "eig_seconds",
    "objective": "objective_seconds",
}


def convergence(
    results: Results,
    ax: Any = None,
    *,
    x: Time | None = None,
    y: Quantity | None = None,
    relative: bool = False,
    problems: Sequence[Hashable] | None = None,
    colors: Sequence[ColorType] | None = None,
    lower_bounds: bool = False,
    legend: bool = True,
) -> Any:
    """Draw objective and gap of each run against its iterations and against its seconds.

    That takes 2×2 axes. With `x` or `y`, or on one axes, only that quantity is drawn.

    The gaps of all runs of one problem are measured from one value: the largest lower bound that
    any of these runs ends with, or without lower bounds the best value among the runs. The bound is
    also a dashed line beside the objective. Bounds that are so low that the curves would become
    flat, and gaps that are not above round-off, are not drawn. Axes are logarithmic, except that of
    an objective with values that are not positive, and those of iterations and calls of the oracle,
    unless some run takes over ten times as many as another.

    Parameters
    ----------
    results : Result, sequence of Result, or mapping of str to Result
        The runs; the keys of a mapping are their names in the legend.
    ax : matplotlib.axes.Axes, or a 2×2 array of them, optional
        Where to draw, with None for a panel that is not wanted; by default a new figure.
    x : {"iterations", "seconds", "oracle_calls"}, optional
        What stands on the horizontal axis of one axes; by default iterations.
    y : {"gap", "objective"}, optional
        What stands on the vertical axis of one axes; by default the gap.
    relative : bool, optional
        Divide objectives and gaps by the magnitude of the objective at the start of the first run
        of the problem.
    problems : sequence of hashable, optional
        For each run a label that stands for its problem; by default all runs solve one problem. The
        runs of one of several problems share colour and marker, and differ in line style.
    colors : sequence of colours of matplotlib, optional
        One for each run; with several problems, one for each problem.
    lower_bounds : bool, optional
        Beside the objective of each run, draw the lower bound that it had after each step, as a
        thin line without markers, instead of the largest bound of all.
    legend : bool, optional
        Whether to write the legend: above all panels where these are all that a figure holds, and
        otherwise above the first panel.

    Returns
    -------
    matplotlib.axes.Axes, or a 2×2 array of them
        One axes, or rows: objective, gap; columns: iterations, seconds.

    Raises
    ------
    InvalidInputError
        When there are no runs, when the axes have another shape, when there is not one label in
        `problems` for each run, for colours that are none or too few, and for lower bounds beside
        gaps alone.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> axes = convergence({"run": gda.solve(problem, "alternating", solver="analytic")})
    >>> axes.shape, axes[1, 1].get_xlabel()
    ((2, 2), 'seconds')
    >>> convergence({"run": gda.solve(problem, "alternating")}, x="oracle_calls").get_xlabel()
    'calls of the oracle'
    """
    from matplotlib.axes import Axes

    relative, legend = flag("relative", relative), flag("legend", legend)
    lower_bounds = flag("lower_bounds", lower_bounds)
    single = isinstance(ax, Axes) or x is not None or y is not None
    if x is not None:
        check_name("x", x, TIMES)
    if y is not None:
        check_name("y", y, _QUANTITIES)
    if lower_bounds and single and y != "objective":
        raise InvalidInputError('lower bounds stand beside the objective; pass y="objective"')
    curves = _curves(named_runs(results), problems, relative, colors)
    if single:
        axes = axes_or_new(ax)
        panels: list[tuple[Axes, Time, Quantity]] = [(axes, x or "iterations", y or "gap")]
    else:
        grid = axes_of_shape(ax, (2, 2), width=9, height=6.5)
        panels = [
            (panel, time, quantity)
            for row, quantity in zip(grid, _ROWS, strict=True)
            for panel, time in zip(row, _TIMES, strict=True)
            if panel is not None
        ]
    handles = [_draw(*panel, curves, lower_bounds) for panel in panels]
    for panel, time, quantity in panels:
        panel.grid(alpha=0.3)
        fit_text(panel, x=TIMES[time], y=_labels(curves, quantity, relative))
    if legend and panels:
        _write_legend([panel for panel, _, _ in panels], handles[0])
    return axes if single else grid


@dataclass(frozen=True, eq=False, kw_only=True)
class _Curve:
    """One run as it is drawn: its values and its style."""

    name: str
    problem: Hashable
    trace: Trace
    objective: FloatArray
    gap: FloatArray
    bounds: FloatArray  # its own lower bounds; NaN where there is none
    bound: float  # the largest lower bound of the problem; -inf when there is none
    reference: str  # names the value from which the gap is measured
    style: dict[str, Any]


def _curves(
    runs: list[tuple[str, Result]],
    problems: Sequence[Hashable] | None,
    relative: bool,
    colors: Sequence[ColorType] | None,
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
    palette = _palette(colors, len(runs) if len(distinct) == 1 else len(distinct))
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
                trace=result.trace,
                objective=result.trace.column("objective") / scale,
                gap=gap / scale,
                bounds=result.trace.column("lower_bound") / scale,
                bound=bound / scale,
                reference=reference,
                style=look(colour, dashes, palette),
            )
        )
    return curves


def largest_bound(runs: Sequence[Result]) -> float:
    """Return the largest lower bound among runs of one problem; -inf when there is none."""
    bounds = (run.lower_bound for run in runs)
    return max((bound for bound in bounds if bound is not None), default=-math.inf)


def _gap(result: Result, same: Sequence[Result], bound: float) -> tuple[FloatArray, str]:
    """Return a run's gaps, NaN where they are round-off, and the value they are measured from."""
    objective = result.trace.column("objective")
    if bound > -math.inf:
        reference, name = bound, _BOUND
    else:
        reference = min(float(run.trace.column("objective").min()) for run in same)
        name = "best value among the runs" if len(same) > 1 else "best value of the run"
    gap: FloatArray = objective - reference
    return np.where(gap > _ROUND_OFF * np.abs(objective), gap, np.nan), name


def _palette(colors: Sequence[ColorType] | None, wanted: int) -> Sequence[ColorType]:
    """Return the colours that a caller passed, or the package's, which are used again and again."""
    from matplotlib.colors import is_color_like

    if colors is None:
        return COLOURS
    if isinstance(colors, str) or not isinstance(colors, Sequence):
        raise InvalidInputError(f"colors must be a list of colours, got {shortened(colors)}")
    for colour in colors:
        if not is_color_like(colour):
            raise InvalidInputError(f"colors holds {shortened(colour)}, which is no colour")
    if len(colors) < wanted:
        raise InvalidInputError(f"colors holds {len(colors)} colours; {wanted} are needed")
    return colors


def _write_legend(panels: Sequence[Axes], lines: dict[str, Line2D]) -> None:
    """Write the legend: above all panels where the figure has room there, else above the first."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = panels[0].figure
    if len(panels) > 1 and set(figure.axes) == set(panels):
        if figure.get_layout_engine() is None:
            figure_of(panels[0]).set_layout_engine("constrained")
        # Only that layout makes room for a legend of the figure.
        if isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
            shared_legend(panels, lines, handlelength=3)
            return
    legend_above(panels[0], lines, handlelength=3)


def _labels(curves: Sequence[_Curve], quantity: str, relative: bool) -> list[str]:
    """Return labels of a vertical axis, from long to short."""
    if quantity == "objective":
        return ["objective / objective at start", "objective / start"] if relative else [quantity]
    references = " or ".join(dict.fromkeys(curve.reference for curve in curves))
    unit = " / objective at start" if relative else ""
    return [f"gap to the {references}{unit}", f"gap{unit}", "gap / start" if relative else "gap"]


def _draw(
    ax: Axes, time: Time, quantity: Quantity, curves: Sequence[_Curve], lower_bounds: bool
) -> dict[str, Line2D]:
    """Draw one panel; return its lines by their names in the legend."""
    from matplotlib import rcParams

    from gdaopt.plotting.ticks import log_or_linear, time_axis

    size = scale(ax)
    lines = {}
    for number, curve in enumerate(curves):
        values = getattr(curve, quantity)
        shown = np.isfinite(values)
        # The markers of equal curves are side by side.
        first = _BETWEEN_MARKERS * number / len(curves)
        (lines[curve.name],) = ax.plot(
            curve.trace.column(COLUMNS[time])[shown],
            values[shown],
            label=curve.name,
            markevery=(first, _BETWEEN_MARKERS),
            markersize=_MARKER * size,
            linewidth=_LINE * size,
            **curve.style,
        )
    log_or_linear(ax, "y")
    time_axis(ax, time, [curve.trace.column(COLUMNS[time]).max() for curve in curves])
    if quantity == "objective":
        return lines | _draw_bounds(ax, curves, time, lower_bounds)
    if not any(np.isfinite(curve.gap).any() for curve in curves):
        style: dict[str, Any] = {"color": GREY, "fontsize": font_size(ax, rcParams["font.size"])}
        ax.text(0.5, 0.5, "no gap", transform=ax.transAxes, ha="center", **style)
        ax.set_xticks([])
        ax.set_yticks([])
    return lines


def _draw_bounds(
    ax: Axes, curves: Sequence[_Curve], time: Time, of_each_run: bool
) -> dict[str, Line2D]:
    """Draw lower bounds that are not too low for the panel; return what the legend shows."""
    from matplotlib.lines import Line2D

    objectives = np.concatenate([curve.objective for curve in curves])
    low, high = float(objectives.min()), float(objectives.max())
    # The curves keep a third of the panel's height, which is logarithmic for positive values.
    floor = low * (low / high) ** 2 if low > 0 else 3 * low - 2 * high
    style: dict[str, Any] = {"linestyle": (0, (6, 3)), "linewidth": _BOUND_LINE * scale(ax)}
    name, lines = _BOUND, {}
    if of_each_run:
        name, style["linestyle"] = "lower bounds (thin)", "-"
        for curve in curves:
            shown = (curve.bounds >= floor) & (curve.bounds <= high)
            times, bounds = curve.trace.column(COLUMNS[time])[shown], curve.bounds[shown]
            if shown.any():
                line_style = style | {key: curve.style[key] for key in ("color", "linestyle")}
                ax.plot(times, bounds, label=f"_{name}", **line_style)
                lines[name] = Line2D([], [], color=GREY, **style)
        return lines
    problems = list(dict.fromkeys(curve.problem for curve in curves))
    for problem in problems:
        same = [curve for curve in curves if curve.problem == problem]
        bound = same[0].bound
        if floor <= bound <= high:
            times = np.concatenate([curve.trace.column(COLUMNS[time]) for curve in same])
            colour = GREY if len(problems) == 1 else same[0].style["color"]
            ends = [times.min(), times.max()]
            ax.plot(ends, [bound, bound], color=colour, label=f"_{name}", **style)
            lines[name] = Line2D([], [], color=GREY, **style)
    return lines


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
    name_rows(ax, [short_label(name, letters(ax)) for name, _ in runs])
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
