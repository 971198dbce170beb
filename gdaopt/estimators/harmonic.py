"""Harmonic functions on graphs of samples: they spread labels to samples without labels.

The weights are ``w_ij = exp(-δ_ij)``, where δ are squared distances. The scores of the labelled
samples F are fixed, and the scores of the unlabelled samples U minimise ``z'Lz``: they solve
``L_UU z_U = -L_UF z_F``, so that each score is the weighted mean of its neighbours' scores (Zhu,
Ghahramani, Lafferty 2003). Multiplying a row of this system by a number does not change the
solution. Therefore the weights of each row are divided by the largest of them: the ratios stay
exact even for a sample so far from all other samples that ``exp(-δ)`` has lost its digits or is 0.

The system of a full graph is solved by Cholesky's factorisation, the system of a neighbour graph by
stabilised bi-conjugate gradients. Both lose digits where a random walk hardly leaves a cluster of
unlabelled samples. There the shares of the classes no longer sum to 1: such samples are solved for
once more by an elimination that only adds, multiplies and divides positive numbers (Grassmann,
Taksar, Heyman 1985), which keeps all digits whatever the condition.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, bicgstab, spilu

from gdaopt.estimators.inputs import Mask
from gdaopt.support.validation import FloatArray

FARTHEST = 300 * np.log(10)
"""Squared distance from which on there is no edge: there exp(-δ) is 1e-300, near underflow."""

_ACCURATE = 1e-10  # a sample whose shares miss the sum 1 by more than this is solved for again
_MOST_DECADES = 250  # over which degrees may spread before their square roots leave floating point
_ROUND_OFF = 4e-16  # round-off of numbers up to 1
_MOST_REFINEMENTS = 5  # for a sparse solution; two are usually enough
_MOST_STEPS = 500  # in each refinement; 50 are usually enough
_SHIFT = 1e-14  # added to a diagonal, so that no pivot of the incomplete factors is 0
_BLOCK = 64  # how many samples are eliminated before one matrix product updates the rest


def full_graph_shares(
    among: FloatArray, towards: FloatArray, labels: FloatArray
) -> tuple[FloatArray, Mask]:
    """Return the class shares of unlabelled samples, and who is cut off; `among` is overwritten.

    `among` and `towards`, shape (u, f), are squared distances; samples cut off have shares of 0.
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
    """Return what `full_graph_shares` does, on a graph of edges with squared distances."""
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
    connected: Mask = towards.min(axis=1) < np.inf
    newest = np.flatnonzero(connected)
    while len(newest) and not connected.all():
        others = np.flatnonzero(~connected)
        newest = others[among[np.ix_(others, newest)].min(axis=1) < np.inf]
        connected[newest] = True
    return connected


def _solve(among: FloatArray, towards: FloatArray, labels: FloatArray) -> FloatArray:
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
    """Solve ``(I - P) z = b`` for sparse P; each row of the solution sums to 1."""
    solution = _iterate(moves, leaving, None)
    if len(_inaccurate(solution)):
        # Pairs of samples that are close to each other and far from the rest slow the iteration
        # down. Incomplete factors of the matrix precondition it. Complete factors would be dense
        # for the graph of samples with many features.
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
        members = weak[cluster == index]
        arriving = leaving[members] + moves[members] @ solution
        solution[members] = _eliminate(moves[members][:, members].toarray(), arriving)
    shares: FloatArray = solution / solution.sum(axis=1, keepdims=True)
    return shares


def _iterate(
    moves: scipy.sparse.csr_array, leaving: FloatArray, preconditioner: LinearOperator | None
) -> FloatArray:
    """Return the best solution of ``(I - P) z = b`` by stabilised bi-conjugate gradients."""
    matrix = scipy.sparse.eye_array(len(leaving), format="csr") - moves
    solution, residual = np.zeros_like(leaving), leaving
    for _ in range(_MOST_REFINEMENTS):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # if they diverge
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
    """Return the rows that lost digits: their shares do not sum to 1, or are not finite."""
    return np.flatnonzero(~(np.abs(solution.sum(axis=1) - 1) < _ACCURATE))


def _by_cholesky(moves: FloatArray, leaving: FloatArray, log_degrees: FloatArray) -> FloatArray:
    """Solve ``(I - P) z = b``, or return zeros if numbers of it leave the range of floating point.

    ``P_ij = w_ij / d_i`` has the symmetric form ``w_ij / √(d_i d_j)`` in units of ``√d``.
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
    """Solve ``(I - P) z = b`` without subtractions; both arguments are overwritten.

    A random walk goes from sample i to sample j with probability ``P_ij``, and ends in class c with
    probability ``b_ic``. Each sample k in turn is eliminated: a walk that would come to k goes on
    directly to where k leads. The probability of leaving k is the sum of the probabilities of its
    ways out, and not 1 minus the probability of staying, which would lose digits.
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
