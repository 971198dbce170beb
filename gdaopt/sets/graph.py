"""Graph metrics: generalised Laplacians of graphs with positive edges (DESIGN section 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg import laplacian
from gdaopt.linalg.eigen import smallest_eigenvalue
from gdaopt.validation import FloatArray, number, symmetric_matrix

__all__ = ["GraphMetrics"]

# Round-off allowed to members, as multiples of C, C and C/K.
_EIGENVALUE_SLACK = 1e-10
_TRACE_SLACK = 1e-12
_SIGN_SLACK = 1e-12
_FLOOR_SLACK = 1e-9  # relative to the edge floor
_EDGE_COUNTS = 1e-9  # without a floor: an edge counts above this multiple of C/K


@dataclass(frozen=True)
class GraphMetrics:
    """The set ``{M symmetric, M_ij ≤ 0 (i ≠ j), M ⪰ ρI, tr M ≤ C}``.

    Parameters
    ----------
    trace_bound : float
        C, above ``K ρ``.
    min_eigenvalue : float, optional
        ρ ≥ 0.
    edge_floor : float, optional
        ε ≥ 0. When positive, the edges of weight ≥ ε must connect all nodes; that set is not
        convex. With 0 the graph may fall apart.

    Raises
    ------
    InvalidInputError
        For negative, infinite or NaN values.

    Examples
    --------
    >>> metrics = GraphMetrics(trace_bound=3.0, min_eigenvalue=0.1)
    >>> metrics.contains(np.eye(3))
    True
    >>> metrics.violations(np.diag([3.0, 1.0, 0.0]))
    ('trace 4 exceeds the bound 3', 'smallest eigenvalue 0 is below 0.1')
    """

    trace_bound: float
    min_eigenvalue: float = 1e-6
    edge_floor: float = 0.0

    def __post_init__(self) -> None:
        number("trace_bound", self.trace_bound, above=0)
        number("min_eigenvalue", self.min_eigenvalue, at_least=0)
        number("edge_floor", self.edge_floor, at_least=0)

    def check_size(self, n_features: int) -> None:
        """Raise InvalidInputError when no K×K metric fits, or only a single one.

        Examples
        --------
        >>> GraphMetrics(trace_bound=1.0, min_eigenvalue=0.5).check_size(2)
        Traceback (most recent call last):
            ...
        gdaopt.errors.InvalidInputError: trace_bound 1 must exceed n_features · min_eigenvalue ...
        """
        k = n_features
        if self.trace_bound <= k * self.min_eigenvalue:
            raise InvalidInputError(
                f"trace_bound {self.trace_bound:g} must exceed n_features · min_eigenvalue = "
                f"{k} · {self.min_eigenvalue:g} = {k * self.min_eigenvalue:g}; "
                "raise trace_bound or lower min_eigenvalue"
            )
        needed = self._least_trace(k)
        if self.trace_bound <= needed:
            raise InvalidInputError(
                f"edge_floor {self.edge_floor:g} leaves no budget: {k - 1} edges of that weight "
                f"need a trace of {needed:g}, trace_bound is {self.trace_bound:g}; "
                "lower edge_floor or raise trace_bound"
            )

    def _least_trace(self, n_features: int) -> float:
        """Return the trace of ρI plus the Laplacian of a tree whose edges weigh ε."""
        return n_features * self.min_eigenvalue + 2 * self.edge_floor * (n_features - 1)

    def edge_threshold(self, n_features: int) -> float:
        """Return the weight above which an edge counts as connecting its nodes."""
        if self.edge_floor > 0:
            return self.edge_floor * (1 - _FLOOR_SLACK)
        return _EDGE_COUNTS * self.trace_bound / n_features

    def n_components(self, metric: FloatArray) -> int:
        """Return the number of components of the graph of the edges that count."""
        return laplacian.n_components(metric, self.edge_threshold(len(metric)))

    def contains(self, metric: FloatArray) -> bool:
        """Say whether `metric` is in the set, up to round-off.

        Allowed are a smallest eigenvalue of ``ρ - 1e-10·C``, a trace of ``C(1 + 1e-12)`` and
        off-diagonals of ``1e-12·C/K``.
        """
        return not self.violations(metric)

    def violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return a sentence for each condition that `metric` breaks; none for a member."""
        metric = symmetric_matrix("metric", metric)
        size = len(metric)
        found = []
        off_diagonal = metric - np.diag(np.diagonal(metric))
        if off_diagonal.max() > _SIGN_SLACK * self.trace_bound / size:
            i, j = (int(n) for n in np.unravel_index(off_diagonal.argmax(), metric.shape))
            found.append(f"off-diagonal [{i},{j}] is positive: {metric[i, j]:.6g}")
        trace = float(np.trace(metric))
        if trace > self.trace_bound * (1 + _TRACE_SLACK):
            found.append(f"trace {trace:.6g} exceeds the bound {self.trace_bound:g}")
        smallest = smallest_eigenvalue(metric)
        if smallest < self.min_eigenvalue - _EIGENVALUE_SLACK * self.trace_bound:
            found.append(f"smallest eigenvalue {smallest:.6g} is below {self.min_eigenvalue:g}")
        if self.edge_floor > 0 and self.n_components(metric) > 1:
            found.append(
                f"edges of weight ≥ {self.edge_floor:g} leave "
                f"{self.n_components(metric)} components, not 1"
            )
        return tuple(found)

    def largest_edge_weight(self, n_features: int) -> float:
        """Return the bound of the path start's edges: ``(C/K - ρ) / (2 cos(π/(K+1)))``.

        Beyond it the start's smallest eigenvalue is below ρ (erratum 3 of DESIGN section 2).

        Examples
        --------
        >>> round(GraphMetrics(trace_bound=4.0, min_eigenvalue=0.5).largest_edge_weight(2), 12)
        1.5
        """
        slack = self.trace_bound / n_features - self.min_eigenvalue
        return slack / (2 * math.cos(math.pi / (n_features + 1))) if n_features > 1 else math.inf

    def start(self, n_features: int, edge_weight: float | str = "auto") -> FloatArray:
        """Return the paper's start: C/K on the diagonal, a path of edges of one weight.

        Parameters
        ----------
        n_features : int
            K.
        edge_weight : float or "auto", optional
            Weight of the path's edges. ``"auto"`` is half of `largest_edge_weight`, but at least
            the edge floor.

        Returns
        -------
        ndarray of shape (K, K)

        Raises
        ------
        InvalidInputError
            When the weight is above `largest_edge_weight` or below the edge floor.

        Examples
        --------
        >>> GraphMetrics(trace_bound=4.0, min_eigenvalue=0.5).start(2)
        array([[ 2.  , -0.75],
               [-0.75,  2.  ]])
        """
        self.check_size(n_features)
        bound = self.largest_edge_weight(n_features)
        if isinstance(edge_weight, str):
            if edge_weight != "auto":
                raise InvalidInputError(
                    f"initial_edge_weight must be a number or 'auto', got {edge_weight!r}"
                )
            if self.edge_floor >= bound:
                return self._path_member(n_features, self.trace_bound)
            weight = max(bound / 2, self.edge_floor) if n_features > 1 else 0.0
        else:
            weight = number("initial_edge_weight", edge_weight, at_least=0)
            if weight > bound:
                raise InvalidInputError(
                    f"initial_edge_weight {weight:g} is above (C/K - ρ)/(2 cos(π/(K+1))) = "
                    f"{bound:.6g}, so that the start would not be a metric; lower it or pass 'auto'"
                )
            if n_features > 1 and weight < self.edge_floor:
                raise InvalidInputError(
                    f"initial_edge_weight {weight:g} is below edge_floor {self.edge_floor:g}; "
                    "raise it or pass 'auto'"
                )
        path = laplacian.path_laplacian(n_features)
        np.fill_diagonal(path, 0.0)
        metric: FloatArray = weight * path
        np.fill_diagonal(metric, self.trace_bound / n_features)
        return metric

    def _path_member(self, n_features: int, trace: float) -> FloatArray:
        """Return a member of the given trace: ρI, the path at its floor, the rest spread evenly.

        A constant diagonal cannot carry every floor that the set allows; this can.
        """
        member = self.edge_floor * laplacian.path_laplacian(n_features)
        rest = trace - float(np.trace(member))
        member[np.diag_indices_from(member)] += rest / n_features
        return member

    def repaired(self, metric: FloatArray) -> FloatArray:
        """Return the member nearest to `metric` on the segment to a point inside the set.

        Meant for violations of the order of round-off, as `contains` allows them: a saved result,
        or what an inexact solver returned.

        Parameters
        ----------
        metric : ndarray of shape (K, K)
            Symmetric.

        Returns
        -------
        ndarray of shape (K, K)

        Notes
        -----
        λ_min is concave and the trace linear along the segment, so the share t of the inner point
        that mends both conditions has a closed form.
        """
        size = len(metric)
        mended = np.minimum(metric, 0.0)
        np.fill_diagonal(mended, np.diagonal(metric))
        inner = self._path_member(size, (self._least_trace(size) + self.trace_bound) / 2)
        share = 0.0
        smallest = smallest_eigenvalue(mended)
        if smallest < self.min_eigenvalue:
            gain = smallest_eigenvalue(inner) - smallest
            share = (self.min_eigenvalue - smallest) / gain
        trace = float(np.trace(mended))
        if trace > self.trace_bound:
            share = max(share, (trace - self.trace_bound) / (trace - float(np.trace(inner))))
        result: FloatArray = (1 - share) * mended + share * inner if share > 0 else mended
        return result
