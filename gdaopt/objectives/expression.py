"""Objectives that are written as CVXPY expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.dense import DenseObjective, DensePoint
from gdaopt.objectives.expression_tree import ExpressionTree, Tape
from gdaopt.objectives.round_off import RoundOff, assumed_roundings
from gdaopt.support.text import reason, shortened
from gdaopt.support.validation import FloatArray, symmetric_matrix

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["CvxpyObjective"]

_EXAMPLE = "lambda M: cp.trace(S @ M) - cp.log_det(M)"


class CvxpyObjective(DenseObjective):
    """Any convex function of the metric that CVXPY can express.

    Value and gradient come from CVXPY's atoms, by an expression that is taken apart once. The conic
    methods get the expression as it stands. All methods need a derivative: where the function has a
    kink, such as `cvxpy.norm1` at an entry of 0, they take a subgradient. Bounds stay true then,
    but only the conic methods are sure to end at the optimum.

    Parameters
    ----------
    expression : callable
        Takes the metric, a symmetric K×K CVXPY expression, and returns a scalar CVXPY expression
        that CVXPY can prove convex. It is called again wherever a conic method needs the
        expression, and must return the same one each time. Constants in it are data: a
        `cvxpy.Parameter` is refused.
    n_features : int
        K, the size of the metric matrices.

    Raises
    ------
    InvalidInputError
        When the expression is not scalar, not real, does not depend on the metric, depends on other
        variables or on parameters, when CVXPY cannot prove that it is convex, or when it does not
        know the derivative of an atom; and when `expression` is no such function.

    Notes
    -----
    Outside of the domain of an atom, such as that of ``log_det``, the value is infinite. How exact
    value and gradient are is assumed: each atom as exactly as the round-off of its argument allows,
    and some thousand rounded operations in a row for the rest ("Proposition: round-off of the
    certificate").

    Examples
    --------
    A Gaussian's precision matrix, with a penalty on its edges:

    >>> import cvxpy as cp, gdaopt as gda
    >>> S = np.array([[2.0, -1.0], [-1.0, 2.0]])
    >>> objective = gda.CvxpyObjective(
    ...     lambda M: cp.trace(S @ M) - cp.log_det(M) - 0.5 * M[0, 1], n_features=2
    ... )
    >>> gda.check_objective(objective)
    >>> problem = gda.MetricProblem(objective, gda.PositiveDefiniteMetrics(trace_bound=10.0))
    >>> gda.solve(problem, "certified", tolerance=1e-9).metric.round(4)
    array([[0.8205, 0.5128],
           [0.5128, 0.8205]])
    """

    tested = True

    def __init__(
        self, expression: Callable[[cp.Expression], cp.Expression], n_features: int
    ) -> None:
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        super().__init__(n_features)
        if isinstance(expression, cp.Expression):
            raise InvalidInputError(
                f"expression is the CVXPY expression {shortened(expression)}; pass a function that "
                f"makes it of the metric, such as {_EXAMPLE}"
            )
        if not callable(expression) or isinstance(expression, type):
            raise InvalidInputError(
                f"expression must be a function of the metric, such as {_EXAMPLE}, got "
                f"{shortened(expression)}"
            )
        self._expression_of = expression
        variable = cp.Variable((self.n_features, self.n_features), symmetric=True, name="M")
        found = self.expression(variable)
        _check(found, variable)
        self._tree = ExpressionTree(found, variable)
        if self._tree.is_constant:
            raise _constant(found)

    def __repr__(self) -> str:
        return f"CvxpyObjective({self._tree.text})"

    def at(self, metric: FloatArray) -> ExpressionPoint:
        """Return the point at a symmetric K×K matrix."""
        metric = symmetric_matrix("metric", metric, self.n_features)
        return ExpressionPoint(self, metric, self._tree)

    def value(self, metric: FloatArray) -> float:
        """Return ``Q(M)``, infinite outside of its domain."""
        return self._tree.at(metric).value

    def gradient(self, metric: FloatArray) -> FloatArray:
        """Return ``∇Q(M)``, or a subgradient; NaN outside of the domain."""
        return self._tree.at(metric).gradient()

    def expression(self, metric: cp.Expression) -> cp.Expression:
        """Return Q as a CVXPY expression.

        Raises
        ------
        InvalidInputError
            When the user's function fails or returns something else.
        """
        import cvxpy as cp  # on demand: importing gdaopt loads no solver

        try:
            found = self._expression_of(metric)
        except Exception as error:
            raise InvalidInputError(
                f"expression fails on a {self.n_features}×{self.n_features} CVXPY variable "
                f"({type(error).__name__}: {reason(error)}); it must be a function such as "
                f"{_EXAMPLE}"
            ) from error
        if not isinstance(found, cp.Expression):
            raise InvalidInputError(
                f"expression must return a CVXPY expression, got {shortened(found)}; use CVXPY's "
                "atoms, and write functions of arrays as gdaopt.FunctionObjective"
            )
        return found


class ExpressionPoint(DensePoint):
    """A CVXPY expression at one metric: value and gradient share what they need."""

    def __init__(self, objective: CvxpyObjective, metric: FloatArray, tree: ExpressionTree) -> None:
        super().__init__(objective, metric)
        self._tree = tree

    @cached_property
    def _tape(self) -> Tape:
        return self._tree.at(self.metric)

    @cached_property
    def value(self) -> float:
        """``Q(M)``."""
        return self._tape.value

    def _compute_gradient(self) -> FloatArray:
        return self._tape.gradient()

    def round_off(self) -> RoundOff:
        """Return how exact value and gradient are assumed to be, by the terms they are sums of."""
        sizes, relative = self._tape.gradient_sizes(), assumed_roundings(len(self.metric))
        terms = abs(self.value) + float((sizes * np.abs(self.metric)).sum())
        return RoundOff(relative * terms, np.sqrt(relative * sizes.max(axis=1)))


def _check(expression: cp.Expression, variable: cp.Variable) -> None:
    """Refuse what is no objective."""
    shown = shortened(str(expression))[1:-1]
    if not expression.is_scalar():
        raise InvalidInputError(
            f"expression must return a scalar, got {shown} of shape {expression.shape}; add its "
            "entries up, as by cvxpy.sum"
        )
    if expression.is_complex():
        raise InvalidInputError(f"expression must be real, and {shown} is complex")
    others = [str(leaf) for leaf in expression.variables() if leaf is not variable]
    if others:
        raise InvalidInputError(
            f"expression must depend on the metric alone, and {shown} has the variable(s) "
            f"{', '.join(others)}; minimise over them by an atom such as cvxpy.max, or write the "
            "whole problem in CVXPY"
        )
    if expression.parameters():
        raise InvalidInputError(
            f"expression has the parameter(s) {', '.join(map(str, expression.parameters()))}; use "
            "numbers, and make a new objective for other numbers"
        )
    if expression.is_constant():
        raise _constant(expression)
    if not expression.is_convex():
        raise InvalidInputError(
            f"CVXPY cannot prove that {shown} is convex (its curvature is "
            f"{expression.curvature.lower()}); write it by CVXPY's rules (see dcp.stanford.edu), "
            "or, where you know that it is convex, as a gdaopt.FunctionObjective"
        )


def _constant(expression: cp.Expression) -> InvalidInputError:
    """Return the error for an expression that the metric does not change."""
    return InvalidInputError(
        f"expression must depend on the metric, and {shortened(str(expression))[1:-1]} does not; "
        "nothing could be learned"
    )
