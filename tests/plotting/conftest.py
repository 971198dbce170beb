"""Runs to draw."""

import pytest

import gdaopt as gda
from tests.plotting.cases import problem, solved


@pytest.fixture(scope="package")
def results() -> dict[str, gda.Result]:
    """Return runs, some with names that matplotlib by default reads as mathematics or hides."""
    graphs = problem().feasible_set
    assert isinstance(graphs, gda.GraphMetrics)
    weights = {"a $\\b$": 0.1, "_b": 0.2, "c": 0.3, "d": 0.0, "e": 0.35}
    return {
        name: solved(initial=graphs.start(3, weight), tolerance=1e-2)
        for name, weight in weights.items()
    }
