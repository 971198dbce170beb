"""Pictures of Gershgorin discs show the discs of the metric, raw and aligned."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.container import BarContainer
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Ellipse, Rectangle

import gdaopt as gda
from gdaopt import plotting
from gdaopt.linalg import align, gershgorin
from gdaopt.support.validation import FloatArray
from gdaopt.trace import Trace
from tests.plotting.cases import LAMBDA_MIN, METRIC, NAMES, legend, render, solved, with_rows, xy


def discs_on(ax: Axes) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return centres, radii and rows of the discs drawn."""
    patches = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
    places = np.array([patch.get_center() for patch in patches])
    return places[:, 0], np.array([patch.get_width() / 2 for patch in patches]), places[:, 1]


def dashed(ax: Axes) -> Line2D:
    (line,) = (line for line in ax.lines if line.get_linestyle() == "--")
    return line


@pytest.mark.parametrize("given", [None, np.array([1.0, 0.5, 0.25])], ids=["aligned", "given"])
def test_draws_each_disc_raw_and_scaled(given: FloatArray | None) -> None:
    pair = plotting.discs(METRIC, given, names=NAMES)
    v = align(METRIC, LAMBDA_MIN).v if given is None else given
    for ax, scaling in zip(pair, (None, v), strict=True):
        centres, radii, rows = discs_on(ax)
        expected = gershgorin.discs(METRIC, scaling)
        np.testing.assert_array_equal(centres, expected[0])
        assert radii == pytest.approx(expected[1], rel=1e-12)
        assert rows.tolist() == [0, 1, 2]
        assert xy(dashed(ax))[0] == pytest.approx(np.full(2, LAMBDA_MIN), rel=1e-13)
        assert r"$\lambda_{\min}$ = 0.108" in ax.get_xlabel()
        marks = {line.get_label(): xy(line)[0] for line in ax.lines}
        np.testing.assert_array_equal(marks["centres"], centres)
        assert marks["left-ends"] == pytest.approx(centres - radii)
        left, right = ax.get_xlim()
        assert left < (centres - radii).min()
        assert right > (centres + radii).max()
    assert (min(centres - radii) == pytest.approx(LAMBDA_MIN)) == (given is None)
    assert pair[0].get_xlim() == pair[1].get_xlim()
    render(pair[0])


def test_scalings_of_other_metrics() -> None:
    metric = np.zeros((5, 5))
    metric[:3, :3] = METRIC
    metric[3:, 3:] = [[7.0, -1.0], [-1.0, 7.0]]
    centres, radii, _ = discs_on(plotting.discs(metric)[1])
    assert (centres - radii).min() == pytest.approx(LAMBDA_MIN, abs=1e-9)
    assert (centres - radii)[:3] == pytest.approx([LAMBDA_MIN] * 3, abs=1e-6)
    flip = np.diag([1.0, -1.0, 1.0])
    centres, radii, _ = discs_on(plotting.discs(flip @ METRIC @ flip)[1])
    assert centres - radii == pytest.approx([LAMBDA_MIN] * 3)
    for size in (1, 2, 30):
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


def test_of_many_features_the_block_is_drawn() -> None:
    """Features outside of it have discs of one point, which may be the least left-end of all."""
    size, features = 1000, np.array([2, 30, 999])
    run, names = solved(), [f"gene {k}" for k in range(size)]
    trace = Trace(run.trace.rows[:1], np.full((1, size), 0.05))
    feasible_set = gda.GraphMetrics(100.0, 0.05)
    wide = replace(run, block=METRIC, features=features, feasible_set=feasible_set, trace=trace)
    for v in (None, np.arange(1.0, size + 1)):
        raw, aligned = plotting.discs(wide, v, names)
        assert [each.get_text() for each in raw.get_yticklabels()] == [names[k] for k in features]
        np.testing.assert_array_equal(discs_on(raw)[:2], gershgorin.discs(METRIC))
        assert dashed(raw).get_xdata() == pytest.approx([0.05, 0.05])
        centres, radii, _ = discs_on(aligned)
        expected = np.full(3, LAMBDA_MIN)
        if v is not None:
            expected = gershgorin.left_ends(METRIC, v[features])
        np.testing.assert_allclose(centres - radii, expected, atol=1e-9)


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


# --- Pictures of left-ends show those of the trace, λ_min and ρ -----------------------------------


def labelled(ax: Axes, label: str) -> Line2D:
    (line,) = (line for line in ax.lines if line.get_label() == label)
    return line


def test_draws_the_trace(results: dict[str, gda.Result]) -> None:
    run, trace = results["c"], results["c"].trace
    ax = plotting.left_ends(run)
    (band,) = (item for item in ax.collections if isinstance(item, PolyCollection))
    vertices = np.unique(band.get_paths()[0].vertices, axis=0)
    for iteration, ends in enumerate(trace.left_ends):
        at = vertices[vertices[:, 0] == iteration, 1]
        assert (at.min(), at.max()) == (ends.min(), ends.max())
    smallest = labelled(ax, r"$\lambda_{\min}$")
    np.testing.assert_array_equal(xy(smallest)[0], np.arange(len(trace)))
    np.testing.assert_array_equal(xy(smallest)[1], trace.column("lambda_min"))
    assert xy(labelled(ax, r"$\rho$ = 0.001"))[1].tolist() == [1e-3, 1e-3]
    features = [line for line in ax.lines if line.get_label() == "_left-end"]
    assert [xy(line)[1].tolist() for line in features] == trace.left_ends.T.tolist()
    assert ax.get_yscale() == "log"
    assert legend(ax)[1:] == ["left-ends", r"$\lambda_{\min}$", r"$\rho$ = 0.001"]
    assert all(text.get_parse_math() for text in ax.figure.legends[0].get_texts())
    render(ax)


def test_shades_the_steps_of_the_diagonal(results: dict[str, gda.Result]) -> None:
    trace = results["c"].trace
    ax = plotting.left_ends(results["c"])
    shaded = {
        row.iteration
        for patch in ax.patches
        if isinstance(patch, Rectangle)
        for row in trace
        if patch.get_x() < row.iteration < patch.get_x() + patch.get_width()
    }
    assert shaded == {row.iteration for row in trace if row.phase == "diagonal"} != set()
    rounds = {row.round for row in trace if row.phase == "diagonal"}
    assert len(ax.patches) == len(rounds)
    assert legend(ax)[:2] == ["diagonal steps", "left-ends"]
    assert legend(ax)[2:] == [r"$\lambda_{\min}$", r"$\rho$ = 0.001"]


def test_left_ends_that_are_not_positive(results: dict[str, gda.Result]) -> None:
    ends = results["c"].trace.left_ends
    lowered = with_rows(results["c"], left_ends=ends - ends.min())
    ax = plotting.left_ends(replace(lowered, feasible_set=gda.GraphMetrics(3.0, 0.0)))
    assert ax.get_yscale() == "symlog"
    bottom, top = ax.get_ylim()
    assert -1e-6 * top < bottom < 0
    render(ax)


def test_values_that_were_not_measured(results: dict[str, gda.Result]) -> None:
    known = results["c"].trace.column("lambda_min").copy()
    known[1::2] = np.nan
    ax = plotting.left_ends(with_rows(results["c"], lambda_min=known))
    assert xy(labelled(ax, r"$\lambda_{\min}$"))[0].tolist() == list(range(0, len(known), 2))


@pytest.mark.parametrize("steps", [0, 2])
def test_few_rows(steps: int) -> None:
    limits = {"max_iterations": steps} if steps else {"time_limit": 1e-9}
    run = solved(**limits)
    assert len(run.trace) == steps + 1
    render(plotting.left_ends(run))


# --- Pictures of times show how the seconds of the trace split -----------------------------------


def bars(ax: Axes) -> dict[str, BarContainer]:
    """Return the parts, which can be told apart."""
    parts = {str(bar.get_label()): bar for bar in ax.containers if isinstance(bar, BarContainer)}
    looks = [
        (container[0].get_hatch(), container[0].get_facecolor()) for container in parts.values()
    ]
    assert [len(set(look)) for look in zip(*looks, strict=True)] == [len(parts), len(parts)]
    return parts


def test_times_are_those_of_the_trace(results: dict[str, gda.Result]) -> None:
    ax = plotting.time_split(results)
    parts = bars(ax)
    assert list(parts) == ["build", "solve", "eigenvectors", "objective", "rest"]
    columns = {"solve": "solve_seconds", "eigenvectors": "eig_seconds"}
    columns |= {"objective": "objective_seconds", "build": "build_seconds"}
    for index, result in enumerate(results.values()):
        for part, column in columns.items():
            seconds = float(np.nansum(result.trace.column(column)))
            assert parts[part][index].get_width() == pytest.approx(seconds, rel=1e-12)
        last = parts["rest"][index]
        assert last.get_x() + last.get_width() == pytest.approx(result.seconds)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(results)
    assert [text.get_text() for text in ax.texts] == [
        f"{result.seconds:.3g} s" for result in results.values()
    ]
    assert ax.get_xlabel() == "seconds"
    render(ax)


def test_shares_and_times_that_are_not_known(results: dict[str, gda.Result]) -> None:
    """The build time is None in every row of a solver that does not report its own time."""
    ax = plotting.time_split(results, relative=True)
    for index in range(len(results)):
        total = sum(container[index].get_width() for container in bars(ax).values())
        assert total == pytest.approx(1)
    assert "share" in ax.get_xlabel()
    run = results["c"]
    unknown = with_rows(run, build_seconds=np.full(len(run.trace), np.nan))
    assert bars(plotting.time_split(unknown))["build"][0].get_width() == 0
