"""The problem: an objective over a feasible set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.protocol import Objective
from gdaopt.sets.feasible_set import FeasibleSet

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["MetricProblem"]


@dataclass(frozen=True)
class MetricProblem:
    """Minimise an objective over a set of metric matrices.

    Parameters
    ----------
    objective : Objective
        Such as `gdaopt.GLR`.
    feasible_set : FeasibleSet
        Such as `gdaopt.GraphMetrics`.

    Raises
    ------
    InvalidInputError
        When the set has no interior for matrices of the objective's size, e.g. C ≤ Kρ.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0))
    >>> problem.n_features
    2
    """

    objective: Objective
    feasible_set: FeasibleSet

    def __post_init__(self) -> None:
        self.feasible_set.check_size(self.n_features)

    def to_cvxpy(
        self, metric: cp.Expression, *, cone: str = "semidefinite", log: bool = False
    ) -> cp.Problem:
        """Return the problem as a CVXPY problem, to be solved or extended by the caller.

        Parameters
        ----------
        metric : cvxpy.Variable or expression of shape (K, K)
            Symmetric, such as ``cp.Variable((K, K), symmetric=True)``.
        cone : {"semidefinite", "second-order"}, optional
            See `FeasibleSet.constraints`.
        log : bool, optional
            Minimise log Q: the same metric, and easier for solvers where Q spans decades. Only for
            objectives with `log_convex`.

        Returns
        -------
        cvxpy.Problem
            Of this problem.

        Raises
        ------
        InvalidInputError
            For a metric that is not symmetric or of another size, a cone that the set has no form
            for, or an objective without an expression.

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
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        if metric.shape != (self.n_features, self.n_features):
            raise InvalidInputError(
                f"metric has shape {metric.shape}, the objective takes "
                f"{self.n_features}×{self.n_features} matrices"
            )
        if log and not self.objective.log_convex:
            raise InvalidInputError(
                f"log=True: the logarithm of {self.objective!r} is not known to be convex"
            )
        constraints = self.feasible_set.constraints(metric, cone)
        objective, defining = self.objective.to_cvxpy(metric, log)
        return cp.Problem(cp.Minimize(objective), [*defining, *constraints])

    @property
    def n_features(self) -> int:
        """K, the size of the metric matrices."""
        return self.objective.n_features
