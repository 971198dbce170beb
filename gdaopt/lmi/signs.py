"""Which matrix inequalities discs describe exactly, and what stands in the way of the others.

See `docs/theory/lmi.md`, "Theorem: edges" and "Theorem: entries that are free".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import cvxpy as cp
import numpy as np
from scipy.sparse import vstack

from gdaopt.backends.cvxpy import solve_program
from gdaopt.errors import InfeasibleProblemError, InvalidInputError, SolverFailedError
from gdaopt.linalg.balance import find_switching
from gdaopt.linalg.entries import IndexArray
from gdaopt.linalg.laplacian import component_labels
from gdaopt.lmi.model import AffineMatrix, Model, read_model
from gdaopt.support.text import cut, shortened
from gdaopt.support.validation import FloatArray, flag

_ROUND_OFF = 1e-12  # of an entry's largest coefficient: the sign of what is smaller is open
_LONGEST_CYCLE = 40  # characters of a message


@dataclass(frozen=True, eq=False)
class Inequality:
    """What the signs of a matrix inequality F(x) ⪰ 0 say, or those of its multiplier.

    Attributes
    ----------
    matrix : AffineMatrix
        F, and the constraint or variable that it is from. If the signs are the multiplier's, it has
        the edges of the multiplier only.
    signs : ndarray of shape (m,)
        For each edge -1 or +1, if its entry has that sign for all x that keep the linear
        constraints; else 0.
    is_free : bool
        Whether the signs are those of the multiplier of F, because its entries are free.
    """

    matrix: AffineMatrix
    signs: FloatArray
    is_free: bool = False

    @property
    def n_unknown(self) -> int:
        """The number of edges in cycles whose sign is unknown; those of bridges do not matter."""
        return int(np.count_nonzero(self.signs[self.matrix.in_cycle] == 0))

    @cached_property
    def cycle(self) -> list[int]:
        """The nodes of a cycle with an odd number of positive edges; empty if there is none."""
        index = self.matrix.in_cycle & (self.signs != 0)
        graph = self.matrix.with_edges(index)
        return find_switching(graph.n_nodes, graph.edges, self.signs[index])[1]

    @property
    def is_exact(self) -> bool:
        """Whether cones of edges describe the inequality exactly."""
        return not self.cycle and not self.n_unknown

    @property
    def reason(self) -> str:
        """Why it is exact, or what stands in the way and what can be done."""
        signs = self.signs[self.matrix.in_cycle]
        if self.cycle:
            nodes = cut("–".join(str(node) for node in self.cycle), _LONGEST_CYCLE)
            return (
                f"the cycle {nodes} is frustrated: it has an odd number of positive entries; "
                "discs are an inner approximation there"
            )
        if self.n_unknown:
            return (
                f"{self.n_unknown} of {len(signs)} signs in cycles are unknown; bound the "
                "variables of these entries, ask for by_programs=True, or name the constraint in "
                "nonpositive="
            )
        of_what = " of its multiplier" if self.is_free else ""
        if not len(signs):
            return f"the graph{of_what} has no cycle"
        if (signs < 0).all():
            return f"no entry{of_what} in a cycle is positive"
        return f"every cycle has an even number of positive entries{of_what}"

    def switching(self, entries: FloatArray) -> FloatArray:
        """Return D with entries ±1 for which DFD has no positive off-diagonal entry.

        `entries` are the values of the edges, which decide the signs of bridges.
        """
        signs = np.where(self.signs == 0, np.where(entries > 0, 1.0, -1.0), self.signs)
        return find_switching(self.matrix.n_nodes, self.matrix.edges, signs)[0]

    def __repr__(self) -> str:
        size, n_edges = self.matrix.n_nodes, len(self.signs)
        verdict = "exact" if self.is_exact else "not exact"
        name = shortened(str(self.matrix.source))[1:-1]
        return f"{name} ({size} nodes, {n_edges} edges): {verdict}, because {self.reason}"


@dataclass(frozen=True, eq=False)
class Structure:
    """The matrix inequalities of a problem; printed, it has a line for each.

    Attributes
    ----------
    model : Model
        The problem as it was read.
    inequalities : tuple of Inequality
        In the order of the constraints, then of the variables.
    """

    model: Model
    inequalities: tuple[Inequality, ...]

    @property
    def is_exact(self) -> bool:
        """Whether cones of edges describe all inequalities exactly."""
        return all(each.is_exact for each in self.inequalities)

    def __repr__(self) -> str:
        return "\n".join(str(each) for each in self.inequalities)


def structure(
    problem: cp.Problem, *, by_programs: bool = False, nonpositive: Sequence[object] = ()
) -> Structure:
    """Say which matrix inequalities of a CVXPY problem discs describe exactly, or why not.

    An inequality F(x) ⪰ 0 is exact if each off-diagonal entry that lies in a cycle of F's graph has
    one sign for all x that keep the linear constraints, and every cycle has an even number of
    positive ones. The signs are found by interval arithmetic.

    It is exact, too, if the same holds for the multiplier of F. Its signs are known if entries of F
    are free. An entry is free if it is a variable of its own, such as an entry of a variable with
    ``PSD=True``, and if moving it one way harms neither the objective nor any constraint.

    Parameters
    ----------
    problem : cvxpy.Problem
        A problem with constraints such as ``A >> B``, or variables with ``PSD=True``.
    by_programs : bool, optional
        Find signs that are still unknown by two linear programs each.
    nonpositive : sequence of constraints or variables, optional
        Matrix inequalities whose off-diagonal entries you know to be at most 0.

    Returns
    -------
    Structure
        A report for each matrix inequality.

    Raises
    ------
    InvalidInputError
        When the problem has no matrix inequality, or one that is complex or not affine.

    Examples
    --------
    >>> w = cp.Variable(2, nonneg=True)
    >>> laplacian = cp.bmat([[w[0], -w[0], 0], [-w[0], w[0] + w[1], -w[1]], [0, -w[1], w[1]]])
    >>> problem = cp.Problem(cp.Minimize(cp.sum(w)), [laplacian >> np.diag([-1.0, 0.0, 1.0])])
    >>> structure(problem).is_exact
    True
    """
    flag("by_programs", by_programs)
    model = read_model(problem)
    sources = [id(matrix.source) for matrix in model.matrices]
    asserted = {id(source) for source in nonpositive}
    for source in nonpositive:
        if id(source) not in sources:
            raise InvalidInputError(
                f"nonpositive has {shortened(str(source))}, which is no matrix inequality of the "
                "problem; name its constraints F >> 0, or its variables with PSD=True"
            )
    inequalities = []
    for whole in model.matrices:
        least, largest = model.bounds(whole.entries)
        # The sign of what is as small as round-off is open.
        allowed = _ROUND_OFF * abs(whole.entries).max(axis=1).toarray().ravel()
        # Linear constraints may say that an entry of a variable is 0: then it is no edge.
        is_edge = (least < -allowed) | (largest > allowed)
        matrix = whole.with_edges(is_edge)
        least, largest, allowed = least[is_edge], largest[is_edge], allowed[is_edge]
        if by_programs:
            is_unknown = (least < -allowed) & (largest > allowed)
            for edge in np.flatnonzero(is_unknown & matrix.in_cycle):
                entry = matrix.entries[[edge]] @ model.form.point
                least[edge], largest[edge] = _least(model, entry), -_least(model, -entry)
        signs = np.where(largest <= allowed, -1.0, np.where(least >= -allowed, 1.0, 0.0))
        if id(matrix.source) in asserted:
            signs[:] = -1.0
        inequality = Inequality(matrix, signs)
        if not inequality.is_exact:
            inequality = _read_multiplier(model, whole) or inequality
        inequalities.append(inequality)
    return Structure(model, tuple(inequalities))


def _least(model: Model, entry: cp.Expression) -> float:
    """Return the least value of an entry over the constraints that are not matrix inequalities."""
    program = cp.Problem(cp.Minimize(cp.sum(entry)), [*model.linear, *model.cones])
    try:
        solve_program(program, "CLARABEL" if model.cones else "HIGHS", name="sign of an entry")
    except (InfeasibleProblemError, SolverFailedError):
        return -np.inf
    return float(program.value)


# --- The signs of a multiplier --------------------------------------------------------------------


def _read_multiplier(model: Model, matrix: AffineMatrix) -> Inequality | None:
    """Return what the signs of the multiplier of F say, if it is exact by them; else None."""
    columns, slopes = free_entries(model, matrix)
    rises, falls = (is_harmed[columns] | (slopes == 0) for is_harmed in model.is_harmed)
    up, down = np.where(slopes < 0, [falls, rises], [rises, falls])
    # What may rise has a multiplier that is at most 0, as the matrix it belongs to.
    signs = np.where(~up, -1.0, np.where(~down, 1.0, 0.0))
    in_graph = up | down
    graph, (first, second) = matrix.with_edges(in_graph), matrix.edges
    labels = component_labels(graph.n_nodes, graph.edges)
    is_inside, sizes = labels[first] == labels[second], np.bincount(labels)
    if np.count_nonzero(is_inside) < (sizes * (sizes - 1) // 2).sum():
        return None  # an entry that is 0 for all x may not get the value that the others ask for
    inequality = Inequality(graph, signs[in_graph], is_free=True)
    return inequality if inequality.is_exact else None


def free_entries(model: Model, matrix: AffineMatrix) -> tuple[IndexArray, FloatArray]:
    """Return the variable of each entry, and its coefficient: 0 where the entry is not free.

    A free entry has one variable, which is in no other entry of the matrix inequalities.
    """
    parts = [part for each in model.matrices for part in (each.diagonal, each.entries)]
    uses = np.bincount(vstack(parts).indices, minlength=len(model.is_integer))
    entries = matrix.entries[:, 1:]
    columns, slopes = np.zeros(entries.shape[0], dtype=np.intp), np.zeros(entries.shape[0])
    has_one = np.diff(entries.indptr) == 1
    first = entries.indptr[:-1][has_one]
    columns[has_one] = 1 + entries.indices[first]
    slopes[has_one] = entries.data[first]
    return columns, np.where(uses[columns] == 1, slopes, 0.0)
