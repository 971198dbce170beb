"""Pictures of Gershgorin discs show the discs of the metric, raw and aligned."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Ellipse

import gdaopt as gda
from gdaopt import plotting
from gdaopt.linalg import align, gershgorin
from gdaopt.support.validation import FloatArray
from tests.plotting.cases import LAMBDA_MIN, METRIC, NAMES, render, solved, xy


def discs_on(ax: Axes) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return centres, radii and rows of the discs drawn."""
    patches = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
    places = np.array([patch.get_center() for patch in patches])
    return places[:, 0], np.array([patch.get_width() / 2 for patch in patches]), places[:, 1]


def dashed(ax: Axes) -> Line2D:
    (line,) = (line for line in ax.lines if line.get_linestyle() == "--")
    return line


def test_draws_each_disc_raw_and_aligned() -> None:
    pair = plotting.discs(METRIC, names=NAMES)
    v = gda.linalg.align(METRIC, LAMBDA_MIN).v
    for ax, scaling in zip(pair, (None, v), strict=True):
        centres, radii, rows = discs_on(ax)
        expected = gershgorin.discs(METRIC, scaling)
        np.testing.assert_array_equal(centres, expected[0])
        assert radii == pytest.approx(expected[1], rel=1e-12)
        assert rows.tolist() == [0, 1, 2]
        line = dashed(ax)
        assert xy(line)[0] == pytest.approx(np.full(2, LAMBDA_MIN), rel=1e-13)
        assert r"$\lambda_{\min}$ = 0.108" in ax.get_xlabel()
        marks = {line.get_label(): xy(line)[0] for line in ax.lines}
        np.testing.assert_array_equal(marks["centres"], centres)
        assert marks["left-ends"] == pytest.approx(centres - radii)
        left, right = ax.get_xlim()
        assert left < (centres - radii).min()
        assert right > (centres + radii).max()
    assert discs_on(pair[1])[0] - discs_on(pair[1])[1] == pytest.approx([LAMBDA_MIN] * 3)
    assert pair[0].get_xlim() == pair[1].get_xlim()
    render(pair[0])


def test_given_scaling() -> None:
    v = np.array([1.0, 0.5, 0.25])
    raw, scaled = plotting.discs(METRIC, v)
    np.testing.assert_array_equal(discs_on(raw)[1], gershgorin.discs(METRIC)[1])
    np.testing.assert_array_equal(discs_on(scaled)[1], gershgorin.discs(METRIC, v)[1])


def test_default_scaling_of_a_disconnected_metric() -> None:
    metric = np.zeros((5, 5))
    metric[:3, :3] = METRIC
    metric[3:, 3:] = [[7.0, -1.0], [-1.0, 7.0]]
    centres, radii, _ = discs_on(plotting.discs(metric)[1])
    assert (centres - radii).min() == pytest.approx(LAMBDA_MIN, abs=1e-9)
    assert (centres - radii)[:3] == pytest.approx([LAMBDA_MIN] * 3, abs=1e-6)


def test_default_scaling_of_a_signed_metric() -> None:
    flip = np.diag([1.0, -1.0, 1.0])
    centres, radii, _ = discs_on(plotting.discs(flip @ METRIC @ flip)[1])
    assert centres - radii == pytest.approx([LAMBDA_MIN] * 3)


@pytest.mark.parametrize("size", [1, 2, 30])
def test_sizes(size: int) -> None:
    pair = plotting.discs(2 * np.eye(size))
    assert [len(discs_on(ax)[0]) for ax in pair] == [size, size]
    render(pair[0])


@pytest.mark.parametrize(("names", "labels"), [(NAMES, NAMES), (None, ["0", "1", "2"])])
def test_names(names: list[str] | None, labels: list[str]) -> None:
    raw, aligned = plotting.discs(METRIC, names=names)
    assert [label.get_text() for label in raw.get_yticklabels()] == labels
    assert not any(label.get_visible() for label in aligned.get_yticklabels())
    top, bottom = raw.transData.transform([(0, 0), (0, 2)])[:, 1]
    assert top > bottom  # the first feature on top


def test_given_axes() -> None:
    pair = Figure().subplots(1, 2)
    assert plotting.discs(METRIC, ax=pair) is pair
    alone = Figure().subplots()
    plotting.discs(METRIC, names=NAMES, ax=(None, alone))
    assert len(discs_on(alone)[0]) == 3
    assert [label.get_text() for label in alone.get_yticklabels()] == NAMES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": [[1.0, 2.0], [0.0, 1.0]]}, "metric is not symmetric"),
        ({"names": ["a"]}, "names holds 1 names for 3 features"),
        ({"ax": Figure().subplots()}, r"ax must be an array of 2 axes, got shape \(\)"),
        ({"metric": np.eye(8), "circles": True}, "circles of 8 features cannot be told apart"),
    ],
)
def test_bad_input(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=message):
        plotting.discs(**{"metric": METRIC, **arguments})


def test_a_run_is_drawn_by_its_metric_and_its_set() -> None:
    run = solved()
    for of_run, of_metric in zip(plotting.discs(run), plotting.discs(run.metric), strict=True):
        np.testing.assert_array_equal(discs_on(of_run), discs_on(of_metric))
    # Under a larger trace bound no edge counts, so that each feature is a component.
    nothing_counts = replace(run, feasible_set=gda.GraphMetrics(1e12, 1e-3))
    found = gershgorin.discs(run.metric, align(run.metric, LAMBDA_MIN, edge_threshold=1e3).v)
    drawn = discs_on(plotting.discs(nothing_counts)[1])
    np.testing.assert_allclose(drawn[1], found[1], rtol=1e-6)


@pytest.mark.parametrize("metric", [METRIC, np.diag([1.0, 2.0]), np.zeros((1, 1))])
def test_circles_are_round_and_on_the_real_axis(metric: FloatArray) -> None:
    pair = plotting.discs(metric, circles=True)
    for ax, v in zip(pair, (None, align(metric).v), strict=True):
        circles = [patch for patch in ax.patches if isinstance(patch, Circle)]
        centres, radii = gershgorin.discs(metric, v)
        middles = np.array([circle.get_center() for circle in circles])
        np.testing.assert_array_equal(middles, np.column_stack([centres, 0 * centres]))
        assert [circle.get_radius() for circle in circles] == pytest.approx(radii, abs=1e-9)
        (eigenvalues,) = (line for line in ax.lines if line.get_label() == "eigenvalues")
        np.testing.assert_allclose(xy(eigenvalues)[0], np.linalg.eigvalsh(metric), atol=1e-12)
    render(pair[0])
    for ax in pair:
        origin, right, up = ax.transData.transform([(0, 0), (1, 0), (0, 1)])
        assert right[0] - origin[0] == pytest.approx(up[1] - origin[1])
    assert pair[0].get_ylim() == pair[1].get_ylim()
