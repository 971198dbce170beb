"""What the sets of metrics share: they are hulls of rank-one atoms (DESIGN section 4).

Each set is the convex hull of a base B and the points ``B + τ uu'``, u from a family of unit
vectors and τ what the base leaves of the trace bound. A set supplies the family: how to find its
best members for a gradient, and how to write a metric as a sum of them. The rest is here.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from gdaopt.errors import InvalidInputError, unknown_name
from gdaopt.linalg.atoms import Atoms
from gdaopt.sets.bounded import BoundedMetrics
from gdaopt.validation import FloatArray, finite_array, symmetric_matrix

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["CONES", "FeasibleSet", "LinearMinimum", "PricedAtoms"]

CONES = ("semidefinite", "second-order")
"""The cones that can say ``M ⪰ ρI`` to a conic solver."""


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


class FeasibleSet(BoundedMetrics):
    """A set of metric matrices: ``M ⪰ ρI`` and ``tr M ≤ C``, and what the subclass adds.

    Subclasses are frozen dataclasses.

    Attributes
    ----------
    trace_bound, min_eigenvalue : float
        C and ρ.
    all_unit_vectors : bool
        Whether every unit vector is an atom, so that an atom can turn into any other.
    """

    all_unit_vectors: ClassVar[bool] = False

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

    @abstractmethod
    def n_components(self, metric: FloatArray) -> int:
        """Return the number of components of the graph of the edges that count."""

    def start(self, n_features: int) -> FloatArray:
        """Return a member to start from: ``(C/K) I``."""
        self.check_size(n_features)
        return self.trace_bound / n_features * np.eye(n_features)

    # --- for CVXPY ---------------------------------------------------------------------------

    def variable(self, n_features: int) -> cp.Expression:
        """Return a K×K variable for the metrics of this set, with no entry that must be 0."""
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        return cp.Variable((n_features, n_features), symmetric=True)

    def constraints(self, metric: cp.Expression, cone: str = "semidefinite") -> list[cp.Constraint]:
        """Return the set's convex hull as CVXPY constraints.

        Parameters
        ----------
        metric : cvxpy.Variable or expression of shape (K, K)
            Symmetric, such as ``cp.Variable((K, K), symmetric=True)``.
        cone : {"semidefinite", "second-order"}, optional
            What says that ``M ⪰ ρI``: one semidefinite cone, or, where the edges' signs are given,
            a second-order cone for each pair of features. Exact, both.

        Raises
        ------
        InvalidInputError
            For a metric that is not symmetric or too large for the bounds, an unknown cone, or one
            that the set has no form for.

        Examples
        --------
        >>> import cvxpy as cp, gdaopt as gda
        >>> M = cp.Variable((2, 2), symmetric=True)
        >>> constraints = gda.GraphMetrics(trace_bound=4.0).constraints(M)
        >>> cp.Problem(cp.Minimize(M[0, 1]), constraints).solve("CLARABEL").round(4).item()
        -2.0
        """
        import cvxpy as cp

        if cone not in CONES:
            raise unknown_name("cone", cone, CONES)
        if metric.ndim != 2 or metric.shape[0] != metric.shape[1] or not _is_symmetric(metric):
            raise InvalidInputError(
                f"metric must be a symmetric K×K expression, got {metric} of shape {metric.shape}; "
                "make it by cp.Variable((K, K), symmetric=True)"
            )
        size = metric.shape[0]
        self.check_size(size)
        # In units of C/K, whatever the metric's: solvers judge constraints by absolute tolerances.
        unit = self.trace_bound / size
        above = (metric - self.base(size)) / unit
        return [
            *(self._semidefinite(above) if cone == "semidefinite" else self._second_order(above)),
            cp.trace(above) <= self.budget(size) / unit,
            *self._entry_constraints(above),
        ]

    def _semidefinite(self, above: cp.Expression) -> list[cp.Constraint]:
        """Return ``M - B ⪰ 0``."""
        return [above >> 0]

    def _second_order(self, above: cp.Expression) -> list[cp.Constraint]:  # noqa: ARG002 (for subclasses)
        """Return ``M - B ⪰ 0`` in second-order cones."""
        raise InvalidInputError(
            f"{type(self).__name__} has no form in second-order cones; take cone='semidefinite' "
            "(method 'sdp')"
        )

    def _entry_constraints(self, above: cp.Expression) -> list[cp.Constraint]:  # noqa: ARG002 (for subclasses)
        """Return the conditions on single entries of ``M - B``."""
        return []


def _is_symmetric(metric: cp.Expression) -> bool:
    """Say whether an affine K×K expression is symmetric, whatever its variables' values are."""
    import cvxpy as cp

    if metric.is_symmetric() or isinstance(metric, cp.Variable):
        return bool(metric.is_symmetric())
    # CVXPY cannot tell for most expressions; at random values it shows.
    rng = np.random.default_rng(0)
    held = [(variable, variable.value) for variable in metric.variables()]
    for variable, _ in held:
        value = rng.standard_normal(variable.shape)
        symmetric = variable.ndim == 2 and variable.is_symmetric()
        variable.save_value(value + value.T if symmetric else value)
    found = metric.value
    for variable, value in held:
        variable.save_value(value)
    return found is None or bool(np.allclose(found, found.T))  # None: parameters without values


def checked_gradient(gradient: FloatArray) -> FloatArray:
    """Return a K×K gradient after a cheap check; refuse NaN and infinite values."""
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = np.isfinite(gradient.sum())  # of large values the sum may be infinite, too
    return gradient if is_finite else finite_array("gradient", gradient, ndim=2)
