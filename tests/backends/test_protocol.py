"""The closed form as a backend, and the stopwatch."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import ANALYTIC, Stopwatch, make_backend
from gdaopt.programs import DiagonalPolytope, DiagonalProgram


def test_its_answer_is_exact_and_all_of_its_time_is_in_the_solver() -> None:
    program = DiagonalProgram(2, ANALYTIC)
    solution = program.solve(np.array([-1.0, -2.0]), DiagonalPolytope(np.ones(2), trace_bound=5.0))
    np.testing.assert_array_equal(solution.point, [1.0, 4.0])
    assert solution.solver == ANALYTIC


def test_it_has_no_options() -> None:
    with pytest.raises(gda.errors.InvalidInputError, match="make no sense with solver='analytic'"):
        make_backend(ANALYTIC, {"presolve": "off"})
    assert make_backend(ANALYTIC).name == ANALYTIC
    assert Stopwatch().seconds.total == 0.0
