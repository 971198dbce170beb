"""Applying what a run of `gdaopt learn` has learned to new samples, and how good that is."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedKFold

from gdaopt.datasets import Dataset
from gdaopt.datasets.tabular import fill_values, read_features
from gdaopt.errors import InvalidInputError
from gdaopt.estimators import MetricKNeighborsClassifier
from gdaopt.estimators.metric_classifiers import metric_space
from gdaopt.methods import Method
from gdaopt.result import Result
from gdaopt.scaling import scale_features
from gdaopt.studies.learning import LearningOptions, learn_classes
from gdaopt.studies.saved_runs import RECORD, SAMPLES, read_record, read_samples
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_name, integer


@dataclass(frozen=True, eq=False)
class LearnedRun:
    """Metrics that `gdaopt learn` has written, with the samples that they were learned from."""

    dataset: Dataset  # not scaled
    scale: str  # of the features, see `gdaopt.scaling.scale_features`
    fill: FloatArray | None  # what missing values of new samples are replaced by
    label: str | None  # the column of the labels, where the run was given one
    metrics: Mapping[str, FloatArray]  # of each class

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a run; refuse a directory that holds none, or not all of its files."""
        path = Path(folder)
        record = read_record(path)
        if record is None or not record["classes"]:
            raise InvalidInputError(
                f"{path} holds no run of gdaopt learn: there is no {RECORD} with a class in it"
            )
        try:
            options = record["options"]
            dataset = read_samples(path / SAMPLES, record["dataset"], record["features"])
            if dataset.sha256 != record["data_sha256"]:
                raise InvalidInputError(f"{path / SAMPLES} does not hold the samples of the run")
            metrics = {
                name: Result.load(path / entry["file"]).metric
                for name, entry in record["classes"].items()
            }
            scale, label = str(options["scale"]), options["label"]
            fill = fill_values(dataset.features, options["impute"])
        except (OSError, KeyError, TypeError, ValueError) as error:
            reason = str(error) if not isinstance(error, KeyError) else f"no {error} in {RECORD}"
            raise InvalidInputError(
                f"{path} does not hold a whole run of gdaopt learn: {reason}; learn it again"
            ) from error
        return cls(dataset, scale, fill, label, metrics)

    def read(
        self, path: str | os.PathLike[str], label: str | None = None
    ) -> tuple[FloatArray, npt.NDArray[np.str_] | None]:
        """Read new samples, not scaled, from a table with the columns of the features.

        Labels come from the column of that name; by default from the column of the run, where the
        table has it. See `gdaopt.datasets.tabular.read_features`.
        """
        names = self.dataset.feature_names
        X, labels = read_features(path, names, fill=self.fill, label=label or self.label)
        if label is not None and labels is None:
            raise InvalidInputError(f"{path} has no column {label!r} for --label")
        return X, labels

    def transform(self, X: FloatArray, name: str | None = None) -> FloatArray:
        """Return coordinates in which the Euclidean distance is the distance under a metric.

        Samples are not scaled; the class whose metric it is may be left out where there is only
        one.
        """
        names = np.asarray(self.dataset.labels)
        samples = self._scaled(self.dataset.features)
        space = metric_space(self._metric(name), samples, np.full(len(names), True), names)
        return space.coordinates(self._scaled(X))

    def shares(self, X: FloatArray, n_neighbors: int = 5, name: str | None = None) -> FloatArray:
        """Return the share of each class among the nearest neighbours, shape (N, n_classes).

        Under several metrics it is the share of each class under the metric that was learned for
        this class against the rest, so that the shares of a sample need not add up to 1; with the
        name of a class its metric alone is used. Samples are not scaled. The classes are in the
        order of `Dataset.classes`; that of a sample is the first one with the largest share.
        """
        n_neighbors = integer("neighbors", n_neighbors, at_least=1)
        if n_neighbors > len(self.dataset.labels):
            raise InvalidInputError(
                f"neighbors must be at most {len(self.dataset.labels)}, the number of samples "
                f"learned from, got {n_neighbors}"
            )
        new, samples = self._scaled(X), self._scaled(self.dataset.features)
        classes = list(self.dataset.classes)
        codes = np.array([classes.index(label) for label in self.dataset.labels.tolist()])

        def under(metric: FloatArray) -> FloatArray:
            neighbors = MetricKNeighborsClassifier(n_neighbors, metric=metric)
            found: FloatArray = neighbors.fit(samples, codes).predict_proba(new)
            return found

        if name is not None or len(self.metrics) == 1:
            return under(self._metric(name))
        missing = [known for known in classes if known not in self.metrics]
        if missing:
            raise InvalidInputError(
                f"the run has no metric of class {missing[0]!r} yet: finish it by the same "
                "command, or name the class of one metric by --class"
            )
        parts = [under(self.metrics[known])[:, k] for k, known in enumerate(classes)]
        return np.column_stack(parts)

    def predict(
        self, X: FloatArray, n_neighbors: int = 5, name: str | None = None
    ) -> npt.NDArray[np.str_]:
        """Return the class of each new sample; see `shares`."""
        best = self.shares(X, n_neighbors, name).argmax(axis=1)
        found: npt.NDArray[np.str_] = np.array(self.dataset.classes, dtype=np.str_)[best]
        return found

    def _metric(self, name: str | None) -> FloatArray:
        """Return the metric of a class, or the only one."""
        if name is None:
            if len(self.metrics) > 1:
                raise InvalidInputError(
                    f"the run has metrics of the classes {', '.join(self.metrics)}; name one by "
                    "--class"
                )
            return next(iter(self.metrics.values()))
        check_name("class of a metric:", name, list(self.metrics))
        return self.metrics[name]

    def _scaled(self, X: FloatArray) -> FloatArray:
        """Return samples at the scale of the samples that were learned from."""
        return scale_features(X, self.scale, reference=self.dataset.features)


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
