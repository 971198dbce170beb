"""What all objectives have, and their sums and multiples, which are as fast as their terms."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add, mul
from typing import Any, TypeVar

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import Direction
from gdaopt.linalg.entries import IndexArray
from gdaopt.objectives.protocol import Derivatives, Expression, Line, Point, Terms
from gdaopt.objectives.round_off import UNIT, RoundOff
from gdaopt.support.text import ShownAsTable, shortened
from gdaopt.support.validation import FloatArray, integer, number, read_only, symmetric_matrix

T = TypeVar("T")


class Objective(ShownAsTable, ABC):
    """A convex differentiable function of metric matrices: the base class of objectives.

    A subclass sets `n_features` and writes `at`. Objectives can be added, and multiplied by
    positive numbers. What else they can have is in ``docs/extending/objective.md``.

    Attributes
    ----------
    n_features : int
        K, the size of the metric matrices.
    name : str
        Its name in sums and messages; the name of its class, unless it is set.
    log_convex : bool
        Whether Q is positive and ``log Q`` is convex as well.
    convex : bool
        If it is False, methods look for a stationary point, and there is no certificate
        ("Definition: stationary point").
    barrier : bool
        Whether Q is a linear function plus a convex one that is infinite if M is not positive
        definite.
    tested : bool
        Whether the derivatives have been tested. Otherwise runs compare the gradient with
        differences of values at a metric or two.
    n_samples, is_sparse : int and bool
        The number of its samples, and whether they are sparse.
    estimates_curvature : bool
        Whether second derivatives are computed from a subsample.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> glr + 0.5 * gda.Ridge(n_features=2)
    GLR + 0.5 * Ridge
    """

    n_features: int
    log_convex: bool = False
    convex: bool = True
    barrier: bool = False
    tested: bool = False
    n_samples: int = 0
    is_sparse: bool = False
    estimates_curvature: bool = False

    def subsample(self) -> Objective | None:
        """Return the objective of a subsample that represents all samples; None for few samples."""
        return None

    def surrogate(self) -> Objective | None:
        """Return a convex objective whose optimum is a start if this one is not convex."""
        return None

    def auto_trace_bound(self) -> float | None:
        """Return the trace bound by the rule "auto"; None if it has no such rule."""
        return None

    def first_metric(self, _feasible: Callable[[FloatArray], FloatArray], /) -> FloatArray:
        """Return a positive definite start of Newton's method, for an objective with `barrier`.

        The function returns the nearest matrix with feasible off-diagonals.
        """
        return np.eye(self.n_features)

    @cached_property
    def name(self) -> str:
        """What it is called in sums and messages."""
        return type(self).__name__

    __array_ufunc__ = None  # so that NumPy's numbers leave products to `__rmul__`

    def _counts(self) -> dict[str, int]:
        """Return how many features it has, and how many of what else it is made of."""
        return {"features": self.n_features}

    def _summary(self) -> dict[str, str]:
        return {name: str(count) for name, count in self._counts().items()}

    def __repr__(self) -> str:
        counts = (
            f"{count} {name.removesuffix('s') if count == 1 else name}"
            for name, count in self._counts().items()
        )
        return f"{self.name}({', '.join(counts)})"

    @abstractmethod
    def at(self, metric: Any) -> Point:
        """Return the point at a symmetric K×K matrix, an array."""

    def __call__(self, metric: Expression) -> Expression:
        """Return the objective of a CVXPY variable, as a convex CVXPY expression.

        Parameters
        ----------
        metric : cvxpy.Variable or affine expression of shape (K, K)
            M. If CVXPY does not know that it is symmetric, its symmetric part counts.

        Returns
        -------
        cvxpy.Expression
            A scalar. Variables and cones for a conic solver are made only when one is called.

        Examples
        --------
        >>> import cvxpy as cp, gdaopt as gda
        >>> M = cp.Variable((2, 2), symmetric=True)
        >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
        >>> problem = cp.Problem(cp.Minimize(glr(M)), gda.GraphMetrics(trace_bound=2.0).of(M))
        >>> value = problem.solve(method="gdaopt")
        >>> problem.status, M.value.round(3)
        ('optimal', array([[1.323, 0.   ],
               [0.   , 0.677]]))
        """
        from gdaopt.objectives.atom import objective_of  # loads CVXPY

        return objective_of(self, metric)

    @np.errstate(under="ignore")
    def value(self, metric: FloatArray) -> float:
        """Return ``Q(M)``, infinite outside of Q's domain."""
        return self.at(metric).value

    @np.errstate(under="ignore")
    def gradient(self, metric: FloatArray) -> FloatArray:
        """Return ``∇Q(M)``, symmetric K×K."""
        return self.at(metric).gradient()

    def lipschitz(self, _min_eigenvalue: float, /) -> float | None:
        """Return a Lipschitz constant of the gradient over all ``M ⪰ ρI``, None if not known."""
        return None

    def to_cvxpy(self, _metric: Expression, /) -> Terms:
        """Return Q of a symmetric and affine K×K expression, as ``Terms``: convex and scalar."""
        raise InvalidInputError(
            f"{self.name} has no CVXPY expression; define to_cvxpy(metric), or take a "
            "method that needs none, such as 'certified'"
        )

    def log_to_cvxpy(self, _metric: Expression, /) -> Terms:
        """Return log Q, if it is convex, as `to_cvxpy` returns Q."""
        raise InvalidInputError(
            f"{self.name} has no CVXPY expression of log Q; define log_to_cvxpy(metric)"
        )

    def conic_bytes(self) -> float:
        """Return an estimate of the memory that its expression takes inside of a solver."""
        return 0.0  # it is not known

    def __add__(self, other: object) -> SumObjective:
        return _add(self, other)

    def __radd__(self, other: object) -> SumObjective:
        # 0 is what Python's sum starts with.
        is_start = isinstance(other, int) and not isinstance(other, bool) and other == 0
        return SumObjective(_terms(self)) if is_start else _add(other, self)

    def __mul__(self, factor: object) -> SumObjective:
        if isinstance(factor, Objective):
            raise InvalidInputError(
                "a product of two objectives need not be convex; multiply an objective by a "
                "positive number"
            )
        c = number("the factor of an objective", factor, above=0)
        return SumObjective([(c * of_term, term) for of_term, term in _terms(self)])

    __rmul__ = __mul__


class SumObjective(Objective):
    """``Σ_k c_k Q_k(M)``, with positive factors: made by ``+`` and ``*``."""

    def __init__(self, terms: Sequence[tuple[float, Any]]) -> None:
        self.factors = tuple(factor for factor, _ in terms)
        self.objectives: tuple[Objective, ...] = tuple(objective for _, objective in terms)
        sizes = [objective.n_features for objective in self.objectives]
        if len(set(sizes)) > 1:
            raise InvalidInputError(
                f"objectives for metrics of different sizes cannot be added: {self!r} have "
                f"{', '.join(map(str, sizes))} features"
            )
        if not all(0 < factor < math.inf for factor in self.factors):
            raise InvalidInputError(
                f"the factors of a sum must be positive and finite, got {self.factors}"
            )
        self.n_features = sizes[0]
        self.log_convex = len(self.objectives) == 1 and self.objectives[0].log_convex
        self.convex = all(objective.convex for objective in self.objectives)
        self.tested = all(objective.tested for objective in self.objectives)
        self.n_samples = max(objective.n_samples for objective in self.objectives)
        self.estimates_curvature = any(term.estimates_curvature for term in self.objectives)

    def __repr__(self) -> str:
        return " + ".join(
            objective.name if factor == 1 else f"{factor:g} * {objective.name}"
            for factor, objective in zip(self.factors, self.objectives, strict=True)
        )

    _title = __repr__

    def at(self, metric: FloatArray) -> SumPoint:
        metric = symmetric_matrix("metric", metric, self.n_features)
        return SumPoint(self, [objective.at(metric) for objective in self.objectives])

    def lipschitz(self, min_eigenvalue: float, /) -> float | None:
        """Return ``Σ_k c_k L_k``; None if a term does not know its constant."""
        constants = [objective.lipschitz(min_eigenvalue) for objective in self.objectives]
        stated = [constant for constant in constants if constant is not None]
        return self.combine(stated) if len(stated) == len(constants) else None

    def to_cvxpy(self, metric: Expression) -> Terms:
        written = [objective.to_cvxpy(metric) for objective in self.objectives]
        constraints = [constraint for _, beside in written for constraint in beside]
        return self.combine([expression for expression, _ in written]), constraints

    def log_to_cvxpy(self, metric: Expression) -> Terms:
        only: Any = self.objectives[0]
        expression, constraints = only.log_to_cvxpy(metric)
        return expression + math.log(self.factors[0]), constraints

    def subsample(self) -> SumObjective | None:
        """Return the sum with the subsamples of terms that have many samples; None if none has."""
        offered = [objective.subsample() for objective in self.objectives]
        if all(objective is None for objective in offered):
            return None
        pairs = zip(self.factors, offered, self.objectives, strict=True)
        return SumObjective([(factor, other or whole) for factor, other, whole in pairs])

    def conic_bytes(self) -> float:
        return sum(objective.conic_bytes() for objective in self.objectives)

    def combine(self, parts: Sequence[T]) -> T:
        """Return ``Σ_k c_k p_k``."""
        total: T = reduce(add, map(mul, self.factors, parts))
        return total


class SumPoint(Point):
    """A sum at one metric, with its terms at this metric."""

    def __init__(self, objective: SumObjective, parts: Sequence[Point]) -> None:
        self.objective = objective
        self.parts = tuple(parts)
        self.metric = self.parts[0].metric
        # Rows, columns, and the terms' magnitudes added up there.
        self._sizes: tuple[IndexArray, IndexArray, FloatArray] | None = None

    def _sum(self, answer: Callable[[Point], T]) -> T:
        return self.objective.combine([answer(part) for part in self.parts])

    @cached_property
    def value(self) -> float:
        return float(self._sum(lambda part: part.value))

    def logarithm(self) -> MultipleLogarithm:
        return MultipleLogarithm(self.parts[0].logarithm(), self.objective.factors[0])

    @cached_property
    def _gradient(self) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):  # certificates report the overflow
            return read_only(self._sum(lambda part: part.gradient()))

    def gradient(self) -> FloatArray:
        return self._gradient

    def gradient_entries(self, rows: IndexArray, columns: IndexArray) -> FloatArray:
        entries = [part.gradient_entries(rows, columns) for part in self.parts]
        self._sizes = rows, columns, self.objective.combine([np.abs(part) for part in entries])
        return self.objective.combine(entries)

    def slopes(self, atoms: Atoms) -> FloatArray:
        return self._sum(lambda part: part.slopes(atoms))

    def curvature(self, atoms: Atoms) -> FloatArray:
        return self._sum(lambda part: part.curvature(atoms))

    def round_off(self) -> RoundOff:
        """Return the round-off of the terms and of adding them up, by Cauchy and Schwarz."""
        stated = [part.round_off() for part in self.parts]
        of_sum = (len(self.parts) + 1) * UNIT
        sizes = self._sum(lambda part: abs(part.value))
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self.objective.combine([part.gradient**2 for part in stated])
            # Of a matrix E ≥ 0 entry (i, j) is at most g_i g_j for the roots g of its largest ones.
            errors = np.sqrt(squares + of_sum * self._largest_entries())
        value = self.objective.combine([part.value for part in stated])
        return RoundOff(value + of_sum * sizes, errors)

    def _largest_entries(self) -> FloatArray:
        """Return the largest magnitude, added up over the terms, in each row of the gradient."""
        if self._sizes is None or "_gradient" in vars(self):
            return np.asarray(self._sum(lambda part: np.abs(part.gradient())).max(axis=1))
        *both, magnitudes = self._sizes
        largest = np.zeros(self.objective.n_features)
        for ends in both:
            np.maximum.at(largest, ends, magnitudes)
        return largest

    def line(self, direction: Direction) -> SumLine:
        return SumLine(self.objective, [part.line(direction) for part in self.parts])

    def degenerate_reason(self) -> str | None:
        reasons = [part.degenerate_reason() for part in self.parts]
        said = [reason for reason in reasons if reason is not None]
        if len(said) == len(self.parts):
            return said[0]
        if not math.isfinite(self.value):
            return said[0] if said else f"the objective is {self.value}"
        # If a term has underflowed, the gradients of the other terms are enough.
        return said[0] if said and not np.isfinite(self._gradient).all() else None


class SumLine(Line):
    """A sum along a direction; a multiple of a line with a `balance` has the same balance."""

    def __init__(self, objective: SumObjective, parts: Sequence[Line]) -> None:
        self.direction = parts[0].direction
        self.has_balance = len(parts) == 1 and parts[0].has_balance
        self._objective = objective
        self._parts = parts

    def balance(self, gamma: float) -> tuple[float, float]:
        return self._parts[0].balance(gamma) if self.has_balance else self.derivatives(gamma)

    def value(self, gamma: float) -> float:
        return float(self._objective.combine([part.value(gamma) for part in self._parts]))

    def derivatives(self, gamma: float) -> tuple[float, float]:
        slopes, curvatures = zip(*(part.derivatives(gamma) for part in self._parts), strict=True)
        return float(self._objective.combine(slopes)), float(self._objective.combine(curvatures))

    def at(self, gamma: float) -> SumPoint:
        return SumPoint(self._objective, [part.at(gamma) for part in self._parts])


@dataclass(frozen=True, eq=False)
class MultipleLogarithm(Derivatives):
    """The logarithm of a positive multiple of Q, with the derivatives of ``log Q``."""

    logarithm: Derivatives
    factor: float

    @property
    def value(self) -> float:
        return math.log(self.factor) + self.logarithm.value

    def slopes(self, atoms: Atoms) -> FloatArray:
        return self.logarithm.slopes(atoms)

    def curvature(self, atoms: Atoms) -> FloatArray:
        return self.logarithm.curvature(atoms)


def _terms(objective: object) -> list[tuple[float, object]]:
    """Return an objective as the terms of a sum."""
    if isinstance(objective, SumObjective):
        return list(zip(objective.factors, objective.objectives, strict=True))
    return [(1.0, objective)]


def _add(first: object, second: object) -> SumObjective:
    """Return the sum of two objectives, one of which may be something else."""
    for part in (first, second):
        check_interface(part)
    return SumObjective([*_terms(first), *_terms(second)])


def check_interface(objective: object) -> None:
    """Refuse an object that is no objective, before its value is asked for."""
    if not isinstance(objective, Objective):
        raise InvalidInputError(
            "objective must be a gdaopt.objectives.Objective, such as a gdaopt.GLR, "
            f"{_instead_of(objective)}got {shortened(objective)}"
        )
    integer("n_features of the objective", objective.n_features, at_least=1)


def _instead_of(other: object) -> str:
    """Say how something that resembles an objective becomes one, or nothing."""
    if isinstance(other, type):
        return "not a class: call it with its data; "
    if hasattr(other, "is_convex") and hasattr(other, "variables"):
        return (
            "not a CVXPY expression: pass gdaopt.CvxpyObjective(lambda M: ..., n_features=K) with "
            "the expression as a function of the metric; "
        )
    if hasattr(other, "minimize_linear") and hasattr(other, "trace_bound"):
        return "not a set of metrics, which is the second argument; "
    if callable(other):
        return (
            "not a bare function: pass gdaopt.CvxpyObjective(function, n_features=K) where it "
            "returns a CVXPY expression, or gdaopt.FunctionObjective(function, n_features=K) where "
            "it returns value and gradient; "
        )
    return ""
