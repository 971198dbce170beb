"""Pictures of runs: their convergence, and what they spend their time on."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.plotting.arguments import Results, axes_of_shape, axes_or_new, named_runs
from gdaopt.plotting.canvas import MUTED, drawing, ink, look
from gdaopt.plotting.legends import legend_beside
from gdaopt.plotting.ticks import (
    count_axis,
    eigenvalue_axis,
    is_logarithmic,
    iteration_axis,
    magnitude_axis,
)
from gdaopt.result import Result
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_name, flag
from gdaopt.trace import COLUMNS, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import ColorType

Time = Literal["iterations", "seconds", "oracle_calls"]

_TIMES: Mapping[str, tuple[str, str]] = {
    "iterations": ("iteration", "iteration"),
    "seconds": ("seconds", "seconds"),
    "oracle_calls": ("oracle_calls", "oracle calls"),
}
"""What can stand on the horizontal axis: the column of the trace, and the label of the axis."""

_BETWEEN_MARKERS = 0.12  # distance of markers on a line, as a share of the panel's diagonal
_ROUND_OFF = 1e-12  # share of |objective|: smaller gaps come from its last digits
_ANOTHER_PROBLEM = 1e-6  # share of a bound: an objective below it by more is of another problem
_THIN = 0.7  # line widths: of lower bounds


def convergence(
    results: Results,
    ax: Any = None,
    *,
    x: Time | None = None,
    y: str | None = None,
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
    also a dashed line beside the objective, unless it is so low that the curves would become flat;
    a dashed line beside the smallest eigenvalues is ρ, the least that the set allows. Gaps that
    are not above round-off are not drawn. An axis is logarithmic where its values are positive and
    span a power of ten, and one of iterations where some run takes over ten times as many as
    another.

    Parameters
    ----------
    results : Result, sequence of Result, or mapping of str to Result
        The runs; the keys of a mapping are their names in the legend.
    ax : matplotlib.axes.Axes, or a 2×2 array of them, optional
        Where to draw, with None for a panel that is not wanted; by default a new figure.
    x : {"iterations", "seconds", "oracle_calls"}, optional
        What stands on the horizontal axis of one axes; by default iterations.
    y : {"gap", "objective"} or a column of the trace, optional
        What stands on the vertical axis of one axes; by default the gap. Columns are numbers, such
        as ``"lambda_min"``, the smallest eigenvalue.
    relative : bool, optional
        Divide objectives and gaps by the magnitude of the objective at the start of the first run
        of the problem.
    problems : sequence of hashable, optional
        For each run a label that stands for its problem; by default all runs solve one problem. The
        runs of one of several problems share colour and marker, and differ in line style.
    colors : sequence of colours of matplotlib, optional
        One for each run; with several problems, one for each problem. By default those of the style
        (``rcParams["axes.prop_cycle"]``).
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
        When there are no runs, when the axes have another shape, when there is not one label in
        `problems` for each run, without `problems` when an objective is below the lower bound of
        another run, when no value was measured, for colours that are none or too few, and for lower
        bounds beside gaps alone.

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
    """
    from matplotlib.axes import Axes

    relative, legend = flag("relative", relative), flag("legend", legend)
    lower_bounds = flag("lower_bounds", lower_bounds)
    is_single = isinstance(ax, Axes) or x is not None or y is not None
    if x is not None:
        check_name("x", x, _TIMES)
    if y is not None:
        check_name("y", y, QUANTITIES)
    if lower_bounds and is_single and y != "objective":
        raise InvalidInputError('lower bounds stand beside the objective; pass y="objective"')
    runs = named_runs(results)
    curves = _curves(runs, problems, relative, colors)
    axes: Any
    panels: list[tuple[Axes, str, str]]
    if is_single:
        column = y or "gap"
        if column in COLUMNS and not any(
            np.isfinite(curve.values(column)).any() for curve in curves
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
        handles = [_draw(*panel, curves, lower_bounds) for panel in panels]
        if legend and panels:
            levels = [name for name in handles[0] if name not in runs]
            legend_beside([each for each, _, _ in panels], handles[0], levels, handlelength=3)
    return axes


@dataclass(frozen=True, eq=False, kw_only=True)
class _Problem:
    """What the runs of one problem are measured by, and the colour that they may share."""

    bound: float  # the largest lower bound that a run ends with; -inf when there is none
    best: float  # the least objective of all runs, which stands in for a bound
    worst: float
    unit: float  # objectives and gaps are divided by it
    is_relative: bool  # the unit is the objective at the start
    min_eigenvalue: float  # that the set allows

    def shown(self, bounds: FloatArray) -> FloatArray:
        """Return lower bounds to draw beside the objective, NaN where they are not to be drawn.

        These are bounds so low that the curves would have less than a third of the panel's height.
        """
        low, high = self.best, self.worst
        log_floor = low * (low / high) ** 2 if low > 0 else low
        floor = np.where(is_logarithmic(bounds, high), log_floor, 3 * low - 2 * high)
        return np.where((bounds >= floor) & (bounds <= high), bounds, np.nan) / self.unit

    @property
    def gap_label(self) -> str:
        """What the gap is measured from, or its unit: both would not fit beside small panels."""
        if self.is_relative:
            return "gap / start"
        return "gap to bound" if self.bound > -math.inf else "gap to best"

    def gap(self, trace: Trace) -> FloatArray:
        """Return the gaps of a run, NaN where they are round-off."""
        objective = trace.column("objective")
        gap = objective - (self.bound if self.bound > -math.inf else self.best)
        return np.where(gap > _ROUND_OFF * np.abs(objective), gap, np.nan) / self.unit


@dataclass(frozen=True)
class Quantity:
    """What can stand on the vertical axis: the only declaration of its kind.

    Attributes
    ----------
    label : callable
        Returns the label of the axis for a problem.
    values : callable
        Returns the values of a trace, for a problem.
    axis : callable
        Scales the vertical axis of axes for these values.
    level : callable or None
        Returns what stands beside the curves as a dashed line: its name and its value.
    """

    label: Callable[[_Problem], str]
    values: Callable[[Trace, _Problem], FloatArray]
    axis: Callable[[Axes, FloatArray], None] = magnitude_axis
    level: Callable[[_Problem], tuple[str, float]] | None = None


def _column(name: str, label: str = "", **options: Any) -> Quantity:
    """Return a column of the trace as a quantity; whole numbers have a linear axis."""
    if COLUMNS[name].type.startswith("int"):
        options["axis"] = lambda ax, _: count_axis(ax, "y")
    return Quantity(
        label=lambda _: label or name.replace("_", " "),
        values=lambda trace, _: trace.column(name),
        **options,
    )


QUANTITIES: Mapping[str, Quantity] = {
    **{name: _column(name) for name, column in COLUMNS.items() if column.type != "str"},
    "objective": Quantity(
        label=lambda problem: f"objective{' / start' * problem.is_relative}",
        values=lambda trace, problem: trace.column("objective") / problem.unit,
        level=lambda problem: (
            "largest lower bound",
            float(problem.shown(np.array(problem.bound))),
        ),
    ),
    "gap": Quantity(
        label=lambda problem: problem.gap_label,
        values=lambda trace, problem: problem.gap(trace),
    ),
    "lambda_min": _column(
        "lambda_min",
        "smallest eigenvalue",
        axis=eigenvalue_axis,
        level=lambda problem: (rf"$\rho$ = {problem.min_eigenvalue:.3g}", problem.min_eigenvalue),
    ),
}
"""The quantities of runs by their names: the objective, the gap, and each column of numbers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _Curve:
    """One run, its problem, and its looks."""

    name: str
    trace: Trace
    problem: _Problem
    style: dict[str, Any]

    def values(self, quantity: str) -> FloatArray:
        """Return its values of a quantity."""
        return QUANTITIES[quantity].values(self.trace, self.problem)


def _curves(
    runs: Mapping[str, Result],
    problems: Sequence[Hashable] | None,
    relative: bool,
    colors: Sequence[ColorType] | None,
) -> list[_Curve]:
    """Return the curves of the runs, with what each problem measures its runs by."""
    labels: list[Hashable] = [None] * len(runs)
    if problems is None:
        _check_one_problem(runs)
    else:
        if not (isinstance(problems, Sequence) and all(isinstance(p, Hashable) for p in problems)):
            raise InvalidInputError(
                f"problems must be a list of labels, such as texts, got {shortened(problems)}"
            )
        labels = list(problems)
    if len(labels) != len(runs):
        raise InvalidInputError(f"problems has {len(labels)} labels for {len(runs)} runs")
    distinct = list(dict.fromkeys(labels))
    by_label = {}
    for label in distinct:
        pairs = zip(runs.items(), labels, strict=True)
        by_label[label] = _problem([run for (_, run), other in pairs if other == label], relative)
    is_one = len(distinct) == 1
    _check_colors(colors, len(runs) if is_one else len(distinct))
    curves = []
    for number, ((name, run), label) in enumerate(zip(runs.items(), labels, strict=True)):
        # With one problem every run has a colour of its own; with several, every problem has.
        colour = number if is_one else distinct.index(label)
        line = number if is_one else labels[:number].count(label)
        style = look(colour, line, colors)
        curves.append(_Curve(name=name, trace=run.trace, problem=by_label[label], style=style))
    return curves


def _check_one_problem(runs: Mapping[str, Result]) -> None:
    """Refuse runs that solve different problems: one is better than the optimum of another."""
    bound = largest_bound(list(runs.values()))
    for name, run in runs.items():
        lowest = float(run.trace.column("objective").min())
        if lowest < bound - _ANOTHER_PROBLEM * abs(bound):
            raise InvalidInputError(
                f"the runs solve different problems: {shortened(name)} reaches the objective "
                f"{lowest:.6g}, and another run proves that its optimum is at least {bound:.6g}; "
                "name the problem of each run by problems=[…]"
            )


def _problem(runs: Sequence[Result], relative: bool) -> _Problem:
    """Return what measures the runs of one problem."""
    objectives = np.concatenate([run.trace.column("objective") for run in runs])
    return _Problem(
        bound=largest_bound(runs),
        best=float(objectives.min()),
        worst=float(objectives.max()),
        unit=(abs(runs[0].trace[0].objective) or 1.0) if relative else 1.0,
        is_relative=relative,
        min_eigenvalue=runs[0].feasible_set.min_eigenvalue,
    )


def largest_bound(runs: Sequence[Result]) -> float:
    """Return the largest lower bound among runs of one problem; -inf when there is none."""
    bounds = (run.lower_bound for run in runs)
    return max((bound for bound in bounds if bound is not None), default=-math.inf)


def _check_colors(colors: Sequence[ColorType] | None, wanted: int) -> None:
    """Refuse what are no colours, and too few of them."""
    from matplotlib.colors import is_color_like

    if colors is None:
        return
    if isinstance(colors, str) or not isinstance(colors, Sequence):
        raise InvalidInputError(f"colors must be a list of colours, got {shortened(colors)}")
    for colour in colors:
        if not is_color_like(colour):
            raise InvalidInputError(f"colors holds {shortened(colour)}, which is no colour")
    if len(colors) < wanted:
        raise InvalidInputError(f"colors holds {len(colors)} colours; {wanted} are needed")


def _draw(
    ax: Axes, time: str, name: str, curves: Sequence[_Curve], lower_bounds: bool
) -> dict[str, Any]:
    """Draw a quantity on one panel; return what the legend shows, by its names."""
    quantity, (column, label) = QUANTITIES[name], _TIMES[time]
    handles: dict[str, Any] = {}
    for number, curve in enumerate(curves):
        times, values = curve.trace.column(column), curve.values(name)
        is_shown = np.isfinite(values)
        (handles[curve.name],) = ax.plot(
            times[is_shown],
            values[is_shown],
            label=curve.name,
            # The markers of equal curves are side by side.
            markevery=(_BETWEEN_MARKERS * number / len(curves), _BETWEEN_MARKERS),
            **curve.style,
        )
    if name == "objective" and lower_bounds:
        handles |= _draw_bounds(ax, curves, column)
    else:
        handles |= _draw_levels(ax, curves, quantity)
    if time == "seconds":
        magnitude_axis(ax, np.concatenate([each.trace.column(column) for each in curves]), "x")
    else:
        iteration_axis(ax, [each.trace.column(column).max() for each in curves])
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=np.float64) for line in ax.lines])
    if len(drawn):
        quantity.axis(ax, drawn)
    else:
        ax.text(0.5, 0.5, f"no {name}", transform=ax.transAxes, ha="center", color=ink(MUTED))
        ax.set(xticks=[], yticks=[])
    problems = dict.fromkeys(each.problem for each in curves)
    ax.set_xlabel(label)
    ax.set_ylabel(" or ".join(dict.fromkeys(map(quantity.label, problems))))
    ax.grid(alpha=0.3)
    return handles


def _draw_levels(ax: Axes, curves: Sequence[_Curve], quantity: Quantity) -> dict[str, Any]:
    """Draw what stands beside a quantity for each problem; return what the legend shows."""
    from matplotlib.lines import Line2D

    handles: dict[str, Any] = {}
    colours = {curve.problem: curve.style["color"] for curve in curves}
    for problem, colour in colours.items():
        name, value = ("", math.nan) if quantity.level is None else quantity.level(problem)
        if np.isfinite(value):
            own = ink(MUTED) if len(colours) == 1 else colour
            ax.axhline(value, color=own, linestyle="--", label=f"_{name}")
            handles[name] = Line2D([], [], color=ink(MUTED), linestyle="--")
    return handles


def _draw_bounds(ax: Axes, curves: Sequence[_Curve], column: str) -> dict[str, Any]:
    """Draw the lower bounds of each run that do not make the curves flat."""
    from matplotlib import rcParams
    from matplotlib.lines import Line2D

    name, width = "lower bounds (thin)", _THIN * rcParams["lines.linewidth"]
    handles: dict[str, Any] = {}
    for curve in curves:
        bounds = curve.problem.shown(curve.trace.column("lower_bound"))
        is_shown = np.isfinite(bounds)
        if is_shown.any():
            style = {key: curve.style[key] for key in ("color", "linestyle")} | {"linewidth": width}
            times = curve.trace.column(column)[is_shown]
            ax.plot(times, bounds[is_shown], label=f"_{name}", **style)
            handles[name] = Line2D([], [], color=ink(MUTED), linewidth=width)
    return handles
