"""Traces: their columns, as rows, data frames, files and in print."""

import csv
from dataclasses import replace
from math import inf
from pathlib import Path

import pandas as pd
import pytest

import gdaopt as gda
from tests.result_cases import COLUMNS, solve, solved


@pytest.fixture(params=["analytic", "HIGHS"])
def result(request: pytest.FixtureRequest) -> gda.Result:
    return solved(request.param)


@pytest.fixture
def closed() -> gda.Result:
    return solved("analytic")


def test_rows_and_pandas_agree(result: gda.Result) -> None:
    frame = result.trace.to_pandas()
    assert gda.trace.Trace.columns() == tuple(frame.columns) == COLUMNS
    assert len(frame) == len(result.trace)
    for name in COLUMNS:
        found = [None if pd.isna(value) else value for value in frame[name]]
        assert found == [getattr(row, name) for row in result.trace], name


def test_rows_and_csv_agree(result: gda.Result, tmp_path: Path) -> None:
    """The numbers agree to the last bit, and None is an empty cell."""
    with result.trace.to_csv(tmp_path / "trace.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    for line, row in zip(lines, result.trace, strict=True):
        assert tuple(line) == COLUMNS
        for name in COLUMNS:
            value = getattr(row, name)
            assert line[name] == "" if value is None else type(value)(line[name]) == value
    assert {name for name, cell in lines[0].items() if cell == ""} == {
        *("block", "block_gap", "step", "constraint_violation", "repair_distance"),
        *("build_seconds", "write_seconds", "canonicalize_seconds", "solve_seconds"),
        *("unpack_seconds", "reported_seconds", "solver", "solver_status"),
    }


@pytest.mark.parametrize(
    ("objective", "bound", "expected"),
    [(-4.0, -5.0, 0.25), (4.0, 4.0, 0.0), (0.0, 0.0, 0.0), (0.0, -1.0, inf), (1.0, -inf, inf)],
)
def test_relative_gaps(objective: float, bound: float, expected: float) -> None:
    assert gda.trace.relative_gap(objective, bound) == expected


def test_unknown_columns_are_refused(closed: gda.Result) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match="did you mean 'objective'"):
        closed.trace.column("objectiv")


def test_prints_its_first_and_last_rows(closed: gda.Result) -> None:
    trace = closed.trace
    assert len(trace) > 11
    assert list(trace) == list(trace.rows)
    title, header, *rows = repr(trace).splitlines()
    assert title == f"trace of {len(trace)} rows (to_pandas() gives all rows and columns)"
    assert set(header.split()) <= set(COLUMNS)
    assert [row.split()[0] for row in rows] == [
        *("0", "1", "2", "3", "4", "…"),
        *(str(row.iteration) for row in trace.rows[-5:]),
    ]
    assert str(trace) == repr(trace)
    assert max(map(len, repr(trace).splitlines())) <= 100
    values = rows[-1].split()
    assert values[1:4] == ["column", str(trace[-1].block), f"{trace[-1].objective:.6g}"]
    for steps in (0, 10):
        lines = repr(solve(max_iterations=steps).trace).splitlines()
        assert [line.split()[0] for line in lines[2:]] == [str(row) for row in range(steps + 1)]


def test_notebooks_show_the_same_rows(closed: gda.Result) -> None:
    rows = tuple(replace(row, phase="<b>") for row in closed.trace)
    html = gda.trace.Trace(rows, closed.trace.left_ends)._repr_html_()
    assert html.count("<tr>") == 12
    assert html.count("<td>&lt;b&gt;</td>") == 10
    assert "<b>" not in html
