"""The pictures of a set of runs, drawn for `gdaopt learn`, `compare` and `plot` alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gdaopt import plotting
from gdaopt.errors import InvalidInputError
from gdaopt.plotting.arguments import as_drawn
from gdaopt.plotting.canvas import FORMATS, is_picture, look, new_figure, save_figure
from gdaopt.plotting.legends import escape_text, legend_beside, short_label
from gdaopt.result import Result
from gdaopt.support.validation import check_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MOST_PANELS = 6
"""The runs that a file shows in panels of their own; `select_runs` chooses other runs."""

_MOST_TOGETHER = 2  # runs of each problem, if several problems share their panels
_MOST_PROBLEMS = 7  # that share panels: with more, colours would be alike
_MOST_SMALL = 28  # small panels, one for each problem
_SMALL_COLUMNS = 4
_SMALL = (2.6, 2.1)  # inches: width and height of a small panel
_SMALL_PAD = 30.0  # points: the legend is between title and panel
_SHORT = 26  # letters of its title
_TIMES: tuple[Literal["iterations", "seconds"], ...] = ("iterations", "seconds")
_SCREEN = 6.6  # inches: the rows of a picture that fits on one screen
_SCREEN_OF_DISCS = 8.4  # inches: the same for discs, whose picture is wider
_TALLEST = 150  # inches: beyond 2**16 pixels nothing is drawn


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """A run to draw."""

    name: str
    problem: Hashable  # equal for runs whose objectives can be compared
    result: Result
    feature_names: Sequence[str] | None = None
    group: str = ""  # what the problem is called among several, such as its class

    @property
    def label(self) -> str:
        """What it is called among all runs."""
        return f"{self.group}: {self.name}" if self.group else self.name

    @property
    def n_shown(self) -> int:
        """How many features pictures show."""
        return len(as_drawn(self.result).shown)

    @property
    def selection(self) -> str:
        """What a title says if not all features are shown."""
        size = self.result.n_features
        return "" if self.n_shown == size else f" ({self.n_shown} of {size} features)"


def picture_names(names: Iterable[str] | None = None, suffix: str = "png") -> list[str]:
    """Return the file names of pictures; by default of all pictures."""
    check_name("picture format", suffix, FORMATS)
    return [f"{name}.{suffix}" for name in (PICTURES if names is None else names)]


def select_runs(runs: Sequence[Run], names: Sequence[str]) -> list[Run]:
    """Return the runs of the given names, in the order of the names."""
    by_name = {run.label: run for run in runs}
    for name in names:
        check_name("run", name, by_name)
    return [by_name[name] for name in dict.fromkeys(names)]


def write_pictures(
    runs: Sequence[Run],
    folder: Path,
    title: str,
    *,
    names: Iterable[str] | None = None,
    suffix: str = "png",
    replace: bool = False,
) -> list[Path]:
    """Draw pictures of runs into a folder that the caller holds, and return the files.

    A file that is no picture of ours is replaced only where `replace` says so.
    """
    names = list(PICTURES if names is None else names)
    paths = [folder / name for name in picture_names(names, suffix)]
    for path in paths:
        if path.exists() and not replace and not is_picture(path):
            raise InvalidInputError(
                f"{path} was not drawn by gdaopt and is not replaced; choose another --out"
            )
    for name, path in zip(names, paths, strict=True):
        save_figure(path, PICTURES[name](runs, short_label(title)))
    return paths


def _convergence(runs: Sequence[Run], title: str) -> Figure:
    """Draw objectives and gaps; many problems have a small panel each."""
    problems = [run.problem for run in runs]
    parts = [[run for run in runs if run.problem == problem] for problem in dict.fromkeys(problems)]
    if len(parts) > _MOST_PROBLEMS:
        return _small_multiples(parts, title)
    if max(map(len, parts)) <= _MOST_TOGETHER:
        parts = [list(runs)]
    if len(parts) > 1:
        return _rows_of_gaps(parts, title)
    figure = _figure(9, 6.3 + 0.2 * len(runs), title)
    problems = [run.problem for run in runs]
    alone = len(set(problems)) == 1
    named = _by_name(runs, in_group=alone)
    panels = figure.subplots(2, 2)
    options: dict[str, Any] = {"problems": problems, "color_by": "problem"}
    plotting.convergence(named, ax=panels, relative=not alone, **options)
    return figure


def _rows_of_gaps(parts: Sequence[Sequence[Run]], title: str) -> Figure:
    """Draw a row of gaps for each problem; runs of one name look alike in all rows."""
    shown = parts[:MOST_PANELS]
    names = list(dict.fromkeys(run.name for part in shown for run in part))
    height = min(2.6, _SCREEN / len(shown))
    title = _part_of(title, len(shown), len(parts), "problems")
    figure = _figure(10, 0.8 + height * len(shown), title)
    rows = figure.subplots(len(shown), 2, squeeze=False, sharex="col")
    handles: dict[str, Any] = {}
    for part, panels in zip(shown, rows, strict=True):
        named = _by_name(part, in_group=True)
        for ax, x in zip(panels, _TIMES, strict=True):
            plotting.convergence(named, ax=ax, x=x, relative=True, legend=False)
            for line, run in zip(ax.lines, part, strict=False):
                line.set(**look(names.index(run.name), names.index(run.name)))
                handles.setdefault(short_label(run.name), line)
            if ax not in rows[-1]:
                ax.set_xlabel("")
        panels[1].set_ylabel("")
        _set_title(panels[0], short_label(part[0].group or part[0].label), loc="left")
    figure.align_xlabels(rows[-1])
    legend_beside(list(rows.ravel()), handles, loc="lower center", handlelength=3)
    return figure


def _small_multiples(parts: Sequence[Sequence[Run]], title: str) -> Figure:
    shown = parts[:_MOST_SMALL]
    rows = ceil(len(shown) / _SMALL_COLUMNS)
    width, height = _SMALL
    title = _part_of(title, len(shown), len(parts), "problems")
    figure = _figure(width * _SMALL_COLUMNS, 0.5 + height * rows, title)
    axes = figure.subplots(rows, _SMALL_COLUMNS, squeeze=False).ravel()
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    for part, ax in zip(shown, axes, strict=False):
        one = len(part) == 1
        named = _by_name(part, in_group=True)
        problems = [run.problem for run in part]
        plotting.convergence(
            named, ax=ax, x="iterations", relative=True, problems=problems, legend=not one
        )
        ax.set(xlabel="", ylabel="")
        ax.minorticks_off()  # of no use in a panel this small, and a third of the time to draw
        title = part[0].label if one else part[0].group
        _set_title(
            ax, short_label(title, _SHORT), fontsize="medium", pad=None if one else _SMALL_PAD
        )
    figure.supxlabel("iteration", fontsize="medium")
    figure.supylabel("gap / objective at start", fontsize="medium")
    return figure


def _discs(runs: Sequence[Run], title: str) -> Figure:
    shown = runs[:MOST_PANELS]
    columns = 1 if len(shown) <= 2 else 2
    rows = ceil(len(shown) / columns)
    tallest = max(run.n_shown for run in shown)
    height = rows * min(1.4 + 0.24 * tallest, _SCREEN_OF_DISCS / rows)
    figure = _figure(11 if columns == 1 else 15, height, _part_of(title, len(shown), len(runs)))
    for run, part in _parts(figure, shown, columns):
        plotting.discs(run.result, names=run.feature_names, ax=part.subplots(1, 2))
    return figure


def _left_ends(runs: Sequence[Run], title: str) -> Figure:
    shown = runs[:MOST_PANELS]
    figure = _figure(9, 0.8 + 2.8 * len(shown), _part_of(title, len(shown), len(runs)))
    axes = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    for run, ax in zip(shown, axes, strict=True):
        plotting.left_ends(run.result, ax=ax, legend=False)
        _set_title(ax, short_label(run.label))
    legend_beside(axes.tolist(), loc="lower center")
    return figure


def _time_split(runs: Sequence[Run], title: str) -> Figure:
    figure = _figure(11, 1.8 + 0.4 * len(runs), title)
    seconds, shares = figure.subplots(1, 2)
    plotting.time_split(_by_name(runs), ax=seconds, legend=False)
    plotting.time_split(_by_name(runs), ax=shares, relative=True, legend=False)
    shares.tick_params(axis="y", labelleft=False)
    legend_beside([seconds, shares], loc="lower center")
    return figure


def _graph(runs: Sequence[Run], title: str) -> Figure:
    shown = runs[:MOST_PANELS]
    columns = min(len(shown), 2)
    rows = ceil(len(shown) / columns)
    small = max(run.n_shown for run in shown) <= 8
    width, height = (5.5, 4.0) if small else (7.5, 6.4)
    title = _part_of(title, len(shown), len(runs))
    figure = _figure(width * columns, 0.3 + height * rows, title)
    for run, part in _parts(figure, shown, columns):
        plotting.graph(run.result, run.feature_names, ax=part.subplots())
    return figure


PICTURES: Mapping[str, Callable[[Sequence[Run], str], Figure]] = {
    "convergence": _convergence,
    "discs": _discs,
    "left_ends": _left_ends,
    "time_split": _time_split,
    "graph": _graph,
}
"""The pictures by name, which is also their file name: functions of runs and a title."""


def _by_name(runs: Sequence[Run], *, in_group: bool = False) -> dict[str, Result]:
    """Return the runs by short names, none twice; in the panels of a group without its name."""
    named: dict[str, Result] = {}
    for run in runs:
        name = short = short_label(run.name if in_group else run.label)
        number = 1
        while name in named:
            number += 1
            name = f"{short} ({number})"
        named[name] = run.result
    return named


def _figure(width: float, height: float, title: str) -> Figure:
    figure = new_figure(width, min(height, _TALLEST))
    figure.suptitle(escape_text(title), parse_math=False)
    return figure


def _part_of(title: str, shown: int, total: int, what: str = "runs") -> str:
    return title if shown == total else f"{title} (the first {shown} of {total} {what})"


def _set_title(ax: Axes, title: str, **options: Any) -> None:
    ax.set_title(escape_text(title), parse_math=False, **options)


def _parts(figure: Figure, runs: Sequence[Run], columns: int) -> Iterator[tuple[Run, SubFigure]]:
    """Yield each run with a part of a figure, with its label above all panels that come there.

    A title of axes would be where their legend is.
    """
    parts = figure.subfigures(ceil(len(runs) / columns), columns, squeeze=False).ravel()
    for run, part in zip(runs, parts, strict=False):
        label = escape_text(short_label(run.label) + run.selection)
        part.suptitle(label, fontsize="large", parse_math=False)
        yield run, part
