"""Questions about processes, for tests on any system."""

import sys
import time
from collections.abc import Callable

import psutil
import pytest

posix_only = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no forks, and no signals between processes"
)


def is_alive(pid: int) -> bool:
    """Say whether a process runs: one that ended and was not waited for does not.

    It is a zombie, but no one can wait for it before all of its threads have ended.
    """
    try:
        process = psutil.Process(pid)
        return bool(process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1)
    except psutil.NoSuchProcess:
        return False


def soon(happened: Callable[[], bool], seconds: float = 60) -> bool:
    """Say whether something happens within some seconds."""
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
