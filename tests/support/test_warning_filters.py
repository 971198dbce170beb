"""Blocks that ignore warnings, one after another, within each other, and overlapping in threads."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.support.warning_filters import ignoring


def test_only_what_is_named_is_ignored() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # whatever the command line of pytest says
        before = list(warnings.filters)
        with ignoring("slow"), ignoring(category=DeprecationWarning, module=r"tests\."):
            warnings.warn("Slow solver", stacklevel=1)
            warnings.warn("old", DeprecationWarning, stacklevel=1)
            with pytest.raises(UserWarning, match="a slow solver"):
                warnings.warn("a slow solver", stacklevel=1)
            with pytest.raises(RuntimeWarning):
                warnings.warn("slow", RuntimeWarning, stacklevel=1)
            with pytest.raises(DeprecationWarning):
                warnings.warn_explicit("old", DeprecationWarning, "file", 1, module="other")
        assert warnings.filters == before
        with pytest.raises(UserWarning, match="Slow"):
            warnings.warn("Slow solver", stacklevel=1)


def test_filters_that_are_set_within_a_block_stay() -> None:
    with warnings.catch_warnings():
        with ignoring("slow"):
            warnings.simplefilter("always", BytesWarning)
        assert warnings.filters[0][:3] == ("always", None, BytesWarning)
        with ignoring("slow"):
            warnings.resetwarnings()
        assert warnings.filters == []


def test_blocks_of_threads_may_overlap() -> None:
    before = list(warnings.filters)
    inside, first_is_over = threading.Event(), threading.Event()

    def second() -> None:
        with ignoring("slow"):
            inside.set()
            assert first_is_over.wait(60)
            warnings.warn("slow", stacklevel=1)

    with ThreadPoolExecutor(1) as thread:
        with ignoring("slow"):
            ended = thread.submit(second)
            assert inside.wait(60)
        first_is_over.set()
        ended.result()
    assert warnings.filters == before


RNG = np.random.default_rng(0)
X, Y = 40 * RNG.standard_normal((24, 3)), np.arange(24) % 3
OBJECTIVES: dict[str, Any] = {
    "GLR": gda.GLR(X, np.where(Y == 0, 1, -1)),
    "MCML": gda.MCML(X, Y),
    "LogisticPairs": gda.LogisticPairs(X, Y),
    "sum": gda.GLR(X, np.where(Y == 0, 1, -1)) + gda.Ridge(3),
}


def used(name: str) -> None:
    """Ask an objective, a certificate, runs and a learner where NumPy raises for everything."""
    objective = OBJECTIVES[name]
    with np.errstate(all="raise"):
        objective.value(np.eye(3))
        objective.gradient(np.eye(3))
        gda.check_objective(objective, n_metrics=1)
        problem = gda.MetricProblem(objective, gda.GraphMetrics(1.0))
        gda.certify(problem, problem.central_metric())
        for method in ("alternating", "certified", "frank-wolfe", "sdp-frank-wolfe"):
            gda.solve(problem, method, max_iterations=5)
        for _ in gda.iterate(problem, "joint", max_iterations=3):
            assert np.geterr()["under"] == "raise"
        gda.GraphClassifier().fit(X, Y).predict(X + 1e-3)


def test_what_underflows_is_zero_whatever_a_user_has_set() -> None:
    """Also in threads."""
    for name in OBJECTIVES:
        used(name)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(used, OBJECTIVES))
