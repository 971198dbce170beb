"""CVXPY, which importing the package does not load, and what is registered with it once loaded.

``from gdaopt.support.cvxpy_loading import cp`` in place of ``import cvxpy as cp``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["cp", "cvxpy_is_used", "when_cvxpy_is_used"]

if TYPE_CHECKING:
    import cvxpy as cp
else:

    class _Cvxpy:
        """Loads CVXPY when the first of its names is asked for."""

        def __getattr__(self, name: str) -> Any:
            import cvxpy

            return getattr(cvxpy, name)

    cp = _Cvxpy()

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
