"""What fits amount to on one data set: errors of neighbours, seconds, memory, ranks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.neighbors import KNeighborsClassifier

from experiments.learners.data import folds, labelled_samples
from experiments.learners.rows import NO_LEARNING
from gdaopt.support.validation import FloatArray

NEIGHBORS = 5


@dataclass(frozen=True, eq=False)
class Score:
    """A row: what a learner needs and gives on one data set; or why there is nothing to say."""

    remark: str = ""
    seconds: float | None = None  # of the processor, the median of the fits
    memory: int | None = None  # bytes at the peak of the process of the fits
    # for each sample that is tested, how often its class was predicted wrong, in %
    wrong: FloatArray | None = None
    is_late: bool = False  # whether a fit was stopped

    @property
    def error(self) -> float | None:
        """The mean over the samples, in %."""
        return None if self.wrong is None else float(self.wrong.mean())

    @property
    def spread(self) -> float:
        """Its standard error."""
        return 0.0 if self.wrong is None else standard_error(self.wrong)


Scores = Mapping[str, Mapping[str, Score]]
"""By data set and learner."""


def standard_error(values: FloatArray) -> float:
    """Return the standard error of a mean over samples."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def score(name: str, row: Mapping[str, Any], matrices: list[FloatArray]) -> Score:
    """Return what the fits of a learner to the folds of a data set amount to."""
    if row["status"] != "finished":
        is_late = row["status"] == "time_limit"
        return Score("stopped" if is_late else f"failed: {row['message']}", is_late=is_late)
    few = f"{row['unfinished']} of {len(matrices)} fits end before they converge"
    return Score(
        few if row["unfinished"] else "",
        median(row["seconds"]),
        row["memory"],
        wrong_shares(name, matrices),
    )


def no_learning(name: str) -> dict[str, Score]:
    """Return the rows of plain neighbours on z-scores, and on the features as they are."""
    raw = [np.diag(fold.spreads) for fold in folds(name)]
    plain = [np.eye(len(matrix)) for matrix in raw]
    return {
        NO_LEARNING["z-scores"]: Score(wrong=wrong_shares(name, plain)),
        NO_LEARNING["raw"]: Score(wrong=wrong_shares(name, raw)),
    }


def wrong_shares(name: str, matrices: list[FloatArray]) -> FloatArray:
    """Return how often neighbours under the metrics L'L of the folds are wrong, by sample, in %."""
    wrong, times = np.zeros((2, len(labelled_samples(name)[1])))
    for fold, matrix in zip(folds(name), matrices, strict=True):
        classifier = KNeighborsClassifier(NEIGHBORS).fit(fold.X @ matrix.T, fold.y)
        wrong[fold.tested] += classifier.predict(fold.queries @ matrix.T) != fold.answers
        times[fold.tested] += 1
    shares: FloatArray = 100 * wrong[times > 0] / times[times > 0]
    return shares


def best_of(by_learner: Mapping[str, Score], names: Iterable[str]) -> str | None:
    """Return the learner of the smallest error among some; None where none has a number."""
    errors = {name: by_learner[name].error for name in names if name in by_learner}
    numbers = {name: error for name, error in errors.items() if error is not None}
    return min(numbers, key=numbers.__getitem__) if numbers else None


def excess(one: Score, other: Score) -> tuple[float, float] | None:
    """Return by how much the error of one exceeds that of another, and the standard error of that.

    Both are of the same samples, so that the standard error is that of their differences.
    """
    if one.wrong is None or other.wrong is None:
        return None
    differences = one.wrong - other.wrong
    return float(differences.mean()), standard_error(differences)


def is_near_best(by_learner: Mapping[str, Score], name: str) -> bool:
    """Say whether a learner is the best, or within the standard error of the difference of it."""
    best = best_of(by_learner, by_learner)
    distance = None if best is None else excess(by_learner[name], by_learner[best])
    return distance is not None and distance[0] <= distance[1]


def ranks(scores: Scores) -> dict[str, dict[str, float]]:
    """Return the rank of each learner by data set: 1 for the least error; those without come last.

    Equal errors share the mean of their ranks.
    """
    told = {}
    for data, by_learner in scores.items():
        errors = [np.inf if line.error is None else line.error for line in by_learner.values()]
        told[data] = dict(zip(by_learner, rankdata(errors).tolist(), strict=True))
    return told
