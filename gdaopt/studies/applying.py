"""Applying what a run of `gdaopt learn` has learned to new samples, and how good that is."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array, eye_array
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from gdaopt.datasets import Dataset
from gdaopt.datasets.numbers import float_or_nan
from gdaopt.datasets.svmlight import is_svmlight, read_numbered, svmlight_lines
from gdaopt.datasets.table_files import TableFormat
from gdaopt.datasets.tabular import TableSchema
from gdaopt.errors import InvalidInputError
from gdaopt.estimators.components import components_of, metric_of
from gdaopt.linalg.samples import Samples, is_sparse
from gdaopt.methods import Method
from gdaopt.result import Result
from gdaopt.scaling import scale_features
from gdaopt.solving import solve
from gdaopt.studies.learning import LearningOptions, check_no_table
from gdaopt.studies.saved_runs import read_samples
from gdaopt.studies.study_directory import RECORD, read_study
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, as_path, check_name, integer


@dataclass(frozen=True, eq=False)
class LearnedRun:
    """Metrics that `gdaopt learn` has written, with the samples that they were learned from."""

    dataset: Dataset  # not scaled
    scale: str  # of the features, see `gdaopt.scaling.scale_features`
    schema: TableSchema | None  # how its table was read, and new ones are; None without a table
    metrics: Mapping[str, FloatArray | csr_array]  # of each class

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a run; refuse a directory that holds none, or not all of its files."""
        path = as_path("folder", folder)
        if not (path / RECORD).exists():
            raise InvalidInputError(f"{path} holds no run of gdaopt learn: there is no {RECORD}")
        options, entries = read_study(path)
        try:
            if options["study"] != "learn" or not entries:
                raise InvalidInputError("no class is learned, or what was written is damaged")
            samples = path / options["samples_file"]
            dataset = read_samples(samples, options["dataset"], options["features"])
            if dataset.sha256 != options["data_sha256"]:
                raise InvalidInputError(f"{samples} does not hold the samples of the run")
            metrics = {
                entry["row"]["class"]: metric_of(Result.load(path / file))
                for entry in entries
                for file in entry["files"]
            }
            scale = str(options["scale"])
            table = options["table"]
            schema = (
                TableSchema.of_numbers(dataset.feature_names)
                if table is None
                else TableSchema.from_record(table)
            )
        except (OSError, KeyError, TypeError, ValueError) as error:
            reason = str(error) if not isinstance(error, KeyError) else f"no {error} in {RECORD}"
            raise InvalidInputError(
                f"{path} does not hold a whole run of gdaopt learn: {reason}; learn it again"
            ) from error
        return cls(dataset, scale, schema, metrics)

    def read(
        self,
        path: str | os.PathLike[str],
        label: str | None = None,
        form: TableFormat | None = None,
    ) -> tuple[Samples, npt.NDArray[np.str_] | None]:
        """Read new samples, not scaled, and their labels where the file has some.

        Missing labels are "". Labels that are equal to a class as numbers are written like it.
        """
        names, classes = self.dataset.feature_names, self.dataset.classes
        is_of_run = is_sparse(self.dataset.features)
        if is_of_run != is_svmlight(path):
            kind = "an svmlight file (.svm, .svmlight or .libsvm)" if is_of_run else "a table"
            raise InvalidInputError(
                f"{path} is not {kind}, in which new samples of this run have to come"
            )
        if is_of_run:
            check_no_table(path, {"label": label, **(form.record() if form else {})})
            samples, numbers = read_numbered(path, names)
            return samples, numbers if np.isin(numbers, classes).any() else None
        assert self.schema is not None
        new = self.schema.read(path, label, form)
        return new.features, None if new.labels is None else _as_classes(new.labels, classes)

    def transform(self, X: Samples, name: str | None = None) -> Samples:
        """Return coordinates of unscaled samples with the distances of a metric."""
        return self._scale(X) @ components_of(self._metric(name)).T

    def shares(self, X: Samples, n_neighbors: int = 5, name: str | None = None) -> FloatArray:
        """Return the share of each class among the nearest neighbours, shape (N, n_classes).

        Of several metrics each class has its own, so that shares of a sample need not add up to 1.
        """
        n_neighbors = integer("neighbors", n_neighbors, at_least=1)
        if n_neighbors > len(self.dataset.labels):
            raise InvalidInputError(
                f"neighbors must be at most {len(self.dataset.labels)}, the number of samples "
                f"learned from, got {n_neighbors}"
            )
        classes = list(self.dataset.classes)
        codes = np.array([classes.index(label) for label in self.dataset.labels.tolist()])
        samples, new = self._scale(self.dataset.features), self._scale(X)

        def under(metric: FloatArray | csr_array) -> FloatArray:
            components = components_of(metric)
            neighbors = KNeighborsClassifier(n_neighbors).fit(samples @ components.T, codes)
            shares: FloatArray = neighbors.predict_proba(new @ components.T)
            return shares

        if name is not None or len(self.metrics) == 1:
            return under(self._metric(name))
        missing = [label for label in classes if label not in self.metrics]
        if missing:
            raise InvalidInputError(
                f"the run has no metric of class {missing[0]!r} yet: finish it by the same "
                "command, or name the class of one metric by --class"
            )
        parts = [under(self.metrics[label])[:, k] for k, label in enumerate(classes)]
        return np.column_stack(parts)

    def predict(
        self, X: Samples, n_neighbors: int = 5, name: str | None = None
    ) -> npt.NDArray[np.str_]:
        """Return the class of each new sample; see `shares`."""
        best = self.shares(X, n_neighbors, name).argmax(axis=1)
        classes: npt.NDArray[np.str_] = np.array(self.dataset.classes, dtype=np.str_)[best]
        return classes

    def _metric(self, name: str | None) -> FloatArray | csr_array:
        if name is None:
            if len(self.metrics) > 1:
                raise InvalidInputError(
                    f"the run has metrics of the classes {', '.join(self.metrics)}; name one by "
                    "--class"
                )
            return next(iter(self.metrics.values()))
        check_name("class of a metric:", name, list(self.metrics))
        return self.metrics[name]

    def _scale(self, X: Samples) -> Samples:
        """Return scaled samples; dense ones about the mean of the samples learned from."""
        scaled = scale_features(X, self.scale, self.dataset.features)
        return scaled if self._origin is None else scaled - self._origin

    @cached_property
    def _origin(self) -> FloatArray | None:
        """The mean of the samples learned from, scaled; None where they are sparse.

        Distances do not depend on the origin, but their round-off does.
        """
        features = self.dataset.features
        if is_sparse(features):
            return None
        origin: FloatArray = scale_features(features, self.scale).mean(axis=0)
        return origin


def coordinates_text(coordinates: Samples, labels: npt.NDArray[np.str_] | None) -> str:
    """Return a table of coordinates, or, of sparse ones, a text in the svmlight format."""
    n_samples, size = coordinates.shape
    if is_sparse(coordinates):
        rows = csr_array(coordinates)
        rows.sort_indices()
        return "".join(svmlight_lines(rows, np.full(n_samples, "0") if labels is None else labels))
    table = pd.DataFrame(
        coordinates,
        index=pd.RangeIndex(1, n_samples + 1, name="row"),
        columns=[f"x{k + 1}" for k in range(size)],
    )
    if labels is not None:
        table.insert(0, "label", labels)
    return table.to_csv()


def _as_classes(labels: npt.NDArray[np.str_], classes: Sequence[str]) -> npt.NDArray[np.str_]:
    """Return labels as the classes are written, where they are equal to one as numbers."""
    values = {name: float_or_nan(name) for name in classes}
    numbers = {value: name for name, value in values.items() if not math.isnan(value)}
    written = [
        label if label in classes else numbers.get(float_or_nan(label), label)
        for label in labels.tolist()
    ]
    return np.array(written, dtype=np.str_)


def compare_with_labels(
    predicted: npt.NDArray[np.str_], labels: npt.NDArray[np.str_], classes: npt.NDArray[np.str_]
) -> Iterator[str]:
    """Yield a sentence on how many classes are the labels, and on labels that are no class."""
    is_known = labels != ""
    n_known, right = int(is_known.sum()), int((predicted == labels).sum())
    if n_known:
        missing = f"; {len(labels) - n_known} are missing" if n_known < len(labels) else ""
        yield f"{right} of {n_known} labels are those of the file ({right / n_known:.1%}){missing}"
    foreign = labels[is_known & ~np.isin(labels, classes)]
    if len(foreign):
        first = shortened(str(foreign[0]))
        yield f"note: {len(foreign)} labels of the file, such as {first}, are no class of the run"


FOLDS, NEIGHBORS = 5, 5


@dataclass(frozen=True)
class Accuracy:
    """Shares of the samples whose class is that of their nearest neighbours."""

    learned: float  # under metrics of the samples of the other folds
    without_learning: float  # by the Euclidean distance of the scaled features


def cross_validated(
    dataset: Dataset,
    options: LearningOptions,
    method: Method,
    progress: Callable[[str], object] = lambda _: None,
) -> Accuracy:
    """Return the accuracy by cross-validation; KeyboardInterrupt where a run is interrupted."""
    name, count = min(Counter(dataset.labels.tolist()).items(), key=lambda item: item[1])
    if count < FOLDS:
        raise InvalidInputError(
            f"class {shortened(name)} has {count} samples, fewer than the {FOLDS} folds of the "
            "cross-validation"
        )
    right = np.zeros(2)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    splits = folds.split(dataset.features, dataset.labels)
    for number, (learned_from, new) in enumerate(splits, 1):
        progress(f"accuracy, fold {number} of {FOLDS}")
        part = replace(
            dataset, features=dataset.features[learned_from], labels=dataset.labels[learned_from]
        )
        identity: dict[str, Any] = {"": csr_array(eye_array(dataset.features.shape[1]))}
        for k, metrics in enumerate((dict(_metrics(part, options, method)), identity)):
            run = LearnedRun(part, options.scale, None, metrics)
            predicted = run.predict(dataset.features[new], min(NEIGHBORS, len(learned_from)))
            right[k] += (predicted == dataset.labels[new]).sum()
    learned, without_learning = (right / len(dataset.labels)).tolist()
    return Accuracy(learned, without_learning)


def _metrics(
    dataset: Dataset, options: LearningOptions, method: Method
) -> Iterator[tuple[str, FloatArray | csr_array]]:
    for name, problem in options.problems(dataset):
        result = solve(problem, method)
        if result.status == "interrupted":
            raise KeyboardInterrupt
        yield name, metric_of(result)
