"""Pictures of a run that move: a frame for each row of its trace."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg import gershgorin
from gdaopt.plotting.arguments import as_drawn, feature_names
from gdaopt.plotting.convergence import convergence
from gdaopt.plotting.discs import align_discs, discs
from gdaopt.plotting.graph import graph
from gdaopt.plotting.left_ends import left_ends
from gdaopt.result import Result
from gdaopt.support.files import write_atomically, write_text
from gdaopt.support.text import shortened
from gdaopt.support.validation import as_path, check_name, number

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_FRAMES = 60
_ABOVE_ALL = 10  # zorder of what hides the steps that are still to come
_MARGIN = 0.05  # beside the discs, as a share of their width
_SIZES = {"left_ends": (7, 4), "convergence": (7, 4), "discs": (10, 5), "graph": (7, 6)}
_ENDINGS = (".gif", ".html", ".mp4")


def animate(
    run: Result,
    what: Literal["left_ends", "convergence", "discs", "graph"],
    path: str | os.PathLike[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    frames_per_second: float = 5.0,
) -> FuncAnimation:
    """Make a picture of a run move: a frame for each row of its trace, 60 at most.

    Parameters
    ----------
    run : Result
        A run. For discs and graphs it has to keep its metrics: ``keep_iterates=True`` of `solve`.
    what : {"left_ends", "convergence", "discs", "graph"}
        Which picture: the one of the function with this name.
    path : path-like, optional
        The file to write: a ``.gif``, an ``.html`` with buttons, or an ``.mp4``, for which the
        program ffmpeg is needed.
    names : sequence of K str, optional
        Feature names, which discs and graphs show.
    frames_per_second : float, optional
        How quickly it runs.

    Returns
    -------
    matplotlib.animation.FuncAnimation
        To save in other ways, or to show in a notebook, e.g. with its method ``to_jshtml``.

    Raises
    ------
    InvalidInputError
        For a run that has not kept its metrics, names that do not fit, another ending of the file,
        or without ffmpeg.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> run = gda.solve(problem, "alternating", solver="analytic", keep_iterates=True)
    >>> animation = animate(run, "discs", "discs.gif")  # doctest: +SKIP
    """
    from matplotlib import pyplot
    from matplotlib.animation import FuncAnimation

    if not isinstance(run, Result):
        raise InvalidInputError(f"pass a run, as gdaopt.solve returns it; got {shortened(run)}")
    check_name("what", what, _SIZES)
    rate = number("frames_per_second", frames_per_second, above=0)
    file = None if path is None else _check_path(path)
    names = None if names is None else feature_names(names, run.n_features)
    count = min(len(run.trace), _MOST_FRAMES)
    rows = np.unique(np.linspace(0, len(run.trace) - 1, count).round().astype(int)).tolist()
    figure = pyplot.figure(figsize=_SIZES[what], layout="constrained")
    if what in ("discs", "graph"):
        show = _redrawing(figure, run, what, names, rows)
    else:
        show = _uncovering(figure, run, what)
    animation = FuncAnimation(figure, show, frames=rows, interval=1000 / rate)
    if file is not None:
        _write(file, animation)
    return animation


def _check_path(path: str | os.PathLike[str]) -> Path:
    """Return where to write; refuse what cannot be written."""
    from matplotlib.animation import FFMpegWriter

    file = as_path("path", path)
    if file.suffix not in _ENDINGS:
        raise InvalidInputError(
            f"path must end with {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}, got "
            f"{shortened(str(file))}"
        )
    if file.suffix == ".mp4" and not FFMpegWriter.isAvailable():
        raise InvalidInputError("there is no program ffmpeg to write .mp4; choose .gif or .html")
    return file


def _uncovering(figure: Figure, run: Result, what: str) -> Callable[[int], list[Any]]:
    """Draw the whole picture; return what hides all after a row."""
    ax = figure.subplots()
    if what == "left_ends":
        left_ends(run, ax)
    else:
        convergence(run, ax)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # it is the same in each frame
    end = ax.get_xlim()[1]
    cover = ax.axvspan(end, end, facecolor=ax.get_facecolor(), zorder=_ABOVE_ALL)
    iterations = run.trace.column("iteration")

    def show(row: int) -> list[Any]:
        begin = float(iterations[row]) + 0.5 if row < len(iterations) - 1 else end
        cover.set_x(begin)
        cover.set_width(end - begin)
        return [cover]

    return show


def _redrawing(
    figure: Figure, run: Result, what: str, names: Sequence[str] | None, rows: Sequence[int]
) -> Callable[[int], list[Any]]:
    """Return what draws the metric of a row anew, within the limits of all rows."""
    iterates = run.trace.iterates
    if iterates is None:
        raise InvalidInputError(
            f"{what} of each step need its metric; pass keep_iterates=True to gdaopt.solve"
        )

    def draw(row: int) -> list[Axes]:
        figure.clear()
        figure.suptitle(f"iteration {run.trace[row].iteration}")
        if what == "graph":
            return [graph(iterates[row], names, figure.subplots())]
        return list(discs(iterates[row], None, names, figure.subplots(1, 2)))

    if what == "graph":
        return draw
    metrics = [as_drawn(iterates[row]) for row in rows]
    pairs = [pair for of in metrics for pair in (gershgorin.discs(of.block), align_discs(of))]
    left = min(float((centres - radii).min()) for centres, radii in pairs)
    right = max(float((centres + radii).max()) for centres, radii in pairs)
    margin = _MARGIN * (right - left or 1.0)

    def show(row: int) -> list[Any]:
        panels = draw(row)
        for ax in panels:
            ax.set_xlim(left - margin, right + margin)
        return panels

    return show


def _write(file: Path, animation: FuncAnimation) -> None:
    """Write an animation atomically."""
    if file.suffix == ".html":
        write_text(file, animation.to_jshtml())
        return
    with TemporaryDirectory() as folder:
        made = Path(folder) / file.name
        animation.save(made, writer="pillow" if file.suffix == ".gif" else "ffmpeg")
        content = made.read_bytes()
    write_atomically(file, lambda opened: opened.write(content))
