"""What experiments share: the pages of figures/ with their tables, and processes of their own."""

import platform
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gdaopt as gda
from gdaopt.studies.study_directory import versions
from gdaopt.support.files import write_text
from gdaopt.support.processes import ProcessExecutor, WorkerEndedError

FIGURES = Path(__file__).resolve().parent.parent / "figures"


def here(*more: str) -> str:
    """Return the line that says by which versions, and on what, figures were measured."""
    own = (f"numpy {np.__version__}", platform.machine(), f"gdaopt {gda.__version__}")
    return f"{', '.join((f'Python {platform.python_version()}', *more, *own))}."


def all_versions() -> str:
    """Return the line with the versions of all packages that results depend on."""
    return f"{platform.machine()}, {', '.join(' '.join(pair) for pair in versions().items())}."


def header(heads: str, words: int = 1) -> list[str]:
    """Return the first lines of a table, whose first columns hold words, and the others numbers.

    The headings are separated by bars.
    """
    count = heads.count(" | ") + 1
    return [f"| {heads} |", f"|{'---|' * words}{'--:|' * (count - words)}"]


def row(*cells: object) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def wrapped(paragraph: str) -> list[str]:
    """Return the lines of a paragraph."""
    return textwrap.wrap(" ".join(paragraph.split()), 100)


class Page:
    """A page in `FIGURES`, whose lines are printed as soon as they are known."""

    def __init__(self, name: str, *lines: str) -> None:
        self._path = FIGURES / f"{name}.md"
        self._lines: list[str] = []
        self.add(*lines)

    def add(self, *lines: str) -> None:
        """Print lines, and keep them."""
        self._lines += lines
        for line in lines:
            print(line, flush=True)

    def write(self) -> None:
        """Write the page."""
        write_text(self._path, "\n".join(self._lines) + "\n")


def in_a_process(
    measure: Callable[..., Any], *arguments: object, limit: float | None = None
) -> Any:
    """Return what a function of a module returns in a fresh process; None if that is too late."""
    with ProcessExecutor(1, time_limit=limit) as processes:
        try:
            return processes.submit(measure, *arguments).result()
        except WorkerEndedError as error:
            if not error.is_late:
                raise
            return None


def timed(
    call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """Return the seconds that a call takes by a clock, and what it returns."""
    start = clock()
    found = call()
    return clock() - start, found
