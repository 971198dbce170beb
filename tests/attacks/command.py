"""A command in a process of its own, which kills itself at one of its file operations.

``python -m tests.attacks.command PLACE NUMBER COMMAND...``: of the operations on files in or below
the directory PLACE (opened to write, renamed, removed, made), the one of this number does not
happen any more. Pictures are blank: they would take most of the time.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from gdaopt.bench import pictures as of_bench
from gdaopt.bench import study as bench
from gdaopt.cli.app import app
from gdaopt.studies import pictures

ENDED = "operations: "
"""What the last line of the output begins with; the number of operations follows."""

_count = 0


def _is_write(event: str, arguments: tuple[Any, ...]) -> bool:
    """Say whether an audit event is an operation that changes files."""
    if event == "open":
        mode, flags = arguments[1], arguments[2]
        if mode is None:
            return bool(flags & (os.O_WRONLY | os.O_RDWR))
        return not mode.startswith("r") or "+" in mode
    return event in ("os.rename", "os.remove", "os.mkdir")


def _watch(place: str, number: int) -> None:
    """Kill this process at that operation."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        global _count
        if (
            arguments
            and isinstance(arguments[0], str | Path)
            and _is_write(event, arguments)
            and os.path.abspath(arguments[0]).startswith(place)
        ):
            _count += 1
            if _count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def main() -> None:
    """Run the command."""
    _, place, number, *command = sys.argv
    sys.argv = ["gdaopt", *command]
    blank = dict.fromkeys(pictures.PICTURES, lambda runs, title: Figure(figsize=(1, 1)))
    vars(pictures)["PICTURES"] = blank
    vars(bench)["PICTURES"] = dict.fromkeys(
        of_bench.PICTURES, lambda programs, cap: Figure(figsize=(1, 1))
    )
    _watch(os.path.abspath(place), int(number))
    try:
        app()
    finally:
        print(f"{ENDED}{_count}")


if __name__ == "__main__":
    main()
