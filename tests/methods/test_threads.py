"""Runs in several threads on one problem: each is the run that it is alone."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from tests.helpers import scaled

# At least one run by each kind of method and of subproblem, short but for the certified one.
RUNS: list[tuple[str, dict[str, Any]]] = [
    ("alternating", {"max_iterations": 20}),
    ("joint", {"max_iterations": 10}),
    ("joint", {"max_iterations": 10, "solver": "analytic"}),
    ("frank-wolfe", {"max_iterations": 20}),
    ("certified", {}),
    ("projected-gradient", {"max_iterations": 20}),
    ("sdp-frank-wolfe", {"max_iterations": 5}),
    ("socp", {}),
]


def problem() -> gda.MetricProblem:
    X, signal = scaled("iris", "versicolor")
    return gda.MetricProblem(gda.GLR(X, signal), gda.GraphMetrics(4.0))


@pytest.fixture
def _many_switches() -> Iterator[None]:
    """Let threads take turns a thousand times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_many_switches")
def test_runs_in_threads_are_those_alone() -> None:
    alone = [gda.solve(problem(), method, **options) for method, options in RUNS]
    shared = problem()
    filters = list(warnings.filters)
    with ThreadPoolExecutor(4) as threads:
        together = threads.map(lambda run: gda.solve(shared, run[0], **run[1]), RUNS)
        for there, here in zip(together, alone, strict=True):
            assert (there.status, there.message) == (here.status, here.message)
            np.testing.assert_array_equal(there.metric, here.metric)
            for column in ("objective", "relative_gap"):
                np.testing.assert_array_equal(there.trace.column(column), here.trace.column(column))
    assert warnings.filters == filters


@pytest.mark.parametrize("method", ["joint", "socp"])
def test_overlapping_solves_leave_the_filters_of_warnings(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second solve begins during the first one, and ends after it."""
    gda.solve(problem(), method, max_iterations=1)  # the solvers are tried
    unpack: Callable[..., Any] = cp.Problem.unpack_results  # CVXPY warns there
    second_has_begun, first_is_over = threading.Event(), threading.Event()

    def overlapping(program: cp.Problem, *args: Any, **kwargs: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            second_has_begun.set()
            assert first_is_over.wait(60)
        elif not second:
            second.append(thread.submit(gda.solve, problem(), method, max_iterations=1))
            assert second_has_begun.wait(60)
        return unpack(program, *args, **kwargs)

    filters = list(warnings.filters)
    second: list[Any] = []
    with ThreadPoolExecutor(1) as thread, monkeypatch.context() as patch:
        patch.setattr(cp.Problem, "unpack_results", overlapping)
        gda.solve(problem(), method, max_iterations=1)
        first_is_over.set()
        for run in second:
            run.result()
    assert warnings.filters == filters
