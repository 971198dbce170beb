"""The graph of a metric: edges between features, self-loops, and how they are printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, triu

from gdaopt.linalg.laplacian import edge_threshold, self_loops
from gdaopt.linalg.samples import is_sparse
from gdaopt.support.text import plain
from gdaopt.support.validation import FloatArray, read_only

_SHOWN = 10  # how many edges are printed


@dataclass(frozen=True, eq=False)
class MetricGraph:
    """Edges and self-loops of a metric. Printing the graph lists its heaviest edges.

    Attributes
    ----------
    feature_names : tuple of K str
        Names of the features, which are the nodes.
    edges : ndarray of int, shape (n_edges, 2)
        Indices of the two features that each edge joins. The heaviest edge comes first.
    weights : ndarray of shape (n_edges,)
        ``-M_ij`` of each edge. It is negative only for metrics that are not graph metrics.
    self_loops : ndarray of shape (K,)
        The row sums of M.

    Examples
    --------
    >>> M = np.array([[2.0, -0.5, 0.0], [-0.5, 3.0, -1.0], [0.0, -1.0, 4.0]])
    >>> MetricGraph.of_metric(M, ["width", "height", "depth"]).named_edges()
    [('height', 'depth', 1.0), ('width', 'height', 0.5)]
    """

    feature_names: tuple[str, ...]
    edges: npt.NDArray[np.intp]
    weights: FloatArray
    self_loops: FloatArray

    @classmethod
    def of_metric(cls, metric: Any, feature_names: Sequence[str]) -> MetricGraph:
        """Return the graph of a K×K metric, dense or sparse, of the edges above ``1e-9·tr M / K``.

        Smaller entries are edges that a method removes: it shrinks them geometrically.
        """
        threshold = edge_threshold(float(metric.trace()), metric.shape[0])
        loops = np.asarray(metric.sum(axis=1)) if is_sparse(metric) else self_loops(metric)
        entries = coo_array(triu(coo_array(metric), 1))
        edges = np.column_stack(entries.coords).astype(np.intp)
        counted = np.flatnonzero(np.abs(entries.data) > threshold)
        order = counted[np.argsort(-np.abs(entries.data[counted]), kind="stable")]
        return cls(
            tuple(map(str, feature_names)),
            read_only(edges[order]),
            read_only(-entries.data[order]),
            read_only(loops),
        )

    def named_edges(self) -> list[tuple[str, str, float]]:
        """Return the two feature names and the weight of each edge, the heaviest edge first."""
        names = self.feature_names
        return [
            (names[i], names[j], float(weight))
            for (i, j), weight in zip(self.edges, self.weights, strict=True)
        ]

    def __str__(self) -> str:
        lines = [f"{len(self.feature_names)} features, {len(self.edges)} edges"]
        lines += [
            f"  {plain(a)} – {plain(b)}: {weight:.4g}"
            for a, b, weight in self.named_edges()[:_SHOWN]
        ]
        if len(self.edges) > _SHOWN:
            lines.append(f"  and {len(self.edges) - _SHOWN} more")
        return "\n".join(lines)
