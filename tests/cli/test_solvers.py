"""`gdaopt solvers`: which solvers it lists."""

from __future__ import annotations

from importlib.metadata import version

from typer.testing import CliRunner

import gdaopt as gda
from gdaopt.cli import app


def test_solvers() -> None:
    output = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["solvers"]).stdout
    working, absent = (
        {
            cells[0]: cells[1:]
            for line in part.splitlines()
            if line.startswith("│") and (cells := [cell.strip() for cell in line.split("│")[1:-1]])
            if cells[0]  # the others go on with the line above
        }
        for part in output.split("Not working here:")
    )
    assert working["HIGHS"] == [
        version("highspy"),
        "MIT",
        "simplex, interior point, first order",
        "",
    ]
    assert working["highspy"] == working["HIGHS"]
    assert working["analytic"] == [gda.__version__, "Apache-2.0", "closed form", ""]
    assert working["CLARABEL"][2:] == [
        "interior point",
        "second-order, semidefinite, exponential",
    ]
    usable = {info.name for info in gda.solvers() if info.usable}
    assert set(working) == usable > {"analytic", "highspy"}
    assert set(absent) == {info.name for info in gda.solvers()} - usable
    assert all(len(row[-1]) > 5 for row in absent.values())
