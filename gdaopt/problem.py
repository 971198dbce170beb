"""The problem: an objective over a feasible set."""

from __future__ import annotations

from dataclasses import dataclass

from gdaopt.objectives.protocol import Objective
from gdaopt.sets.protocol import FeasibleSet

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

    @property
    def n_features(self) -> int:
        """K, the size of the metric matrices."""
        return self.objective.n_features
