"""What commands print: lines, the progress of a study, errors, and last words at an interrupt."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sized
from contextlib import contextmanager, redirect_stdout
from typing import IO, Any, Protocol, TypeVar, cast

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from gdaopt.errors import DirectoryInUseError, GdaoptError, UnwritableError
from gdaopt.status import ENDS, FAILURES
from gdaopt.support.text import plain

IN_USE = 75
"""Exit code: another process writes to the directory. On Unix it stands for "try again later"."""

FoundT = TypeVar("FoundT", covariant=True)
Show = Callable[[str, int, int, Mapping[str, Any] | None], None]


class Output(Console):
    """A terminal or a file that shows labels and file names as they are."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def say(self, text: str) -> None:
        """Print text of the user's in one line, which only the terminal itself breaks."""
        self.print(plain(text), soft_wrap=True)

    def progress(self) -> Progress:
        """Return a line on what is being done, which goes away; nothing where no one looks on."""
        description = TextColumn("{task.description}", markup=False)
        columns = (SpinnerColumn(), description, TimeElapsedColumn())
        return Progress(*columns, console=self, transient=True, disable=not self.is_terminal)


class _StandardOutput:
    """A stream that raises UnwritableError where it cannot be written, as on a full disk.

    A closed pipe stays a BrokenPipeError: its reader has seen enough, and commands end quietly.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text."""
        with self._failures_named():
            return self._stream.write(text)

    def flush(self) -> None:
        """Write what is still kept in memory."""
        with self._failures_named():
            self._stream.flush()

    @contextmanager
    def _failures_named(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise UnwritableError(error.errno, error.strerror, "standard output") from error


@contextmanager
def output_checked() -> Iterator[None]:
    """Raise UnwritableError in the block where standard output cannot be written."""
    stream = sys.stdout
    if stream is None:  # closed by the caller, who wants to see nothing
        yield
        return
    try:
        with redirect_stdout(cast(Any, _StandardOutput(stream))):
            yield
    finally:
        try:
            stream.flush()
        except OSError:  # and Python's own flush at its end must not fail again
            with open(os.devnull, "wb") as nothing:
                os.dup2(nothing.fileno(), stream.fileno())


@contextmanager
def errors_shown() -> Iterator[None]:
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


class _Study(Protocol[FoundT]):
    @property
    def tasks(self) -> Sized: ...

    @property
    def done(self) -> Sized: ...

    def label(self, key: str) -> str: ...

    def run(self, progress: Show) -> FoundT: ...


def run_study(output: Output, study: _Study[FoundT], what: str) -> FoundT:
    """Run what is missing of a study, whose tasks are called so, and return what it found."""

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
