"""The LP subproblem of a step as one writes it on paper: a CVXPY problem in the metric itself."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from gdaopt.constraints.rows import as_list
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.gershgorin import align
from gdaopt.problem import MetricProblem
from gdaopt.sets import has_sparse_members
from gdaopt.support.cvxpy_loading import cp, cvxpy_internals
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_instance, integer, symmetric_matrix


def at(
    problem: MetricProblem,
    metric: FloatArray,
    kind: Literal["joint", "diagonal"] | tuple[Literal["column"], int] = "joint",
) -> cp.Problem:
    """Return the linear program of a Frank–Wolfe step at a metric, in the user's own units.

    It minimises ⟨∇Q(metric), M⟩ over the metrics M whose left-ends, under the first eigenvector v
    of `metric`, are at least ρ. Methods solve the same programs in units of their own: see
    `Program`.

    Parameters
    ----------
    problem : MetricProblem
        Over graph metrics, signed ones or scaled diagonally dominant ones.
    metric : array-like of shape (K, K)
        A member of the problem, where the step starts.
    kind : {"joint", "diagonal"} or ("column", j), optional
        What the step may move: all entries, the diagonal, or the off-diagonals of column j.

    Returns
    -------
    cvxpy.Problem
        A problem in one variable, the symmetric K×K matrix M. Its parameters are the gradient G
        and v. Its constraints have labels: ``rows`` is ``M v ≥ ρ v``; ``budget`` is the trace
        bound; ``signs`` and ``mask`` are those of the edges; ``fixed`` are the entries that do not
        move. The linear constraints of `problem` follow as they were written.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=2.0, min_eigenvalue=0.1))
    >>> step = gda.programs.at(problem, np.eye(2), kind="diagonal")
    >>> print(step)
    minimize Sum(G * M, None, False)
    subject to rows: [0.1 0.1] * v <= M @ v
               budget: Trace(M) <= 2.0
               fixed: M[[0], [1]] == [0.]
    >>> value = step.solve("SCIPY")
    >>> step.variables()[0].value.round(3)
    array([[1.9, 0. ],
           [0. , 0.1]])
    """
    check_instance("problem", problem, MetricProblem)
    feasible_set, size = problem.feasible_set, problem.n_features
    if not has_sparse_members(feasible_set):
        raise InvalidInputError(
            "programs.at needs a set of GraphMetrics without path_weight, SignedGraphMetrics, "
            f"SDDMetrics or DiagonalMetrics, got {feasible_set!r}"
        )
    metric = symmetric_matrix("metric", metric, size)
    broken = problem.violations(metric)
    if broken:
        raise InvalidInputError(
            f"the metric is no member of the problem: {broken[0]}; take problem.central_metric() "
            "or the metric of a result"
        )
    moves = _entries_that_move(kind, size)

    edges = feasible_set.family.edges_of(size)
    is_edge = np.zeros((size, size), dtype=bool)
    is_edge[edges] = True
    signs = np.triu(np.ones((size, size)), 1)
    signs[edges] = -feasible_set.family.signs_of(*edges)

    M = cp.Variable((size, size), symmetric=True, name="M")
    G = cp.Parameter((size, size), name="G", value=problem.objective.at(metric).gradient())
    v = cp.Parameter(size, name="v", pos=True)
    v.value = align(metric, feasible_set.min_eigenvalue).v
    least = np.full(size, feasible_set.min_eigenvalue)  # a number would be printed as a promotion
    rows = _comparison(M, signs + signs.T) @ v >= cp.multiply(least, v)
    set_label = cvxpy_internals.set_label
    constraints = [set_label(rows, "rows")]
    if moves.diagonal().any():
        constraints.append(set_label(cp.trace(M) <= feasible_set.trace_bound, "budget"))
    signed = (moves & is_edge & (signs != 0)).nonzero()
    if len(signed[0]):
        flipped = M[signed] if (signs[signed] == 1).all() else cp.multiply(signs[signed], M[signed])
        constraints.append(set_label(flipped <= 0, "signs"))
    left_out = (moves & np.triu(~is_edge, 1)).nonzero()
    if len(left_out[0]):
        constraints.append(set_label(M[left_out] == 0, "mask"))
    fixed = np.triu(~moves).nonzero()
    if len(fixed[0]):
        constraints.append(set_label(M[fixed] == metric[fixed], "fixed"))
    others = [] if problem.constraints is None else as_list(problem.constraints(M))
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(G, M))), [*constraints, *others])


def _entries_that_move(kind: object, size: int) -> npt.NDArray[np.bool_]:
    """Return which entries of the metric a step of this kind may change, K×K."""
    moves = np.zeros((size, size), dtype=bool)
    match kind:
        case str("joint"):
            moves[:] = True
        case str("diagonal"):
            np.fill_diagonal(moves, val=True)
        case (str("column"), column):  # an array is equal to a text entry by entry
            j = integer("the column", column, at_least=0)
            if j >= size:
                raise InvalidInputError(f"column {j} of a metric with {size} columns, from 0 on")
            moves[j, :] = moves[:, j] = True
            moves[j, j] = False
        case _:
            raise InvalidInputError(
                f"kind must be 'joint', 'diagonal' or ('column', j), got {shortened(kind)}"
            )
    return moves


def _comparison(M: cp.Expression, signs: FloatArray) -> cp.Expression:
    """Return the matrix with off-diagonals ``-|M_ij|``, or ``s M_ij`` if the sign is given."""
    off_diagonal = ~np.eye(len(signs), dtype=bool)
    if (signs[off_diagonal] == 1).all():
        return M
    free = off_diagonal & (signs == 0)
    signed = cp.multiply(np.where(off_diagonal, signs, 1.0), M)
    return signed - cp.multiply(free.astype(float), cp.abs(M)) if free.any() else signed
