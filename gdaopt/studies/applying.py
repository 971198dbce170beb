"""Applying what a run of `gdaopt learn` has learned to new samples."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array
from sklearn.neighbors import KNeighborsClassifier

from gdaopt.datasets import Dataset
from gdaopt.datasets.numbers import float_or_nan
from gdaopt.datasets.svmlight import is_svmlight, read_numbered, svmlight_lines
from gdaopt.datasets.table_files import TableFormat
from gdaopt.datasets.tabular import NewSamples, TableSchema
from gdaopt.errors import InvalidInputError
from gdaopt.estimators.components import components_of, metric_of
from gdaopt.linalg.samples import Samples, divided, is_sparse
from gdaopt.result import Result
from gdaopt.studies.saved_runs import read_samples
from gdaopt.studies.sources import check_no_table
from gdaopt.studies.study_directory import RECORD, read_study
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, as_path, check_name, integer


@dataclass(frozen=True, eq=False)
class LearnedRun:
    """Metrics that `gdaopt learn` has written, with the samples that they were learned from."""

    dataset: Dataset
    schema: TableSchema | None  # how its table was read, and new ones are; None without a table
    components: Mapping[str, FloatArray | csr_array]  # L of each metric L'L of unscaled features

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a run; refuse a directory that holds none, or not all of its files."""
        path = as_path("folder", folder)
        if not (path / RECORD).exists():
            raise InvalidInputError(f"{path} holds no run of gdaopt learn: there is no {RECORD}")
        options, entries = read_study(path)
        try:
            if options["study"] != "learn" or not entries:
                raise InvalidInputError("no metric is learned, or what was written is damaged")
            samples = path / options["samples_file"]
            dataset = read_samples(samples, options["dataset"], options["features"])
            if dataset.sha256 != options["data_sha256"]:
                raise InvalidInputError(f"{samples} does not hold the samples of the run")
            components = {
                entry["row"]["class"]: divided(
                    components_of(metric_of(Result.load(path / file))),
                    np.array(entry["row"]["spreads"]),
                )
                for entry in entries
                for file in entry["files"]
                if file.endswith(".npz")
            }
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
        return cls(dataset, schema, components)

    def read(
        self,
        path: str | os.PathLike[str],
        label: str | None = None,
        form: TableFormat | None = None,
    ) -> NewSamples:
        """Read new samples, and their labels if the file has some.

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
            labels = numbers if np.isin(numbers, classes).any() else None
            return NewSamples(samples, labels, pd.DataFrame(index=range(1, samples.shape[0] + 1)))
        assert self.schema is not None
        new = self.schema.read(path, label, form)
        return replace(new, labels=None if new.labels is None else as_classes(new.labels, classes))

    def describe_overlap(self, X: Samples) -> list[str]:
        """Return a sentence on samples that are equal to one that was learned from, if any are."""
        seen = set(_row_keys(self.dataset.features))
        count = sum(key in seen for key in _row_keys(X))
        if not count:
            return []
        which = "all" if count == X.shape[0] else str(count)
        return [
            f"{which} of the {X.shape[0]} samples are among those learned from, so that their "
            "classes are found too well"
        ]

    def transform(self, X: Samples, name: str | None = None) -> Samples:
        """Return coordinates of samples with the distances of a metric.

        Dense ones are about the mean of the samples learned from: distances do not depend on the
        origin, but their round-off does.
        """
        centred = X if is_sparse(X) else X - self._origin
        return centred @ self._components_of(name).T

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
        places = {label: place for place, label in enumerate(classes)}
        codes = np.array([places[label] for label in self.dataset.labels.tolist()])

        def under(metric: str | None) -> FloatArray:
            samples = self.transform(self.dataset.features, metric)
            neighbors = KNeighborsClassifier(n_neighbors).fit(samples, codes)
            shares: FloatArray = neighbors.predict_proba(self.transform(X, metric))
            return shares

        if name is not None or len(self.components) == 1:
            return under(name)
        missing = [label for label in classes if label not in self.components]
        if missing:
            raise InvalidInputError(
                f"the run has no metric of class {missing[0]!r} yet: finish it by the same "
                "command, or name the class of one metric by --class"
            )
        return np.column_stack([under(label)[:, k] for k, label in enumerate(classes)])

    def predict(
        self, X: Samples, n_neighbors: int = 5, name: str | None = None
    ) -> npt.NDArray[np.str_]:
        """Return the class of each new sample; see `shares`."""
        best = self.shares(X, n_neighbors, name).argmax(axis=1)
        classes: npt.NDArray[np.str_] = np.array(self.dataset.classes, dtype=np.str_)[best]
        return classes

    def _components_of(self, name: str | None) -> FloatArray | csr_array:
        if name is None:
            if len(self.components) > 1:
                raise InvalidInputError(
                    f"the run has metrics of the classes {', '.join(self.components)}; name one by "
                    "--class"
                )
            return next(iter(self.components.values()))
        check_name("class of a metric:", name, list(self.components))
        return self.components[name]

    @cached_property
    def _origin(self) -> FloatArray:
        origin: FloatArray = self.dataset.features.mean(axis=0)
        return origin


def _row_keys(X: Samples) -> Iterator[bytes]:
    """Yield what is equal for equal rows."""
    if is_sparse(X):
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        return (X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends)
    return (row.tobytes() for row in X + 0.0)  # 0 for -0


def coordinates_text(coordinates: Samples, new: NewSamples) -> str:
    """Return a table of coordinates, or, of sparse ones, a text in the svmlight format."""
    if is_sparse(coordinates):
        rows = csr_array(coordinates)
        rows.sort_indices()
        no_labels = np.full(rows.shape[0], "0")
        return "".join(svmlight_lines(rows, no_labels if new.labels is None else new.labels))
    table = new.ids.rename_axis("row")
    if new.labels is not None:
        table["label"] = new.labels
    table[[f"x{k + 1}" for k in range(coordinates.shape[1])]] = coordinates
    return table.to_csv()


def as_classes(labels: npt.NDArray[np.str_], classes: Sequence[str]) -> npt.NDArray[np.str_]:
    """Return labels as the classes are written, if they are equal to one as numbers."""
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
