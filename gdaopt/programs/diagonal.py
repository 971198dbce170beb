"""The diagonal program: the best diagonal under aligned left-ends and the trace bound.

min g'm   s.t.   m_i ≥ l_i = Σ_{j≠i} |M_ij| v_j / v_i + ρ,   Σ m_i ≤ C

("Proposition: diagonal program")
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.backends import LinearArrays, Part, RowPattern
from gdaopt.errors import InfeasibleProblemError
from gdaopt.programs.base import Program
from gdaopt.support.validation import FloatArray, as_vector, number

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["DiagonalPolytope", "DiagonalProgram"]

_ROUND_OFF = 1e-10  # of C: a sum of lower bounds above C by less is repaired, by more refused


@dataclass(frozen=True, eq=False)
class DiagonalPolytope:
    """``{m : m ≥ lower, Σm ≤ trace_bound}``.

    Parameters
    ----------
    lower : ndarray of shape (K,)
        Lower bounds; where they exceed the trace bound by round-off they are lowered to it.
    trace_bound : float
        C.

    Raises
    ------
    InfeasibleProblemError
        When the bounds exceed C by more.

    Examples
    --------
    >>> polytope = DiagonalPolytope(np.array([1.0, 1.0]), trace_bound=5.0)
    >>> polytope.minimize(np.array([-1.0, -2.0]))
    array([1., 4.])
    """

    lower: FloatArray
    trace_bound: float
    current: FloatArray

    def __init__(
        self, lower: FloatArray, trace_bound: float, current: FloatArray | None = None
    ) -> None:
        lower = as_vector("lower", lower)
        trace_bound = number("trace_bound", trace_bound, above=0)
        if current is not None:
            current = as_vector("current", current, len(lower))
        excess = float(lower.sum()) - trace_bound
        if excess > _ROUND_OFF * trace_bound:
            raise InfeasibleProblemError(
                f"diagonal program: the lower bounds add up to {lower.sum():.6g}, "
                f"above the trace bound {trace_bound:.6g}"
            )
        lower = lower - max(excess, 0.0) / len(lower)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "trace_bound", trace_bound)
        object.__setattr__(self, "current", lower if current is None else current)

    @classmethod
    def at(cls, metric: FloatArray, slack: FloatArray, trace_bound: float) -> DiagonalPolytope:
        """Return the diagonals that a metric may take.

        Parameters
        ----------
        metric : ndarray of shape (K, K)
            Its off-diagonals stay.
        slack : ndarray of shape (K,)
            Its scaled left-ends minus ρ, not negative.
        trace_bound : float
            C.
        """
        diagonal = np.diagonal(metric).copy()
        return cls(diagonal - slack, trace_bound, diagonal)

    @property
    def unit(self) -> float:
        """C/K."""
        return self.trace_bound / len(self.lower)

    @cached_property
    def spare(self) -> float:
        """What the lower bounds leave of the trace bound."""
        return max(self.trace_bound - float(self.lower.sum()), 0.0)

    def minimize(self, cost: FloatArray) -> FloatArray:
        """Return the lower bounds, with all that is spare on the smallest cost if negative."""
        point = self.lower.copy()
        best = int(cost.argmin())
        if cost[best] < 0:
            point[best] += self.spare
        return point

    def row_multipliers(self, cost: FloatArray) -> dict[str, FloatArray]:
        """Return what one unit more of the budget would gain."""
        return {"budget": np.array(max(-float(cost.min()), 0.0))}

    def repaired(self, point: FloatArray) -> FloatArray:
        """Raise entries to their bounds, then shrink what is above the bounds to the budget."""
        above = np.maximum(point - self.lower, 0.0)
        total, spare = float(above.sum()), self.spare
        if total > spare:
            above *= spare / total
        repaired: FloatArray = self.lower + above
        return repaired


class DiagonalProgram(Program[DiagonalPolytope]):
    """The diagonal program for CVXPY, with parameters ``cost``, ``lower``, ``trace_bound``.

    For ⟨G, M⟩ the cost is ``G_ii``.

    Examples
    --------
    >>> program = DiagonalProgram(2, "HIGHS")
    >>> program.is_dpp(), sorted(program.parameters)
    (True, ['cost', 'lower', 'trace_bound'])
    >>> polytope = DiagonalPolytope(np.array([1.0, 1.0]), trace_bound=5.0)
    >>> program.solve(np.array([-1.0, -2.0]), polytope).point
    array([1., 4.])
    """

    name = "diagonal program"
    only_gains_matter = True

    def _build(self) -> tuple[cp.Problem, cp.Variable]:
        import cvxpy as cp

        diagonal = cp.Variable(self.size, name="diagonal")
        cost = cp.Parameter(self.size, name="cost")
        lower = cp.Parameter(self.size, name="lower")
        trace_bound = cp.Parameter(nonneg=True, name="trace_bound")
        budget = (cp.sum(diagonal) <= trace_bound).set_label("budget")
        constraints = [(diagonal >= lower).set_label("rows"), budget]
        return cp.Problem(cp.Minimize(cost @ diagonal), constraints), diagonal

    def _assign(self, polytope: DiagonalPolytope) -> None:
        self.parameters["lower"].value = polytope.lower / polytope.unit
        self.parameters["trace_bound"].value = polytope.trace_bound / polytope.unit

    def arrays(self, cost: FloatArray, polytope: DiagonalPolytope) -> LinearArrays:
        """Return the program as arrays, with the parts ``"rows"`` and ``"budget"``."""
        lower_bounds, upper_bounds = np.empty((2, self.size + 1))
        lower_bounds[:-1], lower_bounds[-1] = polytope.lower, -np.inf
        upper_bounds[:-1], upper_bounds[-1] = np.inf, polytope.trace_bound
        return LinearArrays(
            cost,
            lower_bounds,
            upper_bounds,
            self._pattern,
            np.ones(self.size),
            self._parts,
        )

    @cached_property
    def _pattern(self) -> RowPattern:
        every = np.arange(self.size)
        return RowPattern.of(0 * every, every, 1, self.size)

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        return (
            Part("rows", "lower", slice(self.size)),
            Part("budget", "rows", slice(1), is_single=True),
        )

    def _row_scales(self, polytope: DiagonalPolytope) -> dict[str, float | FloatArray]:
        return {"budget": 1 / polytope.unit}
