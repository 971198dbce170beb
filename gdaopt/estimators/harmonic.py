"""Harmonic functions on graphs of samples: labels spread to samples that have none.

With weights ``w_ij = exp(-δ_ij)`` and the labelled samples F fixed, the scores of the unlabelled
ones, U, minimise ``z'Lz``: ``L_UU z_U = -L_UF z_F``, each score the mean of its neighbours' (Zhu,
Ghahramani, Lafferty 2003). Multiplying a row of this system by any number leaves its solution as it
is, so weights are used in units of the largest of their row: a sample far from all others has
neighbours with exact ratios, where ``exp(-δ)`` itself has lost its digits or is 0.

Full graphs are solved by Cholesky's factors, neighbour graphs by stabilised bi-conjugate gradients.
Both lose digits by the system's condition: 12 of them in a cluster of unlabelled samples from which
one comes to a labelled one with probability 1e-12 a step. There the class shares no longer sum to
1, which is how such samples are found; they are solved for by an elimination that only adds,
multiplies and divides positive numbers (Grassmann, Taksar, Heyman 1985) and gets all digits
whatever the condition.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, bicgstab, spilu

from gdaopt.estimators.labels import Mask
from gdaopt.validation import FloatArray

__all__ = ["FARTHEST", "full_graph_shares", "neighbor_graph_shares"]

FARTHEST = 300 * np.log(10)
"""Squared distance from which on there is no edge: exp(-δ) is 1e-300, soon to underflow."""

_ACCURATE = 1e-10  # a sum of class shares is 1 to this much, or the sample is solved for again
_MOST_DECADES = 250  # of degrees, within which their square roots neither over- nor underflow
_ROUND_OFF = 4e-16  # of numbers up to 1
_MOST_REFINEMENTS = 5  # of sparse solutions; two are enough as a rule
_MOST_STEPS = 500  # in each of them; 50 are enough as a rule
_SHIFT = 1e-14  # of a diagonal, so that no pivot of incomplete factors is 0
_BLOCK = 64  # samples eliminated before the others are updated by one product of matrices


def full_graph_shares(
    among: FloatArray, towards: FloatArray, labels: FloatArray
) -> tuple[FloatArray, Mask]:
    """Return the class shares of unlabelled samples on the graph of all pairs.

    Parameters
    ----------
    among : ndarray of shape (u, u)
        Squared distances δ between unlabelled samples; overwritten.
    towards : ndarray of shape (u, f)
        Those to the labelled samples.
    labels : ndarray of shape (f, n_classes)
        Shares of the labelled samples: rows that sum to 1.

    Returns
    -------
    shares : ndarray of shape (u, n_classes)
        Non-negative, each row of sum 1, or of zeros where a sample is cut off.
    cut_off : ndarray of bool, shape (u,)
        Samples from which no path of edges leads to a labelled one.

    Examples
    --------
    Half-way between two labels, and near the first:

    >>> among, towards = np.array([[0.0, 9.0], [9.0, 0.0]]), np.array([[1.0, 1.0], [0.0, 4.0]])
    >>> full_graph_shares(among, towards, np.eye(2))[0].round(4)
    array([[0.5001, 0.4999],
           [0.982 , 0.018 ]])
    """
    np.fill_diagonal(among, np.inf)
    np.putmask(among, among >= FARTHEST, np.inf)
    towards = np.where(towards < FARTHEST, towards, np.inf)
    shares = np.zeros((len(among), labels.shape[1]))
    connected = _connected(among, towards)
    if not connected.all():
        among, towards = among[np.ix_(connected, connected)], towards[connected]
    if connected.any():
        shares[connected] = _solve(among, towards, labels)
    return shares, ~connected


def neighbor_graph_shares(
    edges: npt.NDArray[np.intp], squared: FloatArray, labelled: Mask, labels: FloatArray
) -> tuple[FloatArray, Mask]:
    """Return the class shares of unlabelled samples on a graph of given edges.

    Parameters
    ----------
    edges : ndarray of int, shape (n_edges, 2)
        Indices of the two samples of each edge, each edge once.
    squared : ndarray of shape (n_edges,)
        Squared distances δ.
    labelled : ndarray of bool, shape (n_samples,)
        Whose shares are fixed.
    labels : ndarray of shape (f, n_classes)
        Shares of the labelled samples, in their order: rows that sum to 1.

    Returns
    -------
    shares : ndarray of shape (u, n_classes)
        Of the samples without a label, in their order, as `full_graph_shares` returns them.
    cut_off : ndarray of bool, shape (u,)
        Samples from which no path of edges leads to a labelled one.

    Examples
    --------
    A path, labelled at its first node:

    >>> labelled = np.array([True, False, False, False])
    >>> edges, squared = np.array([[0, 1], [1, 2]]), np.array([1.0, 2.0])
    >>> shares, cut_off = neighbor_graph_shares(edges, squared, labelled, np.array([[1.0, 0.0]]))
    >>> shares
    array([[1., 0.],
           [1., 0.],
           [0., 0.]])
    >>> cut_off
    array([False, False,  True])
    """
    n_samples = len(labelled)
    linked = squared < FARTHEST
    rows, columns = np.vstack([edges[linked], edges[linked, ::-1]]).T
    distances = np.tile(squared[linked], 2)
    nearest = np.full(n_samples, np.inf)
    np.minimum.at(nearest, rows, distances)
    weights = np.exp(nearest[rows] - distances)
    degrees = np.bincount(rows, weights, minlength=n_samples)
    moves = scipy.sparse.csr_array(
        (weights / degrees[rows], (rows, columns)), shape=(n_samples, n_samples)
    )
    component = connected_components(moves, directed=False)[1]
    connected = np.isin(component, component[labelled])[~labelled]
    shares = np.zeros((len(connected), labels.shape[1]))
    if connected.any():
        unknown = np.flatnonzero(~labelled)[connected]
        leaving = moves[unknown][:, np.flatnonzero(labelled)] @ labels
        shares[connected] = _solve_sparse(moves[unknown][:, unknown], leaving)
    return shares, ~connected


def _connected(among: FloatArray, towards: FloatArray) -> Mask:
    """Return which samples have a path of edges to a labelled one."""
    connected: Mask = towards.min(axis=1) < np.inf
    newest = np.flatnonzero(connected)
    while len(newest) and not connected.all():
        others = np.flatnonzero(~connected)
        newest = others[among[np.ix_(others, newest)].min(axis=1) < np.inf]
        connected[newest] = True
    return connected


def _solve(among: FloatArray, towards: FloatArray, labels: FloatArray) -> FloatArray:
    """Return the harmonic shares of samples that all have a path to a labelled one."""
    nearest = np.minimum(among.min(axis=1), towards.min(axis=1))[:, None]
    inner = np.exp(np.subtract(nearest, among, out=among), out=among)
    outer = np.exp(nearest - towards)
    degrees = inner.sum(axis=1) + outer.sum(axis=1)
    inner /= degrees[:, None]
    leaving = outer @ labels / degrees[:, None]
    solution = _by_cholesky(inner, leaving, np.log(degrees) - nearest[:, 0])
    weak = _inaccurate(solution)
    if len(weak):
        solution[weak] = 0.0
        solution[weak] = _eliminate(
            inner[np.ix_(weak, weak)], leaving[weak] + inner[weak] @ solution
        )
    shares: FloatArray = solution / solution.sum(axis=1, keepdims=True)
    return shares


def _solve_sparse(moves: scipy.sparse.csr_array, leaving: FloatArray) -> FloatArray:
    """Solve ``(I - P) z = b`` for sparse P; rows of the solution sum to 1."""
    solution = _iterate(moves, leaving, None)
    if len(_inaccurate(solution)):
        # Many a pair of samples that are close to each other and far from the rest. Incomplete
        # factors join them; in complete ones a graph in many dimensions fills in all entries.
        shape = moves.shape
        matrix = (1 + _SHIFT) * scipy.sparse.eye_array(shape[0]) - moves
        factors = spilu(
            matrix.tocsc(),
            drop_tol=1e-3,
            fill_factor=5,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        solution = _iterate(moves, leaving, LinearOperator(shape, factors.solve))
    weak = _inaccurate(solution)
    solution[weak] = 0.0
    n_clusters, cluster = connected_components(moves[weak][:, weak], directed=False)
    for index in range(n_clusters):
        own = weak[cluster == index]
        arriving = leaving[own] + moves[own] @ solution
        solution[own] = _eliminate(moves[own][:, own].toarray(), arriving)
    shares: FloatArray = solution / solution.sum(axis=1, keepdims=True)
    return shares


def _iterate(
    moves: scipy.sparse.csr_array, leaving: FloatArray, preconditioner: LinearOperator | None
) -> FloatArray:
    """Return how far stabilised bi-conjugate gradients come with ``(I - P) z = b``."""
    matrix = scipy.sparse.eye_array(len(leaving), format="csr") - moves
    solution, residual = np.zeros_like(leaving), leaving
    for _ in range(_MOST_REFINEMENTS):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # where they diverge
            steps = [
                bicgstab(matrix, column, rtol=1e-12, maxiter=_MOST_STEPS, M=preconditioner)[0]
                for column in residual.T
            ]
            refined = solution + np.column_stack(steps)
            remaining = leaving + moves @ refined - refined
        if not np.abs(remaining).max() < np.abs(residual).max():
            break
        solution, residual = refined, remaining
        if np.abs(residual).max() < _ROUND_OFF:
            break
    return solution


def _inaccurate(solution: FloatArray) -> npt.NDArray[np.intp]:
    """Return the rows that lost digits: their shares do not sum to 1, or are not numbers."""
    return np.flatnonzero(~(np.abs(solution.sum(axis=1) - 1) < _ACCURATE))


def _by_cholesky(moves: FloatArray, leaving: FloatArray, log_degrees: FloatArray) -> FloatArray:
    """Solve ``(I - P) z = b``, or return zeros where that takes numbers out of range.

    ``P_ij = w_ij / d_i`` becomes symmetric in units of ``√d``: ``w_ij / √(d_i d_j)``.
    """
    half = (log_degrees - log_degrees.max()) / 2
    if half.min() < -_MOST_DECADES / 2 * np.log(10):
        return np.zeros_like(leaving)
    units = np.exp(half)[:, None]
    matrix = np.sqrt(moves * moves.T)
    np.negative(matrix, out=matrix)
    np.fill_diagonal(matrix, 1.0)
    try:
        factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return np.zeros_like(leaving)
    solution: FloatArray = scipy.linalg.cho_solve(factor, leaving * units) / units
    return solution


def _eliminate(moves: FloatArray, leaving: FloatArray) -> FloatArray:
    """Solve ``(I - P) z = b`` without a subtraction; both arguments are overwritten.

    A random walk goes from i to j with probability ``P_ij`` and ends with class c with ``b_ic``.
    Sample k is taken out of it: who came to k goes on to where k leads. The probability of leaving
    k is summed up from where it leads, never taken as 1 minus that of staying.
    """
    size = len(moves)
    for start in range(0, size, _BLOCK):
        stop = min(start + _BLOCK, size)
        for k in range(start, stop):
            out = moves[k, k + 1 :].sum() + leaving[k].sum()
            moves[k, k + 1 :] /= out
            leaving[k] /= out
            block = slice(k + 1, stop)
            moves[block, k + 1 :] += np.outer(moves[block, k], moves[k, k + 1 :])
            leaving[block] += np.outer(moves[block, k], leaving[k])
            moves[stop:, block] += np.outer(moves[stop:, k], moves[k, block])
        arriving = moves[stop:, start:stop]
        moves[stop:, stop:] += arriving @ moves[start:stop, stop:]
        leaving[stop:] += arriving @ leaving[start:stop]
    for k in range(size - 2, -1, -1):
        leaving[k] += moves[k, k + 1 :] @ leaving[k + 1 :]
    return leaving
