"""What commands print: lines, the progress of a study, errors, and last words at an interrupt."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from gdaopt.errors import DirectoryInUseError, GdaoptError, UnwritableError
from gdaopt.status import ENDS, FAILURES
from gdaopt.studies.runner import Study, ValueT
from gdaopt.support.text import plain

IN_USE = 75
"""Exit code: another process writes to the directory. On Unix it stands for "try again later"."""

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


class Output(Console):
    """A terminal or a file that shows labels and file names as they are."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def say(self, text: str) -> None:
        """Print text of the user's in one line, which only the terminal itself breaks."""
        self.print(plain(text), soft_wrap=True)

    def progress(self) -> Progress:
        """Return a line on what is being done, which goes away; nothing if no one looks on."""
        description = TextColumn("{task.description}", markup=False)
        columns = (SpinnerColumn(), description, TimeElapsedColumn())
        return Progress(*columns, console=self, transient=True, disable=not self.is_terminal)


@contextmanager
def checking_output() -> Iterator[None]:
    """Raise UnwritableError after the block where standard output cannot be written.

    A closed pipe is no error: its reader has seen enough, and commands end quietly.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _NO_ROOM:  # errors of files have their name
            raise UnwritableError(error.errno, error.strerror, "standard output") from error
        raise
    finally:
        try:
            if sys.stdout is not None:  # else closed by the caller, who wants to see nothing
                sys.stdout.flush()
        except OSError as error:
            with open(os.devnull, "wb") as nothing:  # so that Python's own flush does not fail
                os.dup2(nothing.fileno(), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):
                raise UnwritableError(error.errno, error.strerror, "standard output") from error


@contextmanager
def showing_errors() -> Iterator[None]:
    """Show the package's own errors as one sentence; all others are bugs and keep a traceback."""
    try:
        yield
    except GdaoptError as error:
        Output(stderr=True, style="red").say(f"error: {error}")
        sys.exit(IN_USE if isinstance(error, DirectoryInUseError) else 2)


@contextmanager
def last_words(describe: Callable[[], str]) -> Iterator[None]:
    """Say on an interrupt (Ctrl-C) what is kept, and exit with code 130."""
    try:
        yield
    except KeyboardInterrupt:
        Output().say(f"interrupted: {describe()}")
        raise typer.Exit(130) from None


def run_study(output: Output, study: Study[ValueT], what: str) -> ValueT:
    """Run what is missing of a study, whose tasks are called so, and return what it finds."""

    def describe() -> str:
        return (
            f"{len(study.done)} of {len(study.tasks)} {what} are done; "
            "run the same command again to go on"
        )

    with last_words(describe), output.progress() as progress:
        task = progress.add_task("")

        def show(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
            label = plain(study.label(key))
            progress.update(task, description=f"{done} of {total} done; {label}")
            if row is None:
                return
            is_end = row["status"] in ENDS and row["status"] not in FAILURES | {"failed"}
            message = f" ({row['message']})" if row["message"] and not is_end else ""
            if message or not output.is_terminal:  # there the line above says how far it is
                output.say(f"{label}: {ENDS.get(row['status'], row['status'])}{message}")

        try:
            return study.run(show)
        except GdaoptError:
            progress.stop()  # so that the error stands on a line of its own
            raise
