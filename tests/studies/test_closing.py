"""The closing sentences of a learning run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

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
    assert early.lower_bound is not None
    above = early.objective / early.lower_bound - 1
    assert above > 0.01
    lines = closing([early], "joint")
    assert f"up to {above:.1%} above" in lines[-1]
    assert "--method certified reaches the optimum" in lines[-1]
    # With an edge floor the problem is another one, which that method does not solve.
    assert len(closing([early], "joint", edge_floor=0.1)) == 1
    exact = gda.solve(problem, "certified")
    assert closing([exact], "certified") == ["converged: the certified gap is within the tolerance"]
    assert len(closing([exact], "frank-wolfe")) == 1


@pytest.mark.parametrize(
    ("objective", "bound", "says"),
    [
        (2.48, 1.0, "are up to 148.0% above what is certified"),
        (-1.0, -4.0, "are up to 75.0% above what is certified"),
        (1.0, 0.0, "are above what is certified"),
    ],
)
def test_above_a_bound_is_a_share_of_the_bound(objective: float, bound: float, says: str) -> None:
    """Of the objective of 2.48 the gap is 59.7 %, but that is 148 % above 1."""
    result = replace(solved("analytic"), objective=objective, lower_bound=bound)
    assert says in closing([result], "joint")[-1]
