"""Feasible sets of metrics: bounds on the trace and on the smallest eigenvalue, and a family.

Each set is the convex hull of a base B and the points ``B + τ uu'``, where the unit vectors u are a
family of atoms (`gdaopt.sets.family`) and the budget τ is the trace bound less tr B. The base is
``ρI``, plus a fixed part if the set has one. Here is all that follows from this: membership,
making points feasible, projection, the exact linear minimisation oracle
("Theorem: exact linear minimisation oracle") and the constraints for CVXPY.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.projection import Projection
from gdaopt.sets.conditions import list_violations, move_inside
from gdaopt.sets.family import AtomFamily
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.text import ShownAsTable, shortened
from gdaopt.support.validation import (
    FloatArray,
    as_symmetric,
    check_instance,
    check_name,
    integer,
    number,
    store_checked,
    symmetric_matrix,
)

_CONES = ("semidefinite", "second-order")  # that can say ``M ⪰ ρI`` to a conic solver


@dataclass(frozen=True, eq=False)
class LinearMinimum:
    """The least ``⟨G, M⟩``, and the vertex ``B + τ uu'`` of it; u is None for the base itself."""

    value: float
    vertex: FloatArray
    atom: FloatArray | None


class FeasibleSet(ShownAsTable, ABC):
    """A convex set of metric matrices: ``M ⪰ ρI``, ``tr M ≤ C``, ``M - B`` a sum of atoms.

    Subclasses are frozen dataclasses. They must write the property `family`. They may write
    `budget`, if only some numbers of features fit; `base` and `budget` together, if every member
    contains more than ``ρI``; and `for_signal`, if data determine more fields than the two bounds.
    ``metric in feasible_set`` says whether a matrix is a member, up to the round-off of
    `violations`.

    Attributes
    ----------
    name : str
        The name of this kind of sets in tables, in files and on the command line.
    trace_bound : float
        C, above ``K ρ``.
    min_eigenvalue : float
        ρ ≥ 0.

    Raises
    ------
    InvalidInputError
        For bounds that are not such numbers; later, when K is known, also if C is not above ``K
        ρ``.
    """

    name: ClassVar[str]

    trace_bound: float
    min_eigenvalue: float

    def __post_init__(self) -> None:
        store_checked(self, number, "trace_bound", above=0)
        store_checked(self, number, "min_eigenvalue", at_least=0)

    @property
    @abstractmethod
    def family(self) -> AtomFamily:
        """The atoms that the set is made of."""

    @classmethod
    def for_signal(
        cls,
        features: Any,  # noqa: ARG003 (for subclasses)
        signal: FloatArray,  # noqa: ARG003 (for subclasses)
        **bounds: Any,
    ) -> Self:
        """Return the set for N×K samples, an array or sparse, and their training signal z."""
        return cls(**bounds)

    # --- the base and the budget --------------------------------------------------------------

    def base(self, n_features: int) -> FloatArray:
        """Return B, the K×K matrix ``ρI``: every member is B plus a sum of atoms."""
        base = np.zeros((n_features, n_features))
        np.fill_diagonal(base, self.min_eigenvalue)
        return base

    def budget(self, n_features: int) -> float:
        """Return ``τ = C - tr B``, the largest sum that the weights of the atoms may have.

        Raise InvalidInputError when no K×K metric fits, or only a single one.
        """
        k = integer("n_features", n_features, at_least=1)
        if self.trace_bound <= k * self.min_eigenvalue:
            raise InvalidInputError(
                f"trace_bound {self.trace_bound:g} must exceed n_features · min_eigenvalue = "
                f"{k} · {self.min_eigenvalue:g} = {k * self.min_eigenvalue:g}; "
                "raise trace_bound or lower min_eigenvalue"
            )
        return self.trace_bound - k * self.min_eigenvalue

    # --- membership ---------------------------------------------------------------------------

    def __contains__(self, metric: FloatArray) -> bool:
        return not self.violations(metric)

    def violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return a sentence for each condition that `metric` breaks; none for a member.

        Allowed are a smallest eigenvalue of ``ρ - 1e-10·C``, a trace of ``C(1 + 1e-12)`` and
        ``1e-12·C/K`` on the wrong side of 0 in a single entry.
        """
        metric = as_symmetric("metric", metric)
        size = len(metric)
        return list_violations(self, metric, self.base(size), self.budget(size))

    def made_feasible(self, metric: FloatArray) -> FloatArray:
        """Return the member nearest to `metric` on the segment to a point inside the set.

        Meant for violations of the order of round-off, as `violations` allows them: a saved result,
        or the point of an inexact solver.
        """
        size = len(metric)
        return move_inside(self.family, metric, self.base(size), self.budget(size))

    def projected(
        self,
        metric: FloatArray,
        *,
        accuracy: float = 1e-10,
        correction: FloatArray | None = None,
    ) -> Projection:
        """Return the member of the set that is nearest to a matrix, in the Frobenius norm.

        The matrix is symmetric. The answer may be outside of the semidefinite cone by a share of C,
        the accuracy; `made_feasible` moves it into the set. The correction of the projection of a
        metric nearby is a good guess.
        """
        metric = symmetric_matrix("metric", metric)
        size = len(metric)
        budget, base = self.budget(size), self.base(size)
        accuracy = number("accuracy", accuracy, above=0) * self.trace_bound
        projection = self.family.projected(metric - base, budget, accuracy, correction)
        return replace(projection, nearest=projection.nearest + base)

    def minimize_linear(self, gradient: FloatArray) -> LinearMinimum:
        """Minimise ``⟨G, M⟩`` over the set, exactly.

        Parameters
        ----------
        gradient : array-like of shape (K, K)
            G, symmetric, with entries of any sign.

        Returns
        -------
        LinearMinimum
            The least ``value``, the ``vertex`` at which it is attained, and its ``atom``.
        """
        gradient = symmetric_matrix("gradient", gradient)
        size = len(gradient)
        budget, base = self.budget(size), self.base(size)
        value = float(np.vdot(gradient, base))
        best = self.family.best_atoms(gradient)
        price = float(best.prices[0])
        if not price < 0:
            return LinearMinimum(value, base, None)
        vertex = best.atoms.added_to(base, np.array([budget]))
        return LinearMinimum(value + budget * price, vertex, best.atoms.dense(size)[0])

    # --- for CVXPY ---------------------------------------------------------------------------

    def of(self, metric: cp.Expression, *, cone: str = "semidefinite") -> list[cp.Constraint]:
        """Return the constraints that make a CVXPY variable a member of the set.

        They remember the set, so that ``problem.solve(method="gdaopt")`` finds it.

        Parameters
        ----------
        metric : cvxpy.Variable or expression of shape (K, K)
            Such as ``cp.Variable((K, K), symmetric=True)``. If CVXPY does not know that it is
            symmetric, one more constraint says so.
        cone : {"semidefinite", "second-order"}, optional
            The form of ``M ⪰ ρI``: one semidefinite cone, or, if the signs of the edges are given,
            a second-order cone for each pair of features ("Proposition: second-order cone form").
            Both are exact.

        Examples
        --------
        >>> import cvxpy as cp, gdaopt as gda
        >>> M = cp.Variable((2, 2), symmetric=True)
        >>> problem = cp.Problem(cp.Minimize(M[0, 1]), gda.GraphMetrics(trace_bound=4.0).of(M))
        >>> problem.solve("CLARABEL").round(4).item()
        -2.0
        >>> round(problem.solve(method="gdaopt"), 4)
        -2.0
        """
        from gdaopt.sets.membership import is_symmetric, marked

        check_name("cone", cone, _CONES)
        check_instance("metric", metric, cp.Expression)
        if metric.ndim != 2 or metric.shape[0] != metric.shape[1]:
            raise InvalidInputError(
                f"metric must be a K×K expression, got {shortened(metric)} of shape "
                f"{metric.shape}; make it by cp.Variable((K, K), symmetric=True)"
            )
        size = metric.shape[0]
        # In units of C/K, whatever the metric's: solvers judge constraints by absolute tolerances.
        unit = self.trace_bound / size
        budget = self.budget(size) / unit
        known_symmetric = is_symmetric(metric)
        symmetric = metric if known_symmetric else (metric + metric.T) / 2
        atomic_part = (symmetric - self.base(size)) / unit
        made = [*self.family.to_cvxpy(atomic_part, cone), cp.trace(atomic_part) <= budget]
        return marked(self, metric, made if known_symmetric else [*made, metric == metric.T])
