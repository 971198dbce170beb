"""``gdaopt export``."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import gdaopt as gda
from gdaopt.cli import app
from tests.helpers import scaled


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "iris.npz"
    problem = gda.MetricProblem(gda.GLR(*scaled("iris", "setosa")), gda.GraphMetrics(4.0, 1e-3))
    with gda.bench.recording(path):
        gda.solve(problem, "alternating", solver="analytic", max_iterations=6)
    return path


def test_both_formats(recorded: Path, tmp_path: Path) -> None:
    options = ["--program", "0", "--program", "2", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, ["export", str(recorded), *options])
    assert result.exit_code == 0, result.output
    names = [path.name for path in sorted((tmp_path / "out").iterdir())]
    kinds = [gda.bench.load_programs(recorded)[number].kind for number in (0, 2)]
    assert names == [
        f"iris-0000{number}-{kind}{ending}"
        for number, kind in zip((0, 2), kinds, strict=True)
        for ending in (".mps", ".py")
    ]
    assert all(name in result.output for name in names)
