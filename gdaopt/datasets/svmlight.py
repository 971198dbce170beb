"""Sparse samples from files in the svmlight format, which scikit-learn reads."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gdaopt.datasets.dataset import Dataset
from gdaopt.errors import InvalidInputError
from gdaopt.support.resources import check_fits
from gdaopt.support.text import reason
from gdaopt.support.validation import FloatArray, as_path, flag, integer

_ENDINGS = (".svm", ".svmlight", ".libsvm")
_OF_NAME = 100.0  # bytes in memory


def read_svmlight(
    path: str | os.PathLike[str], *, n_features: int | None = None, zero_based: bool | None = None
) -> tuple[csr_array, npt.NDArray[Any]]:
    r"""Read sparse samples and their labels from a file in the svmlight format.

    A line is a sample: its label, a number, and ``index:value`` for each feature that is not 0, in
    ascending order. Learners such as `gdaopt.MetricLearner` take the samples as they are.

    Parameters
    ----------
    path : path-like
        The file; it may be compressed, with the ending ``.gz`` or ``.bz2``.
    n_features : int, optional
        K; by default the largest index that occurs. New samples need that of the samples learned
        from.
    zero_based : bool, optional
        Whether indices are counted from 0, or from 1. By default they are counted from 0 if one of
        them is 0, and else from 1; new samples need what holds for the samples learned from.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (N, K)
        The samples.
    y : ndarray of shape (N,)
        The labels: integers if all are whole numbers, else floats.

    Raises
    ------
    InvalidInputError
        When there is no such file, when it is not in this format, when a line has several labels or
        a number is not finite, and when it holds no samples, more features than `n_features`, or
        an index 0 if they are counted from 1.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "words.svm"
    ...     _ = path.write_text("1 1:0.5 4:2\n-1 2:1\n")
    ...     X, y = read_svmlight(path)
    >>> X.toarray(), y
    (array([[0.5, 0. , 0. , 2. ],
           [0. , 1. , 0. , 0. ]]), array([ 1, -1]))
    """
    if n_features is not None:
        n_features = integer("n_features", n_features, at_least=1)
    if zero_based is not None:
        zero_based = flag("zero_based", zero_based)
    X, labels, _ = _read(as_path("path", path), n_features, zero_based)
    whole = labels.astype(np.int64) if (np.abs(labels) < 2**53).all() else labels
    return X, whole if (whole == labels).all() else labels


def is_svmlight(path: str | os.PathLike[str]) -> bool:
    """Say whether a file has the name of an svmlight file."""
    return _strip_packing(Path(path)).suffix.lower() in _ENDINGS


def load_svmlight(path: str | os.PathLike[str]) -> Dataset:
    """Return the samples of a file, named after it; features keep their numbers as names."""
    path = as_path("path", path)
    X, labels, first = _read(path)
    largest = first + X.shape[1]
    check_fits(
        _OF_NAME * largest,
        f"{path}, whose largest index is {largest - 1},",
        "number the features without gaps",
    )
    names = tuple(map(str, range(first, largest)))
    return Dataset(_strip_packing(path).stem, X, _texts(labels), names)


def read_numbered(
    path: str | os.PathLike[str], names: Sequence[str]
) -> tuple[csr_array, npt.NDArray[np.str_]]:
    """Read samples, and their labels as texts, of a data set whose features have these numbers."""
    X, labels, _ = _read(as_path("path", path), len(names), names[0] == "0")
    return X, _texts(labels)


def svmlight_lines(X: csr_array, labels: npt.NDArray[np.str_], first: int = 1) -> Iterator[str]:
    """Yield the lines of samples to the last bit; the first feature has that index."""
    for label, (start, stop) in zip(labels.tolist(), pairwise(X.indptr.tolist()), strict=True):
        indices, values = (X.indices[start:stop] + first).tolist(), X.data[start:stop].tolist()
        entries = (f"{i}:{value!r}" for i, value in zip(indices, values, strict=True))
        yield " ".join([label, *entries]) + "\n"


def _strip_packing(path: Path) -> Path:
    return path.with_suffix("") if path.suffix in (".gz", ".bz2") else path


def _load(path: Path, **options: bool) -> Any:
    from sklearn.datasets import load_svmlight_file  # on demand: it takes a second

    return load_svmlight_file(os.fspath(path), **options)


def _read(
    path: Path, n_features: int | None = None, zero_based: bool | None = None
) -> tuple[csr_array, FloatArray, int]:
    try:
        table, labels = _load(path, zero_based=True)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInputError(f"{path} cannot be read: {reason(error)}") from error
    except (ValueError, OverflowError) as error:
        if _has_several_labels(path):
            raise InvalidInputError(
                f"{path} has lines with several labels, separated by commas; leave one for each "
                "sample"
            ) from error
        raise InvalidInputError(
            f"{path} is no file in the svmlight format, whose lines are such as '1 3:0.5 7:2': "
            f"{reason(error)}"
        ) from error
    has_first = bool((table.indices == 0).any())
    if has_first and zero_based is False:
        raise InvalidInputError(f"{path} holds an index 0, and indices are counted from 1")
    first = int(zero_based is False or (zero_based is None and table.nnz > 0 and not has_first))
    size = table.shape[1] - first
    if n_features is not None and size > n_features:
        raise InvalidInputError(
            f"{path} holds the index {size - 1 + first}; of {n_features} features counted from "
            f"{first} the last is {n_features - 1 + first}"
        )
    shape = table.shape[0], n_features or max(size, 1)
    if 0 in shape:
        raise InvalidInputError(f"{path} holds no samples")
    X = csr_array((table.data, table.indices - first, table.indptr), shape=shape)
    if not (np.isfinite(X.data).all() and np.isfinite(labels).all()):
        raise InvalidInputError(f"{path} holds a number that is not finite; remove its sample")
    return X, labels, first


def _texts(labels: FloatArray) -> npt.NDArray[np.str_]:
    """Return labels as texts, which do not depend on the other labels: 1 is "1" in any file."""
    return np.array([str(int(x) if x.is_integer() else x) for x in labels.tolist()])


def _has_several_labels(path: Path) -> bool:
    try:
        _, labels = _load(path, multilabel=True)
    except (ValueError, OverflowError):
        return False
    return max(map(len, labels)) > 1
