"""Optima in fractions: any basis leads to one, and only an optimum is called proven."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from gdaopt.backends import LinearArrays
from gdaopt.backends.highspy import HighsModel
from gdaopt.bench.exact import Optimum, exact_optimum
from gdaopt.errors import SolverFailedError
from tests.bench.cases import by_scipy


def random_program(seed: int) -> LinearArrays:
    """Return a program with rows of all kinds, whose numbers are small and often tied."""
    rng = np.random.default_rng(seed)
    n_rows, size = 4, 7
    matrix = rng.integers(-3, 4, (n_rows, size)).astype(float)
    inside = matrix @ rng.integers(0, 3, size)
    kinds = rng.permuted(["equal", "least", "most", "both"])
    return LinearArrays.of(
        rng.integers(-4, 5, size) / 7,
        matrix,
        row_lower=np.where(kinds == "most", -np.inf, inside - (kinds == "both")),
        row_upper=np.where(kinds == "least", np.inf, inside + (kinds == "both")),
        lower=np.where(rng.random(size) < 0.2, -1.0, 0.0),
        upper=rng.integers(2, 4, size),
    )


def upside_down(model: HighsModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the basis of the rows alone, with all variables at their upper bounds."""
    assert model._sent is not None
    pattern = model._sent.pattern
    is_basic = np.arange(pattern.size + pattern.n_rows) >= pattern.size
    return is_basic, ~is_basic


def rows_alone(model: HighsModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the basis of the rows alone, with all variables at their lower bounds."""
    is_basic, _ = upside_down(model)
    return is_basic, np.zeros_like(is_basic)


@pytest.mark.parametrize("basis", [HighsModel.basis, rows_alone, upside_down])
def test_the_optimum_is_that_of_scipy_whatever_the_basis(
    basis: Callable[[HighsModel], tuple[np.ndarray, np.ndarray]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HighsModel, "basis", basis)
    solved = 0
    for seed in range(30):
        arrays = random_program(seed)
        expected = by_scipy(arrays)
        try:
            optimum = exact_optimum(arrays)
        except SolverFailedError:  # no pivots lead from a basis that is neither feasible nor dual
            assert basis is not HighsModel.basis
            continue
        assert float(optimum.value(arrays)) == pytest.approx(expected, abs=1e-9)
        solved += 1
    assert solved >= 24


def test_only_an_optimum_is_proven() -> None:
    tiny = Fraction(1, 10**30)
    for seed in range(5):
        arrays = random_program(seed)
        optimum = exact_optimum(arrays)
        assert optimum.is_proven(arrays)
        for place in range(arrays.pattern.size):
            for change in (tiny, -tiny):
                point = list(optimum.point)
                point[place] += change
                assert not Optimum(point, optimum.row_duals).is_proven(arrays) or (
                    arrays.cost[place] == 0  # other optima are proven as well
                    or Optimum(point, optimum.row_duals).value(arrays) == optimum.value(arrays)
                )
        off = [dual + 1 for dual in optimum.row_duals]
        assert not Optimum(optimum.point, off).is_proven(arrays)


def test_a_bound_broken_by_round_off_alone_is_corrected() -> None:
    # 0.1 + 0.2 > 0.3 by 3e-17: x = 0.2 breaks the row, and floating point does not see it.
    arrays = LinearArrays.of(
        [-1.0, 1.0], [[1.0, 1.0]], row_upper=[0.3], lower=[0.0, 0.1], upper=0.2
    )
    optimum = exact_optimum(arrays)
    assert optimum.point == [Fraction(0.3) - Fraction(0.1), Fraction(0.1)]
    assert optimum.row_duals == [Fraction(-1)]
    assert not Optimum([Fraction(0.2), Fraction(0.1)], [Fraction(-1)]).is_proven(arrays)


def test_an_infeasible_program_has_no_optimum() -> None:
    arrays = LinearArrays.of([1.0], [[1.0]], row_lower=[2.0], upper=1.0)
    with pytest.raises(SolverFailedError, match="HiGHS calls it infeasible"):
        exact_optimum(arrays)
