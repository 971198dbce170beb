"""Comparisons of methods: their directory, their options, and the rows of their tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.sets import SETS
from gdaopt.studies.comparison import Comparison, ComparisonOptions, combinations, solve_task
from gdaopt.studies.comparison_table import completed
from gdaopt.studies.learning import LearningOptions
from gdaopt.studies.task_workers import TaskWorkers
from tests.result_cases import solved


class TestComparison:
    def test_other_data_are_refused(self, tmp_path: Path) -> None:
        def begin(shift: float, label: str) -> None:
            X, labels = np.array([[0.0], [1.0], [shift]]), np.array(["a", "b", label])
            data = gda.datasets.Dataset("own", X, labels, ("x",))
            Comparison(tmp_path, data, ComparisonOptions(methods=["certified"]))

        begin(3.0, "a")
        begin(3.0, "a")
        for shift, label in ((3.1, "a"), (3.0, "b")):
            with pytest.raises(gda.errors.InvalidInputError, match="data_sha256 is"):
                begin(shift, label)

    def test_problems_with_linear_constraints(self, tmp_path: Path) -> None:
        """A lambda is sent to the processes as rows; another one is another comparison."""
        data = gda.datasets.load("iris")

        def compare(methods: list[str], bound: float) -> list[dict[str, Any]]:
            problem = LearningOptions(
                positive="setosa", constraints=lambda M: [M[0, 1] == 0, M[0, 0] <= bound]
            )
            options = ComparisonOptions(problem=problem, methods=methods)
            return Comparison(tmp_path / "out", data, options).run()

        (row,) = compare(["joint:max_iterations=4"], 0.5)
        assert row["status"] == "iteration_limit"
        (path,) = (tmp_path / "out").rglob("*.npz")
        metric = gda.Result.load(path).metric
        assert abs(metric[0, 1]) < 1e-9
        assert metric[0, 0] <= 0.5 + 1e-9
        assert "linear constraints" in (tmp_path / "out" / "comparison.md").read_text()
        with pytest.raises(gda.errors.InvalidInputError, match="constraints is"):
            compare(["joint:max_iterations=4"], 0.4)
        with pytest.raises(gda.errors.InvalidInputError, match="cannot keep linear constraints"):
            compare(["frank-wolfe"], 0.5)


def test_the_excess_is_above_the_best_bound_of_the_class() -> None:
    first, second = (replace(solved("analytic"), lower_bound=bound) for bound in (0.1, 0.2))
    rows = {key: {"class": name} for key, name in (("a", "x"), ("b", "x"), ("c", "y"))}
    whole = completed(rows, {"a": first, "b": second, "c": first})
    value = first.objective
    expected = [(value - bound) / value for bound in (0.2, 0.2, 0.1)]
    assert [row["excess"] for row in whole] == pytest.approx(expected)


class TestOptions:
    def test_deadline(self) -> None:
        assert ComparisonOptions(methods=["joint"], time_limit=10.0).deadline == 80.0
        assert ComparisonOptions(methods=["joint"]).deadline is None

    def test_where_runs_are_computed(self) -> None:
        assert ComparisonOptions(methods=["joint"]).workers() == TaskWorkers()
        pool = ComparisonOptions(methods=["joint"], backend="pool", jobs=2, time_limit=1.0)
        assert pool.workers() == TaskWorkers(2, "pool", deadline=62.0)


class TestRows:
    @pytest.mark.parametrize(
        ("name", "method"),
        [
            *((name, "certified:max_iterations=3") for name in SETS),
            ("graph", "alternating:solver=analytic:edge_floor=0.01:max_iterations=3"),
        ],
    )
    def test_edges_that_count(self, name: str, method: str, tmp_path: Path) -> None:
        (pair,), _ = combinations([method], (), {})
        data = gda.datasets.load("iris")
        row = solve_task(tmp_path / "a", data, LearningOptions(set=name), "virginica", pair)
        weights = np.abs(gda.Result.load(tmp_path / "a.npz").metric[np.triu_indices(4, 1)])
        assert row["edges"] == (weights > 1e-9).sum()
        assert (row["edges"] == 0) == (name == "diagonal")
        floor = 0.01 if "edge_floor" in method else 0.0
        assert (weights >= 0.99 * floor).sum() >= 3 or not floor  # they connect all features
