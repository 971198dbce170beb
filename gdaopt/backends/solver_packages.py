"""What reads the names of a solver's options, and its version, from its package.

Packages are imported when they are read: the catalogue of solvers loads none of them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from typing import Any

from gdaopt.support.cvxpy_loading import cvxpy_internals


def attributes_of(module: str, name: str, *more: str) -> Callable[[], Collection[str]]:
    """Return what reads the names of options: the attributes of a class, and more of CVXPY's."""

    def read() -> Collection[str]:
        kind = getattr(import_module(module), name)
        public = [each for each in dir(kind) if not each.startswith("_")]
        return {*more, *(each for each in public if not callable(getattr(kind, each)))}

    return read


def fields_of(module: str, name: str, *more: str) -> Callable[[], Collection[str]]:
    """Return what reads the names of options: fields of a protocol buffer, by names with dots."""

    def read() -> Collection[str]:
        return {*more, *_paths(getattr(import_module(module), name).DESCRIPTOR)}

    return read


def _paths(descriptor: Any, before: str = "") -> Iterator[str]:
    for field in descriptor.fields:
        if field.message_type is None:
            yield before + field.name
        else:
            yield from _paths(field.message_type, f"{before}{field.name}.")


def options_of_daqp() -> Collection[str]:
    """Return the names of the options that CVXPY passes on to DAQP."""
    names: Collection[str] = cvxpy_internals.solver_interface("DAQP").ALLOWED_SOLVER_OPTS
    return names


def options_of_scip() -> Collection[str]:
    """Return the names of SCIP's parameters."""
    names: Collection[str] = import_module("pyscipopt").Model().getParams()
    return names


def options_of_sdpa() -> Collection[str]:
    """Return the names of SDPA's options."""
    names: Collection[str] = import_module("sdpap.param").param({})
    return names


def version_in(module: str, function: str) -> Callable[[], str]:
    """Return what reads a version from the C library that an extension module links to."""

    def read() -> str:
        called = getattr(ctypes.CDLL(import_module(module).__file__), function)
        called.restype = ctypes.c_char_p
        text: bytes = called()
        return text.decode()

    return read


def version_of_scip() -> str:
    """Return the version of SCIP, which is not that of its package."""
    model = import_module("pyscipopt").Model()
    parts = (model.getMajorVersion(), model.getMinorVersion(), model.getTechVersion())
    return ".".join(map(str, parts))
