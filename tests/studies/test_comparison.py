"""Comparisons of methods: their directory, their problems, their options, and their rows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.datasets import Dataset, load
from gdaopt.scaling import SCALES
from gdaopt.sets import SETS
from gdaopt.studies.class_problems import ProblemOptions, solve_task
from gdaopt.studies.comparison import Comparison, ComparisonOptions, combinations
from gdaopt.studies.comparison_table import add_excess
from gdaopt.studies.task_workers import TaskWorkers
from tests.result_cases import solved
from tests.studies.cases import refused

IRIS = load("iris")


def problem(**options: Any) -> gda.MetricProblem:
    return ProblemOptions(**options).problem(IRIS, "setosa")


# --- Problems: sets, scales and trace bounds by name ---------------------------------------------


def test_colours_are_signs_of_correlations() -> None:
    data = load("wine")
    for name in data.classes:
        feasible_set = ProblemOptions(metrics="signed").problem(data, name).feasible_set
        assert isinstance(feasible_set, gda.SignedGraphMetrics)
        signal = data.signal(name)
        correlations = [np.corrcoef(x, signal)[0, 1] for x in data.features.T]
        assert feasible_set.colors == tuple(-1 if c < 0 else 1 for c in correlations)
        assert len(set(feasible_set.colors)) == 2


def test_scales_by_name() -> None:
    points = {name: problem(scale=name).objective.at(np.zeros((4, 4))) for name in SCALES}
    assert len({point.value for point in points.values()}) == 1
    slopes = {name: point.gradient() for name, point in points.items()}
    np.testing.assert_allclose(slopes["zscore"], slopes["unit"] * 8)  # 2K
    assert ProblemOptions().scale == "unit"


# --- Comparisons ---------------------------------------------------------------------------------


def test_other_data_are_refused(tmp_path: Path) -> None:
    def begin(shift: float, label: str) -> None:
        X, labels = np.array([[0.0], [1.0], [shift]]), np.array(["a", "b", label])
        data = Dataset("own", X, labels, ("x",))
        Comparison(tmp_path, data, ComparisonOptions(methods=["certified"]))

    begin(3.0, "a")
    begin(3.0, "a")
    for shift, label in ((3.1, "a"), (3.0, "b")):
        with refused("data_sha256 is"):
            begin(shift, label)


@pytest.mark.slow
def test_problems_with_linear_constraints(tmp_path: Path) -> None:
    """A lambda is sent to the processes as rows; another one is another comparison."""

    def compare(methods: list[str], bound: float) -> list[dict[str, Any]]:
        options = ComparisonOptions(
            positive="setosa",
            constraints=lambda M: [M[0, 1] == 0, M[0, 0] <= bound],
            methods=methods,
        )
        return Comparison(tmp_path / "out", IRIS, options).run()

    (row,) = compare(["joint:max_iterations=4"], 0.5)
    assert row["status"] == "iteration_limit"
    (path,) = (tmp_path / "out").rglob("*.npz")
    metric = gda.Result.load(path).metric
    assert abs(metric[0, 1]) < 1e-9
    assert metric[0, 0] <= 0.5 + 1e-9
    assert "linear constraints" in (tmp_path / "out" / "comparison.md").read_text()
    with refused("constraints is"):
        compare(["joint:max_iterations=4"], 0.4)
    with refused("cannot keep linear constraints"):
        compare(["frank-wolfe"], 0.5)


def test_the_excess_is_above_the_best_bound_of_the_class() -> None:
    first, second = (replace(solved("analytic"), lower_bound=bound) for bound in (0.2, 0.1))
    rows = {key: {"class": name} for key, name in (("a", "x"), ("b", "x"), ("c", "y"))}
    whole = add_excess(rows, {"a": first, "b": second, "c": second})
    value = first.objective
    expected = [(value - bound) / bound for bound in (0.2, 0.2, 0.1)]
    assert [row["excess"] for row in whole] == pytest.approx(expected)


def test_where_and_how_long_runs_are_computed() -> None:
    assert ComparisonOptions(methods=["joint"], time_limit=10.0).deadline == 80.0
    alone = ComparisonOptions(methods=["joint"])
    assert (alone.deadline, alone.workers()) == (None, TaskWorkers(threaded=True))
    pair = ComparisonOptions(methods=["joint"], jobs=2, time_limit=1.0)
    assert pair.workers() == TaskWorkers(2, deadline=62.0, threaded=True)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, "certified:max_iterations=3") for name in SETS),
        ("graph", "alternating:solver=analytic:edge_floor=0.01:max_iterations=3"),
    ],
)
def test_edges_that_count(name: str, method: str, tmp_path: Path) -> None:
    (pair,), _ = combinations([method], (), {})
    row = solve_task(tmp_path / "a", IRIS, ProblemOptions(metrics=name), "virginica", pair.method)
    weights = np.abs(gda.Result.load(tmp_path / "a.npz").metric[np.triu_indices(4, 1)])
    assert row["edges"] == (weights > 1e-9).sum()
    assert (row["edges"] == 0) == (name == "diagonal")
    floor = 0.01 if "edge_floor" in method else 0.0
    assert (weights >= 0.99 * floor).sum() >= 3 or not floor  # they connect all features
