"""Pictures of times show how the seconds of the trace split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer

import gdaopt as gda
from gdaopt import plotting
from gdaopt.trace import Trace
from tests.plotting.cases import render


def bars(ax: Axes) -> dict[str, BarContainer]:
    return {str(item.get_label()): item for item in ax.containers if isinstance(item, BarContainer)}


def test_draws_the_trace(results: dict[str, gda.Result]) -> None:
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
