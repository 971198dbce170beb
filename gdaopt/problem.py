"""The problem: an objective over a feasible set, with linear constraints of the user's own."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from gdaopt.constraints.presolve import presolve
from gdaopt.constraints.restricted import Restricted
from gdaopt.constraints.rows import ConstraintsOf, LinearConstraints, as_list, read_constraints
from gdaopt.errors import InvalidInputError
from gdaopt.objectives.base import Objective, check_interface
from gdaopt.sets.feasible_set import FeasibleSet
from gdaopt.sets.members import Members
from gdaopt.support.cvxpy_loading import cp, cvxpy_internals
from gdaopt.support.text import ShownAsTable, shortened
from gdaopt.support.validation import FloatArray, check_instance, is_finite

_FLAT = 10.0  # an objective is flat if it is more than so often what can be gained


class Centre(NamedTuple):
    """The middle of a set: Q there, and the Frank–Wolfe gap, which is the most that can be gained.

    The gap is infinite if it is not known. Of an objective that is not convex neither is known.
    """

    objective: float
    gap: float


@dataclass(frozen=True)
class MetricProblem(ShownAsTable):
    """Minimise an objective over a set of metric matrices.

    Parameters
    ----------
    objective : Objective
        Such as `gdaopt.GLR`.
    feasible_set : FeasibleSet
        Such as `gdaopt.GraphMetrics`.
    constraints : callable, optional
        Takes the metric, a symmetric K×K CVXPY variable, and returns a list of CVXPY constraints:
        equalities and inequalities that are affine in it. They are read once, into `rows`.

    Raises
    ------
    InvalidInputError
        When objective or set has another type, when the set has no interior for matrices of the
        objective's size, e.g. C ≤ Kρ, or when a constraint is not affine.
    InfeasibleProblemError
        When no member of the set keeps all constraints, or only members on its boundary do.

    Notes
    -----
    A pickled problem carries the rows in place of the function, which may be a lambda.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> problem.n_features
    2

    Without the edge, and at most 0.5 for the first feature:

    >>> problem = gda.MetricProblem(
    ...     glr,
    ...     gda.GraphMetrics(trace_bound=2.0),
    ...     constraints=lambda M: [M[0, 1] == 0, M[0, 0] <= 0.5],
    ... )
    >>> gda.solve(problem, "certified").metric.round(3)
    array([[0.5, 0. ],
           [0. , 1.5]])
    """

    objective: Objective
    feasible_set: FeasibleSet
    constraints: ConstraintsOf | None = None

    def __post_init__(self) -> None:
        if isinstance(self.objective, FeasibleSet):
            raise InvalidInputError(
                f"objective is the set {shortened(self.objective)}; pass the objective first, then "
                "the set"
            )
        check_interface(self.objective)
        check_instance("feasible_set", self.feasible_set, FeasibleSet)
        self.members  # noqa: B018 (refuses sizes that do not fit, and rows that no metric keeps)

    @classmethod
    def from_cvxpy(cls, problem: cp.Problem) -> MetricProblem:
        """Return a problem that is written in CVXPY's language.

        Parameters
        ----------
        problem : cvxpy.Problem
            Its constraints are those of a set, as `FeasibleSet.of` returns them for a variable M,
            and affine ones of M. Its objective is a function of M. CVXPY parameters enter with
            their current values.

        Returns
        -------
        MetricProblem
            Sums and positive multiples of this package's objectives, linear functions and squares
            ``cp.sum_squares(M - S)`` are recognised; the rest becomes a `CvxpyObjective`. If a
            distance ``cp.norm(M - S, "fro")`` alone is minimised, the objective is its square. A
            term times zero is dropped, with its domain; CVXPY's solvers keep the domain.

        Raises
        ------
        InvalidInputError
            For a problem without a set, with a second variable or a constraint that is not affine,
            or with an objective that is not known to be convex.

        Examples
        --------
        >>> import cvxpy as cp, gdaopt as gda
        >>> M = cp.Variable((2, 2), symmetric=True)
        >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
        >>> constraints = [*gda.GraphMetrics(trace_bound=2.0).of(M), M[0, 1] == 0]
        >>> model = cp.Problem(cp.Minimize(glr(M) + cp.trace(M)), constraints)
        >>> gda.MetricProblem.from_cvxpy(model).objective
        GLR + Quadratic
        """
        from gdaopt.constraints.model import ModelReader  # loads CVXPY

        model = ModelReader(problem).model()
        return cls(model.objective, model.feasible_set, model.rows)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "constraints": self.rows}

    def with_objective(self, objective: Objective) -> MetricProblem:
        """Return the problem of another objective over the same set, with the same constraints."""
        problem = copy(self)  # whose constraints have been read
        object.__setattr__(problem, "objective", objective)
        vars(problem).pop("centre", None)  # that of the other objective
        return problem

    @cached_property
    def members(self) -> Members:
        """The metrics among which the best is looked for, which keep the constraints as well."""
        size = self.objective.n_features
        if self.constraints is None:
            return Members(self.feasible_set, size)
        rows = read_constraints(self.constraints, size)
        return presolve(self.feasible_set, rows) if len(rows) else Members(self.feasible_set, size)

    @property
    def restricted(self) -> Restricted | None:
        """The members if they keep constraints; None if there are none."""
        return self.members if isinstance(self.members, Restricted) else None

    @property
    def rows(self) -> LinearConstraints | None:
        """The linear constraints as they were written; None if there are none."""
        return self.members.written if isinstance(self.members, Restricted) else None

    def central_metric(self) -> FloatArray:
        """Return a metric inside of the set that keeps all constraints, as a start."""
        atoms, weights = self.members.centre
        return atoms.added_to(self.members.base, weights)

    def size_of(self, objective: float) -> float:
        """Return the size of an objective of some value, of which tolerances are shares.

        It is the size of the value, unless the objective is flat, such as one with a large
        constant. Then the most that can be gained in the whole set takes its place, because it is a
        small part of the value.
        """
        return min(abs(objective), _FLAT * self.centre.gap)

    @cached_property
    def centre(self) -> Centre:
        """What is known of the middle of the set."""
        if not self.objective.convex:
            return Centre(math.nan, math.inf)
        atoms, weights = self.members.centre
        point = self.objective.at(self.central_metric())
        gradient = self.feasible_set.family.gradient_at(point)
        if not is_finite(gradient):
            return Centre(point.value, math.inf)
        here = float(weights @ atoms.quadratic_forms(gradient))
        return Centre(point.value, max(here - self.members.support(gradient).least, 0.0))

    def take_centre(self, objective: float, gap: float) -> None:
        """Keep what a run has found in the middle of the set."""
        vars(self).setdefault("centre", Centre(objective, gap))

    def central_objective(self) -> float | None:
        """Return Q in the middle of the set; None if it cannot be had there."""
        if "centre" in vars(self) and self.objective.convex:
            value = self.centre.objective
        else:
            try:
                value = self.objective.at(self.central_metric()).value
            except Exception:  # whatever it raises: a run that ends well must not fail afterwards
                return None
        return value if math.isfinite(value) else None

    def violations(self, metric: FloatArray) -> tuple[str, ...]:
        """Return a sentence for each condition of set and constraints that a metric breaks."""
        return self.members.violations(metric)

    def made_feasible(self, metric: FloatArray) -> FloatArray:
        """Return a metric near `metric` that keeps set and constraints, but for round-off."""
        return self.members.made_feasible(metric)

    def to_cvxpy(
        self, metric: cp.Expression, *, cone: str = "semidefinite", log: bool = False
    ) -> cp.Problem:
        """Return the problem as a CVXPY problem, to be solved or extended by the caller.

        Parameters
        ----------
        metric : cvxpy.Variable or expression of shape (K, K)
            Such as ``cp.Variable((K, K), symmetric=True)``. If it is not known to be symmetric,
            one more constraint says so.
        cone : {"semidefinite", "second-order"}, optional
            See `FeasibleSet.of`.
        log : bool, optional
            Minimise log Q: the same metric, and easier for solvers if Q spans decades. Only for
            objectives with `Objective.log_convex`.

        Returns
        -------
        cvxpy.Problem

        Raises
        ------
        InvalidInputError
            For a cone that the set has no form for, or an objective without an expression.

        Examples
        --------
        >>> import cvxpy as cp, gdaopt as gda
        >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
        >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
        >>> metric = cp.Variable((2, 2), symmetric=True)
        >>> value = problem.to_cvxpy(metric).solve("CLARABEL")
        >>> round(float(value / gda.solve(problem, "certified").objective), 6)
        1.0
        """
        from gdaopt.sets.membership import is_symmetric

        check_instance("metric", metric, cp.Expression)
        if metric.shape != (self.n_features, self.n_features):
            raise InvalidInputError(
                f"metric has shape {metric.shape}, the objective takes "
                f"{self.n_features}×{self.n_features} matrices"
            )
        if log and not self.objective.log_convex:
            raise InvalidInputError(
                f"log=True: the logarithm of {shortened(self.objective)} is not known to be convex"
            )
        constraints = self.feasible_set.of(metric, cone=cone)
        asked: Any = self.objective
        symmetric = cvxpy_internals.symmetric_part(metric, is_symmetric(metric))
        objective, defining = (asked.log_to_cvxpy if log else asked.to_cvxpy)(symmetric)
        rows = [] if self.constraints is None else as_list(self.constraints(metric))
        return cp.Problem(cp.Minimize(objective), [*defining, *constraints, *rows])

    @property
    def n_features(self) -> int:
        """K, the size of the metric matrices."""
        return self.objective.n_features
