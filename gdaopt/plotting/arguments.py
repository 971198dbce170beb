"""What callers of pictures pass beside runs: axes, metrics, and names of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.laplacian import edge_threshold
from gdaopt.plotting.legends import short_label
from gdaopt.result import Result
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, as_tuple, symmetric_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AxesArray = npt.NDArray[np.object_]
"""An array of matplotlib axes."""

_MOST_FEATURES = 40  # that are drawn if there are many


# --- Axes -----------------------------------------------------------------------------------------


def axes_or_new(ax: Any, width: float = 6.4, height: float = 4.8) -> Axes:
    """Return the axes that a caller passed, or for None the axes of a new figure of pyplot."""
    return _new_axes((1, 1), width, height)[0, 0] if ax is None else _check_axes(ax)


def axes_of_shape(ax: Any, shape: tuple[int, ...], width: float, height: float) -> AxesArray:
    """Return the axes that a caller passed, or for None new ones, as an array of a shape."""
    rows, columns = shape if len(shape) == 2 else (1, *shape)
    if ax is None:
        return _new_axes((rows, columns), width, height).reshape(shape)
    try:
        axes = np.asarray(ax, dtype=object)
    except ValueError:  # rows of different lengths
        axes = np.empty(0, dtype=object)
    if axes.shape != shape:
        wanted = "×".join(map(str, shape))
        raise InvalidInputError(
            f"ax must be an array of {wanted} axes, got shape {axes.shape}; "
            f"such as pyplot.subplots({rows}, {columns})[1]"
        )
    for panel in axes.ravel():
        if panel is not None:
            _check_axes(panel)
    return axes


def _check_axes(ax: Any) -> Axes:
    """Return axes; raise InvalidInputError for any other object."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise InvalidInputError(
            f"ax must be axes of matplotlib, got {shortened(ax)}; such as pyplot.subplots()[1]"
        )
    return ax


def _new_axes(shape: tuple[int, int], width: float, height: float) -> AxesArray:
    from matplotlib import pyplot

    size = (width, height)
    return np.asarray(
        pyplot.subplots(*shape, squeeze=False, figsize=size, layout="constrained")[1], dtype=object
    )


# --- Metrics and their features -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Drawn:
    """A K×K metric to draw: all of it or, of a run with many features, its block.

    Attributes
    ----------
    block : ndarray of shape (n, n)
        The metric of some features.
    features, shown : ndarrays of int
        These features, and the places in the block of those to draw.
    n_features : int
        K.
    threshold : float
        The weight above which an edge counts.
    outside : float or None
        The diagonal entries outside of the block; None if there are no features outside.
    """

    block: FloatArray
    features: npt.NDArray[np.intp]
    shown: npt.NDArray[np.intp]
    n_features: int
    threshold: float
    outside: float | None = None


def as_drawn(metric: Result | npt.ArrayLike) -> Drawn:
    """Return what is drawn of a run, or of a symmetric matrix."""
    if not isinstance(metric, Result):
        matrix = symmetric_matrix("metric", metric)
        size = len(matrix)
        threshold = edge_threshold(abs(float(np.trace(matrix))), size)
        return Drawn(matrix, np.arange(size), _strongest(matrix), size, threshold)
    block, features, size = metric.block, metric.features, metric.n_features
    threshold = edge_threshold(metric.feasible_set.trace_bound, size)
    if features is None:
        return Drawn(block, np.arange(size), _strongest(block), size, threshold)
    outside = None if len(features) == size else metric.feasible_set.min_eigenvalue
    return Drawn(block, features, _strongest(block), size, threshold, outside)


def _strongest(block: FloatArray) -> npt.NDArray[np.intp]:
    """Return the places of the strongest edges, then of the largest diagonal entries, ascending.

    Of few features these are all places.
    """
    rows, columns = np.nonzero(np.triu(block, 1))
    order = np.argsort(-np.abs(block[rows, columns]), kind="stable")
    ends = np.column_stack([rows, columns])[order].ravel()
    ranked = np.concatenate([ends, np.argsort(-np.diagonal(block), kind="stable")])
    _, first = np.unique(ranked, return_index=True)
    return np.sort(ranked[np.sort(first)[:_MOST_FEATURES]])


def feature_names(names: Sequence[str] | None, size: int) -> list[str]:
    """Return the short labels of K features; their numbers when no names are given."""
    if names is None:
        return [str(number) for number in range(size)]
    names = as_tuple("names", names, "a list of names")
    if len(names) != size:
        raise InvalidInputError(f"names holds {len(names)} names for {size} features")
    return [short_label(str(name)) for name in names]
