"""What holds for all tests: pictures are drawn without a screen, and closed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

os.environ["MPLBACKEND"] = "Agg"  # read when matplotlib is first imported, in subprocesses too


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        from matplotlib import pyplot

        pyplot.close("all")
