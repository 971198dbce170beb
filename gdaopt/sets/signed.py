"""Signed graph metrics: of given colours, and hulls of those of many colourings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.samples import Samples, is_sparse
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.sets.graph import GraphMetrics
from gdaopt.sets.mask import store_mask
from gdaopt.sets.two_sparse import TwoSparseAtoms
from gdaopt.support.validation import FloatArray, finite_array, number, store_checked


@dataclass(frozen=True)
class SignedGraphMetrics(FeasibleSet):
    """The set of all M for which ``diag(colors) M diag(colors)`` is a graph metric.

    Between features of the same colour edges are positive (``M_ij ≤ 0``), between features of
    different colours negative (``M_ij ≥ 0``): the signed graph is balanced.

    Parameters
    ----------
    colors : sequence of K numbers
        +1 or -1 for each feature.
    trace_bound : float
        C, above ``K ρ``.
    min_eigenvalue : float, optional
        ρ ≥ 0.
    path_weight : float, optional
        ε ≥ 0, see `GraphMetrics`; the edges of the path have the signs of their features.
    edges : EdgeMask, array-like, sparse array or networkx.Graph, optional
        The pairs of features that may have an edge, see `GraphMetrics`; all by default.

    Raises
    ------
    InvalidInputError
        For colours other than ±1, and for negative, infinite or NaN values and bad edges; when used
        with another number of features.

    Examples
    --------
    >>> feasible_set = SignedGraphMetrics([1, -1], trace_bound=4.0)
    >>> feasible_set.contains(np.array([[2.0, 1.0], [1.0, 2.0]]))
    True
    >>> feasible_set.contains(np.array([[2.0, -1.0], [-1.0, 2.0]]))
    False
    """

    name: ClassVar[str] = "signed"

    colors: Sequence[float]
    trace_bound: float
    min_eigenvalue: float = 1e-6
    path_weight: float = 0.0
    edges: Any = None

    def __post_init__(self) -> None:
        _store_colors(self, (1, -1))
        super().__post_init__()
        store_checked(self, number, "path_weight", at_least=0)
        store_mask(self)

    @classmethod
    def for_signal(cls, features: Samples, signal: FloatArray, **bounds: Any) -> SignedGraphMetrics:
        """Return the set in which features that correlate negatively with z have colour -1."""
        if is_sparse(features):  # the signal is centred in their place
            negative = features.T @ (signal - signal.mean()) < 0
        else:
            negative = (features - features.mean(axis=0)).T @ signal < 0
        return cls(np.where(negative, -1.0, 1.0).tolist(), **bounds)

    @cached_property
    def unsigned(self) -> GraphMetrics:
        """The graph metrics that this set becomes when features change their sign."""
        return GraphMetrics(self.trace_bound, self.min_eigenvalue, self.path_weight, self.edges)

    @cached_property
    def family(self) -> TwoSparseAtoms:
        return TwoSparseAtoms(self.edges, self.colors)

    @property
    def has_fixed_part(self) -> bool:
        """Whether the set contains a path."""
        return self.path_weight > 0

    def fixed_part(self, n_features: int) -> FloatArray | None:
        path = self.unsigned.fixed_part(n_features)
        return None if path is None else self._flipped(path)

    def check_size(self, n_features: int) -> None:
        self.family.check_size(n_features)
        self.unsigned.check_size(n_features)

    def start(self, n_features: int) -> FloatArray:
        """Return the start of `GraphMetrics`, with the signs of the features."""
        self.check_size(n_features)
        return self._flipped(self.unsigned.start(n_features))

    def _flipped(self, matrix: FloatArray) -> FloatArray:
        """Return the matrix with features of colour -1 taken with the other sign."""
        self.family.check_size(len(matrix))
        flipped: FloatArray = matrix * np.multiply.outer(self.colors, self.colors)
        return flipped


@dataclass(frozen=True)
class SDDMetrics(FeasibleSet):
    """The set of all M with ``tr M ≤ C`` for which ``M - ρI`` is scaled diagonally dominant.

    That means that its comparison matrix, which has ``-|M_ij|`` off the diagonal, is positive
    semidefinite. Entries have any sign, and the set is the convex hull of the signed graph metrics
    of all colourings of the features ("Theorem: hull of all colourings"). Where some colours are
    given, it is the hull of all colourings that have these.

    Parameters
    ----------
    trace_bound : float
        C, above ``K ρ``.
    min_eigenvalue : float, optional
        ρ ≥ 0.
    edges : EdgeMask, array-like, sparse array or networkx.Graph, optional
        The pairs of features that may have an edge, see `GraphMetrics`; all by default.
    colors : sequence of K numbers, optional
        +1, -1, or 0 for "not known", for each feature; all 0 by default.

    Raises
    ------
    InvalidInputError
        For colours other than ±1 and 0, and for negative, infinite or NaN values and bad edges;
        when used with another number of features.

    Notes
    -----
    Source: Boman, Chen, Parekh, Toledo, *On factor width and symmetric H-matrices*, 2005; Ahmadi,
    Majumdar, *DSOS and SDSOS optimization*, SIAM J. Appl. Algebra Geometry, 2019.

    Examples
    --------
    >>> feasible_set = SDDMetrics(trace_bound=4.0)
    >>> feasible_set.contains(np.array([[1.0, 0.9], [0.9, 1.0]]))
    True
    >>> feasible_set.violations(np.full((3, 3), 0.9) + 0.1 * np.eye(3))
    ('smallest eigenvalue of the comparison matrix -0.8 is below 1e-06',)

    Features of the same colour have no negative edge, which an entry above 0 is:

    >>> SDDMetrics(trace_bound=4.0, colors=[1, 1, 0]).violations(np.full((3, 3), 0.3) + np.eye(3))
    ('off-diagonal [0,1] is positive: 0.3',)
    """

    name: ClassVar[str] = "sdd"

    trace_bound: float
    min_eigenvalue: float = 1e-6
    edges: Any = None
    colors: Sequence[float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        store_mask(self)
        if self.colors is not None:
            _store_colors(self, (1, -1, 0))

    @cached_property
    def family(self) -> TwoSparseAtoms:
        return TwoSparseAtoms(self.edges, 0.0 if self.colors is None else self.colors)


def _store_colors(owner: Any, allowed: Sequence[int]) -> None:
    """Replace the field `colors` of a frozen dataclass by a tuple of whole numbers."""
    colors = finite_array("colors", owner.colors, ndim=1)
    wrong = np.flatnonzero(~np.isin(colors, allowed))
    if len(wrong):
        names = ["+1", "-1", "0"][: len(allowed)]
        raise InvalidInputError(
            f"colors must be {', '.join(names[:-1])} or {names[-1]}, got {colors[wrong[0]]:g} at "
            f"index {wrong[0]}"
        )
    object.__setattr__(owner, "colors", tuple(int(color) for color in colors))
