"""Answers of solvers to programs: inaccurate, not finite, or missing."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from tests.backends.cases import Fault, solve_diagonal


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> Fault:
    return Fault(monkeypatch)


def test_inaccurate_answers_are_repaired_with_a_warning(fault: Fault) -> None:
    fault.status, fault.value = cp.OPTIMAL_INACCURATE, 1.04  # in units of C/K = 2.5
    with pytest.warns(gda.InaccurateSolutionWarning, match="calls its answer to the diagonal"):
        solution = solve_diagonal()
    assert solution.status == "optimal_inaccurate"
    np.testing.assert_allclose(solution.point, [2.5, 2.5])  # shrunk to the trace bound
    assert solution.repair_distance == pytest.approx(0.1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_answers_that_are_not_finite(value: float, fault: Fault) -> None:
    fault.value = value
    with pytest.raises(gda.SolverFailedError, match=rf"diagonal program optimal and .*{value}"):
        solve_diagonal()


def test_answers_that_are_missing(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault, "strike", lambda problem: problem._clear_solution())
    monkeypatch.setattr(cp.Problem, "status", cp.OPTIMAL)
    with pytest.raises(gda.SolverFailedError, match="returned None"):
        solve_diagonal()
