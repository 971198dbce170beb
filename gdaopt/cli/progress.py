"""The progress of a study on the terminal, and its last words when it is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sized
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from gdaopt.errors import GdaoptError
from gdaopt.support.text import plain

__all__ = ["last_words", "run_study"]

FoundT = TypeVar("FoundT", covariant=True)
Show = Callable[[str, int, int, Mapping[str, Any] | None], None]


class _Study(Protocol[FoundT]):
    """A study that goes on where it was stopped."""

    @property
    def tasks(self) -> Sized: ...

    @property
    def n_done(self) -> int: ...

    def label(self, key: str) -> str: ...

    def run(self, progress: Show) -> FoundT: ...


@contextmanager
def last_words(kept: Callable[[], str]) -> Iterator[None]:
    """Say on an interrupt (Ctrl-C) what is kept, and exit with code 130.

    Parameters
    ----------
    kept : callable
        Returns a sentence, without its full stop.
    """
    try:
        yield
    except KeyboardInterrupt:
        console = Console(highlight=False, markup=False, emoji=False)
        console.print(plain(f"interrupted: {kept()}"), soft_wrap=True)
        raise typer.Exit(130) from None


def run_study(console: Console, study: _Study[FoundT], what: str) -> FoundT:
    """Run what is missing of a study, and return what it found.

    Parameters
    ----------
    console : rich.console.Console
        Where each row is announced.
    study : a study
        With tasks that have labels.
    what : str
        What its tasks are called, in the plural.
    """

    def kept() -> str:
        return (
            f"{study.n_done} of {len(study.tasks)} {what} are done; "
            "run the same command again to go on"
        )

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with last_words(kept), Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("")

        def show(key: str, done: int, total: int, row: Mapping[str, Any] | None) -> None:
            label = plain(study.label(key))
            progress.update(task, description=f"{done} of {total} done; {label}")
            if row is not None:
                said = f"{label}: {row['status']}" + (f" ({row['message']})" * bool(row["message"]))
                progress.print(plain(said), soft_wrap=True)

        try:
            return study.run(show)
        except GdaoptError:
            progress.stop()  # so that the error stands on a line of its own
            raise
