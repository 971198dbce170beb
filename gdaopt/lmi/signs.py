"""Which matrix inequalities discs describe exactly, and what stands in the way of the others.

See `docs/theory/lmi.md`, "Theorem: edges" and "Theorem: entries that are free".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from gdaopt.backends.cvxpy import solve_program
from gdaopt.errors import InfeasibleProblemError, InvalidInputError, SolverFailedError
from gdaopt.lmi.graphs import BoolArray, IntArray, find_bridges, find_switching
from gdaopt.lmi.model import AffineMap, AffineMatrix, Model, read_model
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, flag

_ROUND_OFF = 1e-12  # of an entry's largest coefficient: the sign of what is smaller is open
_MOST_NODES = 12  # of a cycle in a message


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
    is_bridge : ndarray of shape (m,)
        Which edges lie in no cycle: their signs do not matter.
    cycle : tuple of int
        The nodes of a cycle with an odd number of positive edges; empty if there is none.
    n_unknown : int
        The number of edges in cycles whose sign is unknown.
    is_free : bool
        Whether the signs are those of the multiplier of F, because its entries are free.
    """

    matrix: AffineMatrix
    signs: FloatArray
    is_bridge: BoolArray
    cycle: tuple[int, ...]
    n_unknown: int
    is_free: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether cones of edges describe the inequality exactly."""
        return not self.cycle and not self.n_unknown

    @property
    def reason(self) -> str:
        """Why it is exact, or what stands in the way and what can be done."""
        in_cycles = np.count_nonzero(~self.is_bridge)
        if self.cycle:
            nodes = "–".join(str(node) for node in self.cycle[:_MOST_NODES])
            more = "…" if len(self.cycle) > _MOST_NODES else ""
            return (
                f"the cycle {nodes}{more} is frustrated: it has an odd number of positive entries; "
                "discs are an inner approximation there"
            )
        if self.n_unknown:
            return (
                f"{self.n_unknown} of {in_cycles} signs in cycles are unknown; bound the variables "
                "of these entries, ask for by_programs=True, or name the constraint in nonpositive="
            )
        whose = "its multiplier's graph" if self.is_free else "its graph"
        if not len(self.signs):
            return "its multiplier is diagonal" if self.is_free else "the matrix is diagonal"
        if not in_cycles:
            return f"{whose} has no cycle"
        entry = "entry of its multiplier" if self.is_free else "entry"
        if (self.signs[~self.is_bridge] < 0).all():
            return f"no {entry} in a cycle is positive"
        return f"every cycle has an even number of positive {entry.replace('y', 'ies', 1)}"

    def switching(self, entries: FloatArray) -> FloatArray:
        """Return D with entries ±1 for which DFD has no positive off-diagonal entry.

        `entries` are the values of the edges, which decide the signs of bridges.
        """
        signs = np.where(self.signs == 0, np.where(entries > 0, 1.0, -1.0), self.signs)
        return find_switching(self.matrix.n_nodes, self.matrix.edges, signs)[0]

    def __str__(self) -> str:
        size, n_edges = self.matrix.n_nodes, len(self.signs)
        verdict = "exact" if self.is_exact else "not exact"
        name = shortened(str(self.matrix.source))[1:-1]
        return f"{name} ({size} nodes, {n_edges} edges): {verdict}, because {self.reason}"


@dataclass(frozen=True, eq=False)
class Structure:
    """The matrix inequalities of a problem; printed, it has a line for each.

    Attributes
    ----------
    inequalities : tuple of Inequality
        In the order of the constraints, then of the variables.
    """

    inequalities: tuple[Inequality, ...]

    @property
    def is_exact(self) -> bool:
        """Whether cones of edges describe all inequalities exactly."""
        return all(each.is_exact for each in self.inequalities)

    def __str__(self) -> str:
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
    return analyse(read_model(problem), by_programs=by_programs, nonpositive=nonpositive)


def analyse(
    model: Model, *, by_programs: bool = False, nonpositive: Sequence[object] = ()
) -> Structure:
    """Say which matrix inequalities of a model are exact; see `structure`."""
    flag("by_programs", by_programs)
    sources = [id(matrix.source) for matrix in model.matrices]
    for source in nonpositive:
        if id(source) not in sources:
            raise InvalidInputError(
                f"nonpositive has {shortened(str(source))}, which is no matrix inequality of the "
                "problem; name its constraints F >> 0, or its variables with PSD=True"
            )
    asserted = {id(source) for source in nonpositive}
    inequalities = []
    for whole in model.matrices:
        # Linear constraints may say that an entry of a variable is 0: then it is no edge.
        least, largest = whole.entries.interval(*model.bounds)
        allowed = _ROUND_OFF * _sizes(whole.entries)
        is_zero = (least >= -allowed) & (largest <= allowed)
        matrix = whole.with_edges(np.flatnonzero(~is_zero))
        is_bridge = find_bridges(matrix.n_nodes, matrix.edges)
        if id(matrix.source) in asserted:
            signs = -np.ones(len(matrix.edges))
        else:
            signs = _signs_of_entries(model, matrix, ~is_bridge & by_programs)
        inequality = _judge(matrix, signs, is_bridge)
        if not inequality.is_exact:
            inequality = _read_multiplier(model, whole) or inequality
        inequalities.append(inequality)
    return Structure(tuple(inequalities))


def _judge(
    matrix: AffineMatrix, signs: FloatArray, is_bridge: BoolArray, is_free: bool = False
) -> Inequality:
    n_unknown = int(np.count_nonzero(~is_bridge & (signs == 0)))
    of_cycles = ~is_bridge & (signs != 0)
    cycle = find_switching(matrix.n_nodes, matrix.edges[of_cycles], signs[of_cycles])[1]
    return Inequality(matrix, signs, is_bridge, tuple(cycle), n_unknown, is_free)


def _signs_of_entries(model: Model, matrix: AffineMatrix, is_asked: BoolArray) -> FloatArray:
    """Return the signs of entries, by intervals, and by programs where those are not enough."""
    entries = matrix.entries
    sizes = _sizes(entries)

    def signs_of(least: FloatArray, largest: FloatArray, sizes: FloatArray) -> FloatArray:
        """Return the signs of intervals; those of an entry that is 0 for all x are negative."""
        allowed = _ROUND_OFF * sizes
        return np.where(largest <= allowed, -1.0, np.where(least >= -allowed, 1.0, 0.0))

    signs = signs_of(*entries.interval(*model.bounds), sizes)
    for edge in np.flatnonzero((signs == 0) & is_asked):
        entry = entries.matrix[[edge]] @ model.x + entries.offset[edge]
        ends = np.array([_least(model, entry), -_least(model, -entry)])
        signs[edge] = signs_of(ends[:1], ends[1:], sizes[[edge]])[0]
    return signs


def _sizes(entries: AffineMap) -> FloatArray:
    """Return the largest coefficient of each entry."""
    sizes = np.abs(entries.offset)
    np.maximum.at(sizes, entries.matrix.nonzero()[0], np.abs(entries.matrix.data))
    return sizes


def _least(model: Model, entry: cp.Expression) -> float:
    """Return the least value of an entry over the constraints that are not matrix inequalities."""
    program = cp.Problem(cp.Minimize(cp.sum(entry)), [copy for _, copy in model.constraints])
    try:
        solve_program(program, "HIGHS" if model.is_linear else "CLARABEL", name="sign of an entry")
    except (InfeasibleProblemError, SolverFailedError):
        return -np.inf
    return float(program.value)


# --- The signs of a multiplier --------------------------------------------------------------------


def _read_multiplier(model: Model, matrix: AffineMatrix) -> Inequality | None:
    """Return what the signs of the multiplier of F say, if it is exact by them; else None."""
    columns, slopes = free_entries(model, matrix)
    up, down = model.is_harmed[0][columns], model.is_harmed[1][columns]
    up, down = np.where(slopes > 0, up, down), np.where(slopes > 0, down, up)
    is_free = slopes != 0
    in_graph = np.flatnonzero(~is_free | up | down)
    # What may rise has a multiplier that is at most 0, as the matrix it belongs to.
    signs = np.where(is_free & ~up, -1.0, np.where(is_free & ~down, 1.0, 0.0))[in_graph]
    graph = matrix.with_edges(in_graph)
    size = matrix.n_nodes
    places: Any = csr_array((np.ones(len(in_graph)), graph.edges.T), shape=(size, size))
    labels = connected_components(places, directed=False)[1]
    sizes = np.bincount(labels)
    is_inside = np.equal(*labels[matrix.edges].T)
    if np.count_nonzero(is_inside) < (sizes * (sizes - 1) // 2).sum():
        return None  # an entry that is 0 for all x may not get the value that the others ask for
    inequality = _judge(graph, signs, find_bridges(size, graph.edges), is_free=True)
    return inequality if inequality.is_exact else None


def free_entries(model: Model, matrix: AffineMatrix) -> tuple[IntArray, FloatArray]:
    """Return the variable of each entry, and its coefficient: 0 where the entry is not free.

    A free entry has one variable, which is in no other entry of the matrix inequalities.
    """
    entries = matrix.entries.matrix
    uses = np.zeros(entries.shape[1], dtype=int)
    for each in model.matrices:
        for part in (each.diagonal.matrix, each.entries.matrix):
            np.add.at(uses, part.indices, 1)
    has_one = np.diff(entries.indptr) == 1
    first = np.minimum(entries.indptr[:-1], max(len(entries.data) - 1, 0))
    columns = np.where(has_one, entries.indices[first] if len(entries.data) else 0, 0)
    slopes = entries.data[first] if len(entries.data) else np.zeros(len(columns))
    return columns, np.where(has_one & (uses[columns] == 1), slopes, 0.0)
