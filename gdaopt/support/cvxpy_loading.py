"""CVXPY, which importing the package does not load, and what is registered with it once loaded.

``from gdaopt.support.cvxpy_loading import cp`` in place of ``import cvxpy as cp``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["cp", "cvxpy_internals", "cvxpy_is_used", "when_cvxpy_is_used"]

if TYPE_CHECKING:
    import cvxpy as cp

    from gdaopt.support import cvxpy_internals
else:

    class _Module:
        """Loads a module when the first of its names is asked for."""

        def __init__(self, module: str) -> None:
            self._module = module

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._module), name)

    cp, cvxpy_internals = _Module("cvxpy"), _Module("gdaopt.support.cvxpy_internals")

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
