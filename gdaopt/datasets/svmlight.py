"""Sparse samples from files in the svmlight format, which scikit-learn reads."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from gdaopt.errors import InvalidInputError
from gdaopt.support.text import reason
from gdaopt.support.validation import as_path, integer


def read_svmlight(
    path: str | os.PathLike[str], *, n_features: int | None = None
) -> tuple[csr_array, npt.NDArray[Any]]:
    r"""Read sparse samples and their labels from a file in the svmlight format.

    A line is a sample: its label, a number, and ``index:value`` for each feature that is not 0, in
    ascending order. Learners such as `gdaopt.MetricLearner` take the samples as they are.

    Parameters
    ----------
    path : path-like
        The file; it may be compressed, with the ending ``.gz`` or ``.bz2``. Indices are counted
        from 0 if one of them is 0, and else from 1.
    n_features : int, optional
        K; by default the largest index that occurs. New samples need that of the samples learned
        from.

    Returns
    -------
    X : scipy.sparse.csr_array of shape (N, K)
        The samples.
    y : ndarray of shape (N,)
        The labels: integers where all are whole numbers, else floats.

    Raises
    ------
    InvalidInputError
        When there is no such file, when it is not in this format, when a number is not finite, and
        when it holds no samples, or more features than `n_features`.

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
    path = as_path("path", path)
    if n_features is not None:
        n_features = integer("n_features", n_features, at_least=1)
    try:
        found, labels = load_svmlight_file(os.fspath(path), n_features=n_features)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {reason(error)}") from error
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{path} is no file in the svmlight format, whose lines are such as '1 3:0.5 7:2': "
            f"{reason(error)}"
        ) from error
    X = csr_array(found)
    if 0 in X.shape:
        raise InvalidInputError(f"{path} holds {X.shape[0]} samples of {X.shape[1]} features")
    if not (np.isfinite(X.data).all() and np.isfinite(labels).all()):
        raise InvalidInputError(f"{path} holds a number that is not finite; remove its sample")
    whole = labels.astype(np.int64) if (np.abs(labels) < 2**53).all() else labels
    return X, whole if (whole == labels).all() else labels
