"""Masks of edges: which pairs of features may have an edge at all."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import Edges, IndexArray, all_edges
from gdaopt.linalg.laplacian import spanning_forest
from gdaopt.support.text import reason, shortened
from gdaopt.support.validation import read_only, unknown_name


@dataclass(frozen=True, eq=False, repr=False)
class EdgeMask:
    """The pairs of features that may have an edge, each once, in ascending order.

    `n_features` is K if the mask comes from a K×K matrix or from a graph of K nodes: it is then for
    this number of features only. A mask of pairs fits every K beyond its largest index. Two masks
    are equal when they have the same pairs for the same number of features.

    Examples
    --------
    >>> mask = EdgeMask.of([(2, 1), (0, 1), (1, 2)])
    >>> mask, mask.rows, mask.columns
    (EdgeMask(2 pairs), array([0, 1]), array([1, 2]))
    >>> mask == EdgeMask.of([[0, 1], [1, 2]])
    True
    """

    rows: IndexArray
    columns: IndexArray
    n_features: int | None = None

    @classmethod
    def of(cls, edges: Any, names: Sequence[str] | None = None) -> Self:
        """Return the mask that a value describes.

        Parameters
        ----------
        edges : EdgeMask, array-like, sparse array or networkx.Graph
            A symmetric boolean K×K matrix, whose diagonal does not matter; a symmetric sparse
            matrix, whose entries other than 0 are the pairs; n pairs of indices from 0 on, in any
            order; or an undirected graph on the nodes 0, …, K-1. Without any pair the metrics are
            diagonal.
        names : sequence of str, optional
            Names of the features; pairs and nodes may use them in place of indices.

        Raises
        ------
        InvalidInputError
            For values of any other form.

        Examples
        --------
        >>> EdgeMask.of(np.ones((3, 3), dtype=bool))
        EdgeMask(3 pairs of 3 features)
        """
        if isinstance(edges, cls):
            return edges
        if issparse(edges):
            return cls._of_matrix(edges)
        if _is_graph(edges):
            return cls._of_graph(edges, names)
        if isinstance(edges, str | bytes) or not isinstance(edges, Iterable):
            raise InvalidInputError(
                f"edges must be a mask of edges, such as pairs of features, got {shortened(edges)}"
            )
        array = _array(edges)
        if array.dtype == bool and array.ndim == 2 and array.shape[0] == array.shape[1]:
            return cls._of_matrix(array)
        return cls._of_pairs(array, names)

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the mask that `record` wrote."""
        return cls._canonical(
            np.array(record["rows"], dtype=np.intp),
            np.array(record["columns"], dtype=np.intp),
            record["n_features"],
        )

    @classmethod
    def _of_matrix(cls, matrix: Any) -> Self:
        """Return the pairs of the entries of a boolean matrix, dense or sparse."""
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InvalidInputError(f"edges must be a K×K matrix, got shape {matrix.shape}")
        matrix = matrix.astype(bool)
        rows, columns = (matrix != matrix.T).nonzero()
        if len(rows):
            i, j = int(rows[0]), int(columns[0])
            raise InvalidInputError(
                f"edges is not symmetric: of [{i},{j}] and [{j},{i}] only one is set; "
                "pass edges | edges.T"
            )
        rows, columns = (index.astype(np.intp) for index in matrix.nonzero())
        above = rows < columns
        return cls._canonical(rows[above], columns[above], matrix.shape[0])

    @classmethod
    def _of_graph(cls, graph: Any, names: Sequence[str] | None) -> Self:
        """Return the edges of a networkx graph."""
        if graph.is_directed():
            raise InvalidInputError("edges is a directed graph; pass graph.to_undirected()")
        size = graph.number_of_nodes()
        named = names is not None and any(isinstance(node, str) for node in graph)
        if not named and set(graph) != set(range(size)):
            raise InvalidInputError(
                f"the nodes of the graph edges must be 0, …, {size - 1}, one for each feature; see "
                "networkx.convert_node_labels_to_integers"
            )
        mask = cls._of_pairs(_array([pair[:2] for pair in graph.edges]), names)
        return mask if named else cls(mask.rows, mask.columns, size)

    @classmethod
    def _of_pairs(cls, pairs: np.ndarray, names: Sequence[str] | None) -> Self:
        """Return the mask of an array of pairs, of indices or of names."""
        if pairs.size == 0:
            pairs = np.zeros((0, 2), dtype=np.intp)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            hint = "; a matrix has to be boolean: pass edges != 0" if pairs.ndim == 2 else ""
            raise InvalidInputError(
                f"edges must be a boolean K×K matrix or n pairs, of shape (n, 2); got an array of "
                f"{pairs.dtype} of shape {pairs.shape}{hint}"
            )
        if pairs.dtype.kind in "OU" and names is not None:
            pairs = _indices(pairs, names)
        if pairs.dtype.kind not in "iu":
            or_names = "" if names is None else " or names"
            raise InvalidInputError(
                f"edges must hold pairs of indices{or_names} of features, got "
                f"{shortened(pairs[0].tolist())}"
            )
        pairs = pairs.astype(np.intp)
        low, high = np.minimum(*pairs.T), np.maximum(*pairs.T)
        negative = np.flatnonzero(low < 0)
        if len(negative):
            raise InvalidInputError(
                f"edges holds the pair {tuple(pairs[negative[0]].tolist())}; features are "
                "numbered from 0 on"
            )
        loops = np.flatnonzero(low == high)
        if len(loops):
            first = int(low[loops[0]])
            which = first if names is None or first >= len(names) else repr(names[first])
            raise InvalidInputError(
                f"edges holds a pair of feature {which} with itself; leave it out, diagonal "
                "entries are free anyway"
            )
        return cls._canonical(low, high, None)

    @classmethod
    def _canonical(cls, rows: IndexArray, columns: IndexArray, n_features: int | None) -> Self:
        """Return the mask of pairs i < j in any order, some perhaps twice."""
        size = int(columns.max(initial=0)) + 1
        rows, columns = np.divmod(np.unique(rows * size + columns), size)
        return cls(read_only(rows), read_only(columns), n_features)

    def __len__(self) -> int:
        return len(self.rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EdgeMask) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        size = "" if self.n_features is None else f" of {self.n_features} features"
        return f"EdgeMask({len(self)} pair{'' if len(self) == 1 else 's'}{size})"

    @property
    def _key(self) -> tuple[bytes, bytes, int | None]:
        """What makes a mask the same as another one."""
        return self.rows.tobytes(), self.columns.tobytes(), self.n_features

    def record(self) -> dict[str, Any]:
        """Return the mask as plain values for a file."""
        return {
            "n_features": self.n_features,
            "rows": self.rows.tolist(),
            "columns": self.columns.tolist(),
        }

    def check_size(self, n_features: int) -> None:
        """Raise InvalidInputError when the mask is not one of K features."""
        if self.n_features is not None and self.n_features != n_features:
            raise InvalidInputError(
                f"edges is a mask of {self.n_features} features, and there are {n_features}"
            )
        if len(self) and int(self.columns.max()) >= n_features:
            last = int(self.columns.argmax())
            raise InvalidInputError(
                f"edges holds the pair ({self.rows[last]}, {self.columns[last]}), and the "
                f"{n_features} features are numbered from 0 to {n_features - 1}"
            )

    def edges_of(self, n_features: int) -> Edges:
        """Return rows and columns of the pairs, of K features that `check_size` takes."""
        self.check_size(n_features)
        is_complete = 2 * len(self) == n_features * (n_features - 1)
        return all_edges(n_features) if is_complete else (self.rows, self.columns)

    def of_features(self, features: IndexArray, n_features: int) -> EdgeMask:
        """Return the mask of the pairs among some of K features, ascending, by their places."""
        places = np.full(n_features, -1)
        places[features] = np.arange(len(features))
        rows, columns = (places[ends] for ends in self.edges_of(n_features))
        is_inside = (rows >= 0) & (columns >= 0)
        return EdgeMask(read_only(rows[is_inside]), read_only(columns[is_inside]), len(features))

    def forest(self, n_features: int) -> Edges:
        """Return the pairs of a spanning forest of the edges."""
        return _forest(self, n_features)


@lru_cache(maxsize=8)  # a set asks for it whenever it needs its base
def _forest(mask: EdgeMask, n_features: int) -> Edges:
    return spanning_forest(n_features, mask.edges_of(n_features))


def _is_graph(value: Any) -> bool:
    """Say whether a value is a networkx graph, without importing networkx for it."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(value, networkx.Graph)


def _array(values: Iterable[Any]) -> np.ndarray:
    """Return values as an array; refuse rows of different lengths."""
    try:
        is_array = hasattr(values, "__array__") or isinstance(values, memoryview)
        return np.asarray(values if is_array else list(values))
    except ValueError as error:
        raise InvalidInputError(
            f"edges cannot be read as pairs of features: {reason(error)}"
        ) from error


def _indices(pairs: np.ndarray, names: Sequence[str]) -> IndexArray:
    """Return pairs of names as pairs of indices."""
    numbers = {name: number for number, name in enumerate(names)}
    for name in pairs.ravel().tolist():
        if name not in numbers:
            raise unknown_name("feature in edges:", name, names)
    return np.array([numbers[name] for name in pairs.ravel().tolist()]).reshape(-1, 2)
