"""Pictures survive ``rcParams["text.usetex"]``: LaTeX writes all text, whatever names hold."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import gdaopt as gda
from gdaopt import plotting
from gdaopt.plotting.legends import written
from tests.plotting.cases import solved
from tests.plotting.layout import outside, overprinted

NAMES = ["cost_in $ & 100 % of {x}", "naïve µm² ~ αβΩ − ρ…", r"C:\new #1 ^ 日本 Ωmega|<>"]


@pytest.fixture
def usetex() -> Iterator[None]:
    with matplotlib.rc_context({"text.usetex": True}):
        yield


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("usetex")
def test_nothing_acts_in_a_name(name: str) -> None:
    text = written(name)
    # Without what is escaped or written as mathematics, no sign of LaTeX is left.
    rest = re.sub(r"\\text\w+\{\}|\\ldots\{\}|\\[_$&%{}#]|\$[^$]*\$", "", text)
    assert not set(rest) & set("\\_$&%#{}^~")
    assert "日" not in text


def test_without_latex_names_are_as_they_are() -> None:
    assert [written(name) for name in NAMES] == NAMES


@pytest.mark.skipif(
    any(shutil.which(program) is None for program in ("latex", "dvipng")), reason="no LaTeX"
)
@pytest.mark.slow
@pytest.mark.usefixtures("usetex")
def test_all_pictures() -> None:
    metric = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
    runs: dict[str, gda.Result] = dict.fromkeys(NAMES, solved(max_iterations=20))
    figure = Figure(figsize=(8, 12), layout="constrained")
    above, middle, below = figure.subfigures(3, 1, squeeze=False)[:, 0]
    plotting.convergence(runs, ax=above.subplots(2, 2))
    ends, split = middle.subplots(1, 2)
    plotting.left_ends(runs[NAMES[0]], ax=ends)
    plotting.time_split(runs, ax=split)
    *pair, last = below.subplots(1, 3)
    plotting.discs(metric, names=NAMES, ax=pair)
    plotting.graph(metric, names=NAMES, ax=last)
    figure.draw_without_rendering()
    assert outside(figure) == []
    assert overprinted(figure) == []
