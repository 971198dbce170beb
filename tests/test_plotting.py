"""Pictures: what is drawn is what the trace and the metric say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse, Rectangle

import gdaopt as gda
from gdaopt import plotting
from gdaopt.linalg import edge_weights, gershgorin
from gdaopt.trace import Trace
from gdaopt.validation import FloatArray

METRIC = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
LAMBDA_MIN = float(np.linalg.eigvalsh(METRIC)[0])
NAMES = ["length", "cost in $ or in $\\q$", "_id"]


def problem(edge_floor: float = 0.0) -> gda.MetricProblem:
    rng = np.random.default_rng(1)
    X, z = rng.standard_normal((12, 3)), rng.choice([-1.0, 1.0], 12)
    return gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(3.0, 1e-3, edge_floor))


def solved(**options: Any) -> gda.Result:
    return gda.solve(problem(), solver="analytic", **options)


@pytest.fixture(scope="module")
def results() -> dict[str, gda.Result]:
    weights = {"a $\\b$": 0.1, "_b": 0.2, "c": 0.3, "d": 0.0, "e": 0.35}
    return {name: solved(initial_edge_weight=weight) for name, weight in weights.items()}


def with_rows(result: gda.Result, **columns: FloatArray) -> gda.Result:
    """Return a result whose trace has other values in some columns."""
    return replace(result, trace=Trace.from_arrays(result.trace.to_arrays() | columns))


def shifted(result: gda.Result, below: float) -> gda.Result:
    """Return a result with its objective and its lower bound lowered."""
    assert result.lower_bound is not None
    lowered = with_rows(result, objective=result.trace.column("objective") - below)
    return bounded(lowered, result.lower_bound - below)


def bounded(result: gda.Result, bound: float | None) -> gda.Result:
    """Return a result that ends with this lower bound."""
    return replace(result, lower_bound=bound, closed_lower_bound=bound)


def bound_of(result: gda.Result) -> float:
    assert result.lower_bound is not None
    return result.lower_bound


def legend(ax: Axes) -> list[str]:
    figure = ax.get_figure(root=True)
    assert figure is not None
    (box,) = [found for found in (ax.get_legend(), *figure.legends) if found is not None]
    return [text.get_text() for text in box.get_texts()]


def xy(line: Line2D) -> tuple[FloatArray, FloatArray]:
    x, y = (np.asarray(data, dtype=np.float64) for data in line.get_data())
    return x, y


def render(ax: Axes) -> None:
    """Lay everything out, which is where text that is no mathematics would fail."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.canvas.draw()


class TestConvergence:
    def test_draws_the_traces(self, results: dict[str, gda.Result]) -> None:
        axes = plotting.convergence(results)
        largest = max(map(bound_of, results.values()))
        for column, time in enumerate(("iteration", "seconds")):
            above, below = axes[:, column]
            *objectives, bound = above.lines
            for objective, gap, result in zip(
                objectives, below.lines, results.values(), strict=True
            ):
                times = [getattr(row, time) for row in result.trace]
                values = np.array([row.objective for row in result.trace])
                np.testing.assert_array_equal(xy(objective)[0], times)
                np.testing.assert_array_equal(xy(objective)[1], values)
                np.testing.assert_array_equal(xy(gap)[0], times)
                np.testing.assert_array_equal(xy(gap)[1], values - largest)
            every = np.concatenate([xy(objective)[0] for objective in objectives])
            assert xy(bound)[0].tolist() == [every.min(), every.max()]
            assert xy(bound)[1].tolist() == [largest, largest]
            assert bound.get_linestyle() == "--"
            assert above.get_xlabel() == below.get_xlabel() == time
            assert above.get_yscale() == below.get_yscale() == "log"
            assert above.get_xscale() == ("log" if time == "seconds" else "linear")
            assert above.get_ylabel() == "objective"
            assert below.get_ylabel() == "gap\n(objective − largest lower bound)"
        # Also one that begins with an underscore; above the panels, not on one of them.
        assert legend(axes[0, 0]) == [*results, "largest lower bound"]
        assert [ax.get_legend() for ax in axes.ravel().tolist()] == [None] * 4
        render(axes[0, 0])

    def test_lines_can_be_told_apart(self, results: dict[str, gda.Result]) -> None:
        *lines, bound = plotting.convergence(results)[0, 0].lines
        assert len({line.get_linestyle() for line in lines[:4]}) == 4  # in grey print too
        assert len({line.get_marker() for line in lines}) == len(lines)
        assert len({to_rgba(line.get_color()) for line in (*lines, bound)}) == len(lines) + 1

    def test_takes_a_run_or_a_sequence(self, results: dict[str, gda.Result]) -> None:
        run = results["c"]
        assert legend(plotting.convergence(run)[0, 0])[:-1] == ["alternating, analytic"]
        names = legend(plotting.convergence([run, run])[0, 0])
        assert names[:-1] == ["alternating, analytic (1)", "alternating, analytic (2)"]

    def test_the_tightest_certificate_is_the_reference_of_all(self) -> None:
        runs = {
            "alternating": solved(),
            "joint": solved(method="joint", max_iterations=60),
            "certified": gda.solve(problem(), "certified"),
        }
        optimum = runs["certified"].objective
        reference = bound_of(runs["certified"])
        assert reference > max(bound_of(runs["alternating"]), bound_of(runs["joint"]))
        for line, run in zip(plotting.convergence(runs)[1, 0].lines, runs.values(), strict=True):
            assert xy(line)[1][-1] == run.objective - reference
            assert xy(line)[1][-1] >= run.objective - optimum
        for run in runs.values():  # alone, each by its own
            (line,) = plotting.convergence(run)[1, 0].lines
            assert xy(line)[1][-1] == run.gap

    def test_bounds_over_the_path_hold_for_its_methods_only(self) -> None:
        runs = [
            gda.solve(problem(0.1), method, max_iterations=3)
            for method in ("certified", "frank-wolfe", "joint")
        ]
        of_path = max(map(bound_of, runs[:2]))
        closed = max(run.closed_lower_bound or 0.0 for run in runs)
        assert runs[2].lower_bound == runs[2].closed_lower_bound
        assert closed < of_path
        for drawn, reference in ((runs[:2], of_path), (runs[::2], closed), (runs, closed)):
            lines = plotting.convergence(drawn)[1, 0].lines
            for line, run in zip(lines, drawn, strict=True):
                assert xy(line)[1][-1] == run.objective - reference

    @pytest.mark.parametrize("bound", [None, -np.inf])
    def test_without_lower_bounds_the_best_value_is_the_reference(
        self, results: dict[str, gda.Result], bound: float | None
    ) -> None:
        runs = {name: bounded(result, bound) for name, result in results.items()}
        axes = plotting.convergence(runs)
        best = min(row.objective for result in runs.values() for row in result.trace)
        assert len(axes[0, 0].lines) == len(axes[1, 0].lines) == len(runs)
        for line, result in zip(axes[1, 0].lines, runs.values(), strict=True):
            values = result.trace.column("objective")
            positive = values - best > 1e-12 * values
            np.testing.assert_array_equal(xy(line)[0], np.flatnonzero(positive))
            np.testing.assert_array_equal(xy(line)[1], (values - best)[positive])
        assert axes[1, 0].get_ylabel() == "gap\n(objective − best value among the runs)"
        assert legend(axes[0, 0]) == list(results)

    @pytest.mark.parametrize("share", [0.0, 1e-9, 0.2, -1.0, -1e9])
    def test_bounds_far_down_do_not_squash_the_objective(
        self, results: dict[str, gda.Result], share: float
    ) -> None:
        run = results["c"]
        bound = share * run.objective
        above, below = plotting.convergence(bounded(run, bound))[:, 0]
        assert len(above.lines) == 1
        assert above.get_yscale() == "log"
        assert legend(above) == ["alternating, analytic"]
        assert xy(below.lines[0])[1][-1] == run.objective - bound

    @pytest.mark.parametrize("below", [0.0, 2.0])
    def test_bounds_are_drawn_where_there_is_room(
        self, results: dict[str, gda.Result], below: float
    ) -> None:
        run = shifted(results["c"], below * results["c"].trace[0].objective)
        values = run.trace.column("objective")
        near = values[-1] - 0.9 * (values[0] - values[-1])
        assert len(plotting.convergence(bounded(run, near))[0, 0].lines) == 2

    def test_runs_of_very_different_lengths_share_a_logarithmic_axis(self) -> None:
        start, short, long = (solved(max_iterations=steps) for steps in (0, 1, 11))
        long = with_rows(long, iteration=np.linspace(0, 1100, 12))
        for runs, scale in (
            ([short, long], "symlog"),  # with room for the start, at 0
            ([start, long], "linear"),
            ([long, long], "linear"),
        ):
            axes = plotting.convergence(runs)
            for ax in axes[:, 0].tolist():
                assert ax.get_xscale() == scale
                left, right = ax.get_xlim()
                assert -(1 if scale == "symlog" else 100) < left < 0
                assert 1100 < right < 2000

    def test_problems_of_several_scales(self, results: dict[str, gda.Result]) -> None:
        a, b, c = list(results.values())[:3]
        runs = {"1a": a, "1b": b, "2": c}
        axes = plotting.convergence(runs, relative=True, problems=["one", "one", "two"])
        first, second, third, *bounds = axes[0, 0].lines
        start = a.trace[0].objective  # of the problem's first run
        np.testing.assert_array_equal(xy(first)[1], a.trace.column("objective") / start)
        np.testing.assert_array_equal(xy(second)[1], b.trace.column("objective") / start)
        assert xy(third)[1][0] == 1
        largest = max(bound_of(a), bound_of(b))
        gap = (b.trace.column("objective") - largest) / start
        assert xy(axes[1, 0].lines[1])[1] == pytest.approx(gap, rel=1e-12)
        assert xy(axes[1, 0].lines[2])[1][-1] == (c.objective - bound_of(c)) / c.trace[0].objective
        assert [xy(line)[1][0] for line in bounds] == [
            largest / start,
            bound_of(c) / c.trace[0].objective,
        ]
        assert [line.get_color() for line in bounds] == [first.get_color(), third.get_color()]
        assert legend(axes[0, 0]) == [*runs, "largest lower bound"]
        assert first.get_color() == second.get_color() != third.get_color()
        assert first.get_marker() == second.get_marker() != third.get_marker()
        assert first.get_linestyle() != second.get_linestyle()
        assert axes[0, 0].get_ylabel() == "objective / objective at start"
        runs["2"] = bounded(c, None)
        axes = plotting.convergence(runs, relative=True, problems=["one", "one", "two"])
        assert axes[1, 0].get_ylabel() == (
            "gap / objective at start\n(objective − largest lower bound or best value of the run)"
        )

    @pytest.mark.parametrize("relative", [False, True])
    def test_objectives_that_are_not_positive(
        self, results: dict[str, gda.Result], relative: bool
    ) -> None:
        plain = results["c"]
        for below in (plain.trace[0].objective, 1e6, plain.objective):
            run = shifted(plain, below)
            axes = plotting.convergence(run, relative=relative)
            assert axes[0, 0].get_yscale() == "linear"
            assert axes[1, 0].get_yscale() == "log"
            values = xy(axes[0, 0].lines[0])[1]
            assert len(values) == len(run.trace)
            assert values[-1] < values[0]  # the sign stays

    def test_a_single_row(self) -> None:
        run = solved(time_limit=1e-9)
        axes = plotting.convergence(run)
        for ax in axes.ravel().tolist():
            assert len(xy(ax.lines[0])[0]) == 1
            assert ax.lines[0].get_marker() == "o"
        assert xy(axes[1, 0].lines[0])[1].tolist() == [run.gap]
        render(axes[0, 0])
        unknown = plotting.convergence(bounded(run, None))
        assert [text.get_text() for text in unknown[1, 0].texts] == ["no gap"]
        render(unknown[0, 0])

    def test_given_axes(self, results: dict[str, gda.Result]) -> None:
        axes = Figure().subplots(2, 2)
        assert plotting.convergence(results, ax=axes) is axes
        (above, below) = Figure().subplots(1, 2)
        drawn = plotting.convergence(results, ax=[[None, None], [above, below]])
        assert drawn.tolist() == [[None, None], [above, below]]
        assert legend(above) == list(results)
        assert above.get_legend() is not None  # in the panel: what is around it is the caller's
        assert below.get_legend() is None

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"results": []}, "results is empty"),
            ({"results": {}}, "results is empty"),
            ({"results": [METRIC]}, "results must hold runs"),
            ({"problems": ["a", "b"]}, "problems has 2 labels for 1 runs"),
            ({"ax": [1, 2]}, r"ax must be an array of 2×2 axes, got shape \(2,\)"),
        ],
    )
    def test_bad_input(self, arguments: dict[str, Any], message: str) -> None:
        given = {"results": solved(max_iterations=1), **arguments}
        with pytest.raises(gda.InvalidInputError, match=message):
            plotting.convergence(**given)


def discs_on(ax: Axes) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return centres, radii and rows of the discs drawn."""
    patches = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
    places = np.array([patch.get_center() for patch in patches])
    return places[:, 0], np.array([patch.get_width() / 2 for patch in patches]), places[:, 1]


def dashed(ax: Axes) -> Line2D:
    (line,) = (line for line in ax.lines if line.get_linestyle() == "--")
    return line


class TestDiscs:
    def test_draws_each_disc_raw_and_aligned(self) -> None:
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

    def test_given_scaling(self) -> None:
        v = np.array([1.0, 0.5, 0.25])
        raw, scaled = plotting.discs(METRIC, v)
        np.testing.assert_array_equal(discs_on(raw)[1], gershgorin.discs(METRIC)[1])
        np.testing.assert_array_equal(discs_on(scaled)[1], gershgorin.discs(METRIC, v)[1])

    def test_default_scaling_of_a_disconnected_metric(self) -> None:
        metric = np.zeros((5, 5))
        metric[:3, :3] = METRIC
        metric[3:, 3:] = [[7.0, -1.0], [-1.0, 7.0]]
        centres, radii, _ = discs_on(plotting.discs(metric)[1])
        assert (centres - radii).min() == pytest.approx(LAMBDA_MIN, abs=1e-9)
        assert (centres - radii)[:3] == pytest.approx([LAMBDA_MIN] * 3, abs=1e-6)

    def test_default_scaling_of_a_signed_metric(self) -> None:
        flip = np.diag([1.0, -1.0, 1.0])
        centres, radii, _ = discs_on(plotting.discs(flip @ METRIC @ flip)[1])
        assert centres - radii == pytest.approx([LAMBDA_MIN] * 3)

    @pytest.mark.parametrize("size", [1, 2, 30])
    def test_sizes(self, size: int) -> None:
        pair = plotting.discs(2 * np.eye(size))
        assert [len(discs_on(ax)[0]) for ax in pair] == [size, size]
        render(pair[0])

    @pytest.mark.parametrize(("names", "labels"), [(NAMES, NAMES), (None, ["0", "1", "2"])])
    def test_names(self, names: list[str] | None, labels: list[str]) -> None:
        raw, aligned = plotting.discs(METRIC, names=names)
        assert [label.get_text() for label in raw.get_yticklabels()] == labels
        assert not any(label.get_visible() for label in aligned.get_yticklabels())
        top, bottom = raw.transData.transform([(0, 0), (0, 2)])[:, 1]
        assert top > bottom  # the first feature on top

    def test_given_axes(self) -> None:
        pair = Figure().subplots(1, 2)
        assert plotting.discs(METRIC, ax=pair) is pair
        alone = Figure().subplots()
        plotting.discs(METRIC, names=NAMES, ax=(None, alone))
        assert len(discs_on(alone)[0]) == 3
        assert [label.get_text() for label in alone.get_yticklabels()] == NAMES

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"M": [[1.0, 2.0], [0.0, 1.0]]}, "M is not symmetric"),
            ({"names": ["a"]}, "names holds 1 names for 3 features"),
            ({"ax": Figure().subplots()}, r"ax must be an array of 2 axes, got shape \(\)"),
        ],
    )
    def test_bad_input(self, arguments: dict[str, Any], message: str) -> None:
        with pytest.raises(gda.InvalidInputError, match=message):
            plotting.discs(**{"M": METRIC, **arguments})


def labelled(ax: Axes, label: str) -> Line2D:
    (line,) = (line for line in ax.lines if line.get_label() == label)
    return line


class TestLeftEnds:
    def test_draws_the_trace(self, results: dict[str, gda.Result]) -> None:
        trace = results["c"].trace
        ax = plotting.left_ends(trace, min_eigenvalue=1e-3)
        (band,) = (item for item in ax.collections if isinstance(item, PolyCollection))
        vertices = np.unique(band.get_paths()[0].vertices, axis=0)
        for iteration, ends in enumerate(trace.left_ends):
            at = vertices[vertices[:, 0] == iteration, 1]
            assert (at.min(), at.max()) == (ends.min(), ends.max())
        smallest = labelled(ax, r"$\lambda_{\min}$")
        np.testing.assert_array_equal(xy(smallest)[0], np.arange(len(trace)))
        np.testing.assert_array_equal(xy(smallest)[1], trace.column("lambda_min"))
        assert xy(labelled(ax, "ρ = 0.001"))[1].tolist() == [1e-3, 1e-3]
        features = [line for line in ax.lines if line.get_label() == "_left-end"]
        assert [xy(line)[1].tolist() for line in features] == trace.left_ends.T.tolist()
        assert ax.get_yscale() == "log"
        assert legend(ax)[1:] == ["left-ends", r"$\lambda_{\min}$", "ρ = 0.001"]
        render(ax)

    def test_shades_the_steps_of_the_diagonal(self, results: dict[str, gda.Result]) -> None:
        trace = results["c"].trace
        ax = plotting.left_ends(trace)
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
        assert legend(ax) == ["steps of the diagonal", "left-ends", r"$\lambda_{\min}$"]

    def test_shades_every_other_round_without_such_steps(
        self, results: dict[str, gda.Result]
    ) -> None:
        trace = results["c"].trace
        rows = tuple(replace(row, phase="joint") for row in trace)
        ax = plotting.left_ends(Trace(rows, trace.left_ends))
        assert legend(ax)[0] == "every other round"
        assert len(ax.patches) == len({row.round for row in rows if row.round % 2 == 1})

    def test_left_ends_that_are_not_positive(self, results: dict[str, gda.Result]) -> None:
        trace = results["c"].trace
        ax = plotting.left_ends(Trace(trace.rows, trace.left_ends - trace.left_ends.min()), 0.0)
        assert ax.get_yscale() == "symlog"
        bottom, top = ax.get_ylim()
        assert -1e-6 * top < bottom < 0
        render(ax)

    def test_values_that_were_not_measured(self, results: dict[str, gda.Result]) -> None:
        trace = results["c"].trace
        rows = tuple(replace(row, lambda_min=None) if row.iteration % 2 else row for row in trace)
        ax = plotting.left_ends(Trace(rows, trace.left_ends))
        assert xy(labelled(ax, r"$\lambda_{\min}$"))[0].tolist() == list(range(0, len(trace), 2))

    @pytest.mark.parametrize("steps", [0, 2])
    def test_few_rows(self, steps: int) -> None:
        limits = {"max_iterations": steps} if steps else {"time_limit": 1e-9}
        trace = solved(**limits).trace
        assert len(trace) == steps + 1
        render(plotting.left_ends(trace))

    def test_no_rows(self) -> None:
        with pytest.raises(gda.InvalidInputError, match="trace has no rows"):
            plotting.left_ends(Trace((), np.empty((0, 3))))


def bars(ax: Axes) -> dict[str, BarContainer]:
    return {str(item.get_label()): item for item in ax.containers if isinstance(item, BarContainer)}


class TestTimeSplit:
    def test_draws_the_trace(self, results: dict[str, gda.Result]) -> None:
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

    def test_parts_can_be_told_apart(self, results: dict[str, gda.Result]) -> None:
        parts = [container[0] for container in bars(plotting.time_split(results)).values()]
        assert len({patch.get_hatch() for patch in parts}) == len(parts)
        assert len({patch.get_facecolor() for patch in parts}) == len(parts)

    def test_shares(self, results: dict[str, gda.Result]) -> None:
        ax = plotting.time_split(results, relative=True)
        for index in range(len(results)):
            total = sum(container[index].get_width() for container in bars(ax).values())
            assert total == pytest.approx(1)
        assert "share" in ax.get_xlabel()

    def test_build_time_that_is_not_known(self, results: dict[str, gda.Result]) -> None:
        """It is None in every row of a solver that does not report its own time."""
        run = results["c"]
        rows = tuple(replace(row, build_seconds=None) for row in run.trace)
        ax = plotting.time_split(replace(run, trace=Trace(rows, run.trace.left_ends)))
        assert bars(ax)["build"][0].get_width() == 0


def edges_on(ax: Axes) -> LineCollection:
    (edges,) = (item for item in ax.collections if isinstance(item, LineCollection))
    return edges


def nodes_on(ax: Axes) -> tuple[PathCollection, PathCollection]:
    """Return the nodes with positive and with negative self-loops."""
    positive, negative = (item for item in ax.collections if isinstance(item, PathCollection))
    return positive, negative


class TestGraph:
    METRIC = gda.linalg.generalized_laplacian(
        np.array([[0, 2, 1, 0], [2, 0, 1e-3, 0], [1, 1e-3, 0, 0], [0, 0, 0, 0]], dtype=float),
        np.array([1.0, -0.5, 0.0, 2.0]),
    )

    def test_draws_edges_and_self_loops(self) -> None:
        ax = plotting.graph(self.METRIC, [*NAMES, "alone"])
        edges = edges_on(ax)
        weights = edge_weights(self.METRIC)
        places = np.vstack([nodes.get_offsets() for nodes in nodes_on(ax)])[[0, 3, 1, 2]]
        pairs = [(0, 1), (0, 2), (1, 2)]
        for segment, pair in zip(edges.get_segments(), pairs, strict=True):
            np.testing.assert_allclose(segment, places[list(pair)])
        widths = np.asarray(edges.get_linewidth())
        assert widths[0] / widths[1] == pytest.approx(weights[0, 1] / weights[0, 2])
        assert 0 < widths[2] < widths[1]
        styles: Any = edges.get_linestyle()
        assert [pattern is None for _, pattern in styles] == [True, True, False]
        render(ax)

    def test_colours_of_self_loops(self) -> None:
        ax = plotting.graph(self.METRIC)
        positive, negative = nodes_on(ax)
        assert [np.shape(nodes.get_offsets()) for nodes in (positive, negative)] == [(3, 2), (1, 2)]
        assert not np.array_equal(  # circles and squares, so that grey print tells the sign
            positive.get_paths()[0].vertices, negative.get_paths()[0].vertices
        )
        figure = ax.get_figure(root=True)
        assert figure is not None
        (bar,) = (other for other in figure.axes if other is not ax)
        bottom, top = bar.get_ylim()
        assert (bottom, top) == (-2, 2)  # around zero
        assert "self-loop (squares: negative)" in bar.get_ylabel()
        assert "up to 2" in bar.get_ylabel()
        brightness = np.asarray(positive.get_facecolor())[:, :3].sum(axis=1)
        assert brightness.argsort().tolist() == [2, 0, 1]  # 2 is darkest, 0 brightest

    def test_threshold(self) -> None:
        assert len(edges_on(plotting.graph(self.METRIC, threshold=0.01)).get_segments()) == 2
        assert len(edges_on(plotting.graph(self.METRIC, threshold=5)).get_segments()) == 0
        tiny = self.METRIC.copy()
        tiny[0, 3] = tiny[3, 0] = -1e-12  # Frank–Wolfe leaves such edges
        assert len(edges_on(plotting.graph(tiny)).get_segments()) == 3

    def test_is_the_same_again(self) -> None:
        first, second = (edges_on(plotting.graph(self.METRIC)) for _ in range(2))
        np.testing.assert_array_equal(first.get_segments(), second.get_segments())

    @pytest.mark.parametrize("size", [1, 2, 8, 9, 30])
    def test_names_stay_within_the_figure(self, size: int) -> None:
        ax = plotting.graph(np.eye(size), [f"feature {n} of a table" for n in range(size)])
        render(ax)
        figure = ax.get_figure(root=True)
        assert figure is not None
        boxes = [text.get_window_extent() for text in ax.texts]
        assert len(boxes) == size
        for box in boxes:
            assert min(box.x0, box.y0) >= 0
            assert box.x1 <= figure.bbox.x1
            assert box.y1 <= figure.bbox.y1

    def test_very_long_names(self) -> None:
        names = ["x" * 300 for _ in range(10)]
        render(plotting.graph(np.eye(10), names))

    def test_negative_threshold(self) -> None:
        with pytest.raises(gda.InvalidInputError, match="threshold must be at least 0, got -1"):
            plotting.graph(self.METRIC, threshold=-1)


def all_pictures(results: dict[str, gda.Result]) -> list[tuple[Callable[..., Any], bool]]:
    """Return every function of the package as a function of axes, and whether it takes an array."""
    return [
        (lambda ax=None: plotting.convergence(results, ax=ax), True),
        (lambda ax=None: plotting.discs(METRIC, ax=ax), True),
        (lambda ax=None: plotting.left_ends(results["c"].trace, 1e-3, ax=ax), False),
        (lambda ax=None: plotting.time_split(results, ax=ax), False),
        (lambda ax=None: plotting.graph(METRIC, NAMES, ax=ax), False),
    ]


def test_every_picture_is_tested(results: dict[str, gda.Result]) -> None:
    assert len(all_pictures(results)) == len(plotting.__all__)


def test_given_axes_are_used(results: dict[str, gda.Result]) -> None:
    for draw, takes_array in all_pictures(results):
        if not takes_array:
            ax = Figure().subplots()
            assert draw(ax) is ax
    assert pyplot.get_fignums() == []


def test_new_axes_are_known_to_pyplot(results: dict[str, gda.Result]) -> None:
    for number, (draw, takes_array) in enumerate(all_pictures(results), start=1):
        drawn = draw()
        ax = drawn.flat[0] if takes_array else drawn
        assert pyplot.get_fignums() == list(range(1, number + 1))
        assert ax.figure is pyplot.figure(number)


def test_the_callers_style_and_metric_stay(results: dict[str, gda.Result]) -> None:
    before, metric = dict(matplotlib.rcParams), METRIC.copy()
    for draw, takes_array in all_pictures(results):
        drawn = draw()
        render(drawn.flat[0] if takes_array else drawn)
    assert dict(matplotlib.rcParams) == before
    np.testing.assert_array_equal(metric, METRIC)


def test_matplotlib_is_loaded_when_something_is_drawn() -> None:
    code = (
        "import sys, gdaopt.plotting as plotting, numpy as np\n"
        "heavy = ('matplotlib', 'pandas', 'networkx')\n"
        "print(*[name for name in heavy if name in sys.modules], sep=',')\n"
        "plotting.discs(np.eye(2))\n"
        "print(*[name for name in heavy if name in sys.modules], sep=',')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["", "matplotlib"]
