"""Feature graph learning: projected gradient steps on the diagonal and on single rows of M."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions

from gdaopt.errors import InvalidInputError
from gdaopt.estimators.base import BaseMetricLearner
from gdaopt.estimators.inputs import Codes, Interval, class_signal
from gdaopt.linalg.directions import ColumnDirection, DiagonalDirection, Direction
from gdaopt.linalg.projection import project_on_simplex
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.objectives import GLR
from gdaopt.objectives.protocol import Point
from gdaopt.scaling import TRACE_BOUNDS, read_trace_bound
from gdaopt.sets import PositiveDefiniteMetrics
from gdaopt.support.validation import FloatArray, integer, number

_PATH = 0.1  # entries beside the diagonal at the start
_RATE = 0.1  # the first step size, times the number of samples
_GROWTH = 1.01  # factor of the step size after each step
_LEAST = 1e-9  # lower bound of the eigenvalues, so that they are positive in spite of round-off
_MOST_HALVINGS = 60


@dataclass(eq=False, repr=False, kw_only=True)
class FeatureGraphLearning(BaseMetricLearner):
    """Learn a positive definite metric of bounded trace by feature graph learning (FGL).

    The learner lowers the graph Laplacian regulariser of the labels, `gdaopt.GLR`, by projected
    gradient steps on the diagonal and then on each row, in rounds. Gershgorin's discs keep M
    positive definite in the steps on the diagonal, and a Schur complement in the steps on a row.
    Both conditions are stricter than necessary, so that the method stops well above the optimum
    over `gdaopt.PositiveDefiniteMetrics`.

    Parameters
    ----------
    trace_bound : {"auto", "K"} or float, default="auto"
        C: see `gdaopt.scaling`; with ``"K"`` the number of features, as in the published
        comparisons, which use z-scores.
    tolerance : float, default=1e-5
        The method stops when a round, over the diagonal and all rows, lowers the objective by at
        most this much.
    inner_tolerance : float, default=1e-3
        A round goes on to the next row when a step lowers the objective by at most this much.
    max_iterations : int, default=1000
        Limit of the number of rounds, and of the steps on the diagonal or on a row in one round. If
        a fit reaches either limit, it warns.

    Attributes
    ----------
    metric_, components_, feature_importances_, classes_, n_features_in_, feature_names_in_
        As of `BaseMetricLearner`.
    trace_bound_ : float
        C.
    objective_ : ndarray of shape (n_steps + 1,)
        ``z'L(M)z`` for labels z = ±1, at the start and after each step. It never rises. With more
        than two classes it is the sum over each class against the rest.
    n_iter_ : int
        Number of rounds.

    Notes
    -----
    Source: Hu, Gao, Cheung, Guo, *Feature Graph Learning for 3D Point Cloud Denoising* (IEEE
    Transactions on Signal Processing 2020; preprint 2019).

    * *From code* that the authors compared with later: M starts as the identity with 0.1 at the
      entries (i, i ± 1). The first step size lr is ``0.1 / N``. It is halved when the objective
      rises, and otherwise multiplied by 1.01. A step on the diagonal is ``m ← max(m - lr·g, f)``
      with the floors ``f_i = Σ_j |m_ij|``. If the new diagonal exceeds the trace bound, one number
      is subtracted from all its entries, but no entry goes below its floor. A step on row i is
      ``s ← s - lr·g``, shortened to the length ``√(λ_min(M_-i) m_ii)``, where ``M_-i`` is M without
      row and column i. If the floors would then add up to more than C, the row stays as it is. The
      g are twice the derivatives of ``z'Lz``, and the two equal entries of M off the diagonal count
      as one variable. The tolerances and limits are from the code, too.
    * *This package's own:* a step that raises the objective is undone and tried again with half the
      size; the code keeps it. If steps of all sizes raise the objective, no step is taken. All
      floors are computed from the current M. The eigenvalues stay at least ``10⁻⁹ C/K`` above 0.
      The algorithm runs in units of C/K, so that the result does not depend on the scale of the
      features with ``"auto"``. With more than two classes the objective is a sum.

    In each round, each row takes the smallest eigenvalue of a matrix of size K - 1. A fit takes
    less than a second for K = 100, and about ten minutes for K = 1000.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [0.1, 2.0], [1.0, 0.1], [1.1, 2.1]], ["a", "a", "b", "b"]
    >>> learner = FeatureGraphLearning().fit(X, y)
    >>> bool(np.linalg.eigvalsh(learner.metric_)[0] > 0)
    True
    >>> learner.objective_[[0, -1]].round(2)
    array([2.95, 1.95])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "trace_bound": [StrOptions(set(TRACE_BOUNDS)), Interval(Real, 0, None, closed="neither")],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "inner_tolerance": [Interval(Real, 0, None, closed="left")],
        "max_iterations": [Interval(Integral, 1, None, closed="left")],
    }

    trace_bound: str | float = field(default="auto", kw_only=False)
    tolerance: float = 1e-5
    inner_tolerance: float = 1e-3
    max_iterations: int = 1000

    def _learn(self, X: FloatArray, codes: Codes) -> FloatArray:
        signal = 2 * class_signal(codes) - 1
        self.trace_bound_ = read_trace_bound(
            self.trace_bound, GLR(X, signal), PositiveDefiniteMetrics(1.0, 0.0)
        )
        unit = self.trace_bound_ / X.shape[1]
        objective = GLR(np.sqrt(unit) * X, signal)
        problem = objective.at(start_metric(X.shape[1])).degenerate_reason()
        if problem is not None:
            raise InvalidInputError(f"trace_bound {self.trace_bound_:g}: {problem}")
        descent = FeatureGraphDescent(
            objective,
            len(X),
            number("tolerance", self.tolerance, at_least=0),
            number("inner_tolerance", self.inner_tolerance, at_least=0),
            integer("max_iterations", self.max_iterations, at_least=1),
        )
        self.objective_ = np.array([point.value / 2 for _, point in descent.steps()])
        self.n_iter_ = descent.rounds
        if descent.n_limits:
            warnings.warn(
                "FeatureGraphLearning did not converge: "
                f"max_iterations = {self.max_iterations} was reached {descent.n_limits} times; "
                "raise max_iterations, or tolerance and inner_tolerance",
                ConvergenceWarning,
                stacklevel=4,  # the caller of fit, through scikit-learn's decorator
            )
        metric: FloatArray = unit * descent.point.metric
        return metric


@dataclass(eq=False)
class FeatureGraphDescent:
    """Alternating steps on the diagonal and on the rows, in units in which the trace bound is K.

    Three conditions hold after every step: the trace is at most K, the floors ``f_i = Σ_j |m_ij|``
    add up to at most K, and M is positive definite. After a step on the diagonal, each entry of the
    diagonal is also at least its floor.

    The objective is the regulariser of N samples with signals ±1. `point` is it at the current
    metric, `rounds` the number of completed rounds, and `n_limits` says how often `max_iterations`
    ended the steps on some entries, or the rounds.
    """

    objective: GLR
    n_samples: int
    tolerance: float
    inner_tolerance: float
    max_iterations: int
    rounds: int = 0
    n_limits: int = 0

    def __post_init__(self) -> None:
        self.point = self.objective.at(start_metric(self.objective.n_features))
        self.rate = _RATE / self.n_samples

    def steps(self) -> Iterator[tuple[int | None, Point]]:
        """Yield the objective at the start and after each step, with the row, None for others."""
        yield None, self.point
        size = len(self.point.metric)
        while True:
            before = self.point.value
            yield from self._descend(_Diagonal(self.point.metric))
            for row in range(size if size > 1 else 0):
                yield from self._descend(_Row(self.point.metric, row))
            self.rounds += 1
            if before - self.point.value <= 2 * self.tolerance:
                return
            if self.rounds >= self.max_iterations:
                self.n_limits += 1
                return

    def _descend(self, block: _Diagonal | _Row) -> Iterator[tuple[int | None, Point]]:
        for _ in range(self.max_iterations):
            lower = self._lower(block)
            if lower is None:
                return
            gain = self.point.value - lower.value
            self.point = lower
            self.rate *= _GROWTH
            yield block.row, self.point
            if gain <= 2 * self.inner_tolerance:
                return
        self.n_limits += 1

    def _lower(self, block: _Diagonal | _Row) -> Point | None:
        """Return a point that is not higher, or None if no step is to be taken."""
        gradient = block.gradient(self.point)
        rate = self.rate
        for halvings in range(_MOST_HALVINGS):
            direction = block.direction(self.point.metric, rate * gradient)
            if direction is None:
                return None
            trial = self.point.line(direction).at(1.0)
            if trial.value <= self.point.value:
                self.rate = rate
                return trial
            if halvings == 0 and not block.contains(self.point.metric):
                # Smaller and smaller steps lead to the nearest entries that meet the condition.
                limit = block.direction(self.point.metric, 0 * gradient)
                if limit is None or self.point.line(limit).at(1.0).value > self.point.value:
                    return None
            rate /= 2
        return None


class _Diagonal:
    """The diagonal, while the rows are fixed: entries at least their floors, of a sum at most K."""

    row = None

    def __init__(self, metric: FloatArray) -> None:
        self._floors = floors(metric) + _LEAST

    def gradient(self, point: Point) -> FloatArray:
        """Return the derivatives by the entries, shape (K,)."""
        return np.diagonal(point.gradient())

    def direction(self, metric: FloatArray, step: FloatArray) -> Direction:
        """Return the change to the allowed entries nearest to the entries minus `step`."""
        diagonal = np.diagonal(metric)
        above = np.maximum(diagonal - step - self._floors, 0.0)
        budget = len(metric) - float(self._floors.sum())
        if above.sum() > budget:
            above = project_on_simplex(above, budget)
        return DiagonalDirection(self._floors + above - diagonal)

    def contains(self, metric: FloatArray) -> bool:
        """Say whether the entries meet their condition."""
        return bool((np.diagonal(metric) >= self._floors).all())


class _Row:
    """The entries of one row i off the diagonal, while the others are fixed; as `_Diagonal`.

    Their length keeps M positive definite, and the sum of their absolute values keeps the sum of
    the floors within K. By the Schur complement, M is positive definite if ``s'M_-i⁻¹s < m_ii`` for
    the row s, where M_-i is M without row and column i. A length below ``√(λ_min(M_-i) m_ii)`` is
    sufficient. Here both factors are those of ``M - 10⁻⁹ I``.
    """

    def __init__(self, metric: FloatArray, row: int) -> None:
        self.row = row
        others = np.arange(len(metric)) != row
        smallest = smallest_eigenvalue(metric[np.ix_(others, others)])
        room = max(smallest - _LEAST, 0.0) * max(float(metric[row, row]) - _LEAST, 0.0)
        self._radius = float(np.sqrt(room))
        # Each entry counts in two floors, that of its row and that of its column.
        sums = floors(metric)
        rest = float(sums.sum()) - 2 * float(sums[row])
        self._budget = (1 - 2 * _LEAST) * len(metric) - rest

    def gradient(self, point: Point) -> FloatArray:
        gradient = 2 * point.gradient()[:, self.row]
        gradient[self.row] = 0.0
        return gradient

    def direction(self, metric: FloatArray, step: FloatArray) -> Direction | None:
        """Return the change; None if no step is to be taken."""
        present = metric[self.row].copy()
        present[self.row] = 0.0
        entries = present - step
        length = float(np.linalg.norm(entries))
        if length > self._radius:
            entries *= self._radius / length
        if 2 * np.abs(entries).sum() > self._budget:
            return None
        return ColumnDirection(self.row, entries - present)

    def contains(self, metric: FloatArray) -> bool:
        entries = np.delete(metric[self.row], self.row)
        return float(np.linalg.norm(entries)) <= self._radius


def floors(metric: FloatArray) -> FloatArray:
    """Return ``Σ_j |m_ij|`` over j ≠ i: with a diagonal above, M is positive definite."""
    magnitudes = np.abs(metric)
    np.fill_diagonal(magnitudes, 0.0)
    sums: FloatArray = magnitudes.sum(axis=1)
    return sums


def start_metric(size: int) -> FloatArray:
    """Return the K×K metric to start from: the identity with 0.1 beside the diagonal."""
    return np.eye(size) + _PATH * (np.eye(size, k=1) + np.eye(size, k=-1))
