"""What all pictures have in common: axes, styles, and imports."""

from __future__ import annotations

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from tests.plotting.cases import render
from tests.plotting.test_layout import EACH, PICTURES, runs


@pytest.mark.parametrize("name", EACH)
def test_given_axes_are_used(name: str) -> None:
    draw, shape, _ = PICTURES[name]
    axes = Figure().subplots(*shape)
    assert draw(axes) is axes
    assert pyplot.get_fignums() == []


def test_new_axes_are_known_to_pyplot() -> None:
    for number, name in enumerate(EACH, start=1):
        ax = np.ravel(PICTURES[name][0](None))[0]
        assert pyplot.get_fignums() == list(range(1, number + 1))
        assert ax.figure is pyplot.figure(number)


def test_the_callers_style_and_metric_stay() -> None:
    before, metrics = dict(matplotlib.rcParams), [run.metric.copy() for run in runs().values()]
    for name in EACH:
        render(np.ravel(PICTURES[name][0](None))[0])
    assert dict(matplotlib.rcParams) == before
    for metric, run in zip(metrics, runs().values(), strict=True):
        np.testing.assert_array_equal(metric, run.metric)


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
