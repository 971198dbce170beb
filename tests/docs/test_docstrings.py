"""Each public method has a docstring: its own, or that of the method that it overrides."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cached_property
from types import FunctionType
from typing import Any

import pytest

import gdaopt

MODULES = [module.name for module in pkgutil.walk_packages(gdaopt.__path__, "gdaopt.")]
METHODS = (FunctionType, classmethod, staticmethod, property, cached_property)


def undocumented(owner: type) -> Iterator[str]:
    """Yield the public methods of a class that neither it nor a base of it documents."""
    for name, method in vars(owner).items():
        if isinstance(method, METHODS) and not name.startswith("_"):
            overridden: list[Any] = [vars(base).get(name) for base in owner.__mro__]
            if not any(each.__doc__ for each in overridden if each is not None):
                yield f"{owner.__qualname__}.{name}"


@pytest.mark.parametrize("name", MODULES)
def test_public_methods_are_documented(name: str) -> None:
    classes = [
        each
        for each in vars(importlib.import_module(name)).values()
        if isinstance(each, type) and each.__module__ == name and not each.__name__.startswith("_")
    ]
    assert [method for owner in classes for method in undocumented(owner)] == []


def test_a_docstring_is_inherited() -> None:
    class Base:
        def said(self) -> None:
            """Return nothing."""

        def silent(self) -> None: ...

    class Derived(Base):
        def said(self) -> None: ...

        @cached_property
        def silent(self) -> None: ...  # type: ignore[override]

    assert list(undocumented(Derived)) == ["test_a_docstring_is_inherited.<locals>.Derived.silent"]
