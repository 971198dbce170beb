"""Pictures of a study: of every width, with what they have to say."""

from io import BytesIO

import numpy as np
import pandas as pd
import pytest

from gdaopt.bench.pictures import PICTURES

VERDICTS = {"analytic": "verified", "HIGHS": "verified", "SCS": "wrong", "GLPK": "infeasible"}


def programs(*data: str) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "data": name,
            "solver": solver,
            "start": start,
            "tolerance": tolerance,
            "program": ["diagonal", "joint"][index % 2],
            "index": index,
            "is_first": index == 0,
            "verdict": said,
            "residual": {"verified": 0.0, "wrong": 1e-3}.get(said, np.inf),
            "seconds": 1e-3 * float(rng.random() + 1),
        }
        for name in data
        for solver, said in VERDICTS.items()
        for start in (["re-solve"] if solver == "analytic" else ["re-solve", "hot"])
        for tolerance in (1e-6, 1e-4)
        for index in range(4)
    )


@pytest.mark.parametrize("width", [3.3, pytest.param(7.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PICTURES)
def test_all_is_inside(name: str, width: float) -> None:
    figure = PICTURES[name](programs("wine", "random-50"), 10.0, width)
    figure.savefig(BytesIO(), format="png", dpi=100)
    right, top = figure.get_size_inches() * figure.dpi
    for ax in figure.axes:
        box = ax.get_tightbbox()
        assert box is not None
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= right + 1
        assert box.y1 <= top + 1


def test_times_are_those_that_count() -> None:
    """The fastest is on top; a solver that verifies nothing stands at the cap."""
    figure = PICTURES["times"](programs("wine"), 10.0)
    left, right = figure.axes
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names[-1] in ("analytic", "HIGHS")
    assert set(names[:2]) == {"SCS", "GLPK"}
    points = [np.asarray(line.get_xydata(), dtype=np.float64)[0] for line in left.lines]
    at = {round(float(y)): float(x) for x, y in points}
    assert at[0] == pytest.approx(1e4)
    assert at[3] < 2.0
    shares = [np.asarray(line.get_xydata(), dtype=np.float64)[0] for line in right.lines]
    assert [y for _, y in shares] == [y for _, y in points]  # of the same solvers and starts
    assert sorted({x for x, _ in shares}) == [0, 100]


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_say_programs_starts_and_tolerances(name: str) -> None:
    figure = PICTURES[name](programs("wine"), 10.0)
    title = figure.get_suptitle()
    assert "diagonal, joint programs" in title
    assert ("hot" in title) == (name == "times")  # the other two are of re-solves
    assert ("1e-06" in title, "0.0001" in title) == (True, name == "pareto")


@pytest.mark.parametrize("start", ["cold", "hot", "re-solve"])
@pytest.mark.parametrize("name", PICTURES)
def test_a_bench_of_one_start(name: str, start: str) -> None:
    """The closed form has the start "re-solve" alone; without other solvers there is no profile."""
    some = programs("wine")
    closed = some["solver"] == "analytic"
    own = some[closed | (some["start"] == "hot")].assign(
        start=lambda all: all["start"].where(all["solver"] == "analytic", start)
    )
    assert f"; {start}; " in PICTURES[name](own, 10.0).get_suptitle()
    PICTURES[name](some[closed], 10.0)


def test_each_solver_of_the_pareto_picture_has_a_mark_and_a_name_of_its_own() -> None:
    figure = PICTURES["pareto"](programs("wine"), 10.0)
    (legend,) = figure.legends
    kinds = {"closed form", "simplex", "first order"}
    assert {text.get_text() for text in legend.get_texts()} == kinds | set(VERDICTS)
    marks = [(line.get_color(), line.get_marker()) for line in legend.get_lines()]
    assert len(set(marks)) == len(kinds | set(VERDICTS))


def test_profiles_begin_at_no_program_and_end_at_all() -> None:
    """Each panel names the solvers of its group; the others are behind."""
    simplex, first_order = PICTURES["profiles"](programs("wine"), 10.0).axes
    ends = {}
    for ax in (simplex, first_order):
        for line in ax.lines:
            shares = np.asarray(line.get_xydata(), dtype=np.float64)[:, 1]
            assert shares[0] == 0.0
            if not str(line.get_label()).startswith("_"):
                ends[ax.get_title(loc="left"), line.get_label()] = float(shares[-1])
        assert len(ax.lines) == 4
    assert ends == {
        ("wine: simplex", "HIGHS"): 1.0,
        ("wine: simplex", "GLPK"): 0.0,
        ("wine: first order", "SCS"): 0.0,
    }
