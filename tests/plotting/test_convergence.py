"""Pictures of convergence show what the traces and the lower bounds say."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

import gdaopt as gda
from gdaopt import plotting
from gdaopt.errors import InvalidInputError
from gdaopt.plotting.quantities import QUANTITIES
from gdaopt.support.validation import FloatArray
from gdaopt.trace import COLUMNS
from tests.plotting.cases import legend, problem, render, solved, with_rows, xy


def bounded(result: gda.Result, bound: float | None) -> gda.Result:
    """Return a result that ends with this lower bound."""
    return replace(result, lower_bound=bound)


def bound_of(result: gda.Result) -> float:
    assert result.lower_bound is not None
    return result.lower_bound


def shifted(result: gda.Result, below: float) -> gda.Result:
    """Return a result with its objective and its lower bound lowered."""
    lowered = with_rows(result, objective=result.trace.column("objective") - below)
    return bounded(lowered, bound_of(result) - below)


def scale_of(*values: FloatArray) -> str:
    """Return the scale of an axis of these values: of powers of ten, if they span one."""
    all_ = np.concatenate(values)
    return "log" if 0 < 10 * all_.min() <= all_.max() else "linear"


def test_draws_the_traces(results: dict[str, gda.Result]) -> None:
    axes = plotting.convergence(results)
    largest = max(map(bound_of, results.values()))
    for column, time in enumerate(("iteration", "seconds")):
        above, below = axes[:, column]
        *objectives, bound = above.lines
        for objective, gap, result in zip(objectives, below.lines, results.values(), strict=True):
            times = [getattr(row, time) for row in result.trace]
            values = np.array([row.objective for row in result.trace])
            np.testing.assert_array_equal(xy(objective)[0], times)
            np.testing.assert_array_equal(xy(objective)[1], values)
            np.testing.assert_array_equal(xy(gap)[0], times)
            np.testing.assert_array_equal(xy(gap)[1], values - largest)
        assert xy(bound)[1].tolist() == [largest, largest]
        assert bound.get_linestyle() == "--"
        assert above.get_xlabel() == below.get_xlabel() == time
        for ax in (above, below):
            assert ax.get_yscale() == scale_of(*(xy(line)[1] for line in ax.lines))
        seconds = [result.trace.column("seconds") for result in results.values()]
        assert above.get_xscale() == (scale_of(*seconds) if time == "seconds" else "linear")
        assert above.get_ylabel() == "objective"
        assert below.get_ylabel() == "gap to bound"
    # The legend shows a name that begins with an underscore too, and lies above all panels.
    assert legend(axes[0, 0]) == [*results, "largest lower bound"]
    assert [ax.get_legend() for ax in axes.ravel().tolist()] == [None] * 4
    render(axes[0, 0])


def test_lines_can_be_told_apart(results: dict[str, gda.Result]) -> None:
    *lines, bound = plotting.convergence(results)[0, 0].lines
    assert len({line.get_linestyle() for line in lines[:4]}) == 4  # in grey print too
    assert len({line.get_marker() for line in lines}) == len(lines)
    assert len({to_rgba(line.get_color()) for line in (*lines, bound)}) == len(lines) + 1
    run, name = results["c"], "alternating, analytic"
    for runs, names in ((run, [name]), ([run, run], [f"{name} (1)", f"{name} (2)"])):
        assert legend(plotting.convergence(runs)[0, 0])[:-1] == names


@pytest.mark.parametrize("bound", [None, -np.inf])
def test_the_best_is_the_reference(results: dict[str, gda.Result], bound: float | None) -> None:
    runs = {name: bounded(result, bound) for name, result in results.items()}
    axes = plotting.convergence(runs)
    best = min(row.objective for result in runs.values() for row in result.trace)
    assert len(axes[0, 0].lines) == len(axes[1, 0].lines) == len(runs)
    for line, result in zip(axes[1, 0].lines, runs.values(), strict=True):
        values = result.trace.column("objective")
        positive = values - best > 1e-12 * values
        np.testing.assert_array_equal(xy(line)[0], np.flatnonzero(positive))
        np.testing.assert_array_equal(xy(line)[1], (values - best)[positive])
    assert axes[1, 0].get_ylabel() == "gap to best"
    assert legend(axes[0, 0]) == list(results)


@pytest.mark.parametrize("share", [1e-9, 1e-3, -9.0, -1e9])
def test_bounds_do_not_squash_the_objective(results: dict[str, gda.Result], share: float) -> None:
    run = results["c"]
    bound = share * run.objective
    above, below = plotting.convergence(bounded(run, bound))[:, 0]
    assert len(above.lines) == 1
    assert legend(above) == ["alternating, analytic"]
    assert xy(below.lines[0])[1][-1] == run.objective - bound
    for lowered in (run, shifted(run, 2 * run.trace[0].objective)):
        values = lowered.trace.column("objective")
        near = values[-1] - 0.9 * (values[0] - values[-1])
        assert len(plotting.convergence(bounded(lowered, near))[0, 0].lines) == 2


def test_runs_of_very_different_lengths_share_a_logarithmic_axis() -> None:
    start, short, long = (solved(max_iterations=steps) for steps in (0, 1, 11))
    long = with_rows(long, iteration=np.linspace(0, 1100, 12, dtype=int))
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


def test_problems_of_several_scales(results: dict[str, gda.Result]) -> None:
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
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["objective / start", "gap / start"]
    runs["2"] = bounded(c, None)
    mixed = plotting.convergence(runs, y="gap", problems=["one", "one", "two"])
    assert mixed.get_ylabel() == "gap to bound or gap to best"


@pytest.mark.parametrize("relative", [False, True])
def test_objectives_that_are_not_positive(results: dict[str, gda.Result], relative: bool) -> None:
    plain = results["c"]
    for below in (plain.trace[0].objective, 1e6, plain.objective):
        run = shifted(plain, below)
        axes = plotting.convergence(run, relative=relative)
        assert axes[0, 0].get_yscale() == "linear"
        values = xy(axes[0, 0].lines[0])[1]
        assert len(values) == len(run.trace)
        assert values[-1] < values[0]  # the sign stays


def test_a_single_row() -> None:
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


def test_given_axes(results: dict[str, gda.Result]) -> None:
    axes = Figure().subplots(2, 2)
    assert plotting.convergence(results, ax=axes) is axes
    (above, below) = Figure(layout="tight").subplots(1, 2)
    drawn = plotting.convergence(results, ax=[[None, None], [above, below]])
    assert drawn.tolist() == [[None, None], [above, below]]
    assert legend(above) == list(results)
    assert above.get_legend() is not None  # above the panel: the figure is the caller's
    assert below.get_legend() is None


def test_colours_and_no_legend(results: dict[str, gda.Result]) -> None:
    colours: list[Any] = ["red", "#00ff00", (0, 0, 1), "0.5", "C1"]
    ax = plotting.convergence(results, Figure().subplots(), colors=colours, legend=False)
    assert [to_rgba(line.get_color()) for line in ax.lines] == [to_rgba(c) for c in colours]
    assert ax.get_legend() is None
    of_problems = plotting.convergence(
        results, Figure().subplots(), colors=["red", "blue"], problems=[1, 1, 1, 2, 2]
    )
    assert [line.get_color() for line in of_problems.lines] == ["red"] * 3 + ["blue"] * 2


def test_the_lower_bounds_of_each_run(results: dict[str, gda.Result]) -> None:
    """Those that are not too low, in the style of their run and thinner; no largest one."""
    low = results["c"].trace.column("lower_bound").copy()
    low[0] *= 1e-6  # would make the curves flat
    runs = {"c": with_rows(results["c"], lower_bound=low), "d": results["d"]}
    ax = plotting.convergence(runs, Figure().subplots(), y="objective", lower_bounds=True)
    objectives, bounds = ax.lines[:2], ax.lines[2:]
    lowest = min(run.objective for run in runs.values())
    highest = max(run.trace[0].objective for run in runs.values())
    for curve, line, run in zip(objectives, bounds, runs.values(), strict=True):
        known = run.trace.column("lower_bound")
        shown = known >= lowest * (lowest / highest) ** 2
        assert (shown[0], shown[-1]) == (run is runs["d"], True)
        np.testing.assert_array_equal(xy(line)[1], known[shown])
        np.testing.assert_array_equal(xy(line)[0], run.trace.column("iteration")[shown])
        assert line.get_color() == curve.get_color()
        assert line.get_linewidth() < curve.get_linewidth()
        assert line.get_marker() == "None"
    assert legend(ax) == [*runs, "lower bounds (thin)"]
    axes = plotting.convergence(runs, lower_bounds=True)
    assert len(axes[1, 0].lines) == len(runs)  # a gap has no bound
    without = {
        name: with_rows(bounded(run, None), lower_bound=np.full(len(run.trace), np.nan))
        for name, run in runs.items()
    }
    assert legend(plotting.convergence(without, lower_bounds=True)[0, 0]) == list(runs)


@pytest.mark.parametrize("x", ["iterations", "seconds", "oracle_calls"])
def test_eigenvalues_of_traces(x: Any, results: dict[str, gda.Result]) -> None:
    column = {"iterations": "iteration"}.get(x, x)
    higher = gda.MetricProblem(problem().objective, gda.GraphMetrics(3.0, 1e-2))
    first = results["c"].trace.column("lambda_min").copy()
    first[1::2] = np.nan  # not measured
    other = gda.solve(higher, "certified")
    runs = {"c": with_rows(results["c"], lambda_min=first), "other": other}
    labels = [1e-3, 1e-2]
    ax = plotting.convergence(runs, Figure().subplots(), x=x, y="lambda_min", problems=labels)
    *lines, low, high = ax.lines
    for line, run in zip(lines, runs.values(), strict=True):
        known = np.isfinite(run.trace.column("lambda_min"))
        np.testing.assert_array_equal(xy(line)[0], run.trace.column(column)[known])
        np.testing.assert_array_equal(xy(line)[1], run.trace.column("lambda_min")[known])
    assert [xy(low)[1][0], xy(high)[1][0]] == [1e-3, 1e-2]
    box = ax.get_legend() or ax.figure.legends[0]
    assert len({line.get_color() for line in box.get_lines()[2:]}) == 2  # as the dashed lines
    assert legend(ax) == ["c", "other", r"$\rho$ = 0.001", r"$\rho$ = 0.01"]
    assert ax.get_yscale() == "log"
    render(ax)


@pytest.mark.parametrize("y", [name for name, column in COLUMNS.items() if column.type != "str"])
def test_each_column_of_numbers_can_be_drawn(y: str, results: dict[str, gda.Result]) -> None:
    run = results["c"]
    values = run.trace.column(y)
    assert y in QUANTITIES
    if not np.isfinite(values).any():
        with pytest.raises(InvalidInputError, match=f"{y} was not measured in any run"):
            plotting.convergence(run, y=y)
        return
    line = plotting.convergence(run, Figure().subplots(), y=y).lines[0]
    np.testing.assert_array_equal(xy(line)[1], values[np.isfinite(values)])


def test_runs_of_different_problems_are_told_apart(results: dict[str, gda.Result]) -> None:
    """One bound for both would show a gap of one of them that is negative, or far too large."""
    other = shifted(results["d"], 0.9 * results["d"].objective)
    runs = {"c": results["c"], "d": other}
    with pytest.raises(InvalidInputError, match=r"'d' reaches the objective .* by problems="):
        plotting.convergence(runs)
    axes = plotting.convergence(runs, problems=["c", "d"])
    gaps = [xy(line)[1][-1] for line in axes[1, 0].lines]
    assert gaps == [run.trace[-1].objective - bound_of(run) for run in runs.values()]
    small = gda.solve(gda.MetricProblem(gda.GLR(np.eye(2), [1, -1]), gda.GraphMetrics(3.0)))
    with pytest.raises(InvalidInputError, match="'c' has 3 features, 'two' has 2 features"):
        plotting.convergence({"c": results["c"], "two": small})
    ax = plotting.convergence({"c": results["c"], "d": other}, y="lambda_min")  # has no bound
    assert len(ax.lines) == 3


def test_repeats_are_a_median_and_a_band(results: dict[str, gda.Result]) -> None:
    """Between its rows a run stays where it is, and after its end too; before all begin is none."""
    steps = [[0, 1, 2], [0, 2, 5], [1, 3, 4]]
    values = [[9.0, 4.0, 1.0], [8.0, 2.0, 2.0], [7.0, 6.0, 3.0]]
    repeats = [
        pd.DataFrame({"iteration": at, "objective": value, "seconds": at})
        for at, value in zip(steps, values, strict=True)
    ]
    runs: dict[str, Any] = {"alone": repeats[0], "repeats": repeats}
    ax = plotting.convergence(runs, Figure().subplots(), y="objective", bands=(0, 1))
    held = np.array([[4, 1, 1, 1, 1], [8, 2, 2, 2, 2], [7, 7, 6, 3, 3]])
    assert xy(ax.lines[0])[1].tolist() == values[0]
    assert xy(ax.lines[1])[0].tolist() == [1, 2, 3, 4, 5]
    assert xy(ax.lines[1])[1].tolist() == np.median(held, axis=0).tolist()
    (band,) = ax.collections
    assert band.get_datalim(ax.transData).get_points().tolist() == [[1, 1], [5, 8]]
    assert legend(ax) == ["alone", "repeats", "median, 0 to 100 % of repeats"]
    # A gap of round-off counts as none: the median has reached the best value at the end.
    gap = plotting.convergence(repeats[:2], Figure().subplots())
    assert [xy(line)[1].tolist() for line in gap.lines] == [[8, 3], [7, 1, 1]]
    both = plotting.convergence([repeats[:2]], Figure().subplots())
    assert xy(both.lines[0])[1].tolist() == [7.5, 5.0, 0.5, 0.5]


@pytest.mark.parametrize("draw", ["trace", "table", "file"])
def test_results_traces_and_tables_look_alike(
    draw: str, results: dict[str, gda.Result], tmp_path: Path
) -> None:
    def drawn_of(run: gda.Result) -> Any:
        file = run.trace.to_csv(tmp_path / "trace.csv")
        return {"trace": run.trace, "table": run.trace.to_pandas(), "file": pd.read_csv(file)}[draw]

    runs = {name: bounded(run, run.trace[-1].lower_bound) for name, run in results.items()}
    pair = [
        (
            plotting.convergence(of),
            plotting.time_split(of, Figure().subplots()),
            plotting.left_ends(of["c"], Figure().subplots()),
        )
        for of in (runs, {name: drawn_of(run) for name, run in runs.items()})
    ]
    for ours, theirs in zip(*(panels.ravel() for panels, _, _ in pair), strict=True):
        for line, other in zip(ours.lines, theirs.lines, strict=True):
            np.testing.assert_array_equal(xy(line), xy(other))
    bars: list[Any] = [split.containers[:4] for _, split, _ in pair]  # not the rest
    for part, other_part in zip(*bars, strict=True):
        np.testing.assert_array_equal(part.datavalues, other_part.datavalues)
    ends, of_trace = (ax.collections[0].get_paths()[0].vertices for _, _, ax in pair)
    np.testing.assert_array_equal(ends, of_trace)


def test_colour_stands_for_the_method_and_line_for_the_problem() -> None:
    sets = {"path": problem(0.1), "all": problem()}
    runs = {
        (name, method): gda.solve(of, method, max_iterations=3)
        for name, of in sets.items()
        for method in ("certified", "frank-wolfe")
    }
    labels = [name for name, _ in runs]

    def looks(**options: Any) -> list[tuple[Any, Any]]:
        ax = plotting.convergence(runs, Figure().subplots(), **{"problems": labels} | options)
        return [(line.get_color(), line.get_linestyle()) for line in ax.lines]

    a, b, c, d = looks()
    assert (a[0], a[1], b[1]) == (c[0], b[1], a[1])
    assert len({a, b, c, d}) == 4
    e, f, g, _ = looks(color_by="problem")
    assert (e[0], e[1]) == (f[0], g[1])
    assert [colour for colour, _ in looks(colors=["red", "blue"])] == ["red", "blue"] * 2
    same = looks(problems={str(name): name[0] for name in runs})
    assert same == [a, b, c, d]
    trace = runs["all", "certified"].trace
    of_names = plotting.convergence({"a": trace, "b": trace}, Figure().subplots(), problems=[1, 2])
    assert len({line.get_color() for line in of_names.lines}) == 2


def test_repeats_of_several_problems_have_bounds_of_their_own(
    results: dict[str, gda.Result],
) -> None:
    other = shifted(results["d"], 0.9 * results["d"].objective)
    runs = {"one": [results["c"], other], "two": [results["d"], other]}
    with pytest.raises(InvalidInputError, match=r"'one' reaches .* by problems="):
        plotting.convergence(runs)
    ax = plotting.convergence(runs, Figure().subplots(), problems=[["c", "d"]] * 2)
    reference = max(bound_of(results["c"]), bound_of(results["d"]))
    gaps = [results["c"].objective - reference, other.trace[-1].objective - bound_of(other)]
    assert xy(ax.lines[0])[1][-1] == pytest.approx(np.median(gaps))
    assert len({line.get_color() for line in ax.lines}) == 2


def test_columns_of_ones_own_can_be_drawn() -> None:
    run = solved(trace_columns={"edges": lambda state: np.count_nonzero(state.metric)})
    ax = plotting.convergence([run, run.trace.to_pandas()], Figure().subplots(), y="edges")
    for line in ax.lines:
        assert xy(line)[1].tolist() == run.trace.column("edges").tolist()
    assert ax.get_ylabel() == "edges"
    with pytest.raises(InvalidInputError, match=r"unknown y 'edge'.*did you mean 'edges'"):
        plotting.convergence(run, y="edge")
