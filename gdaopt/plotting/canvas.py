"""What pictures begin with: axes, sizes that have room on them, files, colours, and runs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.laplacian import edge_threshold
from gdaopt.result import Result
from gdaopt.support.files import write_atomically
from gdaopt.support.text import plain, shortened
from gdaopt.support.validation import FloatArray, symmetric_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTER_WIDTH = 0.6
"""The width of a letter in font sizes, about."""

AxesArray = npt.NDArray[np.object_]
"""An array of matplotlib axes."""

_FULL_WIDTH = 4.0  # inches: axes with this much room get texts, lines and markers of full size
_SMALLEST_SCALE = 0.65
_SMALLEST_FONT = 6.0  # points
_LABEL_SHARE = 0.8  # of the height, for the label of a vertical axis
_NAMES_SHARE = 0.45  # of the room, for names beside rows
_MOST_FEATURES = 40  # that are drawn where there are many
_PADDING = 0.22  # inches that a layout leaves around axes, about


def axes_or_new(ax: Any, width: float = 6.4, height: float = 4.8) -> Axes:
    """Return the axes that a caller passed, or for None the axes of a new figure of pyplot."""
    axes: Axes = _new_figure((1, 1), width, height)[0, 0] if ax is None else _check_axes(ax)
    return axes


def _check_axes(ax: Any) -> Axes:
    """Refuse what is no axes."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise InvalidInputError(
            f"ax must be axes of matplotlib, got {shortened(ax)}; such as pyplot.subplots()[1]"
        )
    return ax


def axes_of_shape(ax: Any, shape: tuple[int, ...], width: float, height: float) -> AxesArray:
    """Return the axes that a caller passed, or for None new ones, as an array of a shape."""
    if ax is None:
        rows, columns = shape if len(shape) == 2 else (1, *shape)
        return _new_figure((rows, columns), width, height).reshape(shape)
    try:
        axes = np.asarray(ax, dtype=object)
    except ValueError:  # rows of different lengths
        axes = np.empty(0, dtype=object)
    if axes.shape != shape:
        wanted = "×".join(map(str, shape))
        raise InvalidInputError(
            f"ax must be an array of {wanted} axes, got shape {axes.shape}; "
            f"such as pyplot.subplots({', '.join(map(str, (1, *shape)[-2:]))})[1]"
        )
    for panel in axes.ravel():
        if panel is not None:
            _check_axes(panel)
    return axes


def _new_figure(shape: tuple[int, int], width: float, height: float) -> AxesArray:
    from matplotlib import pyplot

    size = (width, height)
    return np.asarray(
        pyplot.subplots(*shape, squeeze=False, figsize=size, layout="constrained")[1], dtype=object
    )


def figure_of(ax: Axes) -> Figure:
    """Return the whole figure that axes are on."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def room(ax: Axes) -> tuple[float, float]:
    """Return width and height that axes with their labels have on the figure, in inches."""
    dpi = figure_of(ax).dpi
    width, height = ax.figure.bbox.width / dpi, ax.figure.bbox.height / dpi
    spec = ax.get_subplotspec()
    if spec is None:
        box = ax.get_position()
        return float(width * box.width), float(height * box.height)
    cell, margins = spec.get_position(cast("Figure", ax.figure)), ax.figure.subplotpars
    return (
        float(width * cell.width / (margins.right - margins.left)),
        float(height * cell.height / (margins.top - margins.bottom)),
    )


def panel_width(ax: Axes) -> float:
    """Return about how wide the axes without their labels will be, in inches."""
    box = ax.yaxis.get_tightbbox() if ax.axison else None
    labels = 0.0 if box is None else float(box.width) / figure_of(ax).dpi
    return max(room(ax)[0] - labels - _PADDING, 0.5)


def letters(ax: Axes, panels: int = 1) -> int:
    """Return how many letters names of rows may have, so that most room is for the panels."""
    from matplotlib import rcParams

    size = font_size(ax, rcParams["ytick.labelsize"])
    return max(8, int(72 * _NAMES_SHARE * panels * room(ax)[0] / (LETTER_WIDTH * size)))


def scale(ax: Axes) -> float:
    """Return by how much lines, markers and texts shrink in small axes."""
    return float(np.clip(room(ax)[0] / _FULL_WIDTH, _SMALLEST_SCALE, 1.0))


def font_size(ax: Axes, size: float | str) -> float:
    """Return one of matplotlib's font sizes in points, smaller in small axes, but readable."""
    from matplotlib.font_manager import FontProperties

    points = float(FontProperties(size=size).get_size_in_points())
    return min(points, max(_SMALLEST_FONT, scale(ax) * points))


def fit_text(
    ax: Axes, width: float | None = None, *, x: Sequence[str] = (), y: Sequence[str] = ()
) -> None:
    """Write labels in one line, and fit the sizes of ticks, labels and title to the axes.

    A picture calls it last; sizes start from the sizes of the caller's style. A label is the first
    of the texts `x` or `y` that has room, otherwise the last. The width in inches is the width of
    the panel, by default `panel_width`. A title that is too long is broken between words.
    """
    from matplotlib import rcParams

    sizes = rcParams["xtick.labelsize"], rcParams["ytick.labelsize"]
    for axis, of_style in zip((ax.xaxis, ax.yaxis), sizes, strict=True):
        size = font_size(ax, of_style)
        axis.set_tick_params(which="both", labelsize=size)
        axis.get_offset_text().set_fontsize(size)
        axis.label.set_fontsize(font_size(ax, rcParams["axes.labelsize"]))
    ax.title.set_fontsize(font_size(ax, rcParams["axes.titlesize"]))
    dpi, (whole, height) = figure_of(ax).dpi, room(ax)
    width = panel_width(ax) if width is None else width
    for axis, texts, available in ((ax.xaxis, x, width), (ax.yaxis, y, _LABEL_SHARE * height)):
        for text in texts:
            axis.set_label_text(text)
            box = axis.label.get_window_extent()
            if (box.width if axis is ax.xaxis else box.height) <= available * dpi:
                break
    length, available = ax.title.get_window_extent().width, whole * dpi
    if length > available:
        letters = max(int(len(ax.get_title()) * available / length), 1)
        ax.title.set_text(textwrap.fill(ax.get_title(), letters, break_long_words=False))


# --- Files ----------------------------------------------------------------------------------------

_DPI = 150
_MARK = "gdaopt.plotting"  # stands in every file that we write, and in no other file

FORMATS: Mapping[str, dict[str, Any]] = {
    "png": {"metadata": {"Software": _MARK}, "dpi": _DPI},
    "pdf": {"metadata": {"Creator": _MARK, "CreationDate": None}},
    "svg": {"metadata": {"Creator": _MARK, "Date": None}},
}
"""The formats by their file name ending, with the options that matplotlib takes."""


def new_figure(width: float, height: float) -> Figure:
    """Return a figure in inches, outside of pyplot, so that nothing has to close it."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save_figure(path: Path, figure: Figure) -> None:
    """Write a figure atomically, in the format that the ending of the path says."""
    suffix = path.suffix.removeprefix(".")
    write_atomically(path, lambda file: figure.savefig(file, format=suffix, **FORMATS[suffix]))


def is_picture(path: Path) -> bool:
    """Say whether a file is a picture that we wrote."""
    return path.is_file() and _MARK.encode() in path.read_bytes()


# --- Looks ----------------------------------------------------------------------------------------

# The palette of Okabe and Ito (2008), *Color Universal Design*, in an order in which neighbours
# differ in brightness too; yellow is left out because it is hard to see on white. Colour is never
# the only difference: line styles, markers or hatches differ as well.
BLUE, ORANGE = "#0072B2", "#D55E00"
COLOURS = (BLUE, "#E69F00", "#000000", "#56B4E9", ORANGE, "#009E73", "#CC79A7")
GREY = "#777777"
SHADE = "#EBEBEB"  # of areas behind the data
LINE_STYLES = (
    *("-", "--", "-.", ":"),
    # Dashes and gaps in line widths: long ones, two dots, two dashes, and so on.
    *((0, (7, 2)), (0, (4, 1, 1, 1, 1, 1)), (0, (4, 1, 4, 1, 1, 1)), (0, (1, 3))),
    *((0, (4, 1, 1, 1, 1, 1, 1, 1)), (0, (7, 2, 2, 2)), (0, (2, 1)), (0, (7, 1, 1, 1, 1, 1))),
)
MARKERS = ("o", "s", "^", "D", "v", "X", "P", "<", ">")
HATCHES = ("", "///", "...", "xxx", "\\\\\\")


def look(colour: int, line: int, colours: Sequence[Any] = COLOURS) -> dict[str, Any]:
    """Return colour, marker and line style by their numbers; each begins anew after its last."""
    return {
        "color": colours[colour % len(colours)],
        "marker": MARKERS[colour % len(MARKERS)],
        "linestyle": LINE_STYLES[line % len(LINE_STYLES)],
    }


# --- Runs and metrics -----------------------------------------------------------------------------

Time = Literal["iterations", "seconds", "oracle_calls"]
"""What can stand on the horizontal axis of runs."""

COLUMNS: Mapping[Time, str] = {
    "iterations": "iteration",
    "seconds": "seconds",
    "oracle_calls": "oracle_calls",
}
"""The columns of a trace that hold it."""

TIMES: Mapping[Time, Sequence[str]] = {
    "iterations": ["iteration"],
    "seconds": ["seconds"],
    "oracle_calls": ["calls of the oracle", "oracle calls"],
}
"""The labels of that axis, from long to short."""

Results = Result | Sequence[Result] | Mapping[str, Result]
"""One run, several runs, or runs by their names in the legend."""


def named_runs(results: Results) -> list[tuple[str, Result]]:
    """Return the runs that a caller passed by name, or by method and solver, with numbers."""
    if isinstance(results, Result):
        results = [results]
    if not isinstance(results, Iterable):
        raise _no_runs(results)
    if isinstance(results, Mapping):
        runs = [(str(name), run) for name, run in results.items()]
    else:
        runs = _number_runs(results)
    for _, run in runs:
        checked_run(run)
    if not runs:
        raise InvalidInputError("results is empty; pass at least one run")
    return [(plain(name), run) for name, run in runs]


def checked_run(run: object) -> Result:
    """Return a run that a caller passed; raise InvalidInputError for any other object."""
    if not isinstance(run, Result):
        raise _no_runs(run)
    return run


def _no_runs(value: object) -> InvalidInputError:
    """Return the error for what is neither a run nor several."""
    return InvalidInputError(f"pass runs, as gdaopt.solve returns them; got {shortened(value)}")


@dataclass(frozen=True, eq=False)
class Drawn:
    """A K×K metric to draw: all of it or, of a run with many features, its block.

    Attributes
    ----------
    block : ndarray of shape (n, n)
        The metric of some features.
    features, shown : ndarrays of int
        These features, and the places in the block of those to draw.
    n_features : int
        K.
    threshold : float
        The weight above which an edge counts.
    outside : float or None
        The diagonal entries outside of the block; None where there are no features outside.
    """

    block: FloatArray
    features: npt.NDArray[np.intp]
    shown: npt.NDArray[np.intp]
    n_features: int
    threshold: float
    outside: float | None = None


def as_drawn(metric: Result | npt.ArrayLike) -> Drawn:
    """Return what is drawn of a run, or of a symmetric matrix."""
    if not isinstance(metric, Result):
        matrix = symmetric_matrix("metric", metric)
        every = np.arange(len(matrix))
        threshold = edge_threshold(abs(float(np.trace(matrix))), len(matrix))
        return Drawn(matrix, every, every, len(matrix), threshold)
    block, features, size = metric.block, metric.features, metric.n_features
    threshold = edge_threshold(metric.feasible_set.trace_bound, size)
    if features is None:
        return Drawn(block, np.arange(size), np.arange(size), size, threshold)
    outside = None if len(features) == size else metric.feasible_set.min_eigenvalue
    return Drawn(block, features, _strongest(block), size, threshold, outside)


def _strongest(block: FloatArray) -> npt.NDArray[np.intp]:
    """Return the places of the strongest edges, then of the largest diagonal entries, ascending."""
    rows, columns = np.nonzero(np.triu(block, 1))
    order = np.argsort(-np.abs(block[rows, columns]), kind="stable")
    ends = np.column_stack([rows, columns])[order].ravel()
    ranked = np.concatenate([ends, np.argsort(-np.diagonal(block), kind="stable")])
    _, first = np.unique(ranked, return_index=True)
    return np.sort(ranked[np.sort(first)[:_MOST_FEATURES]])


def _number_runs(results: Iterable[Result]) -> list[tuple[str, Result]]:
    """Return the runs named after method and solver, with numbers where names are equal."""
    runs = list(results)
    names = [f"{run.method}, {run.solver}" if isinstance(run, Result) else "no run" for run in runs]
    numbers = {name: count(1) for name in names}
    return [
        (name if names.count(name) == 1 else f"{name} ({next(numbers[name])})", run)
        for name, run in zip(names, runs, strict=True)
    ]
