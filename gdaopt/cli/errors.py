"""How a command shows errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from gdaopt.errors import DirectoryInUseError, GdaoptError
from gdaopt.support.text import plain

__all__ = ["IN_USE", "errors_shown"]

IN_USE = 75
"""Exit code: another process writes to the directory. On Unix it stands for "try again later"."""


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show the package's own errors as one sentence and exit with code 2, or `IN_USE`.

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
        sys.exit(IN_USE if isinstance(error, DirectoryInUseError) else 2)
