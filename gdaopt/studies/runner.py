"""A resumable runner: it finds the cells of a study that are missing, and has them computed.

Where they are computed is an executor's matter: each in a process of its own
(`gdaopt.studies.process_per_cell`), or many by the same workers (`gdaopt.studies.worker_pool`). A
row that is finished is on disk, whatever happens to the runner.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gdaopt.errors import GdaoptError
from gdaopt.studies.study_directory import StudyDirectory

__all__ = ["PASSING", "Cell", "Executor", "Progress", "run_cells"]

Progress = Callable[[str, int, int, Mapping[str, Any] | None], object]
"""Called with a cell's key, how many cells are done, how many there are, and the row: None when
the cell begins, of which not every executor knows."""

PASSING = (MemoryError, OSError)
"""Errors of the machine and not of the cell, which may go well the next time."""


@dataclass(frozen=True)
class Cell:
    """What to compute for a row.

    Attributes
    ----------
    function : callable
        Of a module, so that it can be pickled. Called with the path of the cell's further files
        without their ending (write ``f"{path}.npz"``), then `args`. Returns the row: plain values,
        whose ``status`` and ``message`` are ``"finished"`` and empty unless it says otherwise.
    args : tuple
        Its further arguments, pickled too.
    about : mapping
        What every row of the cell says, also of one that failed.

    Examples
    --------
    >>> Cell(lambda path, base: {"power": base**3}, (2,), {"base": 2}).compute(Path("unused"))
    {'base': 2, 'status': 'finished', 'message': '', 'power': 8}
    """

    function: Callable[..., Mapping[str, Any]]
    args: tuple[Any, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    def compute(self, path: Path) -> dict[str, Any]:
        """Return the row, as it reads from disk; one with the status ``failed`` for an error.

        Parameters
        ----------
        path : pathlib.Path
            Of the cell's further files.

        Raises
        ------
        MemoryError, OSError
            The cell is to be tried again (`PASSING`).
        """
        try:
            row = {"status": "finished", "message": "", **self.function(path, *self.args)}
            plain: dict[str, Any] = json.loads(json.dumps({**self.about, **row}, allow_nan=False))
            return plain
        except PASSING:
            raise
        except Exception as error:
            return {**self.about, "status": "failed", **_described(error)}

    def died(self, message: str) -> dict[str, Any]:
        """Return the row of a cell that is to be tried again the next time: not for the disk."""
        return {**self.about, "status": "died", "message": message}


class Executor(Protocol):
    """Where cells are computed."""

    def run(
        self,
        directory: StudyDirectory,
        cells: Mapping[str, Cell],
        begun: Callable[[str], object],
        /,
    ) -> Generator[tuple[str, dict[str, Any]], None, None]:
        """Yield the key and the row of each cell as it ends, in any order.

        Parameters
        ----------
        directory : StudyDirectory
            Where a row is written before it is yielded, unless its status is ``died``.
        cells : mapping of str to Cell
            Those to compute: at least one.
        begun : callable
            Called with the key of a cell that begins, where the executor knows.
        """
        ...  # closing the generator ends the processes at work


def run_cells(
    directory: StudyDirectory,
    cells: Mapping[str, Cell],
    executor: Executor,
    *,
    progress: Progress | None = None,
) -> dict[str, dict[str, Any]]:
    """Run the cells that are not finished in a directory.

    Parameters
    ----------
    directory : StudyDirectory
        Where the rows are.
    cells : mapping of str to Cell
        By their keys, see `gdaopt.studies.study_directory.cell_key`.
    executor : Executor
        Where they are computed.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    dict of str to dict
        The rows, in the order of the cells. An error of the cell's function makes a row with the
        status ``failed``: it would come again. A process that died, or that ran out of memory or
        disk, makes one with the status ``died``, which is not on disk: the cell is tried again the
        next time.

    Raises
    ------
    InvalidInputError
        For an unsafe key, before any work.
    KeyboardInterrupt
        Once the processes under way are ended. Finished rows stay.
    """
    found = {key: directory.row(key) for key in cells}
    rows = {key: row for key, row in found.items() if row is not None}
    missing = {key: cell for key, cell in cells.items() if key not in rows}

    def report(key: str, row: Mapping[str, Any] | None) -> None:
        if progress is not None:
            progress(key, len(rows), len(cells), row)

    try:
        if missing:
            with closing(executor.run(directory, missing, lambda key: report(key, None))) as ended:
                for key, row in ended:
                    rows[key] = row
                    report(key, row)
    finally:
        directory.clean()
    return {key: rows[key] for key in cells}


def _described(error: Exception) -> dict[str, str]:
    """Return an error for a row; one that is not the package's own is a bug and keeps its trace."""
    if isinstance(error, GdaoptError):
        return {"message": str(error)}
    shown = "".join(traceback.format_exception(error))
    return {"message": f"{type(error).__name__}: {error}", "traceback": shown}
