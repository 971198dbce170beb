"""What all pictures have in common: axes, styles, and imports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot
from matplotlib.figure import Figure

import gdaopt as gda
from gdaopt import plotting
from tests.plotting.cases import METRIC, NAMES, render


def all_pictures(results: dict[str, gda.Result]) -> list[tuple[Callable[..., Any], bool]]:
    """Return every function of the package as a function of axes, and whether it takes an array."""
    return [
        (lambda ax=None: plotting.convergence(results, ax=ax), True),
        (lambda ax=None: plotting.discs(METRIC, ax=ax), True),
        (lambda ax=None: plotting.left_ends(results["c"], ax=ax), False),
        (lambda ax=None: plotting.eigenvalues(results, ax=ax), False),
        (lambda ax=None: plotting.time_split(results, ax=ax), False),
        (lambda ax=None: plotting.graph(METRIC, NAMES, ax=ax), False),
    ]


def test_every_picture_is_tested(results: dict[str, gda.Result]) -> None:
    assert len(all_pictures(results)) == len(plotting.__all__)


def test_given_axes_are_used(results: dict[str, gda.Result]) -> None:
    for draw, takes_array in all_pictures(results):
        if not takes_array:
            ax = Figure().subplots()
            assert draw(ax) is ax
    assert pyplot.get_fignums() == []


def test_new_axes_are_known_to_pyplot(results: dict[str, gda.Result]) -> None:
    for number, (draw, takes_array) in enumerate(all_pictures(results), start=1):
        drawn = draw()
        ax = drawn.flat[0] if takes_array else drawn
        assert pyplot.get_fignums() == list(range(1, number + 1))
        assert ax.figure is pyplot.figure(number)


def test_the_callers_style_and_metric_stay(results: dict[str, gda.Result]) -> None:
    before, metric = dict(matplotlib.rcParams), METRIC.copy()
    for draw, takes_array in all_pictures(results):
        drawn = draw()
        render(drawn.flat[0] if takes_array else drawn)
    assert dict(matplotlib.rcParams) == before
    np.testing.assert_array_equal(metric, METRIC)


def test_matplotlib_is_loaded_when_something_is_drawn() -> None:
    code = (
        "import sys, gdaopt.plotting as plotting, numpy as np\n"
        "heavy = ('matplotlib', 'pandas', 'networkx')\n"
        "print(*[name for name in heavy if name in sys.modules], sep=',')\n"
        "plotting.discs(np.eye(2))\n"
        "print(*[name for name in heavy if name in sys.modules], sep=',')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["", "matplotlib"]
