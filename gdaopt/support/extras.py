"""What only the extra ``cli`` installs: asked for by the sentence that installs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gdaopt.errors import NotInstalledError

__all__ = ["cli_extra"]


@contextmanager
def cli_extra(purpose: str) -> Iterator[None]:
    """Raise NotInstalledError for a missing module that is imported in the block."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise NotInstalledError(
            f'{purpose} needs {error.name}, which is not installed: pip install "gdaopt[cli]"',
            name=error.name,
        ) from error
