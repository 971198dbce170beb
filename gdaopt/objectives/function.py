"""Objectives that are functions of arrays, such as those of libraries that differentiate."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.dense import DenseObjective, DensePoint
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, flag, returned_numbers, symmetric_matrix

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["FunctionObjective"]

_EXAMPLE = "lambda M: (np.sum(M**2) / 2, M)"
_ASYMMETRIC = 1e-6  # of the gradient's largest entry


class FunctionObjective(DenseObjective):
    """An objective by a function that returns its value and its gradient.

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
        Say False for a function that is not convex: runs then end as *stationary*, and carry no
        certificate. A run that sees a value below its lower bound is an error; beyond that nobody
        checks that a function is convex, and `gdaopt.check_objective` tries.
    expression : callable, optional
        Q as a function of a symmetric CVXPY expression, for the methods ``"sdp"`` and ``"socp"``.

    Raises
    ------
    InvalidInputError
        When it is no function; and at its first call, which is at the identity matrix when the
        objective is made, when it does not return a number and a K×K array without NaN.

    Notes
    -----
    Runs compare the gradient with differences of values, at the start and at the end, and raise
    `gdaopt.InvalidInputError` where it is wrong. Set the attribute `tested` to True to leave that
    out.

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

    With JAX, which needs 64 bits (``jax.config.update("jax_enable_x64", True)``)::

        def loss(metric):
            return jnp.sum(jnp.logaddexp(0.0, jnp.einsum("pi,ij,pj->p", D, metric, D) - 1.0))


        compiled = jax.jit(jax.value_and_grad(loss))
        objective = gda.FunctionObjective(lambda M: compiled(M), n_features=K)

    With PyTorch::

        def value_and_gradient(metric):
            M = torch.tensor(metric, requires_grad=True)
            value = torch.nn.functional.softplus(((D @ M) * D).sum(1) - 1).sum()
            value.backward()
            return value.item(), M.grad.numpy()


        objective = gda.FunctionObjective(value_and_gradient, n_features=K)
    """

    def __init__(
        self,
        value_and_gradient: Callable[[FloatArray], tuple[Any, Any]],
        n_features: int,
        *,
        convex: bool = True,
        expression: Callable[[cp.Expression], cp.Expression] | None = None,
    ) -> None:
        super().__init__(n_features)
        for name, given in (
            ("value_and_gradient", value_and_gradient),
            ("expression", expression),
        ):
            optional = name == "expression" and given is None
            if not optional and (not callable(given) or isinstance(given, type)):
                raise InvalidInputError(
                    f"{name} must be a function of the metric, such as {_EXAMPLE}, got "
                    f"{shortened(given)}"
                )
        self.convex = flag("convex", convex)
        self._function = value_and_gradient
        self._expression_of = expression
        value, gradient = self.value_and_gradient(np.eye(self.n_features))
        if np.isnan(value) or (np.isfinite(value) and np.isnan(gradient).any()):
            what = "the value" if np.isnan(value) else "the gradient"
            raise InvalidInputError(
                f"{shortened(value_and_gradient)} returns NaN in {what} at the identity matrix; it "
                "must return numbers, and inf where the objective is not defined"
            )

    def __repr__(self) -> str:
        name = getattr(self._function, "__name__", type(self._function).__name__)
        return f"FunctionObjective({name})"

    def value_and_gradient(self, metric: FloatArray) -> tuple[float, FloatArray]:
        """Call the function, and check what it returns.

        Raises
        ------
        InvalidInputError
            When that is no pair of a number and a K×K array.
        """
        name, size = shortened(self._function), self.n_features
        found = self._function(metric)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise InvalidInputError(
                f"{name} must return the pair of the value and the gradient, got {shortened(found)}"
            )
        value, gradient = found
        try:
            number, matrix = returned_numbers(value), returned_numbers(gradient)
        except (OverflowError, TypeError, ValueError):
            raise InvalidInputError(
                f"{name} must return a number and an array of numbers, got {shortened(found)}"
            ) from None
        if number.size != 1:
            raise InvalidInputError(
                f"the value that {name} returns must be a number, got shape {number.shape}"
            )
        if matrix.shape != (size, size):
            raise InvalidInputError(
                f"the gradient that {name} returns must have shape {(size, size)}, got "
                f"{matrix.shape}"
            )
        symmetric: FloatArray = (matrix + matrix.T) / 2
        return float(number.ravel()[0]), symmetric

    def at(self, metric: FloatArray) -> FunctionPoint:
        """Return the point at a symmetric K×K matrix."""
        return FunctionPoint(self, symmetric_matrix("metric", metric, self.n_features))

    def value(self, metric: FloatArray) -> float:
        """Return ``Q(M)``."""
        return self.value_and_gradient(metric)[0]

    def gradient(self, metric: FloatArray) -> FloatArray:
        """Return ``∇Q(M)``."""
        return self.value_and_gradient(metric)[1]

    def expression(self, metric: cp.Expression) -> cp.Expression:
        """Return Q as a CVXPY expression, if there is one."""
        if self._expression_of is None:
            raise InvalidInputError(
                "a FunctionObjective has no CVXPY expression unless it is given one; pass "
                "expression=, or take a method that needs none, such as 'certified'"
            )
        return self._expression_of(metric)


class FunctionPoint(DensePoint):
    """A function at one metric, which is called once for value and gradient."""

    objective: FunctionObjective

    @cached_property
    def _found(self) -> tuple[float, FloatArray]:
        return self.objective.value_and_gradient(self.metric)

    @cached_property
    def value(self) -> float:
        """``Q(M)``."""
        return self._found[0]

    def _compute_gradient(self) -> FloatArray:
        return self._found[1]
