"""How a command shows errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from gdaopt.errors import GdaoptError
from gdaopt.printing import plain

__all__ = ["errors_shown"]


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show the package's own errors as one sentence and exit with code 2.

    All other errors are bugs and keep their traceback.

    Examples
    --------
    >>> with errors_shown():
    ...     raise GdaoptError("no such luck")
    Traceback (most recent call last):
    SystemExit: 2
    """
    try:
        yield
    except GdaoptError as error:
        Console(stderr=True, highlight=False).print(
            plain(f"error: {error}"), style="red", markup=False, soft_wrap=True
        )
        sys.exit(2)
