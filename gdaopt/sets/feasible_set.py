"""Feasible sets of metrics: bounds on the trace and on the smallest eigenvalue, and a family.

Each set is the convex hull of a base B and the points ``B + τ uu'``, where the unit vectors u are a
family of atoms (`gdaopt.sets.family`) and the budget τ is the trace bound less tr B. The base is
``ρI``, plus a fixed part where the set has one. Here is all that follows from this: membership,
making points feasible, projection, the exact linear minimisation oracle
("Theorem: exact linear minimisation oracle") and the constraints for CVXPY.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, cast

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms, MatrixT
from gdaopt.linalg.entries import Edges, IndexArray
from gdaopt.linalg.gershgorin import comparison_matrix
from gdaopt.linalg.laplacian import EDGE_THRESHOLD, n_components
from gdaopt.linalg.masked import MaskedMatrix, Symmetric, dense, is_finite, like, trace
from gdaopt.linalg.projection import Projection
from gdaopt.linalg.spectrum import is_at_least, smallest_eigenvalue
from gdaopt.objectives.protocol import Point
from gdaopt.sets.family import AtomFamily, PricedAtoms
from gdaopt.sets.mask import EdgeMask
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.text import ShownAsTable, shortened
from gdaopt.support.validation import (
    FloatArray,
    as_symmetric,
    check_instance,
    check_name,
    finite_array,
    integer,
    number,
    store_checked,
    symmetric_matrix,
)

_CONES = ("semidefinite", "second-order")  # that can say ``M ⪰ ρI`` to a conic solver

# Round-off allowed to members, as multiples of C, C and C/K.
_EIGENVALUE_SLACK = 1e-10
_TRACE_SLACK = 1e-12
_ENTRY_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class LinearMinimum:
    """The least ``⟨G, M⟩``, and the vertex ``B + τ uu'`` of it; u is None for the base itself."""

    value: float
    vertex: FloatArray
    atom: FloatArray | None


class FeasibleSet(ShownAsTable, ABC):
    """A convex set of metric matrices: ``M ⪰ ρI``, ``tr M ≤ C``, ``M - B`` a sum of atoms.

    Subclasses are frozen dataclasses. They must write the property `family`. They may write
    `fixed_part`, where every member contains more than ``ρI``, and `for_signal`, where other fields
    than the two bounds follow from data.

    Attributes
    ----------
    name : str
        What tables, files and the command line call this kind of sets.
    trace_bound : float
        C, above ``K ρ``.
    min_eigenvalue : float
        ρ ≥ 0.

    Raises
    ------
    InvalidInputError
        For bounds that are not such numbers; when used, also for C that is not above ``K ρ``.
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

    def record(self) -> dict[str, Any]:
        """Return the kind and the fields that are not None, as plain values for a file."""
        record: dict[str, Any] = {"kind": self.name}
        for field in fields(self):  # type: ignore[arg-type]  # of subclasses
            value = getattr(self, field.name)
            if value is not None:
                record[field.name] = value.record() if isinstance(value, EdgeMask) else value
        return record

    # --- the base and the budget --------------------------------------------------------------

    def fixed_part(self, n_features: int) -> FloatArray | None:  # noqa: ARG002 (for subclasses)
        """Return the K×K matrix that every member contains beside ``ρI``; None for zero."""
        return None

    def base(self, n_features: int) -> FloatArray:
        """Return B, the K×K matrix that every member is a sum of atoms away from."""
        base = np.zeros((n_features, n_features))
        np.fill_diagonal(base, self.min_eigenvalue)
        fixed = self.fixed_part(n_features)
        return base if fixed is None else base + fixed

    @property
    def has_fixed_part(self) -> bool:
        """Whether every member contains more than ``ρI``."""
        return type(self).fixed_part is not FeasibleSet.fixed_part

    def base_like(self, pattern: Symmetric) -> Any:
        """Return B: as an array, or under the mask of a masked matrix."""
        size = len(pattern)
        if self.has_fixed_part or not isinstance(pattern, MaskedMatrix):
            return like(pattern, self.base(size))
        rho, edges = np.full(size, self.min_eigenvalue), pattern.edges
        return MaskedMatrix(rho, np.zeros(len(edges[0])), edges)

    def budget(self, n_features: int) -> float:
        """Return ``τ = C - tr B``, the largest sum that the weights of the atoms may have."""
        fixed = self.fixed_part(n_features) if self.has_fixed_part else None
        return self._bound_beyond(fixed) - n_features * self.min_eigenvalue

    def _bound_beyond(self, fixed: FloatArray | None) -> float:
        """Return the trace bound less the trace of the fixed part."""
        return self.trace_bound if fixed is None else self.trace_bound - float(np.trace(fixed))

    def of_features(self, features: IndexArray, n_features: int) -> Self:
        """Return the set of the blocks of some features of members that are ρI outside of them."""
        changed: dict[str, Any] = {
            "trace_bound": self.trace_bound - (n_features - len(features)) * self.min_eigenvalue
        }
        colors = getattr(self, "colors", None)
        if colors is not None:
            changed["colors"] = np.array(colors)[features]
        found: Self = replace(cast(Any, self), **changed)
        return found

    def check_size(self, n_features: int) -> None:
        """Raise InvalidInputError when no K×K metric fits, or only a single one."""
        k = integer("n_features", n_features, at_least=1)
        self.family.check_size(k)
        if self.trace_bound <= k * self.min_eigenvalue:
            raise InvalidInputError(
                f"trace_bound {self.trace_bound:g} must exceed n_features · min_eigenvalue = "
                f"{k} · {self.min_eigenvalue:g} = {k * self.min_eigenvalue:g}; "
                "raise trace_bound or lower min_eigenvalue"
            )

    # --- membership ---------------------------------------------------------------------------

    def contains(self, metric: FloatArray) -> bool:
        """Say whether `metric` is in the set, up to round-off.

        Allowed are a smallest eigenvalue of ``ρ - 1e-10·C``, a trace of ``C(1 + 1e-12)`` and
        ``1e-12·C/K`` on the wrong side of 0 in a single entry.
        """
        return not self.violations(metric)

    def violations(self, metric: Symmetric) -> tuple[str, ...]:
        """Return a sentence for each condition that `metric` breaks; none for a member."""
        if not isinstance(metric, MaskedMatrix):
            metric = as_symmetric("metric", metric)
        self.family.check_size(len(metric))
        fixed = self.fixed_part(len(metric)) if self.has_fixed_part else None
        trace_bound, where = self._bound_beyond(fixed), ""
        if fixed is not None:
            metric, where = dense(metric) - fixed, "without the fixed part of the set: "
        unit = self.trace_bound  # of the round-off that is allowed
        found = self.family.entry_violations(metric, _ENTRY_SLACK * unit / len(metric))
        total = trace(metric)
        if total > trace_bound + _TRACE_SLACK * unit:
            found.append(f"trace {total:.6g} exceeds the bound {trace_bound:g}")
        least = self.min_eigenvalue - _EIGENVALUE_SLACK * unit
        judged = self.family.comparison(metric)
        if not is_at_least(judged, least):
            smallest = smallest_eigenvalue(judged)
            if smallest < least:
                of = "" if judged is metric else "of the comparison matrix "
                found.append(
                    f"smallest eigenvalue {of}{smallest:.6g} is below {self.min_eigenvalue:g}"
                )
        return tuple(where + sentence for sentence in found)

    def made_feasible(self, metric: MatrixT) -> MatrixT:
        """Return the member nearest to `metric` on the segment to a point inside the set.

        Meant for violations of the order of round-off, as `contains` allows them: a saved result,
        or the point of an inexact solver. λ_min, also of the comparison matrix, is concave and the
        trace linear along the segment, so the share t of the inner point that makes both conditions
        hold has a closed form.
        """
        size = len(metric)
        fixed = self.fixed_part(size) if self.has_fixed_part else None
        trace_bound = self._bound_beyond(fixed)
        whole: Any = metric
        beyond: Any = self.family.with_feasible_entries(whole if fixed is None else whole - fixed)
        least = np.full(size, self.min_eigenvalue + self.budget(size) / (2 * size))
        is_masked = isinstance(metric, MaskedMatrix)
        inner: Any = MaskedMatrix.of_diagonal(least) if is_masked else np.diag(least)
        share = 0.0
        smallest = smallest_eigenvalue(self.family.comparison(beyond))
        if smallest < self.min_eigenvalue:
            gain = smallest_eigenvalue(inner) - smallest
            share = (self.min_eigenvalue - smallest) / gain
        total = trace(beyond)
        if total > trace_bound:
            share = max(share, (total - trace_bound) / (total - trace(inner)))
        result: MatrixT = (1 - share) * beyond + share * inner if share > 0 else beyond
        return result if fixed is None else cast(MatrixT, fixed + cast(FloatArray, result))

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
        metric nearby is a good start.
        """
        metric = symmetric_matrix("metric", metric)
        size = len(metric)
        self.check_size(size)
        accuracy = number("accuracy", accuracy, above=0)
        base, accuracy = self.base(size), accuracy * self.trace_bound
        found = self.family.projected(metric - base, self.budget(size), accuracy, correction)
        return replace(found, point=found.point + base)

    # --- the graph of a metric ----------------------------------------------------------------

    def edges_of(self, n_features: int) -> Edges:
        """Return the pairs i < j of features that may have an edge in a member, row by row."""
        return self.family.edges_of(n_features)

    def edge_threshold(self, n_features: int) -> float:
        """Return the weight above which an edge counts: 1e-9 of C/K."""
        return EDGE_THRESHOLD * self.trace_bound / n_features

    def n_components(self, metric: Symmetric) -> int:
        """Return the number of components of the graph of the edges that count."""
        return n_components(comparison_matrix(metric), self.edge_threshold(len(metric)))

    def n_edges(self, metric: Symmetric) -> int:
        """Return the number of edges that count, of either sign."""
        if isinstance(metric, MaskedMatrix):
            weights = np.abs(metric.on_edges)
        else:
            weights = np.abs(dense(metric)[np.triu_indices(len(metric), 1)])
        return int(np.count_nonzero(weights > self.edge_threshold(len(metric))))

    # --- atoms --------------------------------------------------------------------------------

    def gradient_at(self, point: Point) -> Symmetric:
        """Return as much of the gradient at a member as `best_atoms` and members need."""
        return self.family.gradient_at(point)

    def best_atoms(
        self, gradient: Symmetric, count: int = 1, guess: Atoms | None = None
    ) -> PricedAtoms:
        """Return the best atoms of the family for a finite G (`AtomFamily.best_atoms`)."""
        if not is_finite(gradient):
            if isinstance(gradient, np.ndarray):
                finite_array("gradient", gradient, ndim=2)  # raises, and says where
            raise InvalidInputError("gradient holds values that are not finite")
        return self.family.best_atoms(gradient, count, guess)

    def decomposed(self, metric: FloatArray) -> tuple[Atoms, FloatArray]:
        """Return atoms and weights ≥ 0 with ``M = B + Σ_k w_k u_k u_k'`` for a member M."""
        violations = self.violations(metric)
        if violations:
            raise InvalidInputError(f"the metric is no sum of atoms: {'; '.join(violations)}")
        return self.family.decomposed(metric - self.base(len(metric)))

    def centre(self, n_features: int) -> tuple[Atoms, FloatArray]:
        """Return atoms and weights of ``B + (τ/K) I``, in the middle of the set."""
        weights = np.full(n_features, self.budget(n_features) / n_features)
        return self.family.basis(n_features), weights

    def start(self, n_features: int) -> FloatArray:
        """Return a member to start from: ``B + (τ/K) I``."""
        self.check_size(n_features)
        atoms, weights = self.centre(n_features)
        return atoms.added_to(self.base(n_features), weights)

    def minimize_linear(self, gradient: FloatArray) -> LinearMinimum:
        """Minimise ``⟨G, M⟩`` over the set, exactly.

        Parameters
        ----------
        gradient : array-like of shape (K, K)
            G, symmetric, with entries of any sign.

        Returns
        -------
        LinearMinimum
            The least `value`, the `vertex` at which it is attained, and its `atom`.
        """
        gradient = symmetric_matrix("gradient", gradient)
        size = len(gradient)
        self.check_size(size)
        base, budget = self.base(size), self.budget(size)
        value = float(np.vdot(gradient, base))
        best = self.best_atoms(gradient)
        if not best.prices[0] < 0:
            return LinearMinimum(value, base, None)
        vertex = best.atoms.added_to(base, np.array([budget]))
        return LinearMinimum(
            value + budget * float(best.prices[0]), vertex, best.atoms.dense(size)[0]
        )

    # --- for CVXPY ---------------------------------------------------------------------------

    def variable(self, n_features: int) -> cp.Expression:
        """Return a K×K variable for the metrics of this set, with no entry that must be 0."""
        return self.family.variable(n_features)

    def of(self, metric: cp.Expression, *, cone: str = "semidefinite") -> list[cp.Constraint]:
        """Return the constraints by which a CVXPY variable is a member of the set.

        They remember the set: ``problem.solve(method="gdaopt")`` knows it by them.

        Parameters
        ----------
        metric : cvxpy.Variable or expression of shape (K, K)
            Such as ``cp.Variable((K, K), symmetric=True)``. Where CVXPY does not know that it is
            symmetric, one more constraint says so.
        cone : {"semidefinite", "second-order"}, optional
            What says that ``M ⪰ ρI``: one semidefinite cone, or, where the signs of the edges are
            given, a second-order cone for each pair of features
            ("Proposition: second-order cone form"). Both are exact.

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
        self.check_size(metric.shape[0])
        if is_symmetric(metric):
            return marked(self, metric, self._constraints(metric, cone))
        made = self._constraints((metric + metric.T) / 2, cone)
        return marked(self, metric, [*made, metric == metric.T])

    def _constraints(self, metric: cp.Expression, cone: str) -> list[cp.Constraint]:
        """Return the constraints on a symmetric expression."""
        size, family = metric.shape[0], self.family
        # In units of C/K, whatever the metric's: solvers judge constraints by absolute tolerances.
        unit = self.trace_bound / size
        atomic_part = (metric - self.base(size)) / unit
        return [
            *(
                family.semidefinite(atomic_part)
                if cone == "semidefinite"
                else family.second_order(atomic_part)
            ),
            cp.trace(atomic_part) <= self.budget(size) / unit,
            *family.entry_constraints(atomic_part),
        ]
