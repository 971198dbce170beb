"""Fixtures that several tests of the command line share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import gdaopt as gda
from tests.cli.cases import undrawn
from tests.helpers import scaled


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of recorded programs."""
    path = tmp_path_factory.mktemp("recorded") / "iris.npz"
    problem = gda.MetricProblem(gda.GLR(*scaled("iris", "setosa")), gda.GraphMetrics(4.0, 1e-3))
    with gda.bench.recording(path):
        gda.solve(problem, "alternating", solver="analytic", max_iterations=6)
    return path


@pytest.fixture
def no_pictures() -> Iterator[None]:
    with undrawn():
        yield
