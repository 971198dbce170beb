"""What can stand on the vertical axis of a picture of convergence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.plotting.runs import History
from gdaopt.plotting.ticks import count_axis, eigenvalue_axis, is_logarithmic, magnitude_axis
from gdaopt.support.validation import FloatArray
from gdaopt.trace import COLUMNS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROUND_OFF = 1e-12  # share of |objective|: smaller gaps come from its last digits


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """What the runs of one problem are measured by."""

    bound: float  # the largest lower bound that a run ends with; -inf when there is none
    best: float  # the least objective of all runs, which stands in for a bound
    worst: float
    unit: float  # objectives and gaps are divided by it
    is_relative: bool  # the unit is the objective at the start
    min_eigenvalue: float  # that the set allows

    @classmethod
    def of(cls, runs: Sequence[History], *, relative: bool) -> Problem:
        """Return what measures the runs of one problem."""
        objectives = np.concatenate([run.column("objective") for run in runs])
        return cls(
            bound=max(run.lower_bound for run in runs),
            best=float(objectives.min()),
            worst=float(objectives.max()),
            unit=(abs(float(runs[0].column("objective")[0])) or 1.0) if relative else 1.0,
            is_relative=relative,
            min_eigenvalue=runs[0].min_eigenvalue,
        )

    def shown(self, bounds: FloatArray) -> FloatArray:
        """Return lower bounds to draw beside the objective, NaN if they are not to be drawn.

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

    def gap(self, run: History) -> FloatArray:
        """Return the gaps of a run, NaN if they are round-off."""
        objective = run.column("objective")
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
        Returns the values of a run, for its problem.
    axis : callable
        Scales the vertical axis of axes for these values.
    level : callable or None
        Returns what stands beside the curves as a dashed line: its name and its value.
    missing : float
        What a missing value counts as among repeats; NaN if the value before stays.
    """

    label: Callable[[Problem], str]
    values: Callable[[History, Problem], FloatArray]
    axis: Callable[[Axes, FloatArray], None] = magnitude_axis
    level: Callable[[Problem], tuple[str, float]] | None = None
    missing: float = math.nan


def _column(name: str, label: str = "", **options: Any) -> Quantity:
    """Return a column of the trace as a quantity; whole numbers have a linear axis."""
    if name in COLUMNS and COLUMNS[name].type.startswith("int"):
        options["axis"] = lambda ax, _: count_axis(ax, "y")
    return Quantity(
        label=lambda _: label or name.replace("_", " "),
        values=lambda run, _: run.column(name),
        **options,
    )


QUANTITIES: Mapping[str, Quantity] = {
    **{name: _column(name) for name, column in COLUMNS.items() if column.type != "str"},
    "objective": Quantity(
        label=lambda problem: f"objective{' / start' * problem.is_relative}",
        values=lambda run, problem: run.column("objective") / problem.unit,
        level=lambda problem: (
            "largest lower bound",
            float(problem.shown(np.array(problem.bound))),
        ),
    ),
    "gap": Quantity(
        label=lambda problem: problem.gap_label,
        values=lambda run, problem: problem.gap(run),
        missing=0.0,
    ),
    "lambda_min": _column(
        "lambda_min",
        "smallest eigenvalue",
        axis=eigenvalue_axis,
        level=lambda problem: (rf"$\rho$ = {problem.min_eigenvalue:.3g}", problem.min_eigenvalue),
    ),
}
"""The quantities of runs by their names: the objective, the gap, and each column of numbers."""


def quantity_of(name: str) -> Quantity:
    """Return a quantity by its name: one of `QUANTITIES`, or a column of the user's own."""
    return QUANTITIES[name] if name in QUANTITIES else _column(name)
