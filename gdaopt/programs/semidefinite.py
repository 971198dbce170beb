"""The semidefinite program: the best metric of a whole set, found without its closed form.

    min ⟨G, M⟩   s.t.   M in the set

Its closed form is the exact oracle of the set ("Theorem: exact linear minimisation oracle"). The
entries of a metric are handled as in the joint program: K diagonal entries, then ``y_ij = -M_ij``
for the set's edges i < j, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gdaopt.backends import LinearArrays
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.entries import Edges, entries_of, matrix_of, placement
from gdaopt.programs.base import Program, ProgramOptions, program_options, store
from gdaopt.sets import FeasibleSet
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray, as_vector, check_instance, integer, store_integer


@dataclass(frozen=True, eq=False)
class WholeSet:
    """A set of metrics, as vectors of entries.

    Parameters
    ----------
    feasible_set : FeasibleSet
        The set.
    n_features : int
        K.
    current : ndarray of shape (K + n_edges,)
        Entries of a member.
    """

    feasible_set: FeasibleSet
    n_features: int
    current: FloatArray

    def __post_init__(self) -> None:
        check_instance("feasible_set", self.feasible_set, FeasibleSet)
        store_integer(self, "n_features", at_least=1)
        size = self.n_features + len(self.edges[0])
        store(self, current=as_vector("current", self.current, size))

    @property
    def edges(self) -> Edges:
        """The pairs of features that may have an edge in the set."""
        return self.feasible_set.edges_of(self.n_features)

    @property
    def unit(self) -> float:
        """C, about the size of a vertex."""
        return self.feasible_set.trace_bound

    def minimize(self, cost: FloatArray) -> FloatArray:
        """Return the vertex that the set's exact oracle finds."""
        size, edges = self.n_features, self.edges
        # An edge stands in the metric twice, with the opposite sign: its cost is -2 G_ij.
        gradient = matrix_of(np.concatenate([cost[:size], cost[size:] / 2]), size, edges)
        return entries_of(self.feasible_set.minimize_linear(gradient).vertex, edges)

    def row_multipliers(self, _cost: FloatArray, /) -> dict[str, FloatArray]:
        """Return nothing: the program has no rows."""
        return {}

    def made_feasible(self, point: FloatArray) -> FloatArray:
        """Return the entries of a member near a point."""
        metric = matrix_of(point, self.n_features, self.edges)
        return entries_of(self.feasible_set.made_feasible(metric), self.edges)


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
    >>> whole = WholeSet(feasible_set, 2, np.zeros(3))
    >>> found = program.solve(np.array([-1.0, -1.0, -6.0]), whole)
    >>> matrix_of(found.point, 2, feasible_set.edges_of(2)).round(4)
    array([[ 2., -2.],
           [-2.,  2.]])
    """

    name = "semidefinite program"
    is_linear = False

    def __init__(
        self,
        feasible_set: FeasibleSet,
        n_features: int,
        solver: str | ProgramOptions = "CLARABEL",
    ) -> None:
        check_instance("feasible_set", feasible_set, FeasibleSet)
        n_features = integer("n_features", n_features, at_least=1)
        feasible_set.check_size(n_features)
        options = program_options(solver, cone="semidefinite")
        self.edges = feasible_set.edges_of(n_features)
        super().__init__(n_features + len(self.edges[0]), options)
        self.feasible_set = feasible_set
        self.n_features = n_features

    def _build(self) -> tuple[cp.Problem, cp.Variable]:
        size = self.n_features
        entries = cp.Variable(self.size, name="entries")
        cost = cp.Parameter(self.size, name="cost")
        metric = cp.reshape(placement(size, self.edges) @ entries, (size, size), order="C")
        # In units of C, as the variables are: solvers see numbers of about 1.
        constraints = self.feasible_set.of(self.feasible_set.trace_bound * metric)
        return cp.Problem(cp.Minimize(cost @ entries), constraints), entries

    def _assign(self, polytope: WholeSet) -> None:
        """Do nothing: the set is a constant of the problem."""

    def arrays(self, cost: FloatArray, polytope: WholeSet) -> LinearArrays:  # noqa: ARG002 (not linear)
        """Raise InvalidInputError: the program is not linear."""
        raise InvalidInputError(f"the {self.name} is not linear, so that there are no arrays of it")

    def _row_scales(self, _polytope: WholeSet, /) -> dict[str, float | FloatArray]:
        return {}
