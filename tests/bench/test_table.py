"""How solvers are judged, by answers made by hand."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gmean, sem, t

from gdaopt.backends import Answer, StageSeconds
from gdaopt.bench.pictures import PICTURES
from gdaopt.bench.replayed import Replayed
from gdaopt.bench.table import (
    VERDICTS,
    are_undominated,
    charge_cap,
    confidence_interval,
    mean_residual,
    performance_profile,
    shifted_geometric_mean,
    verdict,
)
from tests.helpers import properties
from tests.plotting.layout import outside


def answered(
    infeasibility: float = 0.0,
    suboptimality: float = 0.0,
    status: str = "optimal",
    seconds: float = 0.001,
) -> Replayed:
    return Replayed(
        answer=Answer(solver="HIGHS", point=np.zeros(1), status=status),
        seconds=StageSeconds(solve=seconds),
        infeasibility=infeasibility,
        suboptimality=suboptimality,
    )


def failed(**options: Any) -> Replayed:
    return Replayed(answer=None, failure="no luck", seconds=StageSeconds(), **options)


@pytest.mark.parametrize(
    ("replayed", "said"),
    [
        (answered(), "verified"),
        (answered(1e-6, -1e-6), "verified"),
        (answered(2e-6), "wrong"),
        (answered(0.0, 2e-6), "wrong"),
        (answered(0.0, -2e-6), "wrong"),  # better than the optimum: outside
        (answered(2e-6, status="optimal_inaccurate"), "inaccurate"),
        (answered(1e-7, status="optimal_inaccurate"), "verified"),  # not the solver's word counts
        (answered(seconds=10.5), "timed_out"),
        (failed(), "failed"),
        (failed(calls_infeasible=True), "infeasible"),
        (answered(math.nan), "wrong"),
    ],
)
def test_verdicts(replayed: Replayed, said: str) -> None:
    assert verdict(replayed, 1e-6, 10.0) == said
    assert said in VERDICTS


def test_what_is_not_verified_counts_the_cap() -> None:
    """A solver does not gain by failing fast, nor by failing slowly."""
    assert charge_cap([0.1, 1e-6, 99.0], [True, False, False], 10.0).tolist() == [0.1, 10.0, 10.0]
    honest = shifted_geometric_mean(charge_cap([1.0, 1.0], [True, True], 10.0))
    fast_failure = shifted_geometric_mean(charge_cap([1.0, 1e-9], [True, False], 10.0))
    assert honest < fast_failure


@properties(400)
@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=20), st.floats(1e-6, 10))
def test_shifted_geometric_means(values: list[float], shift: float) -> None:
    """SciPy's geometric mean of the shifted values; between the least and the largest."""
    found = shifted_geometric_mean(values, shift)
    assert found == pytest.approx(gmean(np.array(values) + shift) - shift, rel=1e-6, abs=1e-9)
    assert min(values) <= found <= max(values)


@pytest.mark.parametrize("count", [2, 4, 30])
def test_confidence_intervals(count: int) -> None:
    """SciPy's interval of the logarithms of the shifted values; none of a single value."""
    values, shift = np.random.default_rng(count).exponential(size=count), 1e-2
    logarithms = np.log(values + shift)
    ends = t.interval(0.95, count - 1, logarithms.mean(), sem(logarithms))
    expected = np.maximum(np.exp(ends) - shift, 0.0)  # no time is negative
    assert confidence_interval(values, shift) == pytest.approx(expected, rel=1e-9)
    assert confidence_interval([2.0] * count) == pytest.approx((2.0, 2.0))
    assert all(map(math.isnan, confidence_interval(values[:1])))


def test_residuals_are_floored_at_the_tolerance() -> None:
    assert math.isnan(shifted_geometric_mean([]))
    assert mean_residual([1e-16, 1e-9, 0.0], 1e-6) == pytest.approx(1e-6)
    assert mean_residual([1e-16, 1e-2], 1e-6) == pytest.approx(1e-4)
    assert mean_residual([math.inf, math.nan], 1e-6) == pytest.approx(1.0)


def test_profiles() -> None:
    seconds = {"a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, math.inf], "c": [math.inf] * 3}
    expected = {
        "a": ([1.0, 1.0, 2.0], [1 / 3, 2 / 3, 1.0]),
        "b": ([1.0, 2.0], [1 / 3, 2 / 3]),  # it never gets to the third
        "c": ([], []),
    }
    for name, (ratios, shares) in performance_profile(seconds).items():
        assert ratios.tolist() == expected[name][0]
        assert shares == pytest.approx(expected[name][1])


@properties(400)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_a_front(points: list[tuple[float, float]]) -> None:
    front = [point for point, is_on in zip(points, are_undominated(points), strict=True) if is_on]
    assert front
    for x, y in points:
        assert any(a <= x and b <= y for a, b in front)
    for x, y in front:
        assert not any((a < x and b <= y) or (a <= x and b < y) for a, b in points)


# --- Pictures of a study -------------------------------------------------------------------------


SAID = {"analytic": "verified", "HIGHS": "verified", "SCS": "wrong", "GLPK": "infeasible"}


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
        for solver, said in SAID.items()
        for start in (["re-solve"] if solver == "analytic" else ["re-solve", "hot"])
        for tolerance in (1e-6, 1e-4)
        for index in range(4)
    )


@pytest.mark.parametrize("name", PICTURES)
def test_all_is_inside(name: str) -> None:
    figure = PICTURES[name](programs("wine", "random-50"), 10.0)
    figure.draw_without_rendering()
    assert outside(figure) == []


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
