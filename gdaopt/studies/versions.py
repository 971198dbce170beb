"""The versions that results depend on."""

from __future__ import annotations

import platform
from importlib.metadata import version

__all__ = ["versions"]

_PACKAGES = ("gdaopt", "numpy", "scipy", "cvxpy", "highspy")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on.

    Examples
    --------
    >>> list(versions())
    ['python', 'gdaopt', 'numpy', 'scipy', 'cvxpy', 'highspy']
    """
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}
