"""Runs in several threads on one problem, and the threads of the products within a run.

Each run is the run that it is alone. Where features are few, products take one thread: threads that
wait take the time of others. What a run limits is what it finds again at its end, also by an error.
"""

import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

import numpy as np
import pytest
from packaging.version import Version
from threadpoolctl import threadpool_info, threadpool_limits

import gdaopt as gda
from gdaopt.methods import State
from gdaopt.wide.features import ManyFeatures, has_many_features
from tests.methods.run_cases import before_each, small, solve

# At least one run by each kind of method and of subproblem, short.
RUNS = [
    *("alternating, HiGHS", "joint, HiGHS", "joint", "frank-wolfe", "certified"),
    *("projected-gradient", "sdp-frank-wolfe, CLARABEL", "socp"),
]


@pytest.fixture
def _many_switches() -> Iterator[None]:
    """Let threads take turns a thousand times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.skipif(
    Version(version("cvxpy")) < Version("1.9"),
    reason="one thread that asks whether a program is DPP lets others take it for no DCP program",
)
@pytest.mark.usefixtures("_many_switches")
def test_runs_in_threads_are_those_alone() -> None:
    alone = [solve(small(), way, max_iterations=10) for way in RUNS]
    shared = small()
    filters = list(warnings.filters)
    with ThreadPoolExecutor(4) as threads:
        together = threads.map(lambda way: solve(shared, way, max_iterations=10), RUNS)
        for there, here in zip(together, alone, strict=True):
            assert (there.status, there.message) == (here.status, here.message)
            np.testing.assert_array_equal(there.metric, here.metric)
            for column in ("objective", "relative_gap"):
                np.testing.assert_array_equal(there.trace.column(column), here.trace.column(column))
    assert warnings.filters == filters


def n_threads() -> set[int]:
    """Return the numbers of threads of products; SCS brings a library of its own with just one."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {pool["num_threads"] for pool in pools if "scs" not in pool["filepath"]}


@pytest.fixture
def two() -> Iterator[None]:
    with threadpool_limits(2, user_api="blas"):
        if n_threads() != {2}:
            pytest.skip("no library of products whose threads can be set")
        yield


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(("few", "inside"), [(512, 1), (2, 2)])
def test_small_products_have_one_thread_inside_of_runs(
    few: int, inside: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a run in a run; all threads are there afterwards, and between states of a loop."""
    monkeypatch.setattr(sys.modules["gdaopt.methods.run"], "_SMALL", few**3)
    seen: list[set[int]] = []

    def note(state: State) -> None:
        gda.solve(small(), max_iterations=1)
        seen.append(n_threads())
        if state.iteration == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        gda.solve(small(), tolerance=0, callback=note)
    assert seen == [{inside}] * 3
    assert n_threads() == {2}
    for _ in gda.iterate(small(), max_iterations=2):
        assert n_threads() == {2}
    gda.solve(small(), max_iterations=1)
    assert n_threads() == {2}


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(("n_samples", "inside"), [(30, 1), (340, 2)])
def test_many_features_of_few_samples_have_one_thread(
    n_samples: int, inside: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.random.default_rng(0).standard_normal((n_samples, 1200))
    problem = gda.MetricProblem(gda.GLR(X, np.sign(X[:, 0])), gda.GraphMetrics(12.0, 0.0))
    assert has_many_features(problem)
    assert (2.0 * problem.objective).n_samples == n_samples
    seen: list[set[int]] = []
    before_each(monkeypatch, ManyFeatures, "gram_of", lambda *_: seen.append(n_threads()))
    gda.solve(problem, max_iterations=0)
    assert seen == [{inside}]
