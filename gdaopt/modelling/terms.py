"""Objectives written in CVXPY's language: which terms an expression of the metric has.

A sum is taken apart. Its terms are multiples of this package's objectives, linear functions,
squared distances to a matrix, and the rest, which becomes one `CvxpyObjective`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.reshape import reshape
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.elementwise.power import Power
from cvxpy.atoms.pnorm import Pnorm
from cvxpy.atoms.quad_over_lin import quad_over_lin
from cvxpy.reductions.eval_params import replace_params_with_consts
from scipy.sparse import csr_array, eye_array

from gdaopt.constraints.affine import AffineExpressions
from gdaopt.errors import InvalidInputError
from gdaopt.objectives import CvxpyObjective, Objective
from gdaopt.objectives.atom import ObjectiveAtom
from gdaopt.objectives.base import SumObjective
from gdaopt.objectives.quadratic import Quadratic
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray


@dataclass(frozen=True)
class SquaredDistance:
    """``‖cM + B‖²`` in the Frobenius norm."""

    factor: float  # c
    offset: FloatArray  # the symmetric part of B
    constant: float  # ‖B‖²

    def nearest(self) -> FloatArray:
        """Return the matrix at which the distance is least, of all symmetric ones."""
        return -self.offset / self.factor

    def quadratic(self, multiple: float) -> Quadratic:
        """Return a multiple of it as an objective."""
        return Quadratic(
            2 * multiple * self.factor * self.offset,
            2 * multiple * self.factor**2,
            multiple * self.constant,
        )


class ObjectiveReader:
    """A scalar expression of the metric, to be minimised; terms without parameters are read once.

    Examples
    --------
    >>> import gdaopt as gda
    >>> M = cp.Variable((2, 2), symmetric=True)
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> ObjectiveReader(2 * glr(M) + cp.sum_squares(M) + cp.trace(M), M).objective()
    2 * GLR + Quadratic
    """

    def __init__(self, expression: cp.Expression, metric: cp.Variable) -> None:
        self._expression, self._metric = expression, metric
        self._known: dict[int, Quadratic | None] = {}  # of terms, which the expression keeps
        self._whole: Objective | None = None

    def distance(self) -> SquaredDistance | None:
        """Return the square, where the expression is a distance ``‖cM + B‖_F``; else None."""
        expression = self._expression
        return _squared_norm(expression, self._metric) if isinstance(expression, Pnorm) else None

    def objective(self) -> Objective:
        """Return the expression as an objective, for the values that its parameters have."""
        if self._whole is not None:
            return self._whole
        found = self._sum()
        if not self._expression.parameters():
            self._whole = found
        return found

    def _sum(self) -> Objective:
        """Return the sum of all terms as one objective."""
        terms: list[tuple[float, Objective]] = []
        rest: list[cp.Expression] = []
        matrix, bend, constant = np.zeros(self._metric.shape), 0.0, 0.0
        for multiple, term in _taken_apart(self._expression, 1.0):
            if multiple == 0:
                continue
            if isinstance(term, ObjectiveAtom) and term.args[0] is self._metric:
                _check_factor(multiple, term)
                terms.append((multiple, term.objective))
                continue
            quadratic = self._quadratic(term)
            if quadratic is None or (quadratic.bend and multiple < 0):
                rest.append(multiple * replace_params_with_consts(term))
                continue
            matrix = matrix + multiple * quadratic.linear
            bend += multiple * quadratic.bend
            constant += multiple * quadratic.constant
        if rest:
            written = _Replaced(sum(rest[1:], rest[0]), self._metric)
            terms.append((1.0, CvxpyObjective(written, self._metric.shape[0])))
        if matrix.any() or bend or constant or not terms:
            terms.append((1.0, Quadratic(matrix, bend, constant)))
        return terms[0][1] if len(terms) == 1 and terms[0][0] == 1 else SumObjective(terms)

    def _quadratic(self, term: cp.Expression) -> Quadratic | None:
        """Return a term that is linear, or the square of a distance to a matrix; else None."""
        if id(term) in self._known:
            return self._known[id(term)]
        found = None
        if term.is_affine():
            jacobian, offset = _affine_parts(term, self._metric)
            matrix = jacobian.toarray().reshape(self._metric.shape, order="F")
            found = Quadratic((matrix + matrix.T) / 2, 0.0, float(offset.item()))
        elif distance := _squared_distance(term, self._metric):
            found = distance.quadratic(1.0)
        if not term.parameters():
            self._known[id(term)] = found
        return found


def _check_factor(multiple: float, term: ObjectiveAtom) -> None:
    if multiple < 0:
        raise InvalidInputError(
            f"the objective has {multiple:g} times {term}: a negative multiple of a convex "
            "function is not convex; minimise positive multiples, or maximise negative ones"
        )


class _Replaced:
    """An expression of one variable as a function: of what takes the variable's place."""

    def __init__(self, expression: cp.Expression, metric: cp.Variable) -> None:
        self._expression = expression
        self._metric = metric

    def __call__(self, metric: cp.Expression) -> cp.Expression:
        replaced: cp.Expression = self._expression.tree_copy({id(self._metric): metric})
        return replaced


def _taken_apart(expression: cp.Expression, factor: float) -> list[tuple[float, cp.Expression]]:
    """Return the terms of a sum, and what each is multiplied by."""
    if expression.is_affine():
        return [(factor, expression)]
    if isinstance(expression, AddExpression):
        return [found for part in expression.args for found in _taken_apart(part, factor)]
    if isinstance(expression, NegExpression):
        return _taken_apart(expression.args[0], -factor)
    if isinstance(expression, multiply | MulExpression):
        first, second = expression.args
        if first.is_constant() and first.is_scalar():
            return _taken_apart(second, factor * _number(first))
        if second.is_constant() and second.is_scalar():
            return _taken_apart(first, factor * _number(second))
    if isinstance(expression, DivExpression) and expression.args[1].is_constant():
        return _taken_apart(expression.args[0], factor / _number(expression.args[1]))
    return [(factor, expression)]


def _number(constant: cp.Expression) -> float:
    """Return the value of a scalar constant, or of a parameter."""
    if constant.value is None:
        raise InvalidInputError(
            f"the objective has a parameter without a value in {shortened(str(constant))[1:-1]}; "
            "set it"
        )
    return float(np.asarray(constant.value).item())


def _squared_distance(term: Any, metric: cp.Variable) -> SquaredDistance | None:
    """Return a term that is the square of a distance to a matrix; None for others."""
    if isinstance(term, quad_over_lin):
        whole = term.get_data()[0] is None and term.args[1].is_constant()
        if whole and term.args[1].is_scalar() and _number(term.args[1]) == 1:
            return _distance(term.args[0], metric)
    if isinstance(term, Sum) and term.get_data()[0] is None and _is_square(term.args[0]):
        return _distance(term.args[0].args[0], metric)
    if _is_square(term) and isinstance(term.args[0], Pnorm):
        return _squared_norm(term.args[0], metric)
    return None


def _is_square(expression: cp.Expression) -> bool:
    """Say whether an expression is the square of its argument, entry by entry."""
    return isinstance(expression, Power) and expression.p.value == 2


def _squared_norm(norm: Pnorm, metric: cp.Variable) -> SquaredDistance | None:
    """Return the square of a Euclidean norm of all entries; None for other norms."""
    inner = norm.args[0]
    if norm.p != 2 or norm.axis is not None or not inner.is_affine():
        return None
    return _distance(inner.args[0] if isinstance(inner, reshape) else inner, metric)


def _distance(inner: cp.Expression, metric: cp.Variable) -> SquaredDistance | None:
    """Return ``‖X‖²`` for an affine X that is ``cM + B``; None for others."""
    if not inner.is_affine() or inner.shape != metric.shape or not inner.variables():
        return None
    jacobian, offset = _affine_parts(inner, metric)
    factor = float(jacobian.diagonal()[0])
    rest = jacobian - factor * eye_array(metric.size)
    if rest.count_nonzero() or factor == 0:
        return None
    offset = offset.reshape(metric.shape, order="F")
    return SquaredDistance(factor, (offset + offset.T) / 2, float(np.sum(offset**2)))


def _affine_parts(expression: cp.Expression, metric: cp.Variable) -> tuple[csr_array, FloatArray]:
    """Return the Jacobian of an affine expression, and its entries at M = 0."""
    missing = [str(each) for each in expression.parameters() if each.value is None]
    if missing:
        raise InvalidInputError(
            f"the objective has the parameter(s) {', '.join(missing)} without a value"
        )
    return AffineExpressions([expression], metric).arrays()
