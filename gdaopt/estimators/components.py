"""Components L of a metric ``M = L'L``, all of them or those of the largest eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import coo_array, csr_array

from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.laplacian import connected_features
from gdaopt.linalg.samples import is_sparse
from gdaopt.result import Result
from gdaopt.support.validation import FloatArray


def metric_of(result: Result) -> Any:
    """Return the metric of a result: an array, or of many features a sparse array."""
    return result.metric if result.features is None else result.sparse_metric


def components_of(metric: Any) -> Any:
    """Return L with ``L'L = M``, by connected components; a sparse array as a sparse array."""
    if is_sparse(metric):
        index, part = connected_part(metric)
        roots = np.sqrt(np.maximum(metric.diagonal(), 0.0))
        roots[index] = 0.0
        entries = coo_array(components_of(part) if len(index) else np.zeros((0, 0)))
        diagonal = np.arange(len(roots))
        where = [np.concatenate([diagonal, index[ends]]) for ends in entries.coords]
        values = np.concatenate([roots, entries.data])
        sparse = csr_array((values, tuple(where)), shape=metric.shape)
        sparse.eliminate_zeros()
        return sparse
    # Divided by powers of two, M has a diagonal of about 1, and features of any unit keep digits.
    scales = np.sqrt(np.maximum(np.diagonal(metric), 0.0))
    units = np.where(scales > 0, np.exp2(np.frexp(scales)[1]), 1.0)
    scaled = metric / units / units[:, None]
    components = np.diag(np.sqrt(np.maximum(np.diagonal(scaled), 0.0)))
    for index in connected_features(scaled):
        block = np.ix_(index, index)
        components[block] = _factor(scaled[block])
    return components * units


def connected_part(metric: csr_array) -> tuple[IndexArray, FloatArray]:
    """Return the features with an entry ≠ 0 off the diagonal, and the block of these."""
    entries = metric.tocoo()
    rows, columns = entries.coords
    index = np.unique(rows[(rows != columns) & (entries.data != 0)])
    return index, metric[index][:, index].toarray()


def _factor(block: FloatArray) -> FloatArray:
    try:
        factor: FloatArray = scipy.linalg.cholesky(block)
    except scipy.linalg.LinAlgError:
        values, vectors = scipy.linalg.eigh(block)
        factor = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return factor


def largest_components(metric: Any, count: int) -> Any:
    """Return L of the `count` largest eigenvalues; of a sparse metric as a sparse array.

    Of a sparse metric the eigenvectors are those of the features that have edges and of the
    features with the largest entries on the diagonal.
    """
    if not is_sparse(metric):
        return _largest_of_dense(metric, count)
    connected, _ = connected_part(metric)
    strongest = np.argsort(-metric.diagonal(), kind="stable")[:count]
    index = np.union1d(connected, strongest)
    rows = _largest_of_dense(metric[index][:, index].toarray(), count)
    places = np.repeat(np.arange(count), len(index)), np.tile(index, count)
    return csr_array((rows.ravel(), places), shape=(count, metric.shape[0]))


def _largest_of_dense(matrix: FloatArray, count: int) -> FloatArray:
    """Return eigenvectors as rows, times the roots of the largest eigenvalues."""
    first = len(matrix) - count
    values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[first, len(matrix) - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    roots = np.sqrt(np.maximum(values, 0.0)) * np.sign(largest[0])
    components: FloatArray = (vectors * roots).T
    return components
