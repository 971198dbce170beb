"""The curves of a picture of convergence: runs or repeats, their problems and their looks."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.plotting.canvas import look
from gdaopt.plotting.quantities import Problem
from gdaopt.plotting.runs import History
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, as_tuple, check_name

if TYPE_CHECKING:
    from matplotlib.typing import ColorType

Label = Hashable | list[Any]
Problems = Sequence[Label] | Mapping[str, Label] | None
"""The labels of problems that a caller passes, for each run by place or by name."""

_ANOTHER_PROBLEM = 1e-6  # share of a bound: an objective below it by more is of another problem
_WAYS = ("method", "problem")  # what a colour can stand for


class Sample(NamedTuple):
    """The points of a curve, and those of its band, None of a single run."""

    times: FloatArray
    values: FloatArray
    band: tuple[FloatArray, FloatArray] | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve:
    """A run or its repeats, each with its problem, and their looks."""

    name: str
    runs: list[tuple[History, Problem]]
    style: dict[str, Any]

    def sample(
        self,
        time: str,
        values: Callable[[History, Problem], FloatArray],
        quantiles: tuple[float, float],
        missing: float = math.nan,
    ) -> Sample:
        """Return the points to draw: of a run its own, of repeats median and quantiles."""
        is_alone = len(self.runs) == 1
        repeats: list[tuple[FloatArray, FloatArray]] = []
        for run, problem in self.runs:
            times, heights = run.column(time), values(run, problem)
            if not is_alone:
                heights = np.where(np.isfinite(heights), heights, missing)
            is_shown = np.isfinite(heights)
            if is_alone or is_shown.any():
                repeats.append((times[is_shown], heights[is_shown]))
        if is_alone:
            return Sample(*repeats[0], None)
        if not repeats:
            return Sample(np.empty(0), np.empty(0), None)
        grid = np.unique(np.concatenate([times for times, _ in repeats]))
        grid = grid[grid >= max(times[0] for times, _ in repeats)]
        at = [heights[np.searchsorted(times, grid, side="right") - 1] for times, heights in repeats]
        low, middle, high = np.quantile(at, (quantiles[0], 0.5, quantiles[1]), axis=0)
        if missing == 0:  # it is too small to be drawn
            low = np.where(low > 0, low, np.min(middle[middle > 0], initial=high.max()))
            is_shown = middle > 0
            grid, low, middle, high = (line[is_shown] for line in (grid, low, middle, high))
        return Sample(grid, middle, (low, high))


def curves_of(
    named: Mapping[str, list[History]],
    problems: Problems,
    *,
    relative: bool,
    color_by: str | None,
    colors: Sequence[ColorType] | None,
) -> list[Curve]:
    """Return the curves of runs, with what each problem measures its runs by."""
    labels = _labels(named, problems)
    of_problem: dict[Hashable, list[History]] = {}
    for name, repeats in named.items():
        for run, label in zip(repeats, labels[name], strict=True):
            of_problem.setdefault(label, []).append(run)
    measures = {label: Problem.of(of, relative=relative) for label, of in of_problem.items()}
    looks = _looks(named, labels, color_by, colors)
    return [
        Curve(
            name=name,
            runs=[(run, measures[one]) for run, one in zip(repeats, labels[name], strict=True)],
            style=style,
        )
        for (name, repeats), style in zip(named.items(), looks, strict=True)
    ]


def _labels(
    named: Mapping[str, list[History]],
    problems: Problems,
) -> dict[str, list[Hashable]]:
    """Return the labels of problems: for each name a list of one for each repeat."""
    if problems is None:
        return {name: [None] * len(repeats) for name, repeats in named.items()}
    is_mapping = isinstance(problems, Mapping)
    if not (is_mapping or (isinstance(problems, Sequence) and not isinstance(problems, str))):
        raise InvalidInputError(
            f"problems must be a list of labels, such as texts, got {shortened(problems)}"
        )
    if len(problems) != len(named):
        raise InvalidInputError(f"problems has {len(problems)} labels for {len(named)} runs")
    if is_mapping and {*map(str, problems)} != {*named}:
        raise InvalidInputError(
            f"problems names {shortened([*problems])}, and the runs are {shortened([*named])}"
        )
    pairs = problems.items() if isinstance(problems, Mapping) else zip(named, problems, strict=True)
    labels: dict[str, list[Hashable]] = {}
    for name, label in pairs:
        n_repeats = len(named[str(name)])
        each = list(label) if isinstance(label, list) else [label] * n_repeats
        if len(each) != n_repeats or not all(isinstance(one, Hashable) for one in each):
            raise InvalidInputError(
                f"problems must have a label, such as a text, or a list of {n_repeats} labels for "
                f"{shortened(name)}, got {shortened(label)}"
            )
        labels[str(name)] = each
    return {name: labels[name] for name in named}


def _looks(
    named: Mapping[str, list[History]],
    labels: Mapping[str, list[Hashable]],
    color_by: str | None,
    colors: Sequence[ColorType] | None,
) -> list[dict[str, Any]]:
    """Return colour, marker and line style of each curve."""
    if color_by is not None:
        check_name("color_by", color_by, _WAYS)
    problems: list[Hashable] = [tuple(dict.fromkeys(each)) for each in labels.values()]
    numbers = list(range(len(named)))
    by_colour: Sequence[Hashable] = numbers
    by_line: Sequence[Hashable] = numbers
    if len(set(problems)) > 1:
        methods = [repeats[0].method or name for name, repeats in named.items()]
        pairs = list(zip(problems, methods, strict=True))
        # A second run of a method on a problem looks like another method.
        keys: list[Hashable] = [
            (pair[1], pairs[:number].count(pair)) for number, pair in enumerate(pairs)
        ]
        is_by_problem = len(set(methods)) == 1 if color_by is None else color_by == "problem"
        by_colour, by_line = (problems, keys) if is_by_problem else (keys, problems)
    colour_of = {each: place for place, each in enumerate(dict.fromkeys(by_colour))}
    line_of = {each: place for place, each in enumerate(dict.fromkeys(by_line))}
    _check_colors(colors, len(colour_of))
    return [
        look(colour_of[colour], line_of[line], colors)
        for colour, line in zip(by_colour, by_line, strict=True)
    ]


def _check_colors(colors: Sequence[ColorType] | None, wanted: int) -> None:
    """Refuse what are no colours, and too few of them."""
    from matplotlib.colors import is_color_like

    if colors is None:
        return
    for colour in as_tuple("colors", colors, "a list of colours"):
        if not is_color_like(colour):
            raise InvalidInputError(f"colors holds {shortened(colour)}, which is no colour")
    if len(colors) < wanted:
        raise InvalidInputError(f"colors holds {len(colors)} colours; {wanted} are needed")


def check_one_problem(named: Mapping[str, list[History]]) -> None:
    """Refuse runs of different problems, as where one is better than the optimum of another."""
    runs = [(name, run) for name, repeats in named.items() for run in repeats]
    sizes = {run.n_features: name for name, run in runs if run.n_features is not None}
    remedy = "name the problem of each run by problems=[…]"
    if len(sizes) > 1:
        told = ", ".join(f"{shortened(name)} has {size} features" for size, name in sizes.items())
        raise InvalidInputError(f"the runs solve different problems: {told}; {remedy}")
    bound = max(run.lower_bound for _, run in runs)
    for name, run in runs:
        lowest = float(run.column("objective").min())
        if lowest < bound - _ANOTHER_PROBLEM * abs(bound):
            raise InvalidInputError(
                f"the runs solve different problems: {shortened(name)} reaches the objective "
                f"{lowest:.6g}, and another run proves that its optimum is at least {bound:.6g}; "
                f"{remedy}"
            )
