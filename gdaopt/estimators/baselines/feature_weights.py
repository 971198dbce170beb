"""Feature weights learned together with a classifier of the graph that they make.

By Newton steps after one prediction of labels (Mao, Cheung, Lin, Ji 2016), or weights and labels in
turn (Yang, Cheung, Stankovic 2018).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions

from gdaopt.backends.cvxpy import solve_program
from gdaopt.backends.registry import find_solver
from gdaopt.errors import InvalidInputError, SolverFailedError
from gdaopt.estimators.base import BaseMetricLearner
from gdaopt.estimators.harmonic import full_graph_shares
from gdaopt.estimators.inputs import Codes, Interval, Mask, class_signal, one_hot
from gdaopt.linalg.atoms import Atoms
from gdaopt.master.master_point import MasterFunction, MasterPoint
from gdaopt.objectives import GLR
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.scaling import TRACE_BOUNDS, read_trace_bound
from gdaopt.sets import DiagonalMetrics
from gdaopt.solving import solve
from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray, integer, number, read_only

_LARGEST_SPREAD = 1e70  # second derivatives contain the fourth power of it or of its inverse
_RIDGE = 1e-6  # added share of the Hessian's diagonal, so that copies of a feature share a step
_MOST_HALVINGS = 60
_UNDECIDED = 1e-2  # a smaller |x| can be the solver's inaccuracy, if a sample has tiny edge weights


def check_spread(X: FloatArray) -> None:
    """Refuse samples that are all the same, or whose distances leave floating point."""
    spread = float(np.abs(X / 2 - X[0] / 2).max()) * 2  # halved, since differences can overflow
    if spread == 0:
        raise InvalidInputError(
            f"X holds {len(X)} samples that are all the same, so that no metric tells them apart; "
            "pass samples that differ"
        )
    if not 1 / _LARGEST_SPREAD <= spread <= _LARGEST_SPREAD:
        raise InvalidInputError(
            f"X spans about {spread:.2g}, and powers of that leave the range of floating point; "
            "rescale X to values of about 1"
        )


def harmonic_codes(X: FloatArray, weights: FloatArray, codes: Codes, labelled: Mask) -> Codes:
    """Return the class of each sample: the given one, or that of `gdaopt.GraphClassifier`."""
    everyone = np.empty(len(X), dtype=np.intp)
    everyone[labelled] = codes
    if labelled.all():
        return everyone
    coordinates = (X - X[0]) * np.sqrt(weights)
    without_label, with_label = coordinates[~labelled], coordinates[labelled]
    towards = cdist(without_label, with_label, "sqeuclidean")
    shares, cut_off = full_graph_shares(
        cdist(without_label, without_label, "sqeuclidean"), towards, one_hot(codes)
    )
    predicted = shares.argmax(axis=1)
    predicted[cut_off] = codes[towards[cut_off].argmin(axis=1)]
    everyone[~labelled] = predicted
    return everyone


def regulariser_of_weights(X: FloatArray, signal: FloatArray, weights: FloatArray) -> MasterPoint:
    """Return ``log Σ_ij exp(-Σ_k c_k (x_ik - x_jk)²) ‖z_i - z_j‖²`` at the feature weights c."""
    size = X.shape[1]
    features = Atoms.of_features(np.arange(size))
    glr = GLR(X, signal)
    start = glr.at(np.zeros((size, size)))
    function = MasterFunction(
        start, features, log=True, estimates_curvature=glr.estimates_curvature
    )
    return function.at(np.append(weights, 0.0))


@dataclass(eq=False, repr=False, kw_only=True)
class JointClassifierWeights(BaseMetricLearner):
    """Learn feature weights together with a graph classifier (Mao et al. 2016).

    The graph of all samples has the edge weights ``w_ij = exp(-Σ_k c_k (x_ik - x_jk)²)``, so that
    the metric is ``diag(c)`` with the feature weights c. The missing labels are predicted once,
    under c = 1. A few Newton steps on c then make the edge weights between samples of different
    labels small.

    Parameters
    ----------
    missing_label : object, default=-1
        The value that stands for "no label" in `y`, see `gdaopt.GraphClassifier`.
    n_steps : int, default=4
        Number of Newton steps. The sum of these edge weights has no minimum, since it goes to 0 as
        c grows. So the number of steps determines the scale of c.

    Attributes
    ----------
    metric_, components_, feature_importances_, classes_, n_features_in_, feature_names_in_
        As of `BaseMetricLearner`.
    objective_ : ndarray of shape (n_steps + 1,)
        Logarithm of the sum of ``exp(-Σ_k c_k d_k)`` over the pairs of different labels, at the
        start and after each step. It never rises.
    transduction_ : ndarray of shape (n_samples,)
        The labels, given or predicted.
    n_iter_ : int
        Number of steps, always `n_steps`.

    Notes
    -----
    Source: Y. Mao, G. Cheung, C.-W. Lin, Y. Ji, *Joint Learning of Similarity Graph and Image
    Classifier from Partial Labels* (APSIPA 2016). Only the abstract was available, so that all
    formulas are reconstructed from it.

    The predicted labels are the sign of the harmonic solution under c = 1. Let
    ``d_k = (x_ik - x_jk)²`` for each pair of different labels, and ``g = -Σ d exp(-c·d)`` and
    ``H = Σ dd' exp(-c·d)`` over these pairs. A step is ``c ← max(c - H⁻¹g, 0)``, where 10⁻⁶ of
    the diagonal of H is added to H; it is halved until the sum does not rise. Four steps after one
    prediction came closest to the published error rates. With more than two classes, the class
    with the largest share wins, and all pairs of different labels count alike.

    A step does not depend on the units of the features, but the start c = 1 does: the method is
    meant for standardised features. The trace of the metric is not bounded.

    Examples
    --------
    >>> X = [[0.0, 2.0], [0.2, 0.1], [0.1, 1.0], [1.0, 0.0], [1.1, 1.1], [0.9, 2.1]]
    >>> learner = JointClassifierWeights().fit(X, ["a", "a", -1, "b", "b", -1])
    >>> learner.metric_.diagonal().round(2)
    array([5.37, 3.64])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "missing_label": "no_validation",
        "n_steps": [Interval(Integral, 1, None, closed="left")],
    }

    missing_label: Any = -1
    n_steps: int = 4

    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:
        check_spread(X)
        labelled = codes >= 0
        codes = codes[labelled]
        weights = np.ones(X.shape[1])
        everyone = harmonic_codes(X, weights, codes, labelled)
        self.transduction_ = self.classes_[everyone]
        # For different labels ‖z_i - z_j‖² is 2, and each pair occurs in both orders: a factor 4.
        point = regulariser_of_weights(X, one_hot(everyone), weights)
        history = [point.value]
        self.n_iter_ = integer("n_steps", self.n_steps, at_least=1)
        for _ in range(self.n_iter_):
            point = newton_step(point)
            history.append(point.value)
        self.objective_ = read_only(np.array(history) - np.log(4))
        return np.diag(point.weights)


def newton_step(point: MasterPoint) -> MasterPoint:
    """Return the point after ``c ← max(c - t H⁻¹g, 0)``.

    t is 1, or halved until Q does not rise: g is nowhere positive, so that leaving out an entry of
    c that has to stay at 0 makes the slope only more negative.
    """
    slope = point.gradient  # g/Q, because the point is of log Q
    # H/Q, with the term gg'/Q² that the Hessian of log Q lacks.
    curvature = point.hessian()[:-1, :-1] + np.outer(slope, slope)
    diagonal = np.diagonal(curvature)
    # In these units the diagonal of H is 1, so that features of any scale keep their digits.
    units = np.where(diagonal > 0, np.sqrt(diagonal), 1.0)
    scaled = curvature / units[:, None] / units
    np.fill_diagonal(scaled, 1 + _RIDGE)
    step = -scipy.linalg.solve(scaled, slope / units, assume_a="pos") / units
    for _ in range(_MOST_HALVINGS):
        moved = point.function.at(np.append(np.maximum(point.weights + step, 0.0), 0.0))
        if moved.value <= point.value:
            return moved
        step /= 2
    return point  # only round-off is left of the slope


@dataclass(eq=False, repr=False, kw_only=True)
class AlternatingClassifierWeights(BaseMetricLearner):
    """Learn feature weights and a binary graph classifier in turn (Yang et al. 2018).

    The graph of all samples has the edge weights ``w_ij = exp(-Σ_k c_k (x_ik - x_jk)²)``, so that
    the metric is ``diag(c)`` with the feature weights c. Each round predicts the missing labels
    under c, and then finds the c that minimises the graph Laplacian regulariser of all labels. The
    rounds end when the predicted labels repeat.

    Parameters
    ----------
    missing_label : object, default=-1
        The value that stands for "no label" in `y`, see `gdaopt.GraphClassifier`.
    labels : {"harmonic", "sdp"}, default="harmonic"
        How labels are predicted: ``"harmonic"`` takes the sign of the harmonic solution, ``"sdp"``
        that of the semidefinite relaxation of labels ±1. For each class and round, the relaxation
        takes well below a second with 30 unlabelled samples and half a minute with 90.
    solver : str, default="CLARABEL"
        Solver for ``"sdp"``: any solver with a semidefinite cone that CVXPY knows.
    trace_bound : {"auto", "K"} or float, default="auto"
        C, the bound of ``Σ_k c_k``: see `gdaopt.scaling`; with ``"K"`` the number of features.
    tolerance : float, default=1e-6
        The certified relative distance from the optimum at which a weight step stops.
    max_rounds : int, default=10
        Limit of the number of rounds. If it ends the fit, the fit warns.

    Attributes
    ----------
    metric_, components_, feature_importances_, classes_, n_features_in_, feature_names_in_
        As of `BaseMetricLearner`.
    label_step_ : {"harmonic", "sdp", "given"}
        How labels were predicted; ``"given"`` if all samples had labels.
    transduction_ : ndarray of shape (n_samples,)
        The labels, given or predicted, for which the weights were learned.
    trace_bound_ : float
        C.
    objective_ : ndarray of shape (n_rounds, 2)
        log Q under the labels of each round, before and after the weight step.
    gap_ : float
        Certified relative distance of the last Q from its minimum under the same labels.
    n_iter_ : int
        Number of rounds.

    Notes
    -----
    Source: C. Yang, G. Cheung, V. Stankovic, *Alternating Binary Classifier and Graph Learning from
    Partial Labels* (APSIPA 2018). Only the abstract was available, so that all formulas are
    reconstructed from it.

    The labels are the sign of the harmonic solution, or the sign of x in ``min tr(LX)`` subject to
    ``[[X, x], [x', 1]] ⪰ 0``, ``X_ii = 1`` and the given labels. The weights minimise
    ``Q(c) = Σ_ij w_ij(c) (z_i - z_j)²`` subject to ``c ≥ 0`` and ``Σc ≤ C``, by the method
    ``"certified"`` in the place of proximal gradients, from ``C/K`` or the last weights on. With
    more than two classes there is one relaxation for each class against the rest, the class with
    the largest x wins, and Q sums over the 0/1 signals of the classes. If the edge weights of a
    sample are below the solver's accuracy, the sample keeps its harmonic label. Where no label
    is missing, there is a single weight step.

    Examples
    --------
    >>> X = [[0.0, 2.0], [0.2, 0.1], [0.1, 1.0], [1.0, 0.0], [1.1, 1.1], [0.9, 2.1]]
    >>> y = ["a", "a", -1, "b", "b", -1]
    >>> learner = AlternatingClassifierWeights(trace_bound=2.0).fit(X, y)
    >>> learner.metric_.diagonal().round(2)
    array([1.62, 0.38])
    >>> learner = AlternatingClassifierWeights(labels="sdp", trace_bound=20.0).fit(X, y)
    >>> learner.label_step_, learner.transduction_.tolist()
    ('sdp', ['a', 'a', 'a', 'b', 'b', 'b'])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "missing_label": "no_validation",
        "labels": [StrOptions({"harmonic", "sdp"})],
        "solver": [str],
        "trace_bound": [StrOptions(set(TRACE_BOUNDS)), Interval(Real, 0, None, closed="neither")],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
    }

    missing_label: Any = -1
    labels: str = "harmonic"
    solver: str = "CLARABEL"
    trace_bound: str | float = "auto"
    tolerance: float = 1e-6
    max_rounds: int = 10

    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:
        check_spread(X)
        labelled = codes >= 0
        codes = codes[labelled]
        self.label_step_ = "given" if labelled.all() else self.labels
        tolerance = number("tolerance", self.tolerance, at_least=0)
        solver = None
        if self.label_step_ == "sdp":
            solver = find_solver(self.solver, "semidefinite", closed_form=False)
        of_labels = GLR(X[labelled], class_signal(codes))
        self.trace_bound_ = read_trace_bound(self.trace_bound, of_labels, DiagonalMetrics(1.0, 0.0))
        feasible_set = DiagonalMetrics(self.trace_bound_, 0.0)
        metric: FloatArray = np.eye(X.shape[1]) * self.trace_bound_ / X.shape[1]
        seen: set[bytes] = set()
        steps: list[Result] = []
        history = []
        while True:
            following = harmonic_codes(X, np.diagonal(metric), codes, labelled)
            if solver is not None:
                following = relaxed_codes(X, np.diagonal(metric), following, labelled, solver)
            repeated = following.tobytes() in seen
            if repeated or len(steps) == self.max_rounds:
                break
            everyone = following
            seen.add(everyone.tobytes())
            glr = GLR(X, class_signal(everyone))
            problem = MetricProblem(glr, feasible_set)
            steps.append(solve(problem, tolerance=tolerance, initial=metric))
            history.append([glr.log_value(M) for M in (metric, steps[-1].metric)])
            metric = steps[-1].metric
        self.transduction_ = self.classes_[everyone]
        self.objective_ = read_only(np.array(history))
        self.gap_ = steps[-1].relative_gap
        self.n_iter_ = len(steps)
        self._warn_of_limits(repeated, steps[-1])
        return metric

    def _warn_of_limits(self, repeated: bool, last: Result) -> None:
        reason = ""
        if not repeated:
            reason = f"the labels did not repeat in {self.max_rounds} rounds; raise max_rounds"
        elif last.status != "converged":
            reason = (
                f"the last weights are certified only to {self.gap_:.2g} of the optimum; rescale "
                f"the features, lower trace_bound (now {self.trace_bound_:.3g}) or raise tolerance"
            )
        if reason:
            warnings.warn(
                f"AlternatingClassifierWeights did not converge: {reason}",
                ConvergenceWarning,
                stacklevel=5,  # the caller of fit, through _learn and scikit-learn's decorator
            )


def relax_labels(
    weights: FloatArray, given: FloatArray, labelled: Mask, solver: str
) -> tuple[FloatArray, FloatArray]:
    """Minimise ``tr(LX)`` subject to ``[[X, x], [x', 1]] ⪰ 0``, ``X_ii = 1`` and the given labels.

    If ``x_i = ±1``, the cone forces ``X_ij = x_i x_j``. So the program that is solved has one row
    for each unlabelled sample, of which there is one at least, and one row for x. Returned are x
    and X, with diagonal 1: no labels ±1 have a smaller ``x'Lx`` than ``tr(LX)``.
    """
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
    lift = np.asarray(lifted.value, dtype=np.float64)
    lengths = np.sqrt(np.diagonal(lift))  # 1 up to the solver's accuracy
    lift = lift / np.outer(lengths, lengths)
    labels = np.empty(len(weights))
    labels[labelled], labels[~labelled] = given, lift[:-1, -1]
    products = np.outer(labels, labels)
    products[np.ix_(~labelled, ~labelled)] = lift[:-1, :-1]
    return labels, products


def relaxed_codes(
    X: FloatArray, feature_weights: FloatArray, start: Codes, labelled: Mask, solver: str
) -> Codes:
    """Return classes by relaxations of each against the rest; undecided samples keep `start`."""
    coordinates = (X - X[0]) * np.sqrt(feature_weights)
    squared = cdist(coordinates, coordinates, "sqeuclidean")
    np.fill_diagonal(squared, np.inf)
    weights = np.exp(squared.min() - squared)
    n_classes = int(start.max()) + 1
    classes = np.arange(n_classes) if n_classes > 2 else np.array([1])
    scores = np.column_stack(
        [
            relax_labels(weights, np.where(start[labelled] == c, 1.0, -1.0), labelled, solver)[0]
            for c in classes
        ]
    )
    if n_classes == 2:
        scores = np.column_stack([-scores[:, 0], scores[:, 0]])
    best = np.sort(scores, axis=1)
    decided = best[:, -1] - best[:, -2] > 2 * _UNDECIDED
    return np.where(decided, scores.argmax(axis=1), start)
