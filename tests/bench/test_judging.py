"""How solvers are judged, by answers made by hand."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gmean

from gdaopt.backends import Answer, StageSeconds
from gdaopt.bench import Replayed
from gdaopt.bench.judging import (
    VERDICTS,
    charged,
    mean_residual,
    not_dominated,
    performance_profile,
    shifted_geometric_mean,
    verdict,
)


def answered(
    infeasibility: float = 0.0,
    suboptimality: float = 0.0,
    status: str = "optimal",
    seconds: float = 0.001,
) -> Replayed:
    return Replayed(
        answer=Answer(point=np.zeros(1), status=status),
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
    assert charged([0.1, 1e-6, 99.0], [True, False, False], 10.0).tolist() == [0.1, 10.0, 10.0]
    honest = shifted_geometric_mean(charged([1.0, 1.0], [True, True], 10.0))
    fast_failure = shifted_geometric_mean(charged([1.0, 1e-9], [True, False], 10.0))
    assert honest < fast_failure


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=20), st.floats(1e-6, 10))
def test_shifted_geometric_means(values: list[float], shift: float) -> None:
    """SciPy's geometric mean of the shifted values; between the least and the largest."""
    found = shifted_geometric_mean(values, shift)
    assert found == pytest.approx(gmean(np.array(values) + shift) - shift, rel=1e-6, abs=1e-9)
    assert min(values) - 1e-9 <= found <= max(values) * (1 + 1e-9) + 1e-9


def test_no_values_have_no_mean() -> None:
    assert math.isnan(shifted_geometric_mean([]))


def test_residuals_are_floored_at_the_tolerance() -> None:
    assert mean_residual([1e-16, 1e-9, 0.0], 1e-6) == pytest.approx(1e-6)
    assert mean_residual([1e-16, 1e-2], 1e-6) == pytest.approx(1e-4)
    assert mean_residual([math.inf, math.nan], 1e-6) == pytest.approx(1.0)


SECONDS = {"a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, math.inf]}


class TestProfiles:
    def test_by_the_best_solver(self) -> None:
        ratios, shares = performance_profile(SECONDS)["a"]
        assert ratios.tolist() == [1.0, 1.0, 2.0]
        assert shares == pytest.approx([1 / 3, 2 / 3, 1.0])
        ratios, shares = performance_profile(SECONDS)["b"]
        assert ratios.tolist() == [1.0, 2.0]
        assert shares == pytest.approx([1 / 3, 2 / 3])  # it never gets to the third

    def test_a_solver_that_solves_nothing(self) -> None:
        ratios, shares = performance_profile({"a": [math.inf], "b": [1.0]})["a"]
        assert len(ratios) == len(shares) == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_a_front(points: list[tuple[float, float]]) -> None:
    kept = [point for point, is_kept in zip(points, not_dominated(points), strict=True) if is_kept]
    assert kept
    for x, y in points:
        assert any(a <= x and b <= y for a, b in kept)
    for x, y in kept:
        assert not any((a < x and b <= y) or (a <= x and b < y) for a, b in points)
