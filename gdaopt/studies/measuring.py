"""How good learned metrics are: neighbours under them and without learning, fold by fold.

A fold learns without the samples that it judges. What it finds of the importance of features shows
how much of a ranking is chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array, diags_array
from sklearn.model_selection import StratifiedKFold

from gdaopt.datasets import Dataset
from gdaopt.errors import InvalidInputError
from gdaopt.estimators.folds import Fold
from gdaopt.linalg.samples import Samples, is_sparse
from gdaopt.scaling import feature_scales
from gdaopt.studies.applying import LearnedRun
from gdaopt.studies.importance import Edge, share_edges
from gdaopt.studies.learner_options import LearnerOptions, as_frame, labels_of
from gdaopt.support.warning_filters import ignoring

FOLDS, NEIGHBORS = 5, 5

MOST_LEARNED = 1000
"""The samples that a fold learns from at most: a metric hardly gains from more, and time does."""


def without_learning(dataset: Dataset) -> LearnedRun:
    """Return a run whose metric is that of the features divided by their standard deviations."""
    spreads = feature_scales(dataset.features, "zscore")[1]
    weights = diags_array(1 / spreads)  # 0 of constant features
    components = csr_array(weights) if is_sparse(dataset.features) else weights.toarray()
    return LearnedRun(dataset, None, {"": components})


def split_folds(dataset: Dataset) -> list[Fold]:
    """Return the folds, at most `FOLDS`; a class of one sample is only learned from."""
    counts = Counter(dataset.labels.tolist())
    is_judged = np.array([counts[label] > 1 for label in dataset.labels.tolist()])
    judged, alone = np.flatnonzero(is_judged), np.flatnonzero(~is_judged)
    n_folds = min(FOLDS, max(counts.values()))
    if n_folds < 2:
        raise InvalidInputError(
            f"each of the {len(dataset.labels)} labels of {dataset.name} occurs once; classes need "
            "two samples or more: name their column by --label"
        )
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    with ignoring():  # that a class has fewer samples than there are folds
        folds = list(splitter.split(judged, dataset.labels[judged]))
    return [(np.sort(np.concatenate([judged[a], alone])), judged[b]) for a, b in folds]


def judge_task(
    _: Path, dataset: Dataset, options: LearnerOptions, fold: Fold, edges: Sequence[Edge]
) -> dict[str, Any]:
    """Learn without the samples of a fold, and classify these.

    Return their classes, and the importance of all features and of some edges.
    """
    train, test = fold
    part = replace(dataset, features=dataset.features[train], labels=dataset.labels[train])
    drawn = options.draw(part, MOST_LEARNED)
    with ignoring():  # the report says it
        learners = {
            name: options.make_learner().fit(as_frame(drawn), labels_of(drawn, name))
            for name in options.metric_names(drawn)
        }
    run = LearnedRun(part, None, {name: fit.components_ for name, fit in learners.items()})
    shares = np.mean([fit.feature_importances_ for fit in learners.values()], axis=0)
    of_edges = share_edges([fit.result_ for fit in learners.values()])
    samples = dataset.features[test]
    n_neighbors = min(NEIGHBORS, len(train))
    classes = list(dataset.classes)
    return {
        "judged": test.tolist(),
        "learned": [classes.index(name) for name in run.predict(samples, n_neighbors)],
        "plain": [
            classes.index(name) for name in without_learning(part).predict(samples, n_neighbors)
        ],
        "importances": shares.tolist(),
        "edges": [of_edges.get(edge, 0.0) for edge in edges],
    }


@dataclass(frozen=True, eq=False)
class Judgement:
    """Samples that were classified under learned metrics and without learning."""

    classes: tuple[str, ...]
    truth: npt.NDArray[np.str_]  # their labels
    learned: npt.NDArray[np.str_]  # their classes under the metrics
    plain: npt.NDArray[np.str_]  # and without learning

    @classmethod
    def of_folds(cls, dataset: Dataset, rows: Sequence[Mapping[str, Any]]) -> Judgement:
        """Return the judgement of all folds."""
        names = np.array(dataset.classes)
        judged = np.concatenate([row["judged"] for row in rows]).astype(np.intp)
        learned, plain = (
            names[np.concatenate([row[kind] for row in rows]).astype(np.intp)]
            for kind in ("learned", "plain")
        )
        return cls(dataset.classes, dataset.labels[judged], learned, plain)

    @classmethod
    def of_samples(cls, run: LearnedRun, X: Samples, labels: npt.NDArray[np.str_]) -> Judgement:
        """Return the judgement of samples with labels by a run; those without a label are out."""
        X, labels = X[labels != ""], labels[labels != ""]
        n_neighbors = min(NEIGHBORS, len(run.dataset.labels))
        plain = without_learning(run.dataset).predict(X, n_neighbors)
        return cls(run.dataset.classes, labels, run.predict(X, n_neighbors), plain)

    @cached_property
    def accuracy(self) -> tuple[float, float]:
        """The share of right classes under the metrics, and its standard error."""
        return _share(self.learned == self.truth)

    @cached_property
    def without_learning(self) -> tuple[float, float]:
        """The share of right classes without learning, and its standard error."""
        return _share(self.plain == self.truth)

    @cached_property
    def gain(self) -> tuple[float, float]:
        """By how much learning raises the share, and the standard error of this difference."""
        gains = (self.learned == self.truth).astype(float) - (self.plain == self.truth)
        return float(gains.mean()), float(gains.std() / np.sqrt(max(len(gains) - 1, 1)))

    @property
    def helps(self) -> bool:
        """Whether learning raises the share by more than one standard error."""
        gain, error = self.gain
        return gain > error

    @cached_property
    def of_classes(self) -> dict[str, tuple[int, float, float]]:
        """For each class how many samples it has, and the shares that are right."""
        shares = {}
        for name in self.classes:
            is_of_class = self.truth == name
            if is_of_class.any():
                learned = float((self.learned[is_of_class] == name).mean())
                plain = float((self.plain[is_of_class] == name).mean())
                shares[name] = (int(is_of_class.sum()), learned, plain)
        return shares

    @cached_property
    def confusion(self) -> npt.NDArray[np.intp]:
        """How many samples of each class (rows) get which class (columns) under the metrics."""
        counts = pd.crosstab(self.truth, self.learned)
        names = list(self.classes)
        return counts.reindex(index=names, columns=names, fill_value=0).to_numpy()

    def record(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        numbers = {"learned": self.accuracy, "without_learning": self.without_learning}
        return {
            "neighbors": NEIGHBORS,
            "judged": len(self.truth),
            **{name: share for name, (share, _) in numbers.items()},
            **{f"{name}_error": error for name, (_, error) in numbers.items()},
            "gain": self.gain[0],
            "gain_error": self.gain[1],
            "helps": self.helps,
            "classes": {
                name: {"samples": count, "learned": learned, "without_learning": plain}
                for name, (count, learned, plain) in self.of_classes.items()
            },
            "confusion": self.confusion.tolist(),
        }


def _share(is_right: npt.NDArray[np.bool_]) -> tuple[float, float]:
    share = float(is_right.mean())
    return share, float(np.sqrt(share * (1 - share) / len(is_right)))
