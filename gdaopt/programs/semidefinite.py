"""The semidefinite program: the best metric of a whole set, found without its closed form.

    min ⟨G, M⟩   s.t.   M in the set

Its closed form is the exact oracle of the set ("Theorem: exact linear minimisation oracle"). The
entries of a metric are handled as in the joint program: K diagonal entries, then ``y_ij = -M_ij``
for i < j, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from gdaopt.programs.base import Program, ProgramOptions
from gdaopt.programs.joint import entries_of, matrix_of
from gdaopt.sets import FeasibleSet
from gdaopt.validation import FloatArray

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["SemidefiniteProgram", "WholeSet"]


@dataclass(frozen=True, eq=False)
class WholeSet:
    """A set of metrics, as vectors of entries.

    Parameters
    ----------
    feasible_set : FeasibleSet
        The set.
    current : ndarray of shape (K(K+1)/2,)
        Entries of a member.
    """

    feasible_set: FeasibleSet
    current: FloatArray

    @property
    def n_features(self) -> int:
        """K."""
        return (int(np.sqrt(8 * len(self.current) + 1)) - 1) // 2

    @property
    def unit(self) -> float:
        """C, about the size of a vertex."""
        return self.feasible_set.trace_bound

    def minimize(self, cost: FloatArray) -> FloatArray:
        """Return the vertex that the set's exact oracle finds."""
        size = self.n_features
        # An edge stands in the metric twice, and with the other sign: its cost is -2 G_ij.
        gradient = matrix_of(np.concatenate([cost[:size], cost[size:] / 2]), size)
        return entries_of(self.feasible_set.minimize_linear(gradient).vertex)

    def repaired(self, point: FloatArray) -> FloatArray:
        """Return the entries of a member near a point."""
        return entries_of(self.feasible_set.repaired(matrix_of(point, self.n_features)))


class SemidefiniteProgram(Program[WholeSet]):
    """The linear program over a whole set, semidefinite cone and all, for CVXPY.

    Its parameter is ``cost``. The problem is of one set: its bounds are constants.

    Parameters
    ----------
    feasible_set : FeasibleSet
        The set.
    n_features : int
        K.
    solver : str or ProgramOptions, optional
        Who solves it, with a semidefinite cone: a name, or a name with options.

    Examples
    --------
    >>> import gdaopt as gda
    >>> feasible_set = gda.GraphMetrics(trace_bound=4.0, min_eigenvalue=0.0)
    >>> program = SemidefiniteProgram(feasible_set, 2)
    >>> found = program.solve(np.array([-1.0, -1.0, -6.0]), WholeSet(feasible_set, np.zeros(3)))
    >>> matrix_of(found.point, 2).round(4)
    array([[ 2., -2.],
           [-2.,  2.]])
    """

    name = "semidefinite program"

    def __init__(
        self,
        feasible_set: FeasibleSet,
        n_features: int,
        solver: str | ProgramOptions = "CLARABEL",
    ) -> None:
        if isinstance(solver, str):
            solver = ProgramOptions(solver=solver, cone="semidefinite")
        super().__init__(n_features * (n_features + 1) // 2, solver)
        self.feasible_set = feasible_set
        self.n_features = n_features

    def _build(self) -> tuple[cp.Problem, cp.Variable]:
        import cvxpy as cp

        size = self.n_features
        entries = cp.Variable(self.size, name="entries")
        cost = cp.Parameter(self.size, name="cost")
        metric = cp.reshape(_placement(size) @ entries, (size, size), order="C")
        # In units of C, as the variables are: solvers see numbers of about 1.
        constraints = self.feasible_set.constraints(self.feasible_set.trace_bound * metric)
        return cp.Problem(cp.Minimize(cost @ entries), constraints), entries

    def _assign(self, polytope: WholeSet) -> None:
        """Do nothing: the set is a constant of the problem."""


def _placement(size: int) -> csr_array:
    """Return the matrix that puts a vector of entries into a K×K matrix, row by row."""
    n_entries = size * (size + 1) // 2
    columns = np.arange(n_entries)
    rows, others = np.triu_indices(size, 1)
    places = [np.arange(size) * (size + 1), rows * size + others, others * size + rows]
    sources = [columns[:size], columns[size:], columns[size:]]
    values = np.repeat([1.0, -1.0], [size, 2 * len(rows)])
    matrix = (values, (np.concatenate(places), np.concatenate(sources)))
    return csr_array(matrix, shape=(size * size, n_entries))
