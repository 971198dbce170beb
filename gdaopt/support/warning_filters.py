"""Warnings of other packages that are no news to users."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def ignoring(
    message: str = "", *, category: type[Warning] = UserWarning, module: str = ""
) -> Iterator[None]:
    """Ignore some warnings in a block; meanwhile other threads ignore them too.

    Blocks of `warnings.catch_warnings` of two threads would leave each other's filters in force.
    """
    ignored = ("ignore", re.compile(message, re.IGNORECASE), category, re.compile(module), 0)
    warnings.filters.insert(0, ignored)  # type: ignore[attr-defined]  # it is a list
    try:
        yield
    finally:
        with suppress(ValueError):  # the filters have been set anew within the block
            warnings.filters.remove(ignored)  # type: ignore[attr-defined]
