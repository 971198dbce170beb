"""The pictures of a set of runs, drawn for `gdaopt learn`, `compare` and `plot` alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdaopt import plotting
from gdaopt.errors import InvalidInputError, check_name
from gdaopt.io import write_atomically
from gdaopt.plotting.names import shortened
from gdaopt.plotting.style import write_legend
from gdaopt.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["FORMATS", "PICTURES", "Run", "is_picture", "picture_names", "write_pictures"]

_MOST_TOGETHER = 2  # runs of each problem, where several problems share their panels
_TALLEST = 150  # inches: beyond 2**16 pixels nothing is drawn
_LEGEND_ROW = 120  # characters, about
_DPI = 150
_MARK = "gdaopt.studies.pictures"  # stands in every file that we write, which tells it from others


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """A run to draw.

    Attributes
    ----------
    name : str
        What legends and titles call it.
    problem : hashable
        Equal for runs of the same problem, whose objectives can be compared.
    result : Result
        The run.
    feature_names : sequence of str or None
        The names of the metric's rows, where they are known.
    """

    name: str
    problem: Hashable
    result: Result
    feature_names: Sequence[str] | None = None


def picture_names(names: Iterable[str] | None = None, suffix: str = "png") -> list[str]:
    """Return the file names of pictures; by default of all pictures.

    Raises
    ------
    InvalidInputError
        For an unknown format.

    Examples
    --------
    >>> picture_names(["discs"], "pdf")
    ['discs.pdf']
    """
    check_name("picture format", suffix, FORMATS)
    return [f"{name}.{suffix}" for name in (PICTURES if names is None else names)]


def write_pictures(
    runs: Sequence[Run],
    folder: Path,
    title: str,
    *,
    names: Iterable[str] | None = None,
    suffix: str = "png",
    replace: bool = False,
) -> list[Path]:
    """Draw pictures of the runs into a folder.

    Parameters
    ----------
    runs : sequence of Run
        At least one.
    folder : pathlib.Path
        A directory whose `gdaopt.studies.directory_lock.sole_writer` the caller is.
    title : str
        What stands over each picture.
    names : iterable of str, optional
        Which of `PICTURES` to draw; all by default.
    suffix : {"png", "pdf", "svg"}, optional
        The format.
    replace : bool, optional
        Replace every file that has the name of a picture, and not only earlier pictures.

    Returns
    -------
    list of pathlib.Path
        The files written.

    Raises
    ------
    InvalidInputError
        When a file of that name was not written here (nothing is written then).
    UnwritableError
        When a file cannot be written.
    """
    names = list(PICTURES if names is None else names)
    paths = [folder / name for name in picture_names(names, suffix)]
    for path in paths:
        if path.exists() and not replace and not is_picture(path):
            raise InvalidInputError(
                f"{path} was not drawn by gdaopt and is not replaced; choose another --out"
            )
    for name, path in zip(names, paths, strict=True):
        _save(path, PICTURES[name](runs, shortened(title)), suffix)
    return paths


def _convergence(runs: Sequence[Run], title: str) -> Figure:
    """Draw objectives and gaps, relative to the start when the runs are of several problems.

    Where many runs are of one of several problems, each problem has panels of its own.
    """
    problems = [run.problem for run in runs]
    parts = [[run for run in runs if run.problem == problem] for problem in dict.fromkeys(problems)]
    if max(map(len, parts)) <= _MOST_TOGETHER:
        parts = [list(runs)]
    heights = [6.0 + 0.2 * len(part) for part in parts]
    figure = _figure(9, 0.3 + sum(heights), title)
    for part, rows in zip(parts, _rows(figure, heights), strict=True):
        of_part = [run.problem for run in part]
        axes = plotting.convergence(
            _by_name(part),
            ax=rows.subplots(2, 2),
            relative=len(set(of_part)) > 1,
            problems=of_part,
        )
        _move_legend_below(rows, axes[:1, 0])
    return figure


def _discs(runs: Sequence[Run], title: str) -> Figure:
    """Draw the raw and aligned discs of each run, one below the other."""
    heights = [1.3 + 0.24 * len(run.result.metric) for run in runs]
    figure = _figure(11, sum(heights), title)
    for run, part in zip(runs, _rows(figure, heights), strict=True):
        pair = plotting.discs(run.result, names=run.feature_names, ax=part.subplots(1, 2))
        for ax, what in zip(pair, ("Gershgorin discs", "aligned discs"), strict=True):
            ax.set_title(f"{shortened(run.name)}: {what}", parse_math=False)
    return figure


def _left_ends(runs: Sequence[Run], title: str) -> Figure:
    """Draw the left-ends of each run, one below the other."""
    figure = _figure(9, 0.8 + 2.8 * len(runs), title)
    axes = figure.subplots(len(runs), 1, squeeze=False)[:, 0]
    for run, ax in zip(runs, axes, strict=True):
        plotting.left_ends(run.result, ax=ax)
        ax.set_title(shortened(run.name), parse_math=False)
    _move_legend_below(figure, axes)
    return figure


def _time_split(runs: Sequence[Run], title: str) -> Figure:
    """Draw which parts of the runs took how many seconds, and the shares of these parts."""
    figure = _figure(11, 1.8 + 0.4 * len(runs), title)
    seconds, shares = figure.subplots(1, 2)
    plotting.time_split(_by_name(runs), ax=seconds)
    plotting.time_split(_by_name(runs), ax=shares, relative=True)
    shares.tick_params(axis="y", labelleft=False)
    _move_legend_below(figure, [seconds, shares])
    return figure


def _graph(runs: Sequence[Run], title: str) -> Figure:
    """Draw the graph of each run's metric, two in a row."""
    columns = min(len(runs), 2)
    rows = ceil(len(runs) / columns)
    small = max(len(run.result.metric) for run in runs) <= 8
    width, height = (5.5, 3.4) if small else (7.5, 6.0)
    figure = _figure(width * columns, 0.3 + height * rows, title)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes[len(runs) :]:
        ax.set_axis_off()
    for run, ax in zip(runs, axes, strict=False):
        plotting.graph(run.result, run.feature_names, ax=ax)
        ax.set_title(shortened(run.name), parse_math=False)
    return figure


PICTURES: Mapping[str, Callable[[Sequence[Run], str], Figure]] = {
    "convergence": _convergence,
    "discs": _discs,
    "left_ends": _left_ends,
    "time_split": _time_split,
    "graph": _graph,
}
"""The pictures by name, which is also their file name: functions of runs and a title."""

FORMATS: Mapping[str, dict[str, Any]] = {
    "png": {"metadata": {"Software": _MARK}, "dpi": _DPI},
    "pdf": {"metadata": {"Creator": _MARK, "CreationDate": None}},
    "svg": {"metadata": {"Creator": _MARK, "Date": None}},
}
"""The formats by their file name ending, with the options that matplotlib takes."""


def _by_name(runs: Sequence[Run]) -> dict[str, Result]:
    """Return the runs by short names, none twice."""
    named: dict[str, Result] = {}
    for run in runs:
        name = short = shortened(run.name)
        number = 1
        while name in named:
            number += 1
            name = f"{short} ({number})"
        named[name] = run.result
    return named


def _figure(width: float, height: float, title: str) -> Figure:
    """Return a figure outside of pyplot, so that nothing has to close it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, min(height, _TALLEST)), layout="constrained")
    figure.suptitle(title, parse_math=False)
    return figure


def _rows(figure: Figure, heights: Sequence[float]) -> list[SubFigure]:
    """Return the rows of a figure."""
    return list(figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0])


def _move_legend_below(figure: Figure | SubFigure, axes: Iterable[Axes]) -> None:
    """Replace the legends of axes by one below them all, each entry once."""
    entries: dict[str, tuple[Any, bool]] = {}
    for ax in axes:
        legend = ax.get_legend()
        assert legend is not None
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            entries[text.get_text()] = handle, text.get_parse_math()
        legend.remove()
    longest = max(map(len, entries))
    write_legend(
        figure,
        {name: handle for name, (handle, _) in entries.items()},
        mathematics=[name for name, (_, parsed) in entries.items() if parsed],
        loc="outside lower center",
        ncols=max(1, min(len(entries), _LEGEND_ROW // (longest + 8))),
        fontsize="small",
        frameon=False,
        handlelength=4,
    )


def is_picture(path: Path) -> bool:
    """Say whether a file is a picture that we wrote."""
    return path.is_file() and _MARK.encode() in path.read_bytes()


def _save(path: Path, figure: Figure, suffix: str) -> None:
    """Write a figure, atomically."""
    write_atomically(path, lambda file: figure.savefig(file, format=suffix, **FORMATS[suffix]))
