"""The metrics of a problem: the members of a set for K features, and the oracle over them.

Problem, certificate and runs ask here, so that they need not know whether the members also keep
linear constraints: those that do are a subclass, `gdaopt.constraints.restricted.Restricted`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.magnitudes import norm
from gdaopt.objectives.protocol import Point
from gdaopt.objectives.round_off import UNIT
from gdaopt.sets.conditions import list_violations, move_inside
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.support.validation import FloatArray, as_symmetric, finite_array


@dataclass(frozen=True, eq=False)
class Support:
    """The least of a linear function: ``⟨G, V - B⟩ ≥ least`` for all members V.

    Attributes
    ----------
    gradient : ndarray of shape (K, K)
        G.
    priced : ndarray of shape (K, K)
        The matrix that prices atoms: G, or ``G + Σ_k λ_k A_k`` with multipliers λ.
    atoms, prices : Atoms and ndarray of shape (n,)
        The best atoms by it, best first.
    least : float
        The bound, up to `Members.round_off`.
    multipliers : ndarray of shape (m,) or None
        λ of the linear constraints, row by row as they were written.
    """

    gradient: FloatArray
    priced: FloatArray
    atoms: Atoms
    prices: FloatArray
    least: float
    multipliers: FloatArray | None = None


class Multipliers:
    """The search for multipliers of linear constraints, of which these members have none.

    Successive points should be near to each other, because each search starts from `atoms`, those
    that the last one found.
    """

    atoms: Atoms | None = None

    def tight(self, point: Point) -> FloatArray | None:  # noqa: ARG002 (for the subclass)
        """Return multipliers whose bound is nearly as large as it can be at a point."""
        return None

    def smallest(self, point: Point, multipliers: FloatArray) -> FloatArray:  # noqa: ARG002
        """Return the smallest multipliers that prove about the same linear bound."""
        return multipliers


class Members:
    """The K×K members of a set.

    Attributes
    ----------
    feasible_set : FeasibleSet
        The set.
    size : int
        K.
    budget : float
        τ, the largest sum of the weights of atoms.
    names : tuple of str
        What messages call the linear constraints that the members keep, row by row.
    """

    names: tuple[str, ...] = ()

    def __init__(self, feasible_set: FeasibleSet, n_features: int) -> None:
        self.feasible_set = feasible_set
        self.size = n_features
        self.budget = feasible_set.budget(n_features)

    @cached_property
    def base(self) -> FloatArray:
        """B, shape (K, K)."""
        return self.feasible_set.base(self.size)

    @property
    def centre(self) -> tuple[Atoms, FloatArray]:
        """Atoms and weights of a metric inside the set's cone."""
        weights = np.full(self.size, self.budget / self.size)
        return self.feasible_set.family.basis(self.size), weights

    # --- membership ---------------------------------------------------------------------------

    def violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return a sentence for each condition that a metric breaks; none for a member.

        For the round-off that is allowed see `FeasibleSet.violations`.
        """
        metric = as_symmetric("metric", metric, self.size)
        return list_violations(self.feasible_set, metric, self.base, self.budget)

    def made_feasible(self, metric: FloatArray) -> FloatArray:
        """Return a member near a metric that nearly is one."""
        return move_inside(self.feasible_set.family, metric, self.base, self.budget)

    def excesses(self, metric: FloatArray) -> FloatArray | None:  # noqa: ARG002 (for the subclass)
        """Return how far a metric is beyond each linear constraint, as it was written."""
        return None

    def violation(self, metric: FloatArray) -> float | None:  # noqa: ARG002 (for the subclass)
        """Return the largest distance of a metric to a linear constraint that it breaks."""
        return None

    # --- the least of a linear function ---------------------------------------------------------

    def support(
        self,
        gradient: FloatArray,
        multipliers: FloatArray | None = None,  # noqa: ARG002 (for the subclass)
        count: int = 1,
        guess: Atoms | None = None,
    ) -> Support:
        """Return what is the least over the members, and the `count` best atoms.

        The guess are good atoms for a gradient nearby. Right-signed multipliers of the linear
        constraints give a bound whatever they are; left out, the bound is that of the set alone.
        """
        best = self.feasible_set.family.best_atoms(gradient, count, guess)
        least = self.budget * min(0.0, float(best.prices[0]))
        return Support(gradient, gradient, best.atoms, best.prices, least)

    def round_off(self, support: Support, errors: FloatArray) -> float:
        """Return how far `least` can be above the least, by errors g ≥ 0 of the gradient.

        The exact gradient is within ``g_i g_j`` of each entry ("Proposition: round-off of the
        certificate").
        """
        price, priced = float(support.prices[0]), support.priced
        # A price that is not below 0 costs nothing: τ·0 is exact, however τ is rounded.
        least = min(self.feasible_set.family.least_price(price, priced, errors), 0.0)
        of_price = self.budget * min(0.0, price)
        return (
            (of_price - self.budget * least)
            - (int(np.count_nonzero(priced)) + 8) * UNIT * of_price
            - 8 * UNIT * self.feasible_set.trace_bound * least  # τ is rounded relative to C
        )

    def membership(self, support: Support, metric: FloatArray) -> float:  # noqa: ARG002
        """Return how far ⟨G, M⟩ can be below the least at a member M that is outside by round-off.

        Trace and smallest eigenvalue are known up to round-off only.
        """
        moved = 8 * self.size * UNIT * self.feasible_set.trace_bound
        return moved * norm(support.priced)

    # --- multipliers of linear constraints --------------------------------------------------------

    def multipliers(self) -> Multipliers:
        """Return a search for multipliers, for the points of one run."""
        return Multipliers()

    def check_multipliers(self, multipliers: FloatArray) -> FloatArray:
        """Return multipliers that fit the linear constraints; refuse others."""
        checked = finite_array("multipliers", multipliers, ndim=1)
        if len(checked) != len(self.names):
            raise InvalidInputError(
                f"multipliers has {len(checked)} entries, and the problem has {len(self.names)} "
                "linear constraints"
            )
        return checked
