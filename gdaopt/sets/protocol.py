"""What the sets of metrics share: they are hulls of rank-one atoms (DESIGN section 4).

Each set is the convex hull of a base B and the points ``B + τ uu'``, u from a family of unit
vectors and τ what the base leaves of the trace bound. A set supplies the family: how to find its
best members for a gradient, and how to write a metric as a sum of them. The rest is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.validation import FloatArray, finite_array, integer, number, symmetric_matrix

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["FeasibleSet", "LinearMinimum", "PricedAtoms"]

# Round-off allowed to members, as multiples of C, C and C/K.
_EIGENVALUE_SLACK = 1e-10
_TRACE_SLACK = 1e-12
_ENTRY_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class PricedAtoms:
    """Atoms u and their prices ``u'Gu``, the best first.

    Attributes
    ----------
    atoms : Atoms
        n atoms.
    prices : ndarray of shape (n,)
        Ascending. The first is never above the least price of all atoms of the family.
    """

    atoms: Atoms
    prices: FloatArray


@dataclass(frozen=True, eq=False)
class LinearMinimum:
    """The answer of the exact linear minimisation oracle.

    Attributes
    ----------
    value : float
        ``min ⟨G, M⟩`` over the set.
    vertex : ndarray of shape (K, K)
        Where it is attained: an extreme point of the set.
    atom : ndarray of shape (K,) or None
        u of the vertex ``B + τ uu'``; None for the base itself.
    """

    value: float
    vertex: FloatArray
    atom: FloatArray | None


class FeasibleSet(ABC):
    """A set of metric matrices: ``M ⪰ ρI`` and ``tr M ≤ C``, and what the subclass adds.

    Subclasses are frozen dataclasses.

    Attributes
    ----------
    trace_bound : float
        C, above ``K ρ``.
    min_eigenvalue : float
        ρ ≥ 0.
    atoms_turn : bool
        Whether every unit vector is an atom, so that an atom can turn into any other.
    """

    trace_bound: float
    min_eigenvalue: float
    atoms_turn: ClassVar[bool] = False

    def __post_init__(self) -> None:
        number("trace_bound", self.trace_bound, above=0)
        number("min_eigenvalue", self.min_eigenvalue, at_least=0)

    # --- the family of atoms -----------------------------------------------------------------

    @abstractmethod
    def best_atoms(
        self, gradient: FloatArray, count: int = 1, guess: Atoms | None = None
    ) -> PricedAtoms:
        """Return the atoms of the least prices ``u'Gu``, best first.

        Parameters
        ----------
        gradient : ndarray of shape (K, K)
            G, symmetric.
        count : int, optional
            How many to return at most.
        guess : Atoms, optional
            Good atoms for a gradient nearby, where an iterative search starts.

        Raises
        ------
        InvalidInputError
            When G holds NaN or infinite values.
        """

    def decomposed(self, metric: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return atoms and weights ≥ 0 with ``M = B + Σ_k w_k u_k u_k'``.

        Parameters
        ----------
        metric : ndarray of shape (K, K)
            M, in the hull of the atoms; round-off that `contains` allows is mended.

        Raises
        ------
        InvalidInputError
            When M is no such sum.
        """
        violations = self.hull_violations(metric)
        if violations:
            raise InvalidInputError(f"the metric is no sum of atoms: {'; '.join(violations)}")
        return self._decomposed(metric)

    @abstractmethod
    def _decomposed(self, metric: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return atoms and weights of a member of the hull."""

    def base(self, n_features: int) -> FloatArray:
        """Return B, the K×K matrix that every member is a sum of atoms away from."""
        return self.min_eigenvalue * np.eye(n_features)

    def budget(self, n_features: int) -> float:
        """Return ``τ = C - tr B``, what the weights of the atoms may add up to."""
        return self.trace_bound - n_features * self.min_eigenvalue

    def centre(self, n_features: int) -> tuple[Atoms, FloatArray]:
        """Return atoms and weights of ``B + (τ/K) I``, in the middle of the set."""
        weights = np.full(n_features, self.budget(n_features) / n_features)
        return Atoms.of_features(np.arange(n_features)), weights

    def minimize_linear(self, gradient: FloatArray, guess: Atoms | None = None) -> LinearMinimum:
        """Minimise ``⟨G, M⟩`` over the set, exactly.

        Parameters
        ----------
        gradient : array-like of shape (K, K)
            G, symmetric: of any sign.
        guess : Atoms, optional
            Good atoms for a gradient nearby (see `best_atoms`).

        Returns
        -------
        LinearMinimum

        Raises
        ------
        InvalidInputError
            When G is not symmetric or not finite, or K×K matrices do not fit.
        """
        gradient = symmetric_matrix("gradient", gradient)
        size = len(gradient)
        self.check_size(size)
        base, budget = self.base(size), self.budget(size)
        value = float(np.vdot(gradient, base))
        best = self.best_atoms(gradient, 1, guess)
        if not best.prices[0] < 0:
            return LinearMinimum(value, base, None)
        vertex = best.atoms.added_to(base, np.array([budget]))
        return LinearMinimum(
            value + budget * float(best.prices[0]), vertex, best.atoms.dense(size)[0]
        )

    # --- membership --------------------------------------------------------------------------

    @property
    def closed(self) -> Self:
        """The set that the problem is about: this one, but for sets that only lie inside of it."""
        return self

    def check_size(self, n_features: int) -> None:
        """Raise InvalidInputError when no K×K metric fits, or only a single one.

        Examples
        --------
        >>> import gdaopt as gda
        >>> gda.GraphMetrics(trace_bound=1.0, min_eigenvalue=0.5).check_size(2)
        Traceback (most recent call last):
            ...
        gdaopt.errors.InvalidInputError: trace_bound 1 must exceed n_features · min_eigenvalue ...
        """
        k = integer("n_features", n_features, at_least=1)
        if self.trace_bound <= k * self.min_eigenvalue:
            raise InvalidInputError(
                f"trace_bound {self.trace_bound:g} must exceed n_features · min_eigenvalue = "
                f"{k} · {self.min_eigenvalue:g} = {k * self.min_eigenvalue:g}; "
                "raise trace_bound or lower min_eigenvalue"
            )

    def contains(self, metric: FloatArray) -> bool:
        """Say whether `metric` is in the set, up to round-off.

        Allowed are a smallest eigenvalue of ``ρ - 1e-10·C``, a trace of ``C(1 + 1e-12)`` and
        ``1e-12·C/K`` on the wrong side of 0 in a single entry.
        """
        return not self.violations(metric)

    def violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return a sentence for each condition that `metric` breaks; none for a member."""
        return self._violations(symmetric_matrix("metric", metric), self.trace_bound)

    def _violations(self, metric: FloatArray, unit: float) -> tuple[str, ...]:
        """Return the violations, with round-off relative to a unit of trace."""
        found = self._entry_violations(metric, _ENTRY_SLACK * unit / len(metric))
        trace = float(np.trace(metric))
        if trace > self.trace_bound + _TRACE_SLACK * unit:
            found.append(f"trace {trace:.6g} exceeds the bound {self.trace_bound:g}")
        smallest = smallest_eigenvalue(metric)
        if smallest < self.min_eigenvalue - _EIGENVALUE_SLACK * unit:
            found.append(f"smallest eigenvalue {smallest:.6g} is below {self.min_eigenvalue:g}")
        return tuple(found)

    def _entry_violations(self, metric: FloatArray, slack: float) -> list[str]:  # noqa: ARG002 (for subclasses)
        """Return a sentence for each condition on single entries that `metric` breaks."""
        return []

    def hull_violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return what keeps `metric` out of the convex hull of the atoms, which is this set."""
        return self.violations(metric)

    def hull_repaired(self, metric: FloatArray) -> FloatArray:
        """Return a member of that hull near `metric` (see `repaired`)."""
        return self.repaired(metric)

    @abstractmethod
    def n_components(self, metric: FloatArray) -> int:
        """Return the number of components of the graph of the edges that count."""

    def start(self, n_features: int) -> FloatArray:
        """Return a member to start from: ``(C/K) I``."""
        self.check_size(n_features)
        return self.trace_bound / n_features * np.eye(n_features)

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
        mended = self._entries_mended(metric)
        inner = self.base(size)
        inner[np.diag_indices(size)] += self.budget(size) / (2 * size)
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

    def _entries_mended(self, metric: FloatArray) -> FloatArray:
        """Return `metric` with single entries on the wrong side of 0 set to 0."""
        return metric

    # --- for CVXPY ---------------------------------------------------------------------------

    def constraints(self, metric: cp.Expression) -> list[cp.Constraint]:
        """Return the set's convex hull as CVXPY constraints.

        Parameters
        ----------
        metric : cvxpy.Variable or expression of shape (K, K)
            Symmetric, such as ``cp.Variable((K, K), symmetric=True)``.

        Examples
        --------
        >>> import cvxpy as cp, gdaopt as gda
        >>> M = cp.Variable((2, 2), symmetric=True)
        >>> constraints = gda.GraphMetrics(trace_bound=4.0).constraints(M)
        >>> cp.Problem(cp.Minimize(M[0, 1]), constraints).solve("CLARABEL").round(4).item()
        -2.0
        """
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        size = metric.shape[0]
        self.check_size(size)
        above = metric - self.base(size)
        return [
            above >> 0,
            cp.trace(above) <= self.budget(size),
            *self._entry_constraints(above),
        ]

    def _entry_constraints(self, above: cp.Expression) -> list[cp.Constraint]:  # noqa: ARG002 (for subclasses)
        """Return the conditions on single entries of ``M - B``."""
        return []


def checked_gradient(gradient: FloatArray) -> FloatArray:
    """Return a K×K gradient after a cheap check; refuse NaN and infinite values."""
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = np.isfinite(gradient.sum())  # of large values the sum may be infinite, too
    return gradient if is_finite else finite_array("gradient", gradient, ndim=2)
