"""The closed form as a backend, and the stopwatch."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import StageSeconds, Stopwatch
from gdaopt.backends.protocol import ANALYTIC
from gdaopt.backends.registry import make_backend
from gdaopt.programs import DiagonalPolytope, Program


def test_its_answer_is_exact_and_all_of_its_time_is_in_the_solver() -> None:
    program = Program(ANALYTIC)
    solution = program.solve(np.array([-1.0, -2.0]), DiagonalPolytope(np.ones(2), trace_bound=5.0))
    np.testing.assert_array_equal(solution.point, [1.0, 4.0])
    assert solution.solver == ANALYTIC


def test_it_has_no_options() -> None:
    with pytest.raises(gda.errors.InvalidInputError, match="make no sense with solver='analytic'"):
        make_backend(ANALYTIC, {"presolve": "off"})
    assert make_backend(ANALYTIC).name == ANALYTIC
    assert Stopwatch().seconds.total == 0.0


def test_the_time_of_another_process_is_a_part_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the call was spent on the way there and back, which counts as writing."""
    clock = iter([100.0, 110.0, 111.0])
    monkeypatch.setattr("gdaopt.backends.protocol.time.perf_counter", lambda: next(clock))
    watch = Stopwatch()
    watch.lap_elsewhere(StageSeconds(write=1.0, canonicalize=2.0, solve=3.0))
    watch.lap("unpack")
    assert watch.seconds == StageSeconds(write=5.0, canonicalize=2.0, solve=3.0, unpack=1.0)
