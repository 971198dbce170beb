"""`gdaopt solvers`: which solvers it lists."""

from __future__ import annotations

from typer.testing import CliRunner

import gdaopt as gda
from gdaopt.cli import app


def test_solvers() -> None:
    lines = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in CliRunner(env={"COLUMNS": "200"}).invoke(app, ["solvers"]).stdout.splitlines()
        if line.startswith("│")
    ]
    rows = {line[0]: line[1:] for line in lines}
    assert rows["HIGHS"] == ["yes", "", ""]
    assert rows["analytic"] == ["yes", "", ""]
    assert rows["CLARABEL"] == ["yes", "second-order, semidefinite, exponential", ""]
    assert {name: row[0] == "yes" for name, row in rows.items()} == {
        **{info.name: info.usable for info in gda.solvers()},
        "analytic": True,
    }
    absent = [row for row in rows.values() if row[0] == "no"]
    assert absent
    assert all(len(row[2]) > 5 for row in absent)
