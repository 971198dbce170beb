"""Pictures of smallest eigenvalues show those of the trace, and ρ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import gdaopt as gda
from gdaopt import plotting
from tests.plotting.cases import legend, problem, render, with_rows, xy


@pytest.mark.parametrize(
    ("x", "column"),
    [("iterations", "iteration"), ("seconds", "seconds"), ("oracle_calls", "oracle_calls")],
)
def test_draws_the_traces(x: Any, column: str, results: dict[str, gda.Result]) -> None:
    higher = gda.MetricProblem(problem().objective, gda.GraphMetrics(3.0, 1e-2))
    other = gda.solve(higher, "certified")
    first = results["c"].trace.column("lambda_min").copy()
    first[1::2] = np.nan  # not measured
    runs = {"c": with_rows(results["c"], lambda_min=first), "other": other}
    ax = plotting.eigenvalues(runs, Figure().subplots(), x=x)
    *lines, low, high = ax.lines
    for line, run in zip(lines, runs.values(), strict=True):
        known = np.isfinite(run.trace.column("lambda_min"))
        np.testing.assert_array_equal(xy(line)[0], run.trace.column(column)[known])
        np.testing.assert_array_equal(xy(line)[1], run.trace.column("lambda_min")[known])
    assert [xy(low)[1][0], xy(high)[1][0]] == [1e-3, 1e-2]
    assert legend(ax) == ["c", "other", r"$\rho$ = 0.001", r"$\rho$ = 0.01"]
    assert ax.get_yscale() == "log"
    render(ax)


def test_bad_input(results: dict[str, gda.Result]) -> None:
    run = results["c"]
    unknown = with_rows(run, lambda_min=np.full(len(run.trace), np.nan))
    for arguments, message in (
        ((unknown,), "no eigenvalue of the runs was measured"),
        (([],), "results is empty"),
    ):
        with pytest.raises(gda.errors.InvalidInputError, match=message):
            plotting.eigenvalues(*arguments)
    with pytest.raises(gda.errors.InvalidInputError, match="unknown x 'time'"):
        plotting.eigenvalues(run, x="time")  # type: ignore[arg-type]
