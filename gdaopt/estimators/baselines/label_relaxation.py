"""Labels ±1 that cut the least edge weight of a graph, by a semidefinite relaxation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from gdaopt.backends import solve_program
from gdaopt.errors import SolverFailedError
from gdaopt.estimators.labels import Codes, Mask
from gdaopt.support.validation import FloatArray

__all__ = ["LabelRelaxation", "relax_labels", "relaxed_codes"]

_UNDECIDED = 1e-2  # a smaller |x| can be the solver's inaccuracy, if a sample has tiny edge weights


@dataclass(frozen=True, eq=False)
class LabelRelaxation:
    """The relaxed labels.

    Attributes
    ----------
    labels : ndarray of shape (N,)
        x: ±1 for given labels, and between -1 and 1 for the others.
    products : ndarray of shape (N, N)
        X, with diagonal 1. The matrix ``[[X, x], [x', 1]]`` is positive semidefinite up to the
        solver's accuracy.
    value : float
        ``tr(LX)``. Up to the solver's accuracy, no labels ±1 have a smaller ``x'Lx``.
    """

    labels: FloatArray
    products: FloatArray
    value: float


def relax_labels(
    weights: FloatArray, given: FloatArray, labelled: Mask, solver: str
) -> LabelRelaxation:
    """Minimise ``tr(LX)`` subject to ``[[X, x], [x', 1]] ⪰ 0``, ``X_ii = 1`` and the given labels.

    If ``x_i = ±1``, the cone forces ``X_ij = x_i x_j``. So the program that is solved has one row
    for each unlabelled sample and one row for x.

    Parameters
    ----------
    weights : ndarray of shape (N, N)
        Edge weights, symmetric and non-negative, with diagonal 0.
    given : ndarray of shape (n_labelled,)
        The given labels ±1.
    labelled : ndarray of bool, shape (N,)
        Which samples have a label. At least one has none.
    solver : str
        Canonical name of a solver with a semidefinite cone.

    Returns
    -------
    LabelRelaxation

    Raises
    ------
    SolverFailedError
        If the solver fails, see `gdaopt.backends.solve_program`, or returns no finite numbers.

    Examples
    --------
    On a path from the label 1 to the label -1, the weaker edge is cut:

    >>> W = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> ends = np.array([True, False, True])
    >>> relaxed = relax_labels(W, np.array([1.0, -1.0]), ends, "CLARABEL")
    >>> relaxed.labels.round(4), round(relaxed.value, 4)
    (array([ 1.,  1., -1.]), 4.0)
    """
    import cvxpy as cp  # imported on demand: importing gdaopt loads no solver

    among = weights[np.ix_(~labelled, ~labelled)]
    pull = weights[np.ix_(~labelled, labelled)] @ given
    # tr(LX) is a constant minus Σ_ij w_ij X_ij, since X_ii is 1.
    reward = np.block([[among, pull[:, None]], [pull[None, :], np.zeros((1, 1))]])
    unit = float(np.abs(reward).max()) or 1.0
    lifted = cp.Variable(reward.shape, PSD=True)
    problem = cp.Problem(
        cp.Maximize(cp.sum(cp.multiply(reward / unit, lifted))), [cp.diag(lifted) == 1]
    )
    solve_program(problem, solver, name="relaxation of the labels")
    if lifted.value is None or not np.isfinite(lifted.value).all():
        raise SolverFailedError(f"{solver} returned {lifted.value} for the labels")
    found = np.asarray(lifted.value, dtype=np.float64)
    lengths = np.sqrt(np.diagonal(found))  # 1 up to the solver's accuracy
    found = found / np.outer(lengths, lengths)
    labels = np.empty(len(weights))
    labels[labelled], labels[~labelled] = given, found[:-1, -1]
    products = np.outer(labels, labels)
    products[np.ix_(~labelled, ~labelled)] = found[:-1, :-1]
    value = float((weights * (1 - products)).sum())
    return LabelRelaxation(labels, products, value)


def relaxed_codes(
    X: FloatArray,
    feature_weights: FloatArray,
    start: Codes,
    labelled: Mask,
    solver: str,
) -> Codes:
    """Return the class of each sample by one relaxation for each class against the rest.

    For two classes one relaxation is enough.

    Parameters
    ----------
    X : ndarray of shape (N, K)
        Samples.
    feature_weights : ndarray of shape (K,)
        c of ``w_ij = exp(-Σ_k c_k (x_ik - x_jk)²)``.
    start : ndarray of int, shape (N,)
        Class of each sample, from 0 on. Labelled samples keep it. So do unlabelled samples that
        the relaxation does not decide, because their edge weights are so much smaller than the
        largest one that the solver does not resolve them.
    labelled : ndarray of bool, shape (N,)
        Which samples have a label. At least one has none.
    solver : str
        Canonical name of a solver with a semidefinite cone.

    Returns
    -------
    ndarray of int, shape (N,)
        Class of each sample, from 0 on.

    Examples
    --------
    >>> X, labelled = np.array([[0.0], [1.0], [1.8]]), np.array([True, False, True])
    >>> relaxed_codes(X, np.ones(1), np.array([0, 0, 1]), labelled, "CLARABEL").tolist()
    [0, 1, 1]
    """
    coordinates = (X - X[0]) * np.sqrt(feature_weights)
    squared = cdist(coordinates, coordinates, "sqeuclidean")
    np.fill_diagonal(squared, np.inf)
    weights = np.exp(squared.min() - squared)
    n_classes = int(start.max()) + 1
    classes = np.arange(n_classes) if n_classes > 2 else np.array([1])
    scores = np.column_stack(
        [
            relax_labels(
                weights, np.where(start[labelled] == c, 1.0, -1.0), labelled, solver
            ).labels
            for c in classes
        ]
    )
    if n_classes == 2:
        scores = np.column_stack([-scores[:, 0], scores[:, 0]])
    best = np.sort(scores, axis=1)
    decided = best[:, -1] - best[:, -2] > 2 * _UNDECIDED
    codes: Codes = np.where(decided, scores.argmax(axis=1), start)
    return codes
