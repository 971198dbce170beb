"""Samples, labels and pairs as users pass them, and pairs with labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.samples import Samples, as_samples, is_sparse
from gdaopt.objectives.pairs.listed_pairs import ListedPairs
from gdaopt.objectives.pairs.pairs import Pairs, Tile
from gdaopt.objectives.pairs.rectangles import RectanglePairs
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, positive_vector, refuse_masked

_LEAST_SPREAD = 1e-100  # products of its squares do not underflow
LARGEST_SPREAD = 1e150
"""Of values: its square, summed up, is finite; the square of its inverse is not 0."""


def read_samples(X: Any) -> Samples:
    """Return samples as an array of shape (N, K), or sparse; refuse what has no distances."""
    features = as_samples(X)
    if features.shape[0] < 2:
        raise InvalidInputError(f"X has {features.shape[0]} sample(s); pairs need at least 2")
    if not _varies(features):
        raise InvalidInputError(
            f"all {features.shape[0]} samples of X coincide: no metric tells them apart"
        )
    check_spread("X", features, least=_LEAST_SPREAD)
    return features


def _varies(features: Samples) -> bool:
    """Say whether samples differ."""
    if is_sparse(features):
        return bool((features.max(axis=0) - features.min(axis=0)).nnz)
    return bool((features != features[0]).any())


def places_of(features: Samples) -> IndexArray:
    """Return a number for each sample, the same for those that coincide."""
    if not is_sparse(features):
        return np.asarray(np.unique(features, axis=0, return_inverse=True)[1]).ravel()
    rows = csr_array(features)
    rows.sort_indices()
    bounds = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    contents = [(rows.indices[i:j].tobytes(), rows.data[i:j].tobytes()) for i, j in bounds]
    numbers = {row: number for number, row in enumerate(dict.fromkeys(contents))}
    return np.array([numbers[row] for row in contents])


def mean_squares(features: Samples, left: IndexArray, right: IndexArray) -> FloatArray:
    """Return the mean squared differences of the features of pairs of samples, shape (K,)."""
    differences = features[left] - features[right]
    if is_sparse(differences):
        return np.asarray(differences.power(2).mean(axis=0)).ravel()
    means: FloatArray = (differences**2).mean(axis=0)
    return means


def read_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return weights as an array, 1 for None; refuse other lengths, and what is not positive."""
    if sample_weight is None:
        return np.ones(n_samples)
    return positive_vector("sample_weight", sample_weight, n_samples)


def read_pairs(pairs: Any, n_samples: int, name: str = "pairs", width: int = 2) -> IndexArray:
    """Return pairs as an array of indices; refuse other shapes, and indices without a sample."""
    refuse_masked(name, pairs)
    try:
        indices = np.asarray(pairs)
    except ValueError:  # rows of different lengths
        indices = np.asarray(pairs, dtype=object)
    is_whole = np.issubdtype(indices.dtype, np.integer)
    if indices.ndim != 2 or indices.shape[1] != width or not is_whole:
        raise InvalidInputError(
            f"{name} must be whole numbers of shape (n, {width}), got {indices.dtype} of "
            f"{indices.shape}"
        )
    if indices.size and not (indices.min() >= 0 and indices.max() < n_samples):
        raise InvalidInputError(
            f"{name} refers to samples {indices.min()} to {indices.max()}; X has 0 to "
            f"{n_samples - 1}"
        )
    return indices.astype(np.intp)


def check_spread(name: str, values: Samples, least: float) -> None:
    """Refuse values whose squared differences under- or overflow."""
    if is_sparse(values):
        spread = float(values.max()) / 2 - float(values.min()) / 2
    else:
        spread = float(np.abs(values / 2 - values[0] / 2).max())
    if not least <= spread <= LARGEST_SPREAD:
        raise InvalidInputError(
            f"{name} spans about {spread:.2g}, and the square of that leaves floating point; "
            f"rescale {name} to values of about 1"
        )


def class_codes(y: Any, n_samples: int) -> IndexArray:
    """Return the class of each sample as an index from 0 on; refuse fewer than two classes."""
    refuse_masked("y", y)
    try:
        labels = np.asarray(y)
    except ValueError:  # rows of different lengths
        labels = np.empty((0, 0))
    if labels.ndim != 1 or labels.dtype.kind not in "biufUSO":
        raise InvalidInputError(f"y must have a label for each sample, got {shortened(y)}")
    if labels.dtype == object and not (
        all(isinstance(label, str) for label in labels)
        or all(isinstance(label, Real) for label in labels)
    ):
        raise InvalidInputError(
            f"the labels in y must be all numbers or all texts, got {shortened(y)}"
        )
    is_nan = labels != labels
    if is_nan.any():
        raise InvalidInputError(
            f"y is NaN at index {int(is_nan.argmax())}; leave samples without a label out"
        )
    if len(labels) != n_samples:
        raise InvalidInputError(
            f"X has {n_samples} samples and y has {len(labels)}; they must be as many"
        )
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"y is {classes[0]!s} for all {n_samples} samples; there must be at least two classes"
        )
    return codes.ravel()


Mask = npt.NDArray[np.bool_]

Chosen = Mask | EllipsisType
"""Some entries of a tile, or all."""


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Pairs of samples, similar ones, most often of one class, and dissimilar ones.

    Either the codes of the classes of the samples say it, which ascend, or a flag for each pair of
    a list. With `places`, the same number for samples that coincide, dissimilar pairs of these are
    left out.
    """

    pairs: Pairs
    codes: IndexArray | None = None
    flags: Mask | None = None
    places: IndexArray | None = None

    def mask(self, tile: Tile, similar: bool) -> Mask:
        """Return which entries of a tile are similar pairs, or dissimilar ones; each pair once."""
        left, right = self.pairs.samples(tile)
        mask: Mask
        if self.codes is not None:
            mask = (self.codes[left] == self.codes[right]) == similar
        else:
            assert self.flags is not None
            mask = self.flags[tile.rows] == similar
        if tile.columns.start < tile.rows.stop:  # a square on the diagonal has pairs twice
            mask &= left < right
        if self.places is not None and not similar:
            mask &= self.places[left] != self.places[right]
        return mask

    def choose(self, tile: Tile, similar: bool) -> Chosen | None:
        """Return an index of the entries in `mask`, or None."""
        if self.codes is not None and self.places is None:
            rows, columns = self.codes[tile.rows], self.codes[tile.columns]
            if rows[-1] < columns[0]:  # classes ascend
                return None if similar else ...
            is_one = rows[0] == columns[-1]
            if is_one and not similar:
                return None
            if is_one and tile.columns.start >= tile.rows.stop:
                return ...
        mask = self.mask(tile, similar)
        return mask if mask.any() else None

    def list_pairs(self, *, similar: bool) -> tuple[IndexArray, IndexArray]:
        """Return both samples of the similar pairs, or of the dissimilar ones."""
        left, right, _ = self.pairs.list_pairs()
        masks = [self.mask(tile, similar).ravel() for tile in self.pairs.tiles]
        chosen = np.concatenate(masks)
        return left[chosen], right[chosen]

    @cached_property
    def n_similar(self) -> int:
        """How many pairs are similar."""
        return self.count(similar=True)

    @cached_property
    def n_dissimilar(self) -> int:
        """How many pairs are dissimilar, coinciding ones included."""
        return replace(self, places=None).count(similar=False)

    def without_equal(self) -> LabelledPairs:
        """Return these pairs without dissimilar ones whose samples coincide; refuse to lose all."""
        left = replace(self, places=places_of(self.pairs.features))
        if not left.count(similar=False):
            raise InvalidInputError(
                "all pairs of samples of different classes coincide: no metric tells them apart"
            )
        return left

    def count(self, *, similar: bool) -> int:
        """Return how many pairs are similar, or dissimilar."""
        return sum(int(self.mask(tile, similar).sum()) for tile in self.pairs.tiles)

    def mean_squares(self, *, similar: bool) -> FloatArray:
        """Return the mean squared differences of the features, of one kind of pairs, shape (K,)."""
        masks = (self.mask(tile, similar).astype(np.float64) for tile in self.pairs.tiles)
        return self.pairs.scatter_diagonal(masks) / self.count(similar=similar)


def read_labelled_pairs(
    X: Any, y: Any, pairs: Any, similar: Any = None, *, need_similar: bool = False
) -> LabelledPairs:
    """Return all pairs of samples with labels, or a list of pairs with or without labels.

    Arguments and errors are those of `gdaopt.PairHinge`.
    """
    features = read_samples(X)
    if (y is None) == (similar is None):
        raise InvalidInputError(
            "pass either labels y, or pairs and which of them are similar, "
            + ("got neither y nor similar" if y is None else "got both y and similar")
        )
    codes = None if y is None else class_codes(y, features.shape[0])
    if pairs is None:
        if codes is None:
            raise InvalidInputError("similar says which pairs are similar; pass pairs, too")
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        labelled = LabelledPairs(RectanglePairs.by_class(features[order], codes), codes=codes)
    else:
        left, right = np.sort(read_pairs(pairs, features.shape[0]), axis=1).T
        flags = _flags(similar, len(left)) if codes is None else codes[left] == codes[right]
        differ = left != right
        of_list = ListedPairs(features, left[differ], right[differ])
        labelled = LabelledPairs(of_list, flags=flags[differ])
    if not labelled.n_dissimilar:
        which = "samples of different classes" if similar is None else "dissimilar samples"
        raise InvalidInputError(f"pairs holds no two {which}")
    if need_similar and not labelled.n_similar:
        where = "X" if pairs is None else "pairs"
        which = "samples of one class" if similar is None else "similar samples"
        raise InvalidInputError(
            f"{where} holds no two {which}; such pairs pull the metric together"
        )
    return labelled


def _flags(similar: Any, n_pairs: int) -> Mask:
    refuse_masked("similar", similar)
    flags = np.asarray(similar)
    if flags.dtype != bool or flags.shape != (n_pairs,):
        raise InvalidInputError(
            f"similar must be a boolean for each of the {n_pairs} pairs, got {shortened(similar)}"
        )
    return flags
