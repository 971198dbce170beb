"""Deadlines: nested, suspended, of each thread its own."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg import spectrum
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.projection import project_on_intersection
from gdaopt.linalg.spectrum import smallest_eigenpairs, smallest_eigenvalue
from gdaopt.master.weights import find_best_weights
from gdaopt.objectives.pair_objective import PairObjective
from gdaopt.objectives.pairs import ListedPairs, RectanglePairs
from gdaopt.objectives.pairs.pairs import PairValues
from gdaopt.objectives.pairs.signal_pairs import signal_pairs
from gdaopt.support import deadline
from gdaopt.support.deadline import (
    Deadline,
    check_time,
    check_time_for,
    completing,
    unlimited,
    until,
)
from tests.master.cases import evaluate
from tests.objectives.cases import within

PASSED = Deadline(at=-np.inf, time_limit=2.0)


def is_up() -> bool:
    try:
        check_time()
    except gda.errors.TimeLimitError:
        return True
    return False


def test_the_limit_is_reached_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Deadline.after(None) is None
    assert not is_up()
    clock = SimpleNamespace(now=5.0)
    monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    with until(Deadline.after(2.0)):
        for now, expected in ((5.0, False), (6.9, False), (7.0, True), (99.0, True)):
            clock.now = now
            assert is_up() == expected
        with pytest.raises(gda.errors.TimeLimitError, match=r"^time_limit = 2 s reached$"):
            check_time()
    assert not is_up()
    with pytest.raises(gda.errors.TimeLimitError), until(PASSED):
        check_time()
    assert not is_up()  # an error leaves no deadline behind


def test_the_earlier_of_two_deadlines_holds() -> None:
    outer = Deadline.after(10.0)
    assert outer is not None
    with until(outer):
        assert Deadline.after(None) is outer
        assert Deadline.after(1e6) is outer
        inner = Deadline.after(1.0)
        assert inner is not None
        assert inner.at < outer.at
        assert inner.time_limit == 1.0


def test_unlimited_suspends_the_deadline_and_is_a_decorator_too() -> None:
    with until(PASSED):
        assert is_up()
        with unlimited():
            assert not is_up()
            with until(PASSED):
                assert is_up()
        assert not unlimited()(is_up)()
        assert is_up()


def test_long_work_needs_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda: 5.0))
    left = Deadline.after(2.0)
    for context in (until, completing):
        with context(left):
            check_time_for(1.9)
            with pytest.raises(gda.errors.TimeLimitError, match=r"^time_limit = 2 s reached$"):
                check_time_for(2.1)
            with unlimited():
                check_time_for(2.1)
    check_time_for(2.1)


def test_evaluations_are_completed_and_long_work_is_not_begun() -> None:
    with until(PASSED), completing(PASSED):
        assert not is_up()
        with pytest.raises(gda.errors.TimeLimitError):
            check_time_for(0.0)
    with completing(PASSED), unlimited():
        check_time_for(0.0)


def test_threads_have_deadlines_of_their_own() -> None:
    with until(PASSED), ThreadPoolExecutor(1) as thread:
        assert thread.submit(is_up).result() is False


# --- Who asks -------------------------------------------------------------------------------------

X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
z = np.array([1.0, 1.0, -1.0, -1.0])
SIGNAL_PAIRS = signal_pairs(X, z[:, None], np.ones(4))
LISTED_PAIRS = ListedPairs(X, np.array([0, 1]), np.array([2, 3]), np.ones(2))


@pytest.mark.parametrize("pairs", [SIGNAL_PAIRS, LISTED_PAIRS], ids=["signal", "listed"])
@pytest.mark.parametrize("is_kept", [False, True], ids=["recomputed", "kept"])
def test_passes_over_pairs_ask(pairs: RectanglePairs | ListedPairs, is_kept: bool) -> None:
    distances = PairValues(lambda: pairs.distances(np.eye(2)), is_kept)
    weights, objective = pairs.log_weights, PairObjective(pairs, gda.GLR(X, z).loss)
    assert weights is not None
    for _ in range(2):  # numbers that are kept are gone through as well
        for values in (distances, weights, objective.squares()):
            with until(PASSED), pytest.raises(gda.errors.TimeLimitError):
                list(values)
            list(values)


@pytest.mark.parametrize("memory_limit", [1, 2**28], ids=["recomputed", "kept"])
def test_evaluations_ask_and_can_be_repeated(memory_limit: int) -> None:
    """An evaluation that was cut leaves nothing behind: the next one is complete."""
    point = within(memory_limit, lambda: gda.GLR(X, z)).at(np.eye(2))
    whole = gda.GLR(X, z).at(np.eye(2))
    with until(PASSED), pytest.raises(gda.errors.TimeLimitError):
        _ = point.value
    assert point.value == whole.value
    point, whole = (within(memory_limit, lambda: gda.GLR(X, z)).at(np.eye(2)) for _ in range(2))
    with until(PASSED), pytest.raises(gda.errors.TimeLimitError):
        point.gradient()
    np.testing.assert_array_equal(point.gradient(), whole.gradient())


def test_loops_of_linear_algebra_ask() -> None:
    matrix = np.array([[1.0, -2.0], [-2.0, 1.0]])
    large, guess = np.diag(np.arange(300.0)), np.eye(300)[:1]
    with until(PASSED):
        for call in (
            lambda: project_on_intersection(matrix, lambda found: found, 1e-9),
            lambda: gda.linalg.align(large - 1e-3, 0.0),  # LOBPCG
            lambda: smallest_eigenpairs(large, 1, guess),
        ):
            with pytest.raises(gda.errors.TimeLimitError):
                call()


@pytest.mark.parametrize("context", [until, completing])
def test_many_eigenvalues_are_long_work(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not begun either where they would take longer than what is left."""
    monkeypatch.setattr(spectrum, "_LARGE", 299)
    monkeypatch.setattr(spectrum, "_seconds", lambda: 1.0)
    matrix, guess = np.eye(300) - 1 / 300, np.ones((1, 300))
    took = spectrum._UNCACHED * (300 / spectrum._TIMED) ** 3
    calls = (lambda: smallest_eigenvalue(matrix), lambda: smallest_eigenpairs(matrix, 1))
    for left, is_begun in ((took + 60, True), (took - 0.1, False), (-1.0, False)):
        limit = Deadline(at=time.perf_counter() + left, time_limit=2.0)
        expected: Any = nullcontext() if is_begun else pytest.raises(gda.errors.TimeLimitError)
        for call in calls:
            with context(limit), expected:
                call()
    with context(PASSED), pytest.raises(gda.errors.TimeLimitError):
        smallest_eigenpairs(matrix, 1, guess)
    with context(PASSED), unlimited():
        smallest_eigenvalue(matrix)
        smallest_eigenpairs(matrix, 1, guess)
    with completing(PASSED):
        smallest_eigenvalue(matrix[1:, 1:])


@pytest.mark.parametrize("memory_limit", [1, 2**20], ids=["gradient", "newton"])
def test_the_master_problem_returns_the_best_weights_so_far(
    memory_limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = gda.LogDet(np.diag([2.0, 0.5, 1.0])).at(np.zeros((3, 3)))
    start = evaluate(base, Atoms.of_features(np.arange(3)), np.array([3.0, 5.0, 1.0]), 10.0)
    whole, _ = find_best_weights(start, 1e-12, memory_limit)
    clock = SimpleNamespace(now=0.0)
    original = type(start.function).at

    def counted(*arguments: Any) -> object:
        clock.now += 1.0
        return original(*arguments)

    monkeypatch.setattr(type(start.function), "at", counted)
    monkeypatch.setattr(deadline, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    with until(Deadline.after(6.0)):
        cut, _ = find_best_weights(start, 1e-12, memory_limit)
    assert clock.now == 6.0
    assert whole.value < cut.value < start.value
