"""CVXPY, which importing the package does not load, and what is registered with it once loaded.

``from gdaopt.support.cvxpy_loading import cp`` in place of ``import cvxpy as cp``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["cp", "cvxpy_internals", "when_cvxpy_is_loaded"]

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


class _Watcher(MetaPathFinder):
    """Lets others find CVXPY, and calls a function when it has been loaded."""

    def __init__(self, register: Callable[[], None]) -> None:
        self.register = register
        self._asks_others = False

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return what the other finders say of CVXPY; its loader ends by the function."""
        if name != "cvxpy" or self._asks_others:
            return None
        self._asks_others = True  # which may ask all finders, this one included
        try:
            spec = find_spec(name)
        finally:
            self._asks_others = False
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    self.register()

            vars(spec.loader)["exec_module"] = load_and_register
        return spec


def when_cvxpy_is_loaded(register: Callable[[], None]) -> None:
    """Call a function now if CVXPY has been loaded, else when anybody loads it."""
    if "cvxpy" in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _Watcher(register))
