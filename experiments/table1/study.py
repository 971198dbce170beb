"""The study in its directory: tasks that go on where they stopped, and files with the numbers."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gdaopt.datasets import Dataset
from gdaopt.errors import InvalidInputError
from gdaopt.plotting.canvas import save_figure
from gdaopt.studies.runner import Progress, Task, run_tasks
from gdaopt.studies.study_directory import Study, StudyDirectory, sole_writer, task_key, write_frame
from gdaopt.studies.task_workers import TaskWorkers
from gdaopt.support.files import write_text
from gdaopt.support.validation import integer
from table1.fold import class_codes, fold_row
from table1.frames import comparison_frame, metric_frame, score_frame
from table1.latex import latex
from table1.markdown import markdown
from table1.outcome import Block, Outcome
from table1.picture import picture
from table1.protocol import CLASSIFIERS, Protocol, used_versions


@dataclass(frozen=True, eq=False)
class Part:
    """A row on a data set, for the seeds from 0 on."""

    dataset: Dataset
    row: str
    n_seeds: int

    def __post_init__(self) -> None:
        integer("seeds", self.n_seeds, at_least=1)


class Table1(Study):
    """A directory with a row for each task, and with tables and a picture of all rows.

    Where it holds an earlier study of the same protocol, that is continued, whatever its data sets,
    rows and seeds. All classifiers are computed; those given are shown. Sentences say which rows
    and data sets cannot be run here. Tasks are one for each data set, row, seed and fold, seed
    after seed. Refused before any work: nothing to run, and a class that is too small for the
    folds.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        parts: Sequence[Part],
        protocol: Protocol,
        *,
        classifiers: Sequence[str] = tuple(CLASSIFIERS),
        left_out: Sequence[str] = (),
        missing: Sequence[str] = (),
    ) -> None:
        if not parts:
            raise InvalidInputError(
                f"nothing to run: {'; '.join([*left_out, *missing]) or 'no data sets or rows'}"
            )
        for dataset in {part.dataset.name: part.dataset for part in parts}.values():
            _check_classes(dataset, protocol)
        self._parts, self._protocol, self._classifiers = parts, protocol, classifiers
        self._left_out, self._missing = left_out, missing
        self.tasks = {
            _key(part, seed, fold): Task(
                fold_row,
                (part.dataset, part.row, seed, fold, protocol),
                {"dataset": part.dataset.name, "row": part.row, "seed": seed, "fold": fold},
            )
            for seed in range(max(part.n_seeds for part in parts))
            for part in parts
            for fold in range(protocol.n_folds)
            if seed < part.n_seeds
        }
        # Data sets, rows and seeds are in the tasks' keys, and may grow. The content of the data is
        # checked where it is read (UCI), or depends on scikit-learn's version.
        self._directory = StudyDirectory(path, "table1", {**protocol.record(), **used_versions()})

    def label(self, key: str) -> str:
        """Return what a task is called."""
        about = self.tasks[key].about
        return f"{about['row']} on {about['dataset']}, seed {about['seed']}, fold {about['fold']}"

    def run(self, workers: TaskWorkers, progress: Progress | None = None) -> Outcome:
        """Run what is missing, write all files, and return the numbers."""
        with sole_writer(self.path):
            return self.written(run_tasks(self._directory, self.tasks, workers, progress=progress))

    def written(self, rows: Mapping[str, Mapping[str, Any]]) -> Outcome:
        """Write all files from the rows of all tasks, by key, and return the numbers."""
        blocks = [
            Block(
                part.dataset.name,
                part.row,
                [
                    [rows[_key(part, seed, fold)] for fold in range(self._protocol.n_folds)]
                    for seed in range(part.n_seeds)
                ],
            )
            for part in self._parts
        ]
        outcome = Outcome(self._protocol, blocks, self._classifiers, self._left_out, self._missing)
        write_outcome(outcome, self.path)
        write_frame(self.path / "table1_pairs.parquet", comparison_frame(outcome))
        write_frame(self.path / "table1_metrics.parquet", metric_frame(outcome))
        return outcome


def write_outcome(outcome: Outcome, folder: Path) -> None:
    """Write ``table1.md``, ``.tex``, ``.parquet`` and ``.png`` into a directory.

    The parquet file holds nothing that is measured in seconds: it is the same from every run.
    """
    write_text(folder / "table1.md", markdown(outcome))
    write_text(folder / "table1.tex", latex(outcome))
    write_frame(folder / "table1.parquet", score_frame(outcome))
    save_figure(folder / "table1.png", picture(outcome))


def _key(part: Part, seed: int, fold: int) -> str:
    """Return the key of a task."""
    return task_key(part.dataset.name, part.row, seed, fold)


def _check_classes(dataset: Dataset, protocol: Protocol) -> None:
    """Refuse classes that cannot be in all halves."""
    classes, codes = class_codes(dataset)
    for code, name in enumerate(classes):
        size = int((codes == code).sum())
        if size < protocol.n_folds:
            raise InvalidInputError(
                f"data set {dataset.name!r} has {size} sample of class {name!r}, so that one of "
                f"the {protocol.n_folds} folds lacks it; leave the class out, or get more of it"
            )
