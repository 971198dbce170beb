"""Runs in several threads on one problem, and the threads of the products within a run.

Each run is the run that it is alone. Where features are few, products take one thread: threads that
wait take the time of others. What a run limits is what it finds again at its end, also by an error.
"""

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import gdaopt as gda
from gdaopt.methods import State
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


def n_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two() -> Iterator[None]:
    with threadpool_limits(2, user_api="blas"):
        if n_threads() != {2}:
            pytest.skip("no library of products whose threads can be set")
        yield


def small_problem() -> gda.MetricProblem:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    return gda.MetricProblem(gda.MCML(X, y), gda.GraphMetrics(3.0))


@pytest.mark.usefixtures("two")
class TestRuns:
    def test_one_thread_inside_and_all_of_them_afterwards(self) -> None:
        seen: list[set[int]] = []

        def note(_: State) -> None:
            seen.append(n_threads())

        gda.solve(small_problem(), "certified", max_iterations=2, callback=note)
        assert seen
        assert all(found == {1} for found in seen)
        assert n_threads() == {2}

    def test_after_an_error(self) -> None:
        def fail(_: State) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            gda.solve(small_problem(), "certified", callback=fail)
        assert n_threads() == {2}

    def test_between_the_states_of_a_loop_all_threads_are_there(self) -> None:
        for state in gda.iterate(small_problem(), "certified"):
            assert n_threads() == {2}
            if state.iteration == 2:
                break

    def test_many_features_have_their_threads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys.modules["gdaopt.methods.solve"], "_FEW_FEATURES", 2)
        seen: list[set[int]] = []
        gda.solve(
            small_problem(),
            "certified",
            max_iterations=1,
            callback=lambda _: seen.append(n_threads()),
        )
        assert {2} in seen

    def test_a_run_in_a_run(self) -> None:
        def again(_: State) -> None:
            gda.solve(small_problem(), "certified", max_iterations=1)
            assert n_threads() == {1}

        gda.solve(small_problem(), "certified", max_iterations=1, callback=again)
        assert n_threads() == {2}
