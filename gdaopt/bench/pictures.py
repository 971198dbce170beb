"""The pictures of a study of solvers, a panel for each data set; all kinds of programs together.

They are drawn from `gdaopt.bench.table.programs_frame`; a program that is not verified
counts as `cap` seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.backends.protocol import ANALYTIC
from gdaopt.bench.table import (
    are_undominated,
    charge_cap,
    leave_out_firsts,
    mean_residual,
    performance_profile,
    shifted_geometric_mean,
)
from gdaopt.plotting.arguments import AxesArray
from gdaopt.plotting.canvas import (
    FAINT,
    LINE_STYLES,
    MARKERS,
    MUTED,
    cycle_colour,
    ink,
    new_figure,
)
from gdaopt.plotting.legends import legend_beside, write_legend
from gdaopt.studies.named_options import SolverSpec

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KINDS = (
    *("simplex", "interior point", "first order", "active set", "augmented Lagrangian"),
    *("closed form", "unknown"),
)
_OF_KIND = "s"  # the marker that stands for a kind in legends
_WIDTH, _MARGIN = 7.0, 0.35  # inches: of all, and for the legend
_STARTS = {"cold": ("o", "none"), "re-solve": ("o", "full"), "hot": ("D", "full")}
_GROUPS = {  # panels of the profiles
    **{kind: (kind,) for kind in ("simplex", "interior point", "first order")},
    "others": ("active set", "augmented Lagrangian", "unknown"),
}


@contextmanager
def _small_print() -> Iterator[None]:
    """Draw with smaller texts and marks than those of the caller's style, without a frame."""
    from matplotlib import rc_context, rcParams

    style: dict[Any, Any] = {
        "font.size": 0.75 * rcParams["font.size"],
        "axes.titlesize": "medium",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "lines.markersize": 4.0,
        "lines.linewidth": 1.3,
    }
    with rc_context(style):
        yield


def _panels(figure: Figure, rows: int, columns: int, **options: Any) -> AxesArray:
    """Return new axes, whose ticks keep the size of the text when they are drawn later."""
    from matplotlib import rcParams

    panels = figure.subplots(rows, columns, squeeze=False, **options)
    for ax in panels.ravel():
        ax.tick_params(which="both", labelsize=rcParams["font.size"])
    return np.asarray(panels, dtype=object)


@_small_print()
def times(programs: pd.DataFrame, cap: float) -> Figure:
    """Draw the mean time of a program by each solver and start, and the shares verified."""
    names = list(programs["data"].unique())
    programs = programs[programs["tolerance"] == programs["tolerance"].min()]
    longest = programs.groupby("data")["solver"].nunique().max()
    figure = new_figure(_WIDTH, 2 * _MARGIN + len(names) * (0.6 + 0.135 * longest))
    grid = _panels(figure, len(names), 2, width_ratios=[3, 2], sharey="row")
    for name, (left, right) in zip(names, grid, strict=True):
        of_data = programs[programs["data"] == name]
        means = _means(of_data, cap)
        quickest: dict[str, float] = {}
        for (solver, _), (seconds, _) in means.items():
            quickest[solver] = min(seconds, quickest.get(solver, np.inf))
        order = sorted(quickest, key=lambda solver: -quickest[solver])
        verified = of_data.assign(share=of_data["verdict"] == "verified")
        shares = verified.groupby(["solver", "start"])["share"].mean()
        for (solver, start), (seconds, _) in means.items():
            marker, fill = _STARTS[start]
            for ax, value in ((left, 1e3 * seconds), (right, 100 * shares[solver, start])):
                ax.plot(
                    *(value, order.index(solver)),
                    color=_colour(_kind(solver)),
                    marker=marker,
                    fillstyle=fill,
                    linestyle="none",
                )
        left.set_xscale("log")
        left.set_yticks(range(len(order)), order)
        left.set_ylim(-0.7, len(order) - 0.3)
        left.set_title(f"{name}: ms a program")
        right.set_title("verified, %")
        right.set_xlim(-4, 104)
        for ax in (left, right):
            ax.grid(axis="x", alpha=0.3)
            ax.set_axisbelow(True)
            ax.tick_params(length=2)
        right.tick_params(axis="y", length=0)
    _say_what(figure, programs, f"; what is not verified counts {1e3 * cap:g} ms")
    _legend(figure, {**_of_kinds(programs), **_of_starts(programs)})
    return figure


@_small_print()
def profiles(programs: pd.DataFrame, cap: float) -> Figure:
    """Draw performance profiles, a panel for each group of solvers, the others in grey."""
    del cap  # what is not verified counts as unsolved here
    tightest = programs["tolerance"].min()
    programs = _of_one_start(programs[programs["tolerance"] == tightest])
    of_data = {
        str(name): performance_profile(_seconds(part))
        for name, part in programs.groupby("data", sort=False)
    }
    panels = [
        (name, group, [one for one in profile if _kind(one) in kinds])
        for name, profile in of_data.items()
        for group, kinds in _GROUPS.items()
    ]
    panels = [panel for panel in panels if panel[2]]
    columns = max(min(2, len(panels)), 1)
    n_rows = max(-(-len(panels) // columns), 1)
    figure = new_figure(_WIDTH, _MARGIN + n_rows * 2.3)
    grid = _panels(figure, n_rows, columns, sharex=True, sharey=True).ravel()
    ends = [
        float(ratios[-1]) for one in of_data.values() for ratios, _ in one.values() if len(ratios)
    ]
    last = max([1.0, *ends])
    for ax, (name, group, solvers) in zip(grid, panels, strict=False):
        profile = of_data[name]
        for solver in profile:
            if solver not in solvers:
                _draw_profile(ax, profile[solver], last, color=ink(FAINT), linewidth=0.6, zorder=1)
        solvers.sort(key=lambda one: _half(profile[one]))
        for i, solver in enumerate(solvers):
            line = LINE_STYLES[i % len(LINE_STYLES)]
            _draw_profile(
                ax, profile[solver], last, label=solver, color=cycle_colour(i), linestyle=line
            )
        handles = {solver: ax.lines[-len(solvers) + i] for i, solver in enumerate(solvers)}
        beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)}
        write_legend(ax, handles, ncols=1, handlelength=2.4, **beside)
        ax.set_title(f"{name}: {group}")
        ax.set_xscale("log")
        ax.set_ylim(0, 1.02)
        ax.tick_params(labelbottom=True)
    for ax in grid[max(len(panels), 1) :]:
        ax.remove()
    figure.supxlabel("time over the least time of all solvers", fontsize="medium")
    figure.supylabel("share verified", fontsize="medium")
    _say_what(figure, programs)
    return figure


def _draw_profile(ax: Axes, profile: tuple[Any, Any], last: float, **look: Any) -> None:
    """Draw a curve from no program at the left end to the solver's own share at the right one."""
    ratios, shares = profile
    ax.step(
        np.concatenate([[1.0], ratios, [last]]),
        np.concatenate([[0.0], shares, shares[-1:] if len(shares) else [0.0]]),
        where="post",
        **look,
    )


@_small_print()
def pareto(programs: pd.DataFrame, cap: float) -> Figure:
    """Draw time against precision; a line joins the points that no other point beats in both."""
    programs = _of_one_start(programs)
    names, tightest = list(programs["data"].unique()), programs["tolerance"].min()
    looks = _of_solvers(programs)
    figure = new_figure(_WIDTH, 3 * _MARGIN + 0.8 + 3.0 * len(names))
    grid = _panels(figure, len(names), 1)[:, 0]
    for name, ax in zip(names, grid, strict=True):
        marks = {
            (solver, tolerance): point
            for (data, tolerance), part in programs.groupby(["data", "tolerance"])
            if data == name
            for (solver, _), point in _means(part, cap, all_count=False).items()
        }
        for (solver, tolerance), (seconds, residual) in marks.items():
            fill = "full" if tolerance == tightest else "none"
            look = {"linestyle": "none", "fillstyle": fill, **looks[solver]}
            ax.plot(1e3 * seconds, residual, **look)
        points = [point for (solver, _), point in marks.items() if solver != ANALYTIC]
        is_best = are_undominated(points)
        front = sorted(point for point, is_on in zip(points, is_best, strict=True) if is_on)
        times_of_front, residuals = [1e3 * x for x, _ in front], [y for _, y in front]
        ax.plot(times_of_front, residuals, color=ink(MUTED), linewidth=0.8, zorder=0)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(name)
        ax.set_ylabel("mean residual, at least\nthe tolerance asked")
    grid[-1].set_xlabel("ms an answer (full marks: tightest tolerance)")
    _say_what(figure, programs, "; times of all answers, verified or not")
    _legend(figure, {**looks, **_of_kinds(programs)})
    return figure


PICTURES: Mapping[str, Callable[..., Figure]] = {
    "times": times,
    "profiles": profiles,
    "pareto": pareto,
}
"""The pictures that a study writes, by the names of their files."""


def _means(
    programs: pd.DataFrame, cap: float, *, all_count: bool = True
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return mean seconds and residual by solver and start; the cap for no answer in time."""
    means = {}
    for (solver, start), group in leave_out_firsts(programs).groupby(
        ["solver", "start"], sort=False
    ):
        timed = ("verified",) if all_count else ("verified", "wrong", "inaccurate")
        answered = group["verdict"].isin(("verified", "wrong", "inaccurate"))
        seconds = charge_cap(group["seconds"], group["verdict"].isin(timed), cap)
        residual = group["residual"].where(answered, np.inf)
        means[str(solver), str(start)] = (
            shifted_geometric_mean(seconds),
            mean_residual(residual, float(group["tolerance"].iloc[0])),
        )
    return means


def _seconds(programs: pd.DataFrame) -> dict[str, Any]:
    timed = leave_out_firsts(programs).sort_values("index")
    return {
        str(solver): charge_cap(group["seconds"], group["verdict"] == "verified", np.inf)
        for solver, group in timed.groupby("solver", sort=False)
    }


def _kind(solver: str) -> str:
    return SolverSpec.parse(solver).algorithm


def _colour(kind: str) -> str:
    return cycle_colour(_KINDS.index(kind))


def _half(profile: tuple[Any, Any]) -> float:
    ratios, shares = profile
    at = int(np.searchsorted(shares, 0.5))
    return float(ratios[at]) if at < len(ratios) else np.inf


def _of_one_start(programs: pd.DataFrame) -> pd.DataFrame:
    """Return the programs of re-solves, or of the first start that solvers were asked for."""
    closed = programs["solver"] == ANALYTIC
    starts = set(programs.loc[~closed, "start"])
    start = next((one for one in ("re-solve", "cold", "hot") if one in starts), "")
    return programs[closed | (programs["start"] == start)]


def _say_what(figure: Figure, programs: pd.DataFrame, more: str = "") -> None:
    tolerances = [f"{one:g}" for one in sorted(programs["tolerance"].unique())]
    starts = programs.loc[programs["solver"] != ANALYTIC, "start"].unique()
    text = (
        f"{', '.join(programs['program'].unique())} programs; {', '.join(starts)}; "
        f"tolerance {', '.join(tolerances)}{more}"
    )
    figure.suptitle(text, fontsize="medium", x=0.02, horizontalalignment="left", wrap=True)


def _of_kinds(programs: pd.DataFrame) -> dict[str, dict[str, Any]]:
    used = {_kind(name) for name in programs["solver"].unique()}
    return {kind: {"color": _colour(kind), "marker": _OF_KIND} for kind in _KINDS if kind in used}


def _of_starts(programs: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {
        start: {"color": ink(MUTED), "marker": marker, "fillstyle": fill}
        for start, (marker, fill) in _STARTS.items()
        if start in set(programs["start"])
    }


def _of_solvers(programs: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the looks of solvers: the colour of their kind, and a marker of their own in it."""
    looks = {}
    names = sorted(map(str, programs["solver"].unique()))
    for kind in _KINDS:
        of_kind = [name for name in names if _kind(name) == kind]
        for name, marker in zip(of_kind, cycle(one for one in MARKERS if one != _OF_KIND)):
            looks[name] = {"color": _colour(kind), "marker": marker}
    return looks


def _legend(figure: Figure, looks: Mapping[str, Mapping[str, Any]]) -> None:
    from matplotlib.lines import Line2D

    handles = {name: Line2D([], [], linestyle="none", **look) for name, look in looks.items()}
    legend_beside(figure.axes, handles, loc="lower center")
