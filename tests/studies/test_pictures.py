"""Pictures of many runs stay readable: a file shows some of them, and says so."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from matplotlib.legend import Legend
from matplotlib.text import Text

import gdaopt as gda
from gdaopt.studies.pictures import MOST_PANELS, PICTURES, Run, select_runs
from tests.plotting.layout import outside, overprinted


@cache
def result() -> gda.Result:
    rng = np.random.default_rng(0)
    glr = gda.GLR(rng.standard_normal((9, 3)), np.arange(9) % 2)
    return gda.solve(gda.MetricProblem(glr, gda.GraphMetrics(3.0)), "joint", max_iterations=3)


def runs(problems: int, of_each: int = 1) -> list[Run]:
    return [
        Run(name=f"class {problem}, run {run}", problem=problem, result=result())
        for problem in range(problems)
        for run in range(of_each)
    ]


@pytest.mark.parametrize("picture", ["discs", "left_ends", "graph"])
def test_the_first_runs_have_panels_of_their_own(picture: str) -> None:
    figure = PICTURES[picture](runs(MOST_PANELS + 1), "title")
    shown = [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)]
    titles = {number: any(f"class {number}, " in text for text in shown) for number in range(7)}
    assert titles == {number: number < MOST_PANELS for number in range(7)}
    assert figure.get_suptitle() == "title (the first 6 of 7 runs)"
    assert "first" not in PICTURES[picture](runs(1), "title").get_suptitle()


@pytest.mark.parametrize("of_each", [1, 2])
def test_many_problems_have_small_panels(of_each: int) -> None:
    figure = PICTURES["convergence"](runs(9, of_each), "title")
    figure.draw_without_rendering()
    assert outside(figure) == []
    assert overprinted(figure) == []
    panels = [ax for ax in figure.axes if ax.axison]
    assert [len(ax.lines) for ax in panels] == [of_each] * 9
    assert figure.get_suptitle() == "title"


@pytest.mark.parametrize("problems", [2, 9])
def test_legends_do_not_repeat_the_class_of_their_panels(problems: int) -> None:
    every = [
        Run(name=f"method {n}", problem=name, group=f"class {name}", result=result())
        for name in range(problems)
        for n in range(3)
    ]
    figure = PICTURES["convergence"](every, "title")
    figure.draw_without_rendering()
    assert outside(figure) == []
    legends = [box for box in figure.findobj(Legend) if isinstance(box, Legend)]
    assert len(legends) == problems
    for box in legends:
        shown = {text.get_text() for text in box.get_texts()}
        assert shown - {"largest lower bound"} == {"method 0", "method 1", "method 2"}
    texts = [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)]
    assert [texts.count(f"class {name}") for name in range(problems)] == [1] * problems


def test_runs_are_chosen_by_their_names() -> None:
    every = runs(3)
    chosen = select_runs(every, ["class 2, run 0", "class 0, run 0", "class 2, run 0"])
    assert chosen == [every[2], every[0]]
    with pytest.raises(gda.errors.InvalidInputError, match="unknown run 'class 9'"):
        select_runs(every, ["class 9"])
