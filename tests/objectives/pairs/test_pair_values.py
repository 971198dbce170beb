"""Numbers of pairs: their memory is lent to one user at a time, and free once a point is gone."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.directions import DiagonalDirection
from gdaopt.objectives.pairs.passes import BufferPool, PairValues
from tests.helpers import random_metric

K = 4


@pytest.fixture
def no_garbage_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(params=["labels", "real"])
def glr(request: pytest.FixtureRequest) -> gda.GLR:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, K)) / np.sqrt(2 * K)
    return gda.GLR(X, np.sign(X[:, 0]) if request.param == "labels" else X[:, 0])


def test_no_array_is_lent_twice_at_a_time() -> None:
    memory = BufferPool(size=5, most=3)
    rng = np.random.default_rng(1)
    lent: list[np.ndarray] = []
    for _ in range(300):
        if lent and rng.random() < 0.5:
            lent.pop(rng.integers(len(lent)))
        else:
            lent.append(memory.lend()[rng.integers(4) :])  # a view keeps the whole
        addresses = [int(array.base.ctypes.data) for array in lent if array.base is not None]
        assert len(set(addresses)) == len(lent)


def test_blocks_are_computed_once_and_let_go_of_what_computes_them() -> None:
    class Computation:
        calls = 0

        def __call__(self) -> Iterator[np.ndarray]:
            self.calls += 1
            return iter([np.arange(6.0).reshape(2, 3), np.array(7.0)])

    compute = Computation()
    gone = weakref.ref(compute)
    blocks = PairValues(compute, BufferPool(size=7, most=1))
    for _ in range(2):
        first, second = blocks
        np.testing.assert_array_equal(first, [[0, 1, 2], [3, 4, 5]])
        assert second == 7
    assert compute.calls == 1
    del compute
    assert gone() is None


def test_points_are_gone_at_once(glr: gda.GLR, no_garbage_collector: None) -> None:
    point = glr.at(np.eye(K))
    direction = DiagonalDirection(np.ones(K))
    assert point.value > 0
    assert point.line(direction).value(0.5) > 0
    moved = point.moved(direction, 0.5)
    assert moved.gradient().any()
    gone = weakref.ref(point), weakref.ref(moved)
    del point, moved
    assert [ref() for ref in gone] == [None, None]


def test_points_stay_what_they_are_while_others_come_and_go(glr: gda.GLR) -> None:
    rng = np.random.default_rng(2)
    metrics = [random_metric(rng, K) for _ in range(20)]
    kept = [(glr.at(metric), glr.value(metric)) for metric in metrics]
    for metric in metrics:
        glr.gradient(metric)
    for (point, value), metric in zip(kept, metrics, strict=True):
        assert point.value == value
        np.testing.assert_array_equal(point.gradient(), glr.gradient(metric))


def test_objectives_are_pickled_without_what_lies_ready(glr: gda.GLR) -> None:
    gradient = glr.gradient(np.eye(K))
    used = pickle.dumps(glr)
    np.testing.assert_array_equal(pickle.loads(used).gradient(np.eye(K)), gradient)
    for _ in range(3):
        glr.gradient(np.eye(K))
    assert len(pickle.dumps(glr)) == len(used)
