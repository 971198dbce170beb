"""The kinds of sets: graph metrics, signed ones, their hulls, diagonal and definite metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeGuard, cast

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import Edges, IndexArray, matrix_of
from gdaopt.linalg.laplacian import path_edges, unit_laplacian
from gdaopt.linalg.samples import Samples, is_sparse
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.sets.family import AllUnitVectors
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.sets.mask import EdgeMask
from gdaopt.sets.two_sparse import TwoSparseAtoms
from gdaopt.support.validation import FloatArray, finite_array, number, store_checked


class EntrywiseMetrics(FeasibleSet):
    """Metrics whose off-diagonals have some signs only, and only some pairs of features have one.

    The kinds differ in `signs`, the signs that an off-diagonal may have, and in the fields that
    they have of those below. All members may contain a path.
    """

    signs: ClassVar[tuple[int, ...]]

    edges: Any = None
    colors: Sequence[float] | None = None
    path_weight: float = 0.0

    def __post_init__(self) -> None:
        if self.colors is not None:
            object.__setattr__(self, "colors", _read_colors(self.colors, self.signs))
        super().__post_init__()
        store_checked(self, number, "path_weight", at_least=0)
        if self.edges is not None:
            object.__setattr__(self, "edges", EdgeMask.of(self.edges))

    @cached_property
    def family(self) -> TwoSparseAtoms:
        return TwoSparseAtoms(self.signs, self.edges, self.colors)

    # --- a path that all members contain --------------------------------------------------------

    def base(self, n_features: int) -> FloatArray:
        base = super().base(n_features)
        if self.path_weight == 0:
            return base
        path = unit_laplacian(n_features, self._forest(n_features))
        return base + self._signed(self.path_weight * path)

    def budget(self, n_features: int) -> float:
        if self.colors is not None and len(self.colors) != n_features:
            raise InvalidInputError(
                f"colors has {len(self.colors)} entries for {n_features} features; give one each"
            )
        if self.edges is not None:
            self.edges.check_size(n_features)
        budget = super().budget(n_features)
        if self.path_weight > 0:
            self.check_path(n_features, self.path_weight, "path_weight")
            budget -= 2 * self.path_weight * len(self._forest(n_features)[0])
        return budget

    def check_path(self, n_features: int, weight: float, name: str) -> None:
        """Refuse a weight of a path's edges, called `name`, that leaves no budget or no path."""
        self.check_connected(n_features, weight, name)
        n_edges = len(self._forest(n_features)[0])
        needed = n_features * self.min_eigenvalue + 2 * weight * n_edges
        if self.trace_bound <= needed:
            raise InvalidInputError(
                f"{name} {weight:g} leaves no budget: {n_features - 1} edges of that weight need a "
                f"trace of {needed:g}, trace_bound is {self.trace_bound:g}; lower {name} or raise "
                "trace_bound"
            )

    def check_connected(self, n_features: int, weight: float, name: str) -> None:
        """Refuse a positive weight of connecting edges if the mask does not connect all."""
        n_parts = n_features - len(self._forest(n_features)[0])
        if weight > 0 and n_parts > 1:
            raise InvalidInputError(
                f"{name} {weight:g} asks for edges that connect all features, and the edges "
                f"of the mask leave {n_parts} components; allow more edges, or leave {name} out"
            )

    def _forest(self, n_features: int) -> Edges:
        """Return the path of all features, or the spanning forest of the mask."""
        return path_edges(n_features) if self.edges is None else self.edges.forest(n_features)

    def _signed(self, matrix: FloatArray) -> FloatArray:
        """Return a matrix with features of colour -1 taken with the other sign."""
        if self.colors is None:
            return matrix
        signed: FloatArray = matrix * np.multiply.outer(self.colors, self.colors)
        return signed

    # --- many features --------------------------------------------------------------------------

    def of_features(self, features: IndexArray, n_features: int) -> Self:
        """Return the set of the blocks of some features of members that are ρI outside of them.

        The features are ascending, and the set `has_sparse_members`.
        """
        outside = (n_features - len(features)) * self.min_eigenvalue
        changed: dict[str, Any] = {"trace_bound": self.trace_bound - outside}
        if self.colors is not None:
            changed["colors"] = np.array(self.colors)[features].tolist()
        if self.edges is not None:
            changed["edges"] = self.edges.of_features(features, n_features)
        block: Self = replace(cast(Any, self), **changed)
        return block

    # --- where aligned methods start --------------------------------------------------------------

    def largest_edge_weight(self, n_features: int) -> float:
        """Return the bound of the start's edges: ``(C/K - ρ) / λ``.

        Here λ is the largest eigenvalue of the adjacency matrix of the path, ``2 cos(π/(K+1))``, or
        of the spanning forest that a mask has in its place. Beyond the bound the start's smallest
        eigenvalue is below ρ ("Erratum 3: bound of the path start").
        """
        slack = self.trace_bound / n_features - self.min_eigenvalue
        rows, columns = self._forest(n_features)
        if not len(rows):
            return math.inf
        if len(rows) == n_features - 1 and (columns - rows == 1).all():
            return slack / (2 * math.cos(math.pi / (n_features + 1)))
        entries = np.concatenate([np.zeros(n_features), np.ones(len(rows))])
        return slack / -smallest_eigenvalue(matrix_of(entries, n_features, (rows, columns)))

    def start(self, n_features: int, edge_weight: float | None = None) -> FloatArray:
        """Return the paper's start: C/K on the diagonal, a path of edges of one weight.

        The weight is half of `largest_edge_weight` when left out; one above that is refused. Under
        a mask of edges without this path it is a spanning forest of the mask. If the set
        contains a fixed path, or the sign of an edge is not given, the start is the middle of the
        set instead.
        """
        budget = self.budget(n_features)
        if self.path_weight > 0 or not (self.signs and self.family.is_entrywise):
            return self.base(n_features) + budget / n_features * np.eye(n_features)
        bound = self.largest_edge_weight(n_features)
        if edge_weight is None:
            edge_weight = bound / 2 if bound < math.inf else 0.0
        weight = number("edge_weight", edge_weight, at_least=0)
        if weight > bound:
            raise InvalidInputError(
                f"edge_weight {weight:g} is above (C/K - ρ)/λ = {bound:.6g}, where λ is "
                "2 cos(π/(K+1)) for a path, so that the start would not be a metric; lower it, or "
                "leave it out"
            )
        metric = weight * unit_laplacian(n_features, self._forest(n_features))
        np.fill_diagonal(metric, self.trace_bound / n_features)
        return self._signed(metric)


@dataclass(frozen=True)
class GraphMetrics(EntrywiseMetrics):
    """The set ``{M symmetric, M_ij ≤ 0 (i ≠ j), M ⪰ ρI, tr M ≤ C}`` of "Definition: graph metric".

    Parameters
    ----------
    trace_bound, min_eigenvalue : float
        C and ρ, as of every set (`FeasibleSet`).
    path_weight : float, optional
        ε ≥ 0. When positive, every member is a graph metric plus the Laplacian of the path 1 – 2 –
        … – K with edges of this weight, so that its graph is connected ("Proposition: graph metrics
        that contain a path"). If a mask of edges lacks this path, a spanning tree of the mask takes
        its place, found depth first from the first nodes on.
    edges : EdgeMask, array-like, sparse array or networkx.Graph, optional
        The only pairs of features that may have an edge, in any form that `EdgeMask.of` reads; all
        by default.

    Raises
    ------
    InvalidInputError
        For negative, infinite or NaN values, and for edges that are no mask.

    Examples
    --------
    >>> feasible_set = GraphMetrics(trace_bound=3.0, min_eigenvalue=0.1)
    >>> np.eye(3) in feasible_set
    True
    >>> feasible_set.violations(np.diag([3.0, 1.0, 0.0]))
    ('trace 4 exceeds the bound 3', 'smallest eigenvalue 0 is below 0.1')

    Three pixels in a row: only neighbours may have an edge.

    >>> in_a_row = GraphMetrics(trace_bound=3.0, edges=[(0, 1), (1, 2)])
    >>> in_a_row.violations(np.array([[1.0, 0.0, -0.5], [0.0, 1.0, 0.0], [-0.5, 0.0, 1.0]]))
    ('off-diagonal [0,2] is not among the edges: -0.5',)

    All members contain an edge of weight 0.5.

    >>> connected = GraphMetrics(trace_bound=4.0, min_eigenvalue=0.0, path_weight=0.5)
    >>> connected.base(2), connected.budget(2)
    (array([[ 0.5, -0.5],
           [-0.5,  0.5]]), 3.0)
    """

    name: ClassVar[str] = "graph"
    signs: ClassVar[tuple[int, ...]] = (-1,)

    trace_bound: float
    min_eigenvalue: float = 1e-6
    path_weight: float = 0.0
    edges: Any = None


@dataclass(frozen=True)
class SignedGraphMetrics(EntrywiseMetrics):
    """The set of all M for which ``diag(colors) M diag(colors)`` is a graph metric.

    Between features of the same colour edges are positive (``M_ij ≤ 0``), between features of
    different colours negative (``M_ij ≥ 0``): the signed graph is balanced.

    Parameters
    ----------
    colors : sequence of K numbers
        +1 or -1 for each feature.
    trace_bound, min_eigenvalue, path_weight, edges
        As of `GraphMetrics`; the edges of a path have the signs of their features.

    Raises
    ------
    InvalidInputError
        For colours other than ±1, and for negative, infinite or NaN values and bad edges; when used
        with another number of features.

    Examples
    --------
    >>> feasible_set = SignedGraphMetrics([1, -1], trace_bound=4.0)
    >>> np.array([[2.0, 1.0], [1.0, 2.0]]) in feasible_set
    True
    >>> np.array([[2.0, -1.0], [-1.0, 2.0]]) in feasible_set
    False
    """

    name: ClassVar[str] = "signed"
    signs: ClassVar[tuple[int, ...]] = (-1,)

    colors: Sequence[float] = field()  # without the default of the base
    trace_bound: float
    min_eigenvalue: float = 1e-6
    path_weight: float = 0.0
    edges: Any = None

    @classmethod
    def for_signal(cls, features: Samples, signal: FloatArray, **bounds: Any) -> SignedGraphMetrics:
        """Return the set in which features that correlate negatively with z have colour -1."""
        if is_sparse(features):  # the signal is centred in their place
            negative = features.T @ (signal - signal.mean()) < 0
        else:
            negative = (features - features.mean(axis=0)).T @ signal < 0
        return cls(np.where(negative, -1.0, 1.0).tolist(), **bounds)


@dataclass(frozen=True)
class SDDMetrics(EntrywiseMetrics):
    """The set of all M with ``tr M ≤ C`` for which ``M - ρI`` is scaled diagonally dominant.

    That means that its comparison matrix, which has ``-|M_ij|`` off the diagonal, is positive
    semidefinite. Entries have any sign, and the set is the convex hull of the signed graph metrics
    of all colourings of the features ("Theorem: hull of all colourings"). If some colours are
    given, it is the hull of all colourings that have these.

    Parameters
    ----------
    trace_bound, min_eigenvalue, edges
        As of `GraphMetrics`.
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
    >>> np.array([[1.0, 0.9], [0.9, 1.0]]) in feasible_set
    True
    >>> feasible_set.violations(np.full((3, 3), 0.9) + 0.1 * np.eye(3))
    ('smallest eigenvalue of the comparison matrix -0.8 is below 1e-06',)

    Features of the same colour have no negative edge; an entry above 0 is a negative edge:

    >>> SDDMetrics(trace_bound=4.0, colors=[1, 1, 0]).violations(np.full((3, 3), 0.3) + np.eye(3))
    ('off-diagonal [0,1] is positive: 0.3',)
    """

    name: ClassVar[str] = "sdd"
    signs: ClassVar[tuple[int, ...]] = (-1, 1)

    trace_bound: float
    min_eigenvalue: float = 1e-6
    edges: Any = None
    colors: Sequence[float] | None = None


@dataclass(frozen=True)
class DiagonalMetrics(EntrywiseMetrics):
    """The set ``{M diagonal, M_ii ≥ ρ, tr M ≤ C}``; its atoms are the unit vectors ``e_i``.

    Examples
    --------
    >>> feasible_set = DiagonalMetrics(trace_bound=3.0, min_eigenvalue=0.5)
    >>> feasible_set.minimize_linear([[1.0, 9.0], [9.0, -1.0]]).vertex
    array([[0.5, 0. ],
           [0. , 2.5]])
    """

    name: ClassVar[str] = "diagonal"
    signs: ClassVar[tuple[int, ...]] = ()

    trace_bound: float
    min_eigenvalue: float = 1e-6


@dataclass(frozen=True)
class PositiveDefiniteMetrics(FeasibleSet):
    """The set ``{M symmetric, M ⪰ ρI, tr M ≤ C}``; every unit vector is an atom.

    Examples
    --------
    >>> feasible_set = PositiveDefiniteMetrics(trace_bound=2.0, min_eigenvalue=0.0)
    >>> feasible_set.minimize_linear(np.diag([1.0, -3.0])).value
    -6.0
    """

    name: ClassVar[str] = "definite"

    trace_bound: float
    min_eigenvalue: float = 1e-6

    @cached_property
    def family(self) -> AllUnitVectors:
        return AllUnitVectors()


def has_sparse_members(feasible_set: FeasibleSet) -> TypeGuard[EntrywiseMetrics]:
    """Say whether members that are ρI outside of some features have blocks of a set like this."""
    return isinstance(feasible_set, EntrywiseMetrics) and feasible_set.path_weight == 0


def _read_colors(colors: Any, signs: tuple[int, ...]) -> tuple[int, ...]:
    """Return colours as whole numbers: ±1, and 0 for "not known" if edges may have any sign."""
    allowed, names = ([1, -1], "+1 or -1") if signs == (-1,) else ([1, -1, 0], "+1, -1 or 0")
    array = finite_array("colors", colors, ndim=1)
    wrong = np.flatnonzero(~np.isin(array, allowed))
    if len(wrong):
        raise InvalidInputError(
            f"colors must be {names}, got {array[wrong[0]]:g} at index {wrong[0]}"
        )
    return tuple(int(color) for color in array)
