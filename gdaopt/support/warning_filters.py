"""What is no news to users: some warnings of other packages, and numbers that underflow."""

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

    The end of a block of `warnings.catch_warnings` brings back the filters that were there at its
    start. Where blocks of two threads overlap, filters of one stay in force for ever, and
    filters of the other, or of the user, are lost. This function adds one filter, and takes away
    only this one. As all threads have the same filters, it should be a narrow one: of a category,
    and by regular expressions of the beginning of the message and of the module it points at.
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
    """Let numbers that underflow be 0 in a block, as NumPy does unless it is told otherwise.

    Far samples count for nothing because their terms underflow, whatever `numpy.errstate` a user
    has set to find faults of their own. Also a decorator, which makes a new block for each call, so
    that threads do not meet in one.
    """
    with np.errstate(under="ignore"):
        yield
