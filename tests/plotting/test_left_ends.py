"""Pictures of left-ends show those of the trace, λ_min and ρ."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.container import BarContainer
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

import gdaopt as gda
from gdaopt import plotting
from gdaopt.trace import Trace
from tests.plotting.cases import legend, render, solved, xy


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


def test_shades_every_other_round_without_such_steps(results: dict[str, gda.Result]) -> None:
    trace = results["c"].trace
    rows = tuple(replace(row, phase="joint") for row in trace)
    ax = plotting.left_ends(replace(results["c"], trace=Trace(rows, trace.left_ends)))
    assert legend(ax)[0] == "odd rounds"
    assert len(ax.patches) == len({row.round for row in rows if row.round % 2 == 1})
    (first,) = (patch for patch in ax.patches[:1] if isinstance(patch, Rectangle))
    assert first.get_x() == next(row.iteration for row in rows if row.round == 1) - 0.5


def test_left_ends_that_are_not_positive(results: dict[str, gda.Result]) -> None:
    trace = results["c"].trace
    lowered = Trace(trace.rows, trace.left_ends - trace.left_ends.min())
    of_zero = gda.GraphMetrics(3.0, 0.0)
    ax = plotting.left_ends(replace(results["c"], feasible_set=of_zero, trace=lowered))
    assert ax.get_yscale() == "symlog"
    bottom, top = ax.get_ylim()
    assert -1e-6 * top < bottom < 0
    render(ax)


def test_values_that_were_not_measured(results: dict[str, gda.Result]) -> None:
    trace = results["c"].trace
    rows = tuple(replace(row, lambda_min=None) if row.iteration % 2 else row for row in trace)
    ax = plotting.left_ends(replace(results["c"], trace=Trace(rows, trace.left_ends)))
    assert xy(labelled(ax, r"$\lambda_{\min}$"))[0].tolist() == list(range(0, len(trace), 2))


@pytest.mark.parametrize("steps", [0, 2])
def test_few_rows(steps: int) -> None:
    limits = {"max_iterations": steps} if steps else {"time_limit": 1e-9}
    run = solved(**limits)
    assert len(run.trace) == steps + 1
    render(plotting.left_ends(run))


def test_no_rows(results: dict[str, gda.Result]) -> None:
    empty = replace(results["c"], trace=Trace((), np.empty((0, 3))))
    with pytest.raises(gda.errors.InvalidInputError, match="trace of the run has no rows"):
        plotting.left_ends(empty)


def test_a_trace_is_no_run(results: dict[str, gda.Result]) -> None:
    with pytest.raises(
        gda.errors.InvalidInputError, match=r"pass runs, as gdaopt\.solve returns them"
    ):
        plotting.left_ends(results["c"].trace)  # type: ignore[arg-type]


# --- Pictures of times show how the seconds of the trace split -----------------------------------


def bars(ax: Axes) -> dict[str, BarContainer]:
    return {str(item.get_label()): item for item in ax.containers if isinstance(item, BarContainer)}


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


def test_parts_can_be_told_apart(results: dict[str, gda.Result]) -> None:
    parts = [container[0] for container in bars(plotting.time_split(results)).values()]
    assert len({patch.get_hatch() for patch in parts}) == len(parts)
    assert len({patch.get_facecolor() for patch in parts}) == len(parts)


def test_shares(results: dict[str, gda.Result]) -> None:
    ax = plotting.time_split(results, relative=True)
    for index in range(len(results)):
        total = sum(container[index].get_width() for container in bars(ax).values())
        assert total == pytest.approx(1)
    assert "share" in ax.get_xlabel()


def test_build_time_that_is_not_known(results: dict[str, gda.Result]) -> None:
    """The build time is None in every row of a solver that does not report its own time."""
    run = results["c"]
    rows = tuple(replace(row, build_seconds=None) for row in run.trace)
    ax = plotting.time_split(replace(run, trace=Trace(rows, run.trace.left_ends)))
    assert bars(ax)["build"][0].get_width() == 0
