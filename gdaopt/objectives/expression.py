"""Objectives that are written as CVXPY expressions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.sparse import csc_array

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.objectives.dense import DenseObjective, DensePoint, check_function
from gdaopt.objectives.protocol import Expression
from gdaopt.objectives.round_off import RoundOff, assumed_roundings
from gdaopt.support.cvxpy_loading import cp, cvxpy_internals
from gdaopt.support.text import reason, shortened
from gdaopt.support.validation import FloatArray

_EXAMPLE = "lambda M: cp.trace(S @ M) - cp.log_det(M)"


class CvxpyObjective(DenseObjective):
    """Any convex function of the metric that CVXPY can express.

    The conic methods get the expression as it stands; value and gradient come from CVXPY's atoms.
    If the function has a kink, such as `cvxpy.norm1` at an entry of 0, methods take a subgradient.
    The bounds are still true, but only the conic methods are sure to end at the optimum.

    Parameters
    ----------
    expression : callable
        Takes the metric, a symmetric K×K CVXPY expression, and returns a real scalar that CVXPY can
        prove convex, always the same one. Constants are data: a `cvxpy.Parameter` is refused.
    n_features : int
        K, the size of the metric matrices.

    Raises
    ------
    InvalidInputError
        When `expression` is no such function, or CVXPY does not know the derivative of an atom.

    Notes
    -----
    Outside of the domain of an atom, such as that of ``log_det``, the value is infinite.

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

    def __init__(self, expression: Callable[[Expression], Expression], n_features: int) -> None:
        super().__init__(n_features)
        if isinstance(expression, cp.Expression):
            raise InvalidInputError(
                f"expression is the CVXPY expression {shortened(expression)}; pass a function that "
                f"makes it of the metric, such as {_EXAMPLE}"
            )
        check_function("expression", expression, _EXAMPLE)
        self._expression_of = expression
        variable = cp.Variable((self.n_features, self.n_features), symmetric=True, name="M")
        written = self.expression(variable)
        _check(written, variable)
        self.tree = ExpressionTree(written, variable)
        if self.tree.is_constant:
            raise InvalidInputError(
                f"expression must depend on the metric, and {shortened(str(written))[1:-1]} does "
                "not; nothing could be learned"
            )

    def __repr__(self) -> str:
        return f"CvxpyObjective({self.tree})"

    _title = __repr__

    def evaluate(self, metric: FloatArray) -> Tape:
        return self.tree.at(metric)

    def value(self, metric: FloatArray) -> float:
        return self.tree.at(metric).value

    def gradient(self, metric: FloatArray) -> FloatArray:
        return self.tree.at(metric).gradient()

    def round_off(self, point: DensePoint) -> RoundOff:
        """Return how exact value and gradient are assumed to be, by the terms they are sums of."""
        tape = cast(Tape, point.evaluation)
        sizes, relative = tape.gradient(sizes=True), assumed_roundings(self.n_features)
        terms = abs(tape.value) + float((sizes * np.abs(point.metric)).sum())
        return RoundOff(relative * terms, np.sqrt(relative * sizes.max(axis=1)))

    def expression(self, metric: Expression) -> Expression:
        try:
            written = self._expression_of(metric)
        except Exception as error:
            raise InvalidInputError(
                f"expression fails on a {self.n_features}×{self.n_features} CVXPY variable "
                f"({type(error).__name__}: {reason(error)}); it must be a function such as "
                f"{_EXAMPLE}"
            ) from error
        if not isinstance(written, cp.Expression):
            raise InvalidInputError(
                f"expression must return a CVXPY expression, got {shortened(written)}; use CVXPY's "
                "atoms, and write functions of arrays as gdaopt.FunctionObjective"
            )
        return written


def _check(expression: cp.Expression, variable: cp.Variable) -> None:
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
    if not expression.is_convex():
        raise InvalidInputError(
            f"CVXPY cannot prove that {shown} is convex (its curvature is "
            f"{expression.curvature.lower()}); write it by CVXPY's rules (see dcp.stanford.edu), "
            "or, if you know that it is convex, as a gdaopt.FunctionObjective"
        )


class ExpressionTree:
    """A scalar CVXPY expression of one symmetric K×K variable, taken apart once.

    Each of its nodes comes after its arguments; the first is the variable as a vector.
    """

    def __init__(self, expression: cp.Expression, variable: cp.Variable) -> None:
        self.nodes: list[_Affine | _Atom | None] = [None]  # None: the variable, and constants
        self._values: list[Any] = [None]  # those of constants
        self._places: dict[int, int] = {}
        self._variable = variable
        self._expression = expression  # kept, since places are known by the identity of its parts
        variable.value = np.eye(variable.shape[0])  # CVXPY computes Jacobians at a value only
        self.root = self._compile(expression)
        self._domain = [
            (self._compile(constraint.args[0]), True)
            if type(constraint).__name__ == "PSD"
            else (self._compile(constraint.expr), False)
            for constraint in expression.domain
            if type(constraint).__name__ in ("PSD", "Inequality", "NonPos")
        ]

    def __str__(self) -> str:
        return str(self._expression)

    @property
    def is_constant(self) -> bool:
        """Whether the matrix does not change the value, such as that of ``0 * M[0, 0]``."""
        root = self.nodes[self.root]
        return root is None or (isinstance(root, _Affine) and not root.matrix.count_nonzero())

    def at(self, matrix: FloatArray) -> Tape:
        """Evaluate the expression at a symmetric K×K matrix."""
        values = list(self._values)
        values[0] = matrix.ravel(order="F")
        with np.errstate(all="ignore"):
            try:
                for place, node in enumerate(self.nodes):
                    if node is not None:
                        values[place] = node.value(values)
                inside = all(_holds(values[place], cone) for place, cone in self._domain)
                value = float(values[self.root]) if inside else math.inf
            except (LinAlgError, ValueError, ZeroDivisionError):
                value = math.inf  # such as the inverse of a singular matrix
        return Tape(self, values, math.inf if math.isnan(value) else value)

    def _compile(self, expression: Any) -> int:
        """Return the place of an expression in the list of nodes, after all its arguments."""
        if id(expression) not in self._places:
            node: _Affine | _Atom | None = None
            written = expression
            if expression.is_affine():
                written = cvxpy_internals.write_in_affine_atoms(expression)
            if not written.is_constant():
                if expression.is_affine():
                    node = _Affine(written, self._variable)
                else:
                    node = _Atom(written, [self._compile(part) for part in written.args])
            self._places[id(expression)] = len(self.nodes)
            self.nodes.append(node)
            self._values.append(written.value if node is None else None)
        return self._places[id(expression)]


def _holds(value: Any, cone: bool) -> bool:
    """Say whether a condition of a domain holds: ``P ⪰ 0``, or ``x ≤ 0``."""
    array = np.asarray(value)
    if not cone:
        return bool((array <= 0).all())
    if not np.isfinite(array).all():
        return False
    try:
        cholesky((array + array.T) / 2, lower=True, check_finite=False)
    except LinAlgError:
        return smallest_eigenvalue((array + array.T) / 2) >= 0
    return True


@dataclass(frozen=True, eq=False)
class Tape:
    """The values of all nodes at one matrix, and of the whole, infinite outside of its domain."""

    tree: ExpressionTree
    values: list[Any]
    value: float

    def gradient(self, sizes: bool = False) -> FloatArray:
        """Return the gradient, NaN outside of the domain, or the sums of the sizes of its terms."""
        size = math.isqrt(len(self.values[0]))
        unknown = np.full((size, size), math.nan)
        if not math.isfinite(self.value):
            return unknown
        adjoints: list[Any] = [np.zeros(size**2), *[None] * (len(self.values) - 1)]
        adjoints[self.tree.root] = np.ones(1)
        with np.errstate(all="ignore"):
            for place in reversed(range(self.tree.root + 1)):
                node, adjoint = self.tree.nodes[place], adjoints[place]
                if adjoint is None or node is None:
                    continue
                for child, jacobian in node.jacobians(self.values):
                    if jacobian is None:
                        return unknown
                    part = (abs(jacobian) if sizes else jacobian) @ np.atleast_1d(adjoint)
                    adjoints[child] = part if adjoints[child] is None else adjoints[child] + part
        matrix = adjoints[0].reshape(unknown.shape, order="F")
        symmetric: FloatArray = (matrix + matrix.T) / 2
        return symmetric


class _Affine:
    """``A' vec(M) + b``."""

    def __init__(self, expression: Any, variable: cp.Variable) -> None:
        jacobian = expression.grad[variable]
        jacobian = np.atleast_2d(jacobian) if np.isscalar(jacobian) else jacobian
        self.matrix = csc_array(jacobian)  # A, K²×n
        self._transposed = self.matrix.T.tocsr()
        here = np.asarray(expression.value, dtype=np.float64)
        linear = self.matrix.T @ np.asarray(variable.value).ravel(order="F")
        self._offset = here - linear.reshape(here.shape, order="F")

    def value(self, values: list[Any]) -> Any:
        linear = self._transposed @ values[0]
        return linear.reshape(self._offset.shape, order="F") + self._offset

    def jacobians(self, _values: list[Any]) -> list[tuple[int, Any]]:
        return [(0, self.matrix)]


class _Atom:
    """An atom of CVXPY, at least one of whose arguments is not constant."""

    def __init__(self, atom: Any, children: list[int]) -> None:
        self._atom = atom
        self._children = children
        self._counts = [not part.is_constant() for part in atom.args]
        self._constant: Any = None  # the derivatives of an affine atom, the same for all values
        try:
            with np.errstate(all="ignore"):
                here = cvxpy_internals.differentiate(atom, [part.value for part in atom.args])
        except NotImplementedError:
            raise InvalidInputError(
                f"CVXPY knows no derivative of {type(atom).__name__}; write value and gradient "
                "yourself, and pass them to gdaopt.FunctionObjective"
            ) from None
        except (LinAlgError, ValueError, TypeError, ZeroDivisionError):
            return  # the identity is outside of its domain
        if isinstance(atom, cvxpy_internals.AffAtom):
            self._constant = here

    def value(self, values: list[Any]) -> Any:
        return self._atom.numeric([values[child] for child in self._children])

    def jacobians(self, values: list[Any]) -> list[tuple[int, Any]]:
        """Return for each argument its place and the derivative, size × size of the atom."""
        arguments = [values[child] for child in self._children]
        derivatives = self._constant
        if derivatives is None:
            derivatives = cvxpy_internals.differentiate(self._atom, arguments)
        return [
            (child, np.atleast_2d(jacobian) if np.isscalar(jacobian) else jacobian)
            # Some atoms leave out the derivatives by constants at the end.
            for child, jacobian, counts in zip(
                self._children, derivatives, self._counts, strict=False
            )
            if counts
        ]
