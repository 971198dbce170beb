"""The rows of all tasks together: a number for each row, data set, classifier and aggregation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.table1.protocol import CLASSIFIERS, Protocol
from experiments.table1.published import DATASETS, published
from experiments.table1.rows import ROWS
from experiments.table1.statistics import (
    Comparison,
    corrected_test,
    mean_and_error,
    mean_ranks,
    n_within,
    seed_errors,
)

TaskRow = Mapping[str, Any]
Counts = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Score:
    """A number of the table, in per cent: the mean over seeds."""

    dataset: str
    row: str
    classifier: str
    aggregation: str
    n_seeds: int
    n_failed: int  # tasks; when any failed, there is no error
    error: float | None
    standard_error: float | None  # needs two seeds
    published: float | None  # the number that the paper prints

    @property
    def difference(self) -> float | None:
        """The error less the published one, rounded to two decimals like the latter."""
        if self.error is None or self.published is None:
            return None
        return round(self.error - self.published, 2)


@dataclass(frozen=True, eq=False)
class Block:
    """All tasks of one row on one data set."""

    dataset: str
    row: str
    tasks: Sequence[Sequence[TaskRow]]  # the rows of the tasks, by seed and fold

    @property
    def n_seeds(self) -> int:
        """How many seeds there are."""
        return len(self.tasks)

    @cached_property
    def flat(self) -> list[TaskRow]:
        """The tasks in one list."""
        return [task for folds in self.tasks for task in folds]

    @cached_property
    def failed(self) -> list[TaskRow]:
        """The tasks that did not finish."""
        return [task for task in self.flat if task["status"] != "finished"]

    def wrong(self, classifier: str, aggregation: str) -> Counts:
        """Return the numbers of wrong labels, shape (n_seeds, n_folds); no task may have failed."""
        return np.array(
            [[task["wrong"][classifier][aggregation] for task in folds] for folds in self.tasks]
        )

    def counts(self, name: str) -> Counts:
        """Return ``n_train`` or ``n_test`` of the tasks, shape (n_seeds, n_folds)."""
        return np.array([[task[name] for task in folds] for folds in self.tasks])

    def metrics(self) -> list[dict[str, Any]]:
        """Return what is known of each metric of the finished tasks."""
        return [metric for task in self.flat for metric in task.get("metrics", ())]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The study's numbers."""

    protocol: Protocol
    blocks: Sequence[Block]  # row after row, and in each row data set after data set
    left_out: Sequence[str] = ()  # a sentence for each row that cannot be run here

    @cached_property
    def datasets(self) -> list[str]:
        """The names of the data sets: first those of the paper, in its order."""
        names = dict.fromkeys(block.dataset for block in self.blocks)
        return [*(n for n in DATASETS if n in names), *(n for n in names if n not in DATASETS)]

    @cached_property
    def rows(self) -> list[str]:
        """The names of the rows, in the order of the registry."""
        names = {block.row for block in self.blocks}
        return [name for name in ROWS if name in names]

    @cached_property
    def n_seeds(self) -> int:
        """The largest number of seeds of any row."""
        return max(block.n_seeds for block in self.blocks)

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], Block]:
        return {(block.dataset, block.row): block for block in self.blocks}

    def block(self, dataset: str, row: str) -> Block | None:
        """Return the tasks of a row on a data set; None where it was not run."""
        return self._by_name.get((dataset, row))

    def score(self, dataset: str, row: str, classifier: str, aggregation: str) -> Score | None:
        """Return a number of the table; None where the row was not run."""
        block = self.block(dataset, row)
        if block is None:
            return None
        error = standard_error = None
        if not block.failed:
            wrong = block.wrong(classifier, aggregation)
            error, standard_error = mean_and_error(seed_errors(wrong, block.counts("n_test")))
        return Score(
            dataset,
            row,
            classifier,
            aggregation,
            block.n_seeds,
            len(block.failed),
            error,
            standard_error,
            published(dataset, row, classifier),
        )

    def scores(self, aggregation: str) -> list[Score]:
        """Return all numbers by one aggregation, row after row."""
        scores = (
            self.score(dataset, row, classifier, aggregation)
            for row in self.rows
            for dataset in self.datasets
            for classifier in CLASSIFIERS
        )
        return [score for score in scores if score is not None]

    def within(self, aggregation: str) -> tuple[int, list[int]]:
        """Return how many published numbers have one of ours beside them, and how many are near.

        Ours are of rows with all seeds. Near are those within one point of ours, and those within
        two.
        """
        differences = [
            score.difference
            for score in self.scores(aggregation)
            if score.difference is not None and score.n_seeds == self.n_seeds
        ]
        return len(differences), n_within(differences)

    def compare(
        self, dataset: str, first: str, second: str, classifier: str, aggregation: str
    ) -> Comparison | None:
        """Compare two rows on the folds that both have; None where a task of either failed."""
        blocks = [self.block(dataset, first), self.block(dataset, second)]
        whole = [block for block in blocks if block is not None and not block.failed]
        if len(whole) < 2:
            return None
        n_seeds = min(block.n_seeds for block in whole)
        sizes = whole[0].counts("n_test")[:n_seeds]
        wrong = [block.wrong(classifier, aggregation)[:n_seeds] for block in whole]
        ratio = sizes.sum() / whole[0].counts("n_train")[:n_seeds].sum()
        return corrected_test((100 * (wrong[0] - wrong[1]) / sizes).ravel(), float(ratio))

    def ranks(self, aggregation: str) -> tuple[dict[str, dict[str, float]], list[str]]:
        """Return the mean ranks of rows over data sets, and the rows without one.

        The ranks of a row are by classifier and, under ``"all"``, over both. Rows that lack a data
        set, a fold or a seed have none.
        """
        ranked: list[tuple[str, list[float]]] = []
        without: list[str] = []
        for row in self.rows:
            scores = [
                self.score(dataset, row, classifier, aggregation)
                for classifier in CLASSIFIERS
                for dataset in self.datasets
            ]
            errors = [
                score.error
                for score in scores
                if score is not None and score.error is not None and score.n_seeds == self.n_seeds
            ]
            if len(errors) == len(scores):
                ranked.append((row, errors))
            else:
                without.append(row)
        names = [row for row, _ in ranked]
        ranks: dict[str, dict[str, float]] = {row: {} for row in names}
        if names:
            table = np.array([errors for _, errors in ranked])
            parts = np.split(table, len(CLASSIFIERS), axis=1)
            columns = dict(zip(CLASSIFIERS, parts, strict=True)) | {"all": table}
            for column, part in columns.items():
                for row, rank in zip(names, mean_ranks(part).tolist(), strict=True):
                    ranks[row][column] = rank
        return ranks, without
