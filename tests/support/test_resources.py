"""Threads: the order of what they find, deadlines and errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.support import resources
from gdaopt.support.deadline import Deadline, check_time, until
from gdaopt.support.resources import mapped, single_threaded


@pytest.fixture(params=[1, 3])
def n_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(resources, "_n_threads", lambda: request.param)
    return int(request.param)


def test_what_is_found_is_in_order(n_threads: int) -> None:
    names: set[str] = set()

    def square(number: int) -> int:
        names.add(threading.current_thread().name)
        return number**2

    assert mapped(square, range(50)) == [number**2 for number in range(50)]
    assert (threading.main_thread().name in names) == (n_threads == 1)


@pytest.mark.usefixtures("n_threads")
def test_deadlines_and_errors_reach_the_caller() -> None:
    with until(Deadline(-np.inf, 2.0)), pytest.raises(gda.errors.TimeLimitError):
        mapped(lambda _: check_time(), range(5))
    with pytest.raises(ZeroDivisionError):
        mapped(lambda number: 1 / number, range(5))


def test_products_have_their_threads_back() -> None:
    def n_of_products() -> list[int]:
        found = resources._controller().select(user_api="blas").info()
        return [pool["num_threads"] for pool in found]

    before = n_of_products()
    with single_threaded():
        with single_threaded():
            assert set(n_of_products()) <= {1}
        assert set(n_of_products()) <= {1}
    assert n_of_products() == before
