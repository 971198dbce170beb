"""CVXPY, which importing the package does not load, and what is registered with it once loaded.

``from gdaopt.support.cvxpy_loading import cp`` in place of ``import cvxpy as cp``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
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

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return what the next finder says of CVXPY; its loader ends by the function."""
        if name != "cvxpy":
            return None
        finders = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in finders)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
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
