"""Blocks that ignore warnings, one after another, within each other, and overlapping in threads."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from gdaopt.warning_filters import ignoring


def test_only_what_is_named_is_ignored() -> None:
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
