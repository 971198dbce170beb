"""Diagonal metrics: weights of the features, without edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from gdaopt.linalg.entries import no_edges
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.sets.mask import EdgeMask
from gdaopt.sets.two_sparse import TwoSparseAtoms


@dataclass(frozen=True)
class DiagonalMetrics(FeasibleSet):
    """The set ``{M diagonal, M_ii ≥ ρ, tr M ≤ C}``; its atoms are the unit vectors ``e_i``.

    Parameters
    ----------
    trace_bound : float
        C, above ``K ρ``.
    min_eigenvalue : float, optional
        ρ ≥ 0.

    Raises
    ------
    InvalidInputError
        For negative, infinite or NaN values.

    Examples
    --------
    >>> feasible_set = DiagonalMetrics(trace_bound=3.0, min_eigenvalue=0.5)
    >>> feasible_set.minimize_linear([[1.0, 9.0], [9.0, -1.0]]).vertex
    array([[0.5, 0. ],
           [0. , 2.5]])
    """

    name: ClassVar[str] = "diagonal"

    trace_bound: float
    min_eigenvalue: float = 1e-6

    @cached_property
    def family(self) -> TwoSparseAtoms:
        """The vectors ``e_i``: those of graph metrics under a mask without edges."""
        return TwoSparseAtoms(EdgeMask(*no_edges()))
