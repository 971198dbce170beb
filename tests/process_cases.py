"""Questions about processes, for tests on any system."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import psutil
import pytest

posix_only = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no forks, and no signals between processes"
)


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that ended and was not waited for does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
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
