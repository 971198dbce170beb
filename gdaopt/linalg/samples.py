"""Samples as dense arrays of shape (N, K), or as sparse ones of which no copy is dense."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csc_array, csr_array

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import Edges
from gdaopt.support.validation import FloatArray, finite_array

Samples = Any
"""An array of shape (N, K), or a `scipy.sparse.csc_array` of that shape."""

_RUN_ENTRIES = 2**18  # entries of the columns that are gone through at a time: 2 MB


def is_sparse(samples: Samples) -> bool:
    """Say whether samples are sparse."""
    return bool(sparse.issparse(samples))


def as_samples(X: Any, name: str = "X") -> Samples:
    """Return samples as an array, or by rows as a `csr_array` if they are sparse."""
    if not is_sparse(X):
        return finite_array(name, X, ndim=2, is_data=True)
    if X.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} is sparse and holds {X.dtype}; pass real numbers")
    if X.ndim != 2 or 0 in X.shape:
        raise InvalidInputError(
            f"{name} must have 2 dimensions, none of them 0, got shape {X.shape}"
        )
    features = csr_array(X, dtype=np.float64)
    finite_array(name, np.append(features.data, 0.0), ndim=1, is_data=True)
    return features


def column_runs(samples: Samples) -> Iterator[slice]:
    """Yield runs of columns whose dense entries stay in cache."""
    n_samples, size = samples.shape
    step = max(1, _RUN_ENTRIES // n_samples)
    for start in range(0, size, step):
        yield slice(start, min(start + step, size))


def columns_of(samples: Samples, index: slice | npt.NDArray[np.intp]) -> FloatArray:
    """Return some columns as a dense array."""
    columns: Any = samples[:, index]
    array: FloatArray = columns.toarray() if is_sparse(columns) else columns
    return array


def divided(samples: Samples, scales: FloatArray) -> Samples:
    """Return samples whose features are divided by K numbers; of sparse ones, sparse rows."""
    if not is_sparse(samples):
        return samples / scales
    rows = csr_array(samples)
    values = rows.data / scales[rows.indices]
    return csr_array((values, rows.indices, rows.indptr), shape=rows.shape)


def products_of(matrix: FloatArray, columns: Samples) -> FloatArray:
    """Return ``A X`` for a symmetric N×N matrix A and dense or sparse columns of samples."""
    # SciPy would copy a transposed array.
    products: FloatArray = (columns.T @ matrix).T if is_sparse(columns) else matrix @ columns
    return products


def paired_sums(left: Samples, right: FloatArray, edges: Edges) -> FloatArray:
    """Return ``Σ_n left_ni right_nj`` for the edges (i, j): entries of a product of matrices."""
    rows, columns = edges
    sums = np.empty(len(rows))
    step = max(1, _RUN_ENTRIES // len(right))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        factors, places = left[:, rows[part]], columns[part]
        if is_sparse(factors):
            of_entry = np.repeat(np.arange(len(places)), np.diff(factors.indptr))
            products = factors.data * right[factors.indices, places[of_entry]]
            sums[part] = np.bincount(of_entry, products, minlength=len(places))
        else:
            sums[part] = np.einsum("nk,nk->k", factors, right[:, places])
    return sums


def squared_columns(samples: Samples, weights: FloatArray, centre: FloatArray) -> FloatArray:
    """Return ``Σ_n w_n (|x_nk| + c_k)²`` for each feature k, for w ≥ 0."""
    if is_sparse(samples):
        return np.asarray(weights @ samples.power(2))
    sums = np.empty(samples.shape[1])
    for run in column_runs(samples):
        sizes = np.abs(samples[:, run])
        sizes += centre[run]
        sizes *= sizes
        sums[run] = weights @ sizes
    return sums


def column_forms(matrix: FloatArray, samples: Samples) -> FloatArray:
    """Return ``x_k' A x_k`` for each feature k and a symmetric N×N matrix A."""
    forms = np.empty(samples.shape[1])
    for run in column_runs(samples):
        columns = samples[:, run]
        products = products_of(matrix, columns)
        if is_sparse(columns):
            forms[run] = np.asarray(columns.multiply(products).sum(axis=0)).ravel()
        else:
            forms[run] = np.einsum("nk,nk->k", columns, products)
    return forms


def by_columns(samples: Any) -> csc_array:
    """Return sparse samples by columns, without stored zeros; constant features become 0."""
    columns = csc_array(samples, dtype=np.float64, copy=True)
    columns.sum_duplicates()
    is_constant = (columns.max(axis=0) - columns.min(axis=0)).toarray().ravel() == 0
    columns.data[np.repeat(is_constant, np.diff(columns.indptr))] = 0.0
    columns.eliminate_zeros()
    return columns
