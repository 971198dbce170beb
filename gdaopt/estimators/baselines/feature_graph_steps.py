"""The steps of feature graph learning, in units in which the trace bound is K.

The notes of `gdaopt.estimators.FeatureGraphLearning` say which formulas are published, from code or
reconstructed. Three conditions hold after every step: the trace is at most K, the floors
``f_i = Σ_j |m_ij|`` add up to at most K, and M is positive definite. After a step on the diagonal,
each entry of the diagonal is also at least its floor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gdaopt.linalg.directions import ColumnDirection, DiagonalDirection, Direction
from gdaopt.linalg.projection import project_on_simplex
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.objectives import GLR
from gdaopt.objectives.pair_objective import PairPoint
from gdaopt.support.validation import FloatArray

__all__ = ["FeatureGraphDescent", "Step", "floors", "start_metric"]

_PATH = 0.1  # entries beside the diagonal at the start
_RATE = 0.1  # the first step size, times the number of samples
_GROWTH = 1.01  # factor of the step size after each step
_LEAST = 1e-9  # lower bound of the eigenvalues, so that they are positive in spite of round-off
_MOST_HALVINGS = 60


@dataclass(frozen=True, eq=False)
class Step:
    """A metric on the way of the method.

    Attributes
    ----------
    changed : int or None
        The row that the step changed. It is None at the start and for the diagonal.
    metric : ndarray of shape (K, K)
        M.
    objective : float
        ``z'L(M)z``.
    """

    changed: int | None
    metric: FloatArray
    objective: float


class FeatureGraphDescent:
    """Alternating steps on the diagonal and on the rows.

    Parameters
    ----------
    objective : GLR
        The regulariser of signals ±1, on features in whose units the trace bound is K.
    n_samples : int
        N, the number of samples.
    tolerance, inner_tolerance, max_iterations : float, float and int
        See `gdaopt.estimators.FeatureGraphLearning`.

    Attributes
    ----------
    point : PairPoint
        The objective at the current metric.
    rate : float
        The current step size.
    rounds : int
        Number of completed rounds.
    n_limits : int
        How often `max_iterations` ended the steps on some entries, or the rounds.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.1, 2.0], [1.0, 0.1], [1.1, 2.1]])
    >>> descent = FeatureGraphDescent(GLR(X, [-1, -1, 1, 1]), 4, 1e-5, 1e-3, 1000)
    >>> *_, last = descent.steps()
    >>> last.metric.round(3), descent.rounds
    (array([[ 1.715, -0.037],
           [-0.037,  0.285]]), 12)
    """

    def __init__(
        self,
        objective: GLR,
        n_samples: int,
        tolerance: float,
        inner_tolerance: float,
        max_iterations: int,
    ) -> None:
        self.point = objective.at(start_metric(objective.n_features))
        self.rate = _RATE / n_samples
        self.tolerance, self.inner_tolerance, self.max_iterations = (
            tolerance,
            inner_tolerance,
            max_iterations,
        )
        self.rounds = 0
        self.n_limits = 0

    def steps(self) -> Iterator[Step]:
        """Yield the start, and the metric after each step."""
        yield self._step(None)
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

    def _descend(self, block: _Block) -> Iterator[Step]:
        """Yield the metric after each step on some entries of M."""
        for _ in range(self.max_iterations):
            lower = self._lower(block)
            if lower is None:
                return
            gain = self.point.value - lower.value
            self.point = lower
            self.rate *= _GROWTH
            yield self._step(block.row)
            if gain <= 2 * self.inner_tolerance:
                return
        self.n_limits += 1

    def _lower(self, block: _Block) -> PairPoint | None:
        """Return a point that is not higher, or None if no step is to be taken."""
        gradient = block.gradient(self.point)
        rate = self.rate
        for halvings in range(_MOST_HALVINGS):
            direction = block.direction(self.point.metric, rate * gradient)
            if direction is None:
                return None
            trial = self.point.moved(direction, 1.0)
            if trial.value <= self.point.value:
                self.rate = rate
                return trial
            if halvings == 0 and not block.contains(self.point.metric):
                # Smaller and smaller steps lead to the nearest entries that meet the condition.
                limit = block.direction(self.point.metric, 0 * gradient)
                if limit is None or self.point.moved(limit, 1.0).value > self.point.value:
                    return None
            rate /= 2
        return None

    def _step(self, changed: int | None) -> Step:
        return Step(changed, self.point.metric, self.point.value / 2)


class _Block(Protocol):
    """Entries of M that change together, and the condition on them while the others are fixed."""

    @property
    def row(self) -> int | None:
        """The row of the entries, or None for the diagonal."""

    def gradient(self, point: PairPoint) -> FloatArray:
        """Return the derivatives by the entries, shape (K,)."""

    def direction(self, metric: FloatArray, step: FloatArray) -> Direction | None:
        """Return the change to the allowed entries nearest to the entries minus `step`.

        None says that no step is to be taken.
        """

    def contains(self, metric: FloatArray) -> bool:
        """Say whether the entries meet the condition."""


class _Diagonal:
    """The diagonal. Its entries are at least their floors, and their sum is at most K."""

    row = None

    def __init__(self, metric: FloatArray) -> None:
        self._floors = floors(metric) + _LEAST

    def gradient(self, point: PairPoint) -> FloatArray:
        return point.gradient_diagonal()

    def direction(self, metric: FloatArray, step: FloatArray) -> Direction:
        diagonal = np.diagonal(metric)
        above = np.maximum(diagonal - step - self._floors, 0.0)
        budget = len(metric) - float(self._floors.sum())
        if above.sum() > budget:
            above = project_on_simplex(above, budget)
        return DiagonalDirection(self._floors + above - diagonal)

    def contains(self, metric: FloatArray) -> bool:
        return bool((np.diagonal(metric) >= self._floors).all())


class _Row:
    """The entries of one row off the diagonal.

    Their length keeps M positive definite, and the sum of their absolute values keeps the sum of
    the floors within K. By the Schur complement, M is positive definite if ``s'M_-i⁻¹s < m_ii`` for
    the row s, where M_-i is M without row and column i. A length below ``√(λ_min(M_-i) m_ii)`` is
    sufficient. Here both factors are those of ``M - 10⁻⁹ I``.

    Parameters
    ----------
    metric : ndarray of shape (K, K)
        M.
    row : int
        i.
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

    def gradient(self, point: PairPoint) -> FloatArray:
        gradient = 2 * point.gradient_column(self.row)
        gradient[self.row] = 0.0
        return gradient

    def direction(self, metric: FloatArray, step: FloatArray) -> Direction | None:
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
    """Return the floors ``Σ_j |m_ij|`` over j ≠ i, for each i.

    If each entry of the diagonal is above its floor, M is positive definite.

    Examples
    --------
    >>> floors(np.array([[5.0, -1.0, 2.0], [-1.0, 5.0, 0.0], [2.0, 0.0, 5.0]]))
    array([3., 1., 2.])
    """
    magnitudes = np.abs(metric)
    np.fill_diagonal(magnitudes, 0.0)
    sums: FloatArray = magnitudes.sum(axis=1)
    return sums


def start_metric(size: int) -> FloatArray:
    """Return the K×K metric to start from, of trace K.

    Examples
    --------
    >>> start_metric(3)
    array([[1. , 0.1, 0. ],
           [0.1, 1. , 0.1],
           [0. , 0.1, 1. ]])
    """
    metric: FloatArray = np.eye(size) + _PATH * (np.eye(size, k=1) + np.eye(size, k=-1))
    return metric
