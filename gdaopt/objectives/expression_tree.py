"""CVXPY expressions as functions of a matrix: values and gradients, compiled once.

CVXPY differentiates an expression by the chain rule, and works out the Jacobians of all affine
parts, which never change, each time anew. Here the largest affine parts are matrices that are
computed once, as are the Jacobians of affine atoms of what is not affine. An evaluation is then a
pass through the tree, and a gradient a pass back (reverse differentiation), in which CVXPY's own
atoms compute their values and derivatives.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.sparse import csc_array

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.spectrum import smallest_eigenvalue
from gdaopt.support.validation import FloatArray

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = ["ExpressionTree", "Tape"]


class ExpressionTree:
    """A scalar CVXPY expression of one symmetric K×K variable.

    Parameters
    ----------
    expression : cvxpy.Expression
        A scalar.
    variable : cvxpy.Variable of shape (K, K)
        The only variable in it.

    Raises
    ------
    InvalidInputError
        For an atom whose derivative CVXPY does not know.

    Examples
    --------
    >>> import cvxpy as cp
    >>> M = cp.Variable((2, 2), symmetric=True)
    >>> tree = ExpressionTree(cp.sum_squares(M) + cp.trace(M), M)
    >>> tape = tree.at(np.eye(2))
    >>> tape.value, tape.gradient()
    (4.0, array([[3., 0.],
           [0., 3.]]))
    """

    def __init__(self, expression: cp.Expression, variable: cp.Variable) -> None:
        self.nodes: list[_Node] = []
        self._places: dict[int, int] = {}
        self._variable = variable
        self._expression = expression  # kept, since places are known by the identity of its parts
        variable.value = np.eye(variable.shape[0])  # CVXPY computes Jacobians at a value only
        self._root = self._compiled(expression)
        self._domain = [
            (self._compiled(constraint.args[0]), True)
            if type(constraint).__name__ == "PSD"
            else (self._compiled(constraint.expr), False)
            for constraint in expression.domain
            if type(constraint).__name__ in ("PSD", "Inequality", "NonPos")
        ]

    @property
    def text(self) -> str:
        """The expression as CVXPY prints it."""
        return str(self._expression)

    @property
    def is_constant(self) -> bool:
        """Whether the matrix does not change the value, such as that of ``0 * M[0, 0]``."""
        root = self.nodes[self._root]
        return isinstance(root, _Affine) and not root.matrix.count_nonzero()

    def at(self, matrix: FloatArray) -> Tape:
        """Evaluate the expression at a symmetric K×K matrix."""
        values: list[Any] = []
        with np.errstate(all="ignore"):
            vector = matrix.ravel(order="F")
            try:
                for node in self.nodes:
                    values.append(node.value(vector, values))
                inside = all(self._holds(values[place], cone) for place, cone in self._domain)
                value = float(values[self._root]) if inside else math.inf
            except (LinAlgError, ValueError, ZeroDivisionError):
                value = math.inf  # such as the inverse of a singular matrix
        return Tape(self, values, math.inf if math.isnan(value) else value, matrix.shape)

    @staticmethod
    def _holds(value: Any, cone: bool) -> bool:
        """Say whether a condition of the domain holds: ``P ⪰ 0``, or ``x ≤ 0``."""
        found = np.asarray(value)
        if not cone:
            return bool((found <= 0).all())
        if not np.isfinite(found).all():
            return False
        try:
            cholesky((found + found.T) / 2, lower=True, check_finite=False)
        except LinAlgError:
            return smallest_eigenvalue((found + found.T) / 2) >= 0
        return True

    def pulled_back(self, values: list[Any], shape: tuple[int, ...], sizes: bool) -> FloatArray:
        """Return the gradient, or the sum of the sizes of the terms that it is added up from."""
        adjoints: list[Any] = [0.0] * len(values)
        adjoints[self._root] = np.ones(1)
        total = np.zeros(shape[0] * shape[1])
        with np.errstate(all="ignore"):
            for place in reversed(range(self._root + 1)):
                node, adjoint = self.nodes[place], adjoints[place]
                if np.isscalar(adjoint):
                    continue
                if isinstance(node, _Affine):
                    total += (abs(node.matrix) if sizes else node.matrix) @ adjoint
                    continue
                for child, jacobian in node.jacobians(values):
                    if jacobian is None:
                        return np.full(shape, math.nan)
                    adjoints[child] = adjoints[child] + (
                        abs(jacobian) if sizes else jacobian
                    ) @ np.atleast_1d(adjoint)
        matrix = total.reshape(shape, order="F")
        symmetric: FloatArray = (matrix + matrix.T) / 2
        return symmetric

    def _compiled(self, expression: Any) -> int:
        """Return the place of an expression in the list of nodes, after all that it is made of."""
        if id(expression) in self._places:
            return self._places[id(expression)]
        node: _Node
        if expression.is_constant():
            node = _Constant(expression.value)
        elif expression.is_affine():
            node = _Affine.of(expression, self._variable)
        else:
            node = _Atom(expression, [self._compiled(part) for part in expression.args])
            self._check(node)
        self.nodes.append(node)
        self._places[id(expression)] = len(self.nodes) - 1
        return self._places[id(expression)]

    def _check(self, node: _Atom) -> None:
        """Refuse an atom without a derivative."""
        try:
            with np.errstate(all="ignore"):
                node.atom._grad([part.value for part in node.atom.args])
        except NotImplementedError:
            raise InvalidInputError(
                f"CVXPY knows no derivative of {type(node.atom).__name__}; write value and "
                "gradient yourself, and pass them to gdaopt.FunctionObjective"
            ) from None
        except (LinAlgError, ValueError, TypeError, ZeroDivisionError):
            return  # the identity is outside of its domain


class Tape:
    """An expression at one matrix.

    Attributes
    ----------
    value : float
        Infinite outside of the expression's domain.
    """

    def __init__(
        self, tree: ExpressionTree, values: list[Any], value: float, shape: tuple[int, ...]
    ) -> None:
        self._tree = tree
        self._values = values
        self._shape = shape
        self.value = value

    def gradient(self) -> FloatArray:
        """Return the gradient, or a subgradient at a kink; NaN outside of the domain."""
        return self._pulled_back(sizes=False)

    def gradient_sizes(self) -> FloatArray:
        """Return the sums of the sizes of the terms of each entry of the gradient."""
        return self._pulled_back(sizes=True)

    def _pulled_back(self, sizes: bool) -> FloatArray:
        if not math.isfinite(self.value):
            return np.full(self._shape, math.nan)
        return self._tree.pulled_back(self._values, self._shape, sizes)


class _Constant:
    """What does not depend on the matrix."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def value(self, vector: FloatArray, values: list[Any]) -> Any:  # noqa: ARG002 (of other nodes)
        return self._value

    def jacobians(self, values: list[Any]) -> list[tuple[int, Any]]:  # noqa: ARG002
        return []


class _Affine:
    """An affine function ``A' vec(M) + b``."""

    def __init__(self, matrix: csc_array, offset: Any) -> None:
        self.matrix = matrix  # A, K²×n
        self._transposed = matrix.T.tocsr()
        self._offset = np.asarray(offset, dtype=np.float64)

    @classmethod
    def of(cls, expression: Any, variable: cp.Variable) -> _Affine:
        """Return an affine expression of the variable."""
        found = expression.grad[variable]
        matrix = csc_array(np.atleast_2d(found) if np.isscalar(found) else found)
        here = np.asarray(expression.value, dtype=np.float64)
        linear = matrix.T @ np.asarray(variable.value).ravel(order="F")
        return cls(matrix, here - linear.reshape(here.shape, order="F"))

    def value(self, vector: FloatArray, values: list[Any]) -> Any:  # noqa: ARG002 (of other nodes)
        return (self._transposed @ vector).reshape(self._offset.shape, order="F") + self._offset

    def jacobians(self, values: list[Any]) -> list[tuple[int, Any]]:  # noqa: ARG002
        return []


class _Atom:
    """An atom of CVXPY, at least one of whose arguments is not constant."""

    def __init__(self, atom: Any, children: list[int]) -> None:
        self.atom = atom
        self._children = children
        self._counts = [not part.is_constant() for part in atom.args]

    def value(self, vector: FloatArray, values: list[Any]) -> Any:  # noqa: ARG002 (of other nodes)
        return self.atom.numeric([values[child] for child in self._children])

    @cached_property
    def _is_affine(self) -> bool:
        from cvxpy.atoms.affine.affine_atom import AffAtom

        return isinstance(self.atom, AffAtom)

    @cached_property
    def _affine_jacobians(self) -> list[Any]:
        # They are the same for all values, of which those at the identity are at hand.
        return list(self.atom._grad([part.value for part in self.atom.args]))

    def jacobians(self, values: list[Any]) -> list[tuple[int, Any]]:
        """Return for each argument its place and the derivative, size × size of the atom."""
        found = (
            self._affine_jacobians
            if self._is_affine
            else self.atom._grad([values[child] for child in self._children])
        )
        return [
            (child, np.atleast_2d(jacobian) if np.isscalar(jacobian) else jacobian)
            # Some atoms leave out the derivatives by constants at the end.
            for child, jacobian, counts in zip(self._children, found, self._counts, strict=False)
            if counts
        ]


_Node = _Constant | _Affine | _Atom
