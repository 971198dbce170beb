"""One labelled data set."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError, unknown_name
from gdaopt.validation import FloatArray, finite_array, read_only

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with real features and one label each.

    Parameters
    ----------
    name : str
        Name of the data set in tables and files.
    features : ndarray of shape (N, K)
        Finite numbers, one row for each sample. Kept as a read-only copy in float64.
    labels : ndarray of shape (N,)
        The class of each sample. Kept as a read-only array of str.
    feature_names : sequence of str
        The names of the K features.

    Raises
    ------
    InvalidInputError
        When the features are not an N×K array of finite numbers, when there are not N labels or not
        K names, and when there are fewer than two samples or two classes.

    Examples
    --------
    >>> flowers = Dataset("flowers", [[1, 2], [3, 4], [5, 7]], ["b", "a", "b"], ["length", "width"])
    >>> flowers
    Dataset(name='flowers', feature_names=('length', 'width'))
    >>> flowers.features.shape
    (3, 2)
    """

    name: str
    features: FloatArray = field(repr=False)
    labels: npt.NDArray[np.str_] = field(repr=False)
    feature_names: tuple[str, ...]

    def __post_init__(self) -> None:
        features = read_only(finite_array("features", self.features, ndim=2))
        labels = np.array(self.labels).astype(np.str_)
        labels.flags.writeable = False
        feature_names = tuple(str(name) for name in self.feature_names)
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
                f"all {n_samples} labels are {str(labels[0])!r}; "
                "a metric is learned from 2 or more classes"
            )
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "feature_names", feature_names)

    @property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels in natural order: ``"c2"`` comes before ``"c10"``."""
        return tuple(sorted(set(self.labels.tolist()), key=_natural_order))

    @property
    def sha256(self) -> str:
        """A SHA-256 of features, their names, and labels."""
        shape = [list(self.features.shape), list(self.feature_names), self.labels.tolist()]
        digest = hashlib.sha256(json.dumps(shape).encode())
        digest.update(np.ascontiguousarray(self.features, dtype="<f8").tobytes())
        return digest.hexdigest()

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
        if positive not in self.classes:
            raise unknown_name("class", positive, self.classes)
        return np.where(self.labels == positive, 1.0, -1.0)


def _natural_order(text: str) -> tuple[list[str | int], str]:
    """Return a sort key that compares numbers inside texts by their values."""
    parts = re.split(r"(\d+)", text)
    return [int(part) if part.isdecimal() else part for part in parts], text
