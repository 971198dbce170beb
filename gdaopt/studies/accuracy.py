"""How good learned metrics are: the nearest neighbours of samples that were not learned from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from sklearn.model_selection import StratifiedKFold

from gdaopt.datasets import Dataset
from gdaopt.errors import InvalidInputError
from gdaopt.methods import Method
from gdaopt.studies.applying import LearnedRun
from gdaopt.studies.learning import LearningOptions, learn_classes
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray

FOLDS, NEIGHBORS = 5, 5


@dataclass(frozen=True)
class Accuracy:
    """Shares of the samples whose class is that of their nearest neighbours, as `apply` finds it.

    Attributes
    ----------
    learned, without_learning : float
        Under metrics that were learned from the samples of the other folds; and under the Euclidean
        distance of the scaled features.
    """

    learned: float
    without_learning: float


def cross_validated(
    dataset: Dataset,
    options: LearningOptions,
    method: Method,
    progress: Callable[[str], object] = lambda _: None,
) -> Accuracy:
    """Return the accuracy by cross-validation: in each fold metrics are learned anew.

    `progress` is called with the number of each fold before it begins. A class with fewer samples
    than folds is refused before any work; an interrupt raises KeyboardInterrupt, also where the
    method returns what it has.
    """
    name, count = min(Counter(dataset.labels.tolist()).items(), key=lambda item: item[1])
    if count < FOLDS:
        raise InvalidInputError(
            f"class {shortened(name)} has {count} samples, fewer than the {FOLDS} folds of the "
            "cross-validation"
        )
    right = np.zeros(2)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    splits = folds.split(dataset.features, dataset.labels)
    for number, (known, new) in enumerate(splits, 1):
        progress(f"accuracy, fold {number} of {FOLDS}")
        part = replace(dataset, features=dataset.features[known], labels=dataset.labels[known])
        identity = {"": np.eye(dataset.features.shape[1])}
        for k, metrics in enumerate((dict(_metrics(part, options, method)), identity)):
            run = LearnedRun(part, options.scale, None, None, metrics)
            found = run.predict(dataset.features[new], min(NEIGHBORS, len(known)))
            right[k] += (found == dataset.labels[new]).sum()
    learned, without_learning = (right / len(dataset.labels)).tolist()
    return Accuracy(learned, without_learning)


def _metrics(
    dataset: Dataset, options: LearningOptions, method: Method
) -> Iterator[tuple[str, FloatArray]]:
    """Yield each class with its metric."""
    for name, result in learn_classes(options.problems(dataset), method):
        if result.status == "interrupted":
            raise KeyboardInterrupt
        yield name, result.metric
