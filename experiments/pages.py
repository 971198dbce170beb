"""What experiments share: what each one declares, its pages, and the lines that it has measured."""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gdaopt.studies.study_directory import versions
from gdaopt.support.files import write_atomically, write_text
from gdaopt.support.processes import ProcessExecutor, WorkerEndedError

if TYPE_CHECKING:  # pictures are drawn where no memory is measured
    from matplotlib.figure import Figure

TOP = Path(__file__).resolve().parent.parent
FIGURES = TOP / "figures"
_COMMITS = "commits.txt"

MeasuredRow = dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """What an experiment declares.

    `run(quick, out)` measures, and writes all `files` into the folder `out`; with `quick` it takes
    small sizes, below half a minute. What it keeps to go on after a stop lies in `out`, too.
    """

    summary: str
    minutes: float  # on an idle machine of two cores
    files: tuple[str, ...]
    run: Callable[[bool, Path], None]


# --- Which code has measured ----------------------------------------------------------------------


def note_commit(folder: Path) -> None:
    """Note in the folder of an experiment which commit it runs at now."""
    try:
        commit = _ask_git("rev-parse", "--short=10", "HEAD")
        # What other experiments have written there changes nothing that is measured.
        if _ask_git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!figures"):
            commit += ", changed"
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"  # a copy of the files alone
    path = folder / _COMMITS
    before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    write_text(path, "".join(f"{line}\n" for line in dict.fromkeys([*before, commit])))


def _ask_git(*words: str) -> str:
    """Return what git says of the checkout that the experiments stand in."""
    ended = subprocess.run(
        ["git", "-C", str(TOP), *words], capture_output=True, text=True, check=True
    )
    return ended.stdout.strip()


def used_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers depend on."""
    return versions() | {"scikit-learn": version("scikit-learn")}


def origin(folder: Path) -> str:
    """Return the sentence that says which commits, on which day, and which versions made a page."""
    commits = (folder / _COMMITS).read_text(encoding="utf-8").splitlines()
    day = datetime.datetime.now(tz=datetime.UTC).strftime("%d %B %Y").lstrip("0")
    used = ", ".join(f"{name} {number}" for name, number in used_versions().items())
    return (
        f"Made on {day} by commit{'s' * (len(commits) > 1)} {' and '.join(commits)}; "
        f"{platform.machine()}, {used}."
    )


# --- Pages ----------------------------------------------------------------------------------------


def header(heads: str, words: int = 1) -> list[str]:
    """Return the first lines of a table, whose first columns hold words, and the others numbers.

    The headings are separated by bars.
    """
    count = heads.count(" | ") + 1
    return [f"| {heads} |", f"|{'---|' * words}{'--:|' * (count - words)}"]


def row(*cells: object) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def wrap(paragraph: str) -> list[str]:
    """Return the lines of a paragraph."""
    return textwrap.wrap(" ".join(paragraph.split()), 100, break_on_hyphens=False)


class Page:
    """A page of an experiment, whose lines are printed as soon as they are known.

    It begins with its title, what it shows, the command that makes it, and what made it.
    """

    def __init__(self, folder: Path, name: str, title: str, about: str) -> None:
        self._path = folder / f"{name}.md"
        self._lines: list[str] = []
        command = f"Written by `python -m experiments {name}`. {origin(folder)}"
        self.add(f"# {title}", "", *wrap(about), "", *wrap(command), "")

    def add(self, *lines: str) -> None:
        """Print lines, and keep them."""
        self._lines += lines
        for line in lines:
            print(line, flush=True)

    def write(self) -> None:
        """Write the page."""
        write_text(self._path, "\n".join(self._lines) + "\n")


def write_figure(path: Path, figure: Figure, dpi: int = 150) -> None:
    """Write a picture."""
    write_atomically(path, lambda file: figure.savefig(file, format="png", dpi=dpi))


# --- Measuring ------------------------------------------------------------------------------------


class MeasuredRows:
    """A file with a line of JSON for each measurement; what is there is not measured again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        complete, _, cut = text.rpartition("\n")
        if cut:  # the process was killed while it wrote
            write_text(path, complete + "\n" if complete else "")
        self._rows: list[MeasuredRow] = [json.loads(line) for line in complete.splitlines()]

    def get_or_measure(self, measure: Callable[[], MeasuredRow], **name: Any) -> MeasuredRow:
        """Return the row of a name: what `measure` returns, unless the file has it."""
        for row in self._rows:
            if name.items() <= row.items():
                return row
        line = json.dumps(name | measure())
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        self._rows.append(json.loads(line))
        print("; ".join(map(str, name.values())), flush=True)
        return self._rows[-1]


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


def time_call(
    call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """Return the seconds that a call takes by a clock, and what it returns."""
    start = clock()
    result = call()
    return clock() - start, result
