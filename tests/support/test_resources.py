"""Threads and memory: the order of what threads find, deadlines, errors, and what does not fit."""

import threading
from pathlib import Path

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.support import resources
from gdaopt.support.deadline import Deadline, check_time, until
from gdaopt.support.resources import check_fits, free_memory, mapped, single_threaded


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
            pass
        assert set(n_of_products()) <= {1}
    assert n_of_products() == before


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "free_memory", lambda: 2 * 10**9)
    check_fits(2e9, "the metric", "take less")
    with pytest.raises(
        InvalidInputError,
        match=r"the metric would need about 2\.5 GB of memory, of which 2 are free; take less",
    ):
        check_fits(2.5e9, "the metric", "take less")


def test_a_limit_of_the_container_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    free = free_memory()
    assert free > 0
    monkeypatch.setattr(resources, "_CGROUP", tmp_path)
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("400\n")
    assert free_memory() == 600
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() > 600
