"""One labelled data set."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.samples import Samples, as_samples, is_sparse
from gdaopt.support.files import digest
from gdaopt.support.text import shortened
from gdaopt.support.validation import (
    FloatArray,
    as_tuple,
    check_name,
    finite_array,
    read_only,
    refuse_masked,
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with real features and one label each.

    Parameters
    ----------
    name : str
        Name of the data set in tables and files.
    features : ndarray or sparse array of shape (N, K)
        Finite numbers, one row for each sample. Kept as a read-only copy in float64; of sparse
        ones, as a `scipy.sparse.csr_array` without stored zeros.
    labels : ndarray of shape (N,)
        The class of each sample: text, a number or a truth value. Kept as a read-only array of str.
    feature_names : sequence of str
        The names of the K features.
    schema : gdaopt.datasets.tabular.TableSchema, optional
        How the table that the samples come from became numbers.
    notes : sequence of str, optional
        What was odd in their file, a sentence each.

    Raises
    ------
    InvalidInputError
        When the features are not an N×K array of finite numbers, when there are not N labels or not
        K names, when a label is missing (None, NaN) or masked, and when there are fewer than two
        samples or two classes.

    Examples
    --------
    >>> flowers = Dataset("flowers", [[1, 2], [3, 4], [5, 7]], ["b", "a", "b"], ["length", "width"])
    >>> flowers
    Dataset(name='flowers', feature_names=('length', 'width'))
    >>> flowers.features.shape
    (3, 2)
    """

    name: str
    features: Samples = field(repr=False)
    labels: npt.NDArray[np.str_] = field(repr=False)
    feature_names: tuple[str, ...]
    schema: Any = field(default=None, repr=False)  # the reader of tables makes data sets, too
    notes: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        features = _copy_features(self.features)
        labels = _as_text(self.labels)
        labels.flags.writeable = False
        _check_text("name", self.name)
        feature_names = _as_names(self.feature_names)
        n_samples, n_features = features.shape
        if labels.shape != (n_samples,):
            raise InvalidInputError(
                f"labels have shape {labels.shape}, features have {n_samples} rows; "
                "pass one label for each row"
            )
        if len(feature_names) != n_features:
            raise InvalidInputError(
                f"{len(feature_names)} feature_names for {n_features} columns of features; "
                "pass one name for each column"
            )
        if n_samples < 2:
            raise InvalidInputError("features have 1 row; a metric is learned from 2 or more")
        if (labels == labels[0]).all():
            raise InvalidInputError(
                f"all {n_samples} labels are {shortened(str(labels[0]))}; "
                "a metric is learned from 2 or more classes"
            )
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "feature_names", feature_names)

    @property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels in natural order: ``"c2"`` comes before ``"c10"``."""
        return order_texts(set(self.labels.tolist()))

    @property
    def sha256(self) -> str:
        """A SHA-256 of features, their names, and labels."""
        shape = [list(self.features.shape), list(self.feature_names), self.labels.tolist()]
        values = self.features
        if not is_sparse(values):
            return digest(shape, values.astype("<f8"))
        places = (places.astype("<i8") for places in (values.indptr, values.indices))
        return digest(shape, *places, values.data.astype("<f8"))

    def signal(self, positive: str) -> FloatArray:
        """Return the training signal z of one class against the rest.

        Parameters
        ----------
        positive : str
            One of `classes`.

        Returns
        -------
        ndarray of shape (N,)
            +1 for the samples of the class, -1 for all others.

        Raises
        ------
        InvalidInputError
            When no sample has that label.

        Examples
        --------
        >>> Dataset("two", [[0], [1], [2]], ["a", "b", "a"], ["x"]).signal("a")
        array([ 1., -1.,  1.])
        """
        check_name("class", positive, self.classes)
        return np.where(self.labels == positive, 1.0, -1.0)


def _copy_features(features: Any) -> Samples:
    """Return a read-only copy of features; sparse ones have one form for the same numbers."""
    if not is_sparse(features):
        return read_only(finite_array("features", features, ndim=2, is_data=True))
    rows = as_samples(features, "features").copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    for array in (rows.data, rows.indices, rows.indptr):
        array.flags.writeable = False
    return rows


def _as_text(labels: Any) -> npt.NDArray[np.str_]:
    refuse_masked("labels", labels)
    # If there is no array yet, NumPy would turn None and NaN beside text into text.
    entries = np.asarray(labels) if hasattr(labels, "dtype") else np.array(labels, dtype=object)
    if entries.ndim == 0:
        raise InvalidInputError(f"labels must be one for each row, got {shortened(labels)}")
    for index, label in enumerate(entries.ravel().tolist()):
        if not isinstance(label, str | Real):
            raise InvalidInputError(
                f"labels hold {shortened(label)} at index {index}; a label is text, a number or a "
                "truth value: remove the rows without one"
            )
        if label != label:  # NaN
            raise InvalidInputError(
                f"labels hold {label!r} at index {index}; remove the rows without a label"
            )
        if isinstance(label, str):
            _check_text(f"the label at index {index}", label)
    return entries.astype(np.str_)


def _as_names(names: Any) -> tuple[str, ...]:
    texts = tuple(map(str, as_tuple("feature_names", names, "one for each column")))
    for index, name in enumerate(texts):
        _check_text(f"the feature name at index {index}", name)
    return texts


def _check_text(what: str, text: Any) -> None:
    """Refuse what is no text, or no valid one: files could not hold it."""
    if not isinstance(text, str):
        raise InvalidInputError(f"{what} must be text, got {shortened(text)}")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidInputError(
            f"{what} is {shortened(text)}, with a character that files of text cannot hold; remove "
            "it"
        )


def order_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts in natural order: ``"c2"`` comes before ``"c10"``."""
    return tuple(sorted(texts, key=_natural_order))


def _natural_order(text: str) -> tuple[list[tuple[int, str]], str]:
    """Return a sort key that compares numbers inside texts by their values."""
    parts = re.split(r"(\d+)", text)
    # If two numbers have no leading zeros, the longer one is larger. Every second part is a number,
    # so that numbers are compared with numbers.
    parts[1::2] = [part.lstrip("0") for part in parts[1::2]]
    return [(len(part) * (place % 2), part) for place, part in enumerate(parts)], text
