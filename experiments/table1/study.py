"""The study: tasks that go on where they stopped, and the numbers of all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.pages import used_versions
from experiments.table1.fold import class_codes, fold_row
from experiments.table1.outcome import Block, Outcome
from experiments.table1.protocol import Protocol
from gdaopt.datasets import Dataset
from gdaopt.errors import InvalidInputError
from gdaopt.studies.runner import Progress, Task, run_tasks
from gdaopt.studies.study_directory import StudyDirectory, sole_writer, task_key
from gdaopt.studies.task_workers import TaskWorkers


@dataclass(frozen=True, eq=False)
class Part:
    """A row on a data set, for the seeds from 0 on."""

    dataset: Dataset
    row: str
    n_seeds: int


def measure(
    folder: Path,
    parts: Sequence[Part],
    protocol: Protocol,
    workers: TaskWorkers,
    *,
    left_out: Sequence[str] = (),
    progress: Progress | None = None,
) -> Outcome:
    """Run the tasks that a folder lacks, one for each part, seed and fold, seed after seed.

    If it holds an earlier study of the same protocol, that goes on, whatever its data sets, rows
    and seeds. Sentences say which rows cannot be run here. A class that is too small for the folds
    is refused before any work.
    """
    for part in parts:
        _check_classes(part.dataset, protocol)
    keys = {
        (part, seed, fold): task_key(part.dataset.name, part.row, seed, fold)
        for seed in range(max(part.n_seeds for part in parts))
        for part in parts
        for fold in range(protocol.n_folds)
        if seed < part.n_seeds
    }
    tasks = {
        key: Task(
            fold_row,
            (part.dataset, part.row, seed, fold, protocol),
            {"dataset": part.dataset.name, "row": part.row, "seed": seed, "fold": fold},
        )
        for (part, seed, fold), key in keys.items()
    }
    # Data sets, rows and seeds are in the tasks' keys, and may grow. The content of the data is
    # checked where it is read (UCI), or depends on scikit-learn's version.
    options = {**protocol.record(), **used_versions()}
    directory = StudyDirectory(folder, "table1", options)
    with sole_writer(folder):
        rows = run_tasks(directory, tasks, workers, progress=progress)
    blocks = [
        Block(
            part.dataset.name,
            part.row,
            [
                [rows[keys[part, seed, fold]] for fold in range(protocol.n_folds)]
                for seed in range(part.n_seeds)
            ],
        )
        for part in parts
    ]
    return Outcome(protocol, blocks, left_out)


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
