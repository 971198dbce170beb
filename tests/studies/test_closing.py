"""The closing sentences of a learning run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gdaopt as gda
from gdaopt.studies.closing import _MEANINGS, closing
from tests.result_cases import solved


def test_each_status_is_explained_once() -> None:
    statuses: list[Any] = [*_MEANINGS, "stalled"]
    results = [replace(solved("analytic"), status=status) for status in statuses]
    lines = closing(results, "certified")
    assert [line.split(":")[0] for line in lines] == list(_MEANINGS)


def test_a_large_gap_names_the_method_that_closes_it() -> None:
    data = gda.datasets.load("iris")
    X = gda.datasets.scale_features(data.features)
    problem = gda.MetricProblem(gda.GLR(X, data.signal("setosa")), gda.GraphMetrics(4.0))
    early = gda.solve(problem, "joint", solver="analytic", max_iterations=1)
    assert early.relative_gap is not None
    assert early.relative_gap > 0.01
    lines = closing([early], "joint")
    assert f"up to {early.relative_gap:.1%} above" in lines[-1]
    assert "--method certified reaches the optimum" in lines[-1]
    # With an edge floor the problem is another one, which that method does not solve.
    assert len(closing([early], "joint", edge_floor=0.1)) == 1
    exact = gda.solve(problem, "certified")
    assert closing([exact], "certified") == ["converged: the certified gap is within the tolerance"]
    assert len(closing([exact], "frank-wolfe")) == 1
