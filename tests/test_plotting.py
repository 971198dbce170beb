"""Pictures: what is drawn is what the trace and the metric say."""

from __future__ import annotations

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import gdaopt as gda
from gdaopt.linalg import gershgorin
from gdaopt.linalg.eigen import align
from gdaopt.plotting import convergence, discs

METRIC = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
NAMES = ["length", "cost in $ or in $\\q$", "_id"]


@pytest.fixture(scope="module")
def results() -> dict[str, gda.Result]:
    rng = np.random.default_rng(1)
    X, z = rng.standard_normal((12, 3)), rng.choice([-1.0, 1.0], 12)
    problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(3.0))
    return {
        name: gda.solve(problem, solver="analytic", initial_edge_weight=weight)
        for name, weight in (("a $\\b$", 0.1), ("b", 0.2), ("c", 0.3), ("d", 0.0), ("e", 0.5))
    }


def legend(ax: Axes) -> list[str]:
    box = ax.get_legend()
    assert box is not None
    return [text.get_text() for text in box.get_texts()]


def render(ax: Axes) -> None:
    """Lay everything out, which is where text that is no mathematics would fail."""
    assert ax.figure.canvas is not None
    ax.figure.canvas.draw()


def test_convergence_draws_the_traces(results: dict[str, gda.Result]) -> None:
    ax = convergence(results)
    assert len(ax.lines) == len(results)
    for line, (name, result) in zip(ax.lines, results.items(), strict=True):
        objective = np.array([row.objective for row in result.trace])
        np.testing.assert_array_equal(line.get_xdata(), np.arange(len(result.trace)))
        np.testing.assert_array_equal(line.get_ydata(), objective / objective[0])
        assert line.get_label() == name
    assert legend(ax) == list(results)
    assert "objective" in ax.get_ylabel()
    assert ax.get_xlabel() == "step"
    render(ax)


def test_convergence_lines_can_be_told_apart(results: dict[str, gda.Result]) -> None:
    lines = convergence(results).lines
    styles = [line.get_linestyle() for line in lines]
    assert len(set(styles[:4])) == 4  # in grey print too
    assert len({(line.get_linestyle(), to_rgba(line.get_color())) for line in lines}) == len(lines)


@pytest.mark.parametrize("scaled", [False, True])
def test_discs_draws_each_disc(scaled: bool) -> None:
    v = align(METRIC, 0.0).v if scaled else None
    ax = discs(METRIC, v, NAMES)
    centres, radii = gershgorin.discs(METRIC, v)
    bars = [bar for bar in ax.patches if isinstance(bar, Rectangle)]
    assert len(bars) == 3
    np.testing.assert_array_equal([bar.get_x() for bar in bars], centres - radii)
    assert [bar.get_width() for bar in bars] == pytest.approx(2 * radii)
    assert [bar.get_y() + bar.get_height() / 2 for bar in bars] == pytest.approx([0, 1, 2])
    dots, smallest = ax.lines
    np.testing.assert_array_equal(dots.get_xdata(), centres)
    np.testing.assert_array_equal(dots.get_ydata(), [0, 1, 2])
    assert smallest.get_linestyle() == "--"
    lambda_min = float(np.linalg.eigvalsh(METRIC)[0])
    assert np.asarray(smallest.get_xdata()) == pytest.approx(np.full(2, lambda_min), rel=1e-13)
    assert any("0.108" in label for label in legend(ax))
    if scaled:  # all left edges on the line
        assert [bar.get_x() for bar in bars] == pytest.approx([lambda_min] * 3)
    render(ax)


@pytest.mark.parametrize(("names", "labels"), [(NAMES, NAMES), (None, ["0", "1", "2"])])
def test_discs_names_the_features(names: list[str] | None, labels: list[str]) -> None:
    ax = discs(METRIC, names=names)
    assert [label.get_text() for label in ax.get_yticklabels()] == labels
    top, bottom = ax.transData.transform([(0, 0), (0, 2)])[:, 1]
    assert top > bottom  # the first feature on top


def test_discs_shows_whole_bars_and_the_line() -> None:
    ax = discs(METRIC)
    left, right = ax.get_xlim()
    assert left < -1
    assert right > 9


def test_given_axes_are_used(results: dict[str, gda.Result]) -> None:
    left, right = Figure().subplots(1, 2)
    assert convergence(results, ax=left) is left
    assert discs(METRIC, ax=right) is right
    assert (len(left.lines), len(right.patches)) == (len(results), 3)
    assert pyplot.get_fignums() == []


def test_new_axes_are_known_to_pyplot(results: dict[str, gda.Result]) -> None:
    first, second = convergence(results), discs(METRIC)
    assert [pyplot.figure(n) for n in pyplot.get_fignums()] == [first.figure, second.figure]


def test_the_callers_style_and_metric_stay(results: dict[str, gda.Result]) -> None:
    before, metric = dict(matplotlib.rcParams), METRIC.copy()
    render(convergence(results))
    render(discs(metric))
    assert dict(matplotlib.rcParams) == before
    np.testing.assert_array_equal(metric, METRIC)


def test_matplotlib_is_loaded_when_something_is_drawn() -> None:
    code = (
        "import sys, gdaopt.plotting as plotting, numpy as np\n"
        "print('matplotlib' in sys.modules)\n"
        "plotting.discs(np.eye(2))\n"
        "print('matplotlib' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]
