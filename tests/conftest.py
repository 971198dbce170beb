"""What holds for all tests: one thread each, pictures without a screen, and closed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers share the cores; read by numpy
os.environ["MPLBACKEND"] = "Agg"  # read when matplotlib is first imported, in subprocesses too


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        from matplotlib import pyplot

        pyplot.close("all")
