"""Steps calculate in one thread where features are few: threads that wait take the time of others.

What a run limits is what it finds again at its end, also where it ends by an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import gdaopt as gda
from gdaopt.methods import State


def n_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two() -> Iterator[None]:
    with threadpool_limits(2, user_api="blas"):
        if n_threads() != {2}:
            pytest.skip("no library of products whose threads can be set")
        yield


def problem() -> gda.MetricProblem:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    return gda.MetricProblem(gda.MCML(X, y), gda.GraphMetrics(3.0))


@pytest.mark.usefixtures("two")
class TestRuns:
    def test_one_thread_inside_and_all_of_them_afterwards(self) -> None:
        seen: list[set[int]] = []

        def note(_: State) -> None:
            seen.append(n_threads())

        gda.solve(problem(), "certified", max_iterations=2, callback=note)
        assert seen
        assert all(found == {1} for found in seen)
        assert n_threads() == {2}

    def test_after_an_error(self) -> None:
        def fail(_: State) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            gda.solve(problem(), "certified", callback=fail)
        assert n_threads() == {2}

    def test_between_the_states_of_a_loop_all_threads_are_there(self) -> None:
        for state in gda.iterate(problem(), "certified"):
            assert n_threads() == {2}
            if state.iteration == 2:
                break

    def test_many_features_have_their_threads(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys.modules["gdaopt.methods.solve"], "_FEW_FEATURES", 2)
        seen: list[set[int]] = []
        gda.solve(
            problem(), "certified", max_iterations=1, callback=lambda _: seen.append(n_threads())
        )
        assert {2} in seen

    def test_a_run_in_a_run(self) -> None:
        def again(_: State) -> None:
            gda.solve(problem(), "certified", max_iterations=1)
            assert n_threads() == {1}

        gda.solve(problem(), "certified", max_iterations=1, callback=again)
        assert n_threads() == {2}
