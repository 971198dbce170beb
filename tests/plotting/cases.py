"""Runs and a metric to draw, and what the tests ask of axes."""

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

import gdaopt as gda
from gdaopt.support.validation import FloatArray
from gdaopt.trace import Trace

METRIC = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
LAMBDA_MIN = float(np.linalg.eigvalsh(METRIC)[0])
NAMES = ["length", "cost in $ or in $\\q$", "_id"]


def problem(path_weight: float = 0.0) -> gda.MetricProblem:
    rng = np.random.default_rng(1)
    X, z = rng.standard_normal((12, 3)), rng.choice([-1.0, 1.0], 12)
    return gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(3.0, 1e-3, path_weight))


def solved(**options: Any) -> gda.Result:
    return gda.solve(problem(), **{"method": "alternating", "solver": "analytic"} | options)


def with_rows(result: gda.Result, **columns: FloatArray) -> gda.Result:
    """Return a result whose trace has other values in some columns."""
    return replace(result, trace=Trace.from_arrays(result.trace.to_arrays() | columns))


def legend(ax: Axes) -> list[str]:
    figure = ax.get_figure(root=True)
    assert figure is not None
    (box,) = [found for found in (ax.get_legend(), *figure.legends) if found is not None]
    return [text.get_text() for text in box.get_texts()]


def xy(line: Line2D) -> tuple[FloatArray, FloatArray]:
    x, y = (np.asarray(data, dtype=np.float64) for data in line.get_data())
    return x, y


def render(ax: Axes) -> None:
    """Lay everything out: text that cannot be read as mathematics would fail here."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.canvas.draw()
