"""What is no news to users: some warnings of other packages, and NumPy's about numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np


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


@contextmanager
def underflow_ignored() -> Iterator[None]:
    """Let numbers that underflow be 0 in a block, or, as a decorator, in each call."""
    with np.errstate(under="ignore"):
        yield


@contextmanager
def arithmetic_unwarned() -> Iterator[None]:
    """Let numbers leave floating point in a block: they become 0, infinite or NaN.

    For runs and certificates, which ask points and matrices whether they are finite before they
    make anything of them.
    """
    with np.errstate(all="ignore"):
        yield
