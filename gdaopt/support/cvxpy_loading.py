"""What is registered with CVXPY once it is loaded: importing the package does not load it."""

from __future__ import annotations

import sys
from collections.abc import Callable

__all__ = ["cvxpy_is_used", "when_cvxpy_is_used"]

_waiting: list[Callable[[], None]] = []


def when_cvxpy_is_used(register: Callable[[], None]) -> None:
    """Call a function now if CVXPY has been loaded, else when this package first makes a model."""
    if "cvxpy" in sys.modules:
        register()
    else:
        _waiting.append(register)


def cvxpy_is_used() -> None:
    """Call what waits for CVXPY: for modules that make parts of CVXPY's models."""
    while _waiting:
        _waiting.pop()()
