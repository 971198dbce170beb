"""Pictures of left-ends show those of the trace, λ_min and ρ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
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
