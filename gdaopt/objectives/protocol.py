"""What methods see of an objective: its points, and its lines.

An objective Q is convex and differentiable on symmetric K×K matrices. Methods evaluate it in two
ways: through a `Point`, which belongs to one metric matrix and keeps what has been computed there;
and through a `Line`, the restriction of Q to a direction. Both take structured directions and atoms
(`gdaopt.linalg`), so that neither a step in one column nor a step in the weights of atoms ever
costs a K×K gradient. For an objective of your own see ``docs/extending.md``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import Direction
from gdaopt.linalg.entries import Edges
from gdaopt.linalg.masked import MaskedMatrix
from gdaopt.support.validation import FloatArray

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = [
    "BarrierPoint",
    "Derivatives",
    "Expression",
    "Line",
    "NewtonModel",
    "Point",
    "ScalablePoint",
    "Terms",
    "minimised",
]

Expression: TypeAlias = "cp.Expression"
"""An expression of CVXPY; importing gdaopt does not load it."""

Terms: TypeAlias = "tuple[cp.Expression, list[cp.Constraint]]"
"""An expression, and the constraints on its own variables; often there are none."""


class Line(Protocol):
    """The convex function ``φ(γ) = Q(M + γ D)`` of a step length γ.

    A line whose slope changes by decades can also have a method ``balance(γ)``, which returns a
    function h and its derivative such that ``φ' = (e^h - 1) f``, where f > 0 does not rise with γ.
    Exact steps are then found on h, which is nearly linear where φ' is not.

    Attributes
    ----------
    direction : Direction
        D.
    """

    direction: Direction

    @abstractmethod
    def value(self, gamma: float) -> float:
        """Return ``φ(γ)``; infinite outside of Q's domain."""

    @abstractmethod
    def derivatives(self, gamma: float) -> tuple[float, float]:
        """Return ``φ'(γ)`` and ``φ''(γ)``; the second is NaN where it is not known."""


class Derivatives(Protocol):
    """A function of metrics at one of them, with its derivatives along atoms.

    Along the metrics ``M + Σ_k w_k u_k u_k'`` it is a function of the weights w of atoms, and these
    are its derivatives at w = 0.
    """

    @property
    @abstractmethod
    def value(self) -> float:
        """The value at M."""

    @abstractmethod
    def slopes(self, atoms: Atoms) -> FloatArray:
        """Return the derivatives ``u_k' G u_k`` by the weights, shape (n,); G is the gradient."""

    @abstractmethod
    def curvature(self, atoms: Atoms) -> FloatArray:
        """Return the second derivatives by the weights, shape (n, n)."""


class Point(Derivatives, Protocol):
    """An objective at one metric matrix.

    A point of an objective with `log_convex` also has a method ``logarithm()``, which returns the
    `Derivatives` of ``log Q`` at M, with a finite value also where Q underflows. A point whose
    second derivatives are computed from a subsample has an attribute ``estimates_curvature`` that
    is True.

    A point can also have a method ``round_off()``, which returns a `gdaopt.objectives.RoundOff`:
    how exact its value and gradient are. Lower bounds are lowered by that much. Where a point does
    not say, `gdaopt.objectives.assumed_round_off` takes its place.
    """

    @property
    @abstractmethod
    def metric(self) -> FloatArray:
        """The K×K metric matrix, read-only."""

    @abstractmethod
    def gradient(self) -> FloatArray:
        """Return ``∇Q(M)``, symmetric K×K: ``dQ = ⟨∇Q, dM⟩``."""

    @abstractmethod
    def gradient_diagonal(self) -> FloatArray:
        """Return the diagonal of ``∇Q(M)``, shape (K,)."""

    @abstractmethod
    def gradient_column(self, column: int) -> FloatArray:
        """Return one column of ``∇Q(M)``, shape (K,)."""

    @abstractmethod
    def gradient_entries(self, edges: Edges) -> MaskedMatrix:
        """Return the diagonal of ``∇Q(M)`` and its entries (i, j) for the edges i < j.

        Over sets whose members have these edges only, nothing else of the gradient is needed.
        """

    @abstractmethod
    def line(self, direction: Direction) -> Line:
        """Return Q restricted to ``M + γ D``."""

    @abstractmethod
    def moved(self, direction: Direction, gamma: float) -> Point:
        """Return the point at ``M + γ D``; it may update what this point keeps."""

    @abstractmethod
    def vanished(self) -> str | None:
        """Return a sentence where the value or the gradient carries no information, else None.

        The sentence says why, and what to do: an objective that has underflowed says by which
        factor to rescale the features. A gradient of zero at a minimiser is no such case.
        """


class ScalablePoint(Point, Protocol):
    """A point of ``Q(M) = ⟨S, M⟩ - log det M``, which knows the multiples of its metric.

    A point with these two members has better certificates ("Proposition: scaled certificate").
    """

    @property
    @abstractmethod
    def inverse(self) -> FloatArray:
        """``M⁻¹``; the gradient at M/t is ``∇Q(M) + (1 - t) M⁻¹``."""

    @abstractmethod
    def scaled(self, factor: float) -> Point:
        """Return the point at a positive multiple of M."""


@dataclass(frozen=True, eq=False)
class NewtonModel:
    """The second derivatives of an objective at a metric, where features have units of their own.

    In the units t of the features a direction D is ``diag(t) Y diag(t)``, and so is the metric.

    Attributes
    ----------
    hessian : callable
        Takes a symmetric K×K matrix Y and returns ``∇²Q[Y]``, as such a matrix.
    inverse : callable
        Its inverse, exact or an approximation of it that is positive definite.
    of_entries : ndarray of shape (K, K)
        Half the second derivative by the entries (i, j) and (j, i) together, positive.
    """

    hessian: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    of_entries: FloatArray


class BarrierPoint(Point, Protocol):
    """A point of an objective with `Objective.barrier`: ``Q(M) = ⟨S, M⟩ + φ(M)``.

    φ is convex, and infinite where M is not positive definite.
    """

    @property
    @abstractmethod
    def linear(self) -> FloatArray:
        """S."""

    @abstractmethod
    def conjugate(self, dual: FloatArray) -> tuple[float, float]:
        """Return ``min ⟨W, M⟩ + φ(M)`` over all M, and how far rounding can have raised it.

        Parameters
        ----------
        dual : ndarray of shape (K, K)
            W, symmetric. Where it is not positive definite, the minimum is -inf.
        """

    @abstractmethod
    def newton_model(self, units: FloatArray, dtype: type) -> NewtonModel:
        """Return the second derivatives.

        Parameters
        ----------
        units : ndarray of shape (K,)
            t > 0.
        dtype : type
            Of the numbers that the model computes with.
        """


def minimised(point: Any, log_convex: bool) -> Derivatives:
    """Return the function that methods minimise at a point: log Q where it is convex, else Q.

    Where Q spans decades its logarithm does not.
    """
    found: Derivatives = point.logarithm() if log_convex else point
    return found
