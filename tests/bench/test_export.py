"""Exported programs reload to the same optimum, without gdaopt."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import LinearArrays
from gdaopt.bench import RecordedProgram, load_programs, recording
from gdaopt.bench.export import export, exported_arrays, mps_text
from gdaopt.bench.sequences import read_mps
from tests.helpers import scaled


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[RecordedProgram]:
    """One of each kind, and one with linear constraints."""
    path = tmp_path_factory.mktemp("recorded") / "run.npz"
    glr, graphs = gda.GLR(*scaled("iris", "setosa")), gda.GraphMetrics(4.0, 1e-3)
    found: list[RecordedProgram] = []
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("alternating", {}, "analytic"),
        ("joint", {}, "analytic"),
        ("alternating", {"constraints": lambda M: [M[0, 0] <= 1, M[0, 1] == 0]}, "HIGHS"),
    ]
    for method, options, solver in cases:
        problem = gda.MetricProblem(glr, graphs, **options)
        with recording(path):
            gda.solve(problem, method, solver=solver, max_iterations=8)
        found += load_programs(path)
    return [found[0], *(p for p in found[1:] if p.kind != "diagonal")][::3]


def value_of(program: RecordedProgram) -> float:
    """Return the least value in the units of solvers."""
    arrays = exported_arrays(program)
    units = np.broadcast_to(program.polytope.unit, program.cost.shape)
    point = np.divide(program.point, units, out=np.zeros(len(units)), where=units > 0)
    return float(arrays.cost @ point)


def test_mps_files(programs: list[RecordedProgram], tmp_path: Path) -> None:
    assert {program.kind for program in programs} == {"diagonal", "column", "joint"}
    assert not all(program.is_exact for program in programs)
    for program in programs:
        path = export(program, tmp_path / "program.mps")
        highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        highs.setOptionValue("output_flag", False)
        assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
        highs.run()
        expected = value_of(program)
        assert highs.getObjectiveValue() == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert [path.name for path in tmp_path.iterdir()] == ["program.mps"]


def test_all_numbers_of_an_mps_file_are_read_to_the_last_bit(tmp_path: Path) -> None:
    """With rows and bounds of all kinds."""
    inf, third = np.inf, 1 / 3
    arrays = LinearArrays.of(
        [third, -2e-17, 0.0, 1e10 * third, 5.0],
        [[third, 0.0, -1.5, 2.0, 0.0]] * 4 + [[0.0, 0.1, 0.0, 0.0, 1e-9]],
        row_lower=[third, -inf, 0.1, -4.0, -inf],
        row_upper=[third, 0.1, inf, 4.0, inf],
        lower=[-inf, 0.1, -3.0, 0.0, -inf],
        upper=[inf, 0.1, -third, inf, 0.7],
    )
    path = tmp_path / "program.mps"
    path.write_text(mps_text(arrays, "all_kinds"), encoding="utf-8")
    found, constant = read_mps(path)
    assert constant == 0
    kept = np.arange(5) < 4  # a row without bounds is none
    np.testing.assert_array_equal(found.cost, arrays.cost)
    np.testing.assert_array_equal(found.matrix.toarray(), arrays.matrix.toarray()[kept])
    for name in ("lower", "upper"):
        np.testing.assert_array_equal(getattr(found, name), getattr(arrays, name))
        name = f"row_{name}"
        np.testing.assert_array_equal(getattr(found, name), getattr(arrays, name)[kept])


def test_python_files(programs: list[RecordedProgram], tmp_path: Path) -> None:
    for program in programs:
        path = export(program, tmp_path / "program.py")
        text = path.read_text(encoding="utf-8")
        assert "import gdaopt" not in text
        names = runpy.run_path(str(path))
        names["problem"].solve(solver="CLARABEL")
        expected = value_of(program)
        assert repr(expected) in text
        assert names["problem"].value == pytest.approx(expected, rel=1e-5, abs=1e-5)
        np.testing.assert_array_equal(names["cost"], exported_arrays(program).cost)
