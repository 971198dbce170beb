"""The versions that results depend on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

_PACKAGES = ("gdaopt", "numpy", "scipy", "cvxpy", "highspy")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def machine() -> str:
    """Return the processor that times depend on: its name, where it is known, and its cores."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):  # not Linux, or a processor that has no name there
        pass
    return f"{platform.system()}, {name}, {os.cpu_count()} cores"
