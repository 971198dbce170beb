"""Objectives of your own, from a value and a gradient: a subclass, or a function."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import Direction
from gdaopt.objectives.base import Objective
from gdaopt.objectives.matrix_point import MatrixLine, MatrixPoint
from gdaopt.objectives.protocol import Expression, Terms
from gdaopt.objectives.round_off import RoundOff, assumed_round_off
from gdaopt.support.deadline import check_time
from gdaopt.support.text import shortened
from gdaopt.support.validation import (
    FloatArray,
    flag,
    integer,
    read_only,
    returned_numbers,
    symmetric_matrix,
)

_EXAMPLE = "lambda M: (np.sum(M**2) / 2, M)"
_EXPRESSION = "lambda M: cp.sum_squares(M) / 2"
_DIFFERENCE = 1e-6  # the step of the gradient's differences, in units of tr M / K


class Evaluation(Protocol):
    """Value and gradient at one metric, each computed when it is asked for."""

    @property
    def value(self) -> float:
        """``Q(M)``."""

    def gradient(self) -> FloatArray:
        """Return ``∇Q(M)``."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """What `value` and `gradient` of an objective return."""

    objective: DenseObjective
    metric: FloatArray

    @property
    def value(self) -> float:
        name = f"{type(self.objective).__name__}.value"
        return float(_read_returned(self.objective.value(self.metric), (), name))

    def gradient(self) -> FloatArray:
        name = f"{type(self.objective).__name__}.gradient"
        return _read_returned(self.objective.gradient(self.metric), self.metric.shape, name)


class DenseObjective(Objective):
    """Base class for objectives of your own: write ``value`` and ``gradient``.

    Parameters
    ----------
    n_features : int
        K, the size of the metric matrices.

    Examples
    --------
    The squared distance to a target matrix:

    >>> import gdaopt as gda
    >>> class Nearest(gda.DenseObjective):
    ...     def __init__(self, target):
    ...         super().__init__(n_features=len(target))
    ...         self.target = target
    ...
    ...     def value(self, metric):
    ...         return float(np.sum((metric - self.target) ** 2)) / 2
    ...
    ...     def gradient(self, metric):
    ...         return metric - self.target
    >>> objective = Nearest(np.array([[3.0, -1.0], [-1.0, 3.0]]))
    >>> gda.check_objective(objective)
    >>> problem = gda.MetricProblem(objective, gda.GraphMetrics(trace_bound=10, min_eigenvalue=0.1))
    >>> gda.solve(problem, "alternating", solver="analytic", tolerance=1e-9).metric.round(3)
    array([[ 3., -1.],
           [-1.,  3.]])
    """

    def __init__(self, n_features: int) -> None:
        self.n_features = integer("n_features", n_features, at_least=1)

    @abstractmethod
    def value(self, metric: FloatArray) -> float:
        """Return ``Q(M)``, infinite outside of Q's domain."""

    @abstractmethod
    def gradient(self, metric: FloatArray) -> FloatArray:
        """Return ``∇Q(M)``, symmetric K×K."""

    def expression(self, _metric: Expression, /) -> Expression:
        """Return Q as a CVXPY expression; override it to use the conic baselines."""
        raise InvalidInputError(
            f"{type(self).__name__} has no CVXPY expression; define expression(metric), pass "
            "expression= to a FunctionObjective, or take a method that needs none, as 'certified'"
        )

    def to_cvxpy(self, metric: Expression) -> Terms:
        return self.expression(metric), []

    def round_off(self, point: DensePoint) -> RoundOff:
        """Return how exact value and gradient are; override it if they lose more digits."""
        return assumed_round_off(point)

    def evaluate(self, metric: FloatArray) -> Evaluation:
        """Return value and gradient; override it if they share results."""
        return _Asked(self, metric)

    def at(self, metric: FloatArray) -> DensePoint:
        return DensePoint(self, symmetric_matrix("metric", metric, self.n_features))


class DensePoint(MatrixPoint):
    """The objective at one metric: everything comes from the dense gradient, which is kept."""

    objective: DenseObjective

    @cached_property
    def evaluation(self) -> Evaluation:
        """What the objective computes here."""
        return self.objective.evaluate(self.metric)

    @cached_property
    def value(self) -> float:
        return self.evaluation.value

    @cached_property
    def _gradient(self) -> FloatArray:
        return read_only(self.evaluation.gradient())

    def gradient(self) -> FloatArray:
        return self._gradient

    def round_off(self) -> RoundOff:
        return self.objective.round_off(self)

    def curvature(self, atoms: Atoms) -> FloatArray:
        """Return the second derivatives along atoms, by differences of gradients."""
        step = _DIFFERENCE * (float(np.trace(self.metric)) / len(self.metric) or 1.0)
        here = atoms.quadratic_forms(self._gradient)
        rows = []
        for k in range(len(atoms)):
            check_time()
            for length in (step, -step):  # if one of them leaves Q's domain
                moved = atoms[k : k + 1].added_to(self.metric, np.array([length]))
                there = atoms.quadratic_forms(self.objective.gradient(moved))
                if np.isfinite(there).all():
                    break
            rows.append((there - here) / length)
        hessian = np.array(rows)
        return (hessian + hessian.T) / 2

    def line(self, direction: Direction) -> _DenseLine:
        return _DenseLine(self, direction)

    def degenerate_reason(self) -> str | None:
        if not (math.isfinite(self.value) and np.isfinite(self._gradient).all()):
            return f"the objective or its gradient is not finite here (value {self.value})"
        return None


class _DenseLine(MatrixLine):
    """The objective along a direction, evaluated at the moved metrics; the last one is kept."""

    def __init__(self, point: DensePoint, direction: Direction) -> None:
        super().__init__(point, direction)
        self._last: tuple[float, MatrixPoint] = 0.0, point

    def at(self, gamma: float) -> MatrixPoint:
        if gamma != self._last[0]:
            self._last = gamma, super().at(gamma)
        return self._last[1]

    def value(self, gamma: float) -> float:
        return self.at(gamma).value

    def derivatives(self, gamma: float) -> tuple[float, float]:
        return self.direction.inner(self.at(gamma).gradient()), math.nan


def check_function(name: str, function: Any, example: str) -> None:
    """Refuse what is no function of the metric."""
    if not callable(function) or isinstance(function, type):
        raise InvalidInputError(
            f"{name} must be a function of the metric, such as {example}, got {shortened(function)}"
        )


def _read_returned(answer: Any, shape: tuple[int, ...], name: str) -> FloatArray:
    """Return as an array of this shape what a function of the user's has returned."""
    try:
        array = returned_numbers(answer)
    except (OverflowError, TypeError, ValueError):
        array = np.empty(0)
    if array.shape != shape and (shape or array.size != 1):
        expected = f"an array of shape {shape}" if shape else "a number"
        raise InvalidInputError(f"{name} returned {shortened(answer)}; it must return {expected}")
    return array.reshape(shape)


class FunctionObjective(DenseObjective):
    """An objective from a function that returns its value and its gradient.

    Parameters
    ----------
    value_and_gradient : callable
        Takes a symmetric K×K array of float64, which it must not change, and returns the pair of
        ``Q(M)``, a number, and of ``∇Q(M)``, K×K, such that ``dQ = ⟨∇Q, dM⟩`` over all entries. A
        gradient that is not symmetric is replaced by its symmetric part. Outside of the domain of Q
        the value is ``inf``.
    n_features : int
        K, the size of the metric matrices.
    convex : bool, optional
        Set it to False for a function that is not convex: runs then end as *stationary*, without a
        certificate. `gdaopt.check_objective` tests whether a function is convex.
    expression : callable, optional
        Q as a function of a symmetric CVXPY expression, for the methods ``"sdp"`` and ``"socp"``.

    Raises
    ------
    InvalidInputError
        When the function does not return a number and a K×K array without NaN at the identity
        matrix, its first argument.

    Examples
    --------
    >>> import gdaopt as gda
    >>> target = np.array([[3.0, -1.0], [-1.0, 3.0]])
    >>> def nearest(metric):
    ...     return np.sum((metric - target) ** 2) / 2, metric - target
    >>> objective = gda.FunctionObjective(nearest, n_features=2)
    >>> gda.check_objective(objective)
    >>> problem = gda.MetricProblem(objective, gda.GraphMetrics(trace_bound=4.0))
    >>> gda.solve(problem, "certified").metric.round(3)
    array([[ 2., -1.],
           [-1.,  2.]])

    Functions of JAX and PyTorch are in ``docs/extending/objective.md``.
    """

    def __init__(
        self,
        value_and_gradient: Callable[[FloatArray], tuple[Any, Any]],
        n_features: int,
        *,
        convex: bool = True,
        expression: Callable[[Expression], Expression] | None = None,
    ) -> None:
        super().__init__(n_features)
        check_function("value_and_gradient", value_and_gradient, _EXAMPLE)
        if expression is not None:
            check_function("expression", expression, _EXPRESSION)
        self.convex = flag("convex", convex)
        self._function = value_and_gradient
        self._expression_of = expression
        at_identity = self.evaluate(np.eye(self.n_features))
        value = at_identity.value
        if np.isnan(value) or (np.isfinite(value) and np.isnan(at_identity.gradient()).any()):
            what = "the value" if np.isnan(value) else "the gradient"
            raise InvalidInputError(
                f"{shortened(value_and_gradient)} returns NaN in {what} at the identity matrix; it "
                "must return numbers, and inf if the objective is not defined"
            )

    def __repr__(self) -> str:
        name = getattr(self._function, "__name__", type(self._function).__name__)
        return f"FunctionObjective({name})"

    _title = __repr__

    def evaluate(self, metric: FloatArray) -> Evaluation:
        """Call the function; refuse what is no pair of a number and a K×K array."""
        name, size = shortened(self._function), self.n_features
        answer = self._function(metric)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            raise InvalidInputError(
                f"{name} must return the pair of the value and the gradient, got "
                f"{shortened(answer)}"
            )
        value = float(_read_returned(answer[0], (), f"{name}, as its value,"))
        matrix = _read_returned(answer[1], (size, size), f"{name}, as its gradient,")
        return _Returned(value, (matrix + matrix.T) / 2)

    def value(self, metric: FloatArray) -> float:
        return self.evaluate(metric).value

    def gradient(self, metric: FloatArray) -> FloatArray:
        return self.evaluate(metric).gradient()

    def expression(self, metric: Expression) -> Expression:
        make = self._expression_of
        return super().expression(metric) if make is None else make(metric)


@dataclass(frozen=True, eq=False)
class _Returned:
    """What a function has returned."""

    value: float
    matrix: FloatArray

    def gradient(self) -> FloatArray:
        return self.matrix
