"""Objectives written in CVXPY's language: which terms an expression of the metric has.

A sum is taken apart. Its terms are multiples of this package's objectives, linear functions,
squared distances to a matrix, and the rest, which becomes one `CvxpyObjective`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
from scipy.sparse import csc_array

from gdaopt.errors import InvalidInputError
from gdaopt.objectives import CvxpyObjective, Objective, Quadratic, SumObjective
from gdaopt.objectives.atom import ObjectiveAtom
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray

__all__ = ["SquaredDistance", "distance_of", "objective_of"]


@dataclass(frozen=True)
class SquaredDistance:
    """``‖cM + B‖²`` in the Frobenius norm.

    Attributes
    ----------
    factor : float
        c.
    offset : ndarray of shape (K, K)
        The symmetric part of B.
    constant : float
        ``‖B‖²``.
    """

    factor: float
    offset: FloatArray
    constant: float

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


@dataclass
class _Terms:
    """The terms of a sum, as they are found."""

    metric: cp.Variable
    objectives: list[tuple[float, Objective]] = field(default_factory=list)
    quadratics: list[Quadratic] = field(default_factory=list)
    rest: list[tuple[float, cp.Expression]] = field(default_factory=list)

    def add(self, expression: cp.Expression, factor: float) -> None:
        """Add a multiple of an expression, taken apart."""
        for multiple, term in _taken_apart(expression, factor):
            if multiple == 0:
                continue
            if term.is_affine():
                self.quadratics.append(self._linear(multiple, term))
            elif isinstance(term, ObjectiveAtom) and term.args[0] is self.metric:
                self._check_factor(multiple, term)
                self.objectives.append((multiple, term.objective))
            elif (distance := _squared_distance(term, self.metric)) and multiple > 0:
                self.quadratics.append(distance.quadratic(multiple))
            else:
                self.rest.append((multiple, term))

    @staticmethod
    def _check_factor(multiple: float, term: ObjectiveAtom) -> None:
        if multiple < 0:
            raise InvalidInputError(
                f"the objective has {multiple:g} times {term}: a negative multiple of a convex "
                "function is not convex; minimise positive multiples, or maximise negative ones"
            )

    def total(self) -> Objective:
        """Return the sum of all terms as one objective."""
        terms = list(self.objectives)
        if self.rest:
            terms.append((1.0, self._rest()))
        matrix = sum((each.linear for each in self.quadratics), np.zeros(self.metric.shape))
        bend = sum(each.bend for each in self.quadratics)
        constant = sum(each.constant for each in self.quadratics)
        if matrix.any() or bend or constant or not terms:
            terms.append((1.0, Quadratic(matrix, bend, constant)))
        return terms[0][1] if len(terms) == 1 and terms[0][0] == 1 else SumObjective(terms)

    def _linear(self, multiple: float, term: cp.Expression) -> Quadratic:
        """Return a multiple of a linear term: ``⟨A, M⟩ + d``."""
        jacobian, offset = _affine_parts(term, self.metric)
        matrix = multiple * jacobian.toarray().reshape(self.metric.shape, order="F")
        return Quadratic((matrix + matrix.T) / 2, 0.0, multiple * float(offset))

    def _rest(self) -> CvxpyObjective:
        """Return the terms that are neither objectives of the package nor linear."""
        kept = sum(multiple * replace_params_with_consts(term) for multiple, term in self.rest)
        return CvxpyObjective(_Replaced(kept, self.metric), self.metric.shape[0])


class _Replaced:
    """An expression of one variable as a function: of what takes the variable's place."""

    def __init__(self, expression: cp.Expression, metric: cp.Variable) -> None:
        self._expression = expression
        self._metric = metric

    def __call__(self, metric: cp.Expression) -> cp.Expression:
        replaced: cp.Expression = self._expression.tree_copy({id(self._metric): metric})
        return replaced


def objective_of(expression: cp.Expression, metric: cp.Variable) -> Objective:
    """Return a scalar expression of the metric as an objective, to be minimised.

    Parameters
    ----------
    expression : cvxpy.Expression
        Of this variable alone. Parameters count with the values that they have.
    metric : cvxpy.Variable of shape (K, K)
        M.

    Raises
    ------
    InvalidInputError
        For an expression that is not convex, or not known to be.

    Examples
    --------
    >>> import gdaopt as gda
    >>> M = cp.Variable((2, 2), symmetric=True)
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> objective_of(2 * glr(M) + cp.sum_squares(M) + cp.trace(M), M)
    2 * GLR + Quadratic
    """
    terms = _Terms(metric)
    terms.add(expression, 1.0)
    return terms.total()


def distance_of(expression: cp.Expression, metric: cp.Variable) -> SquaredDistance | None:
    """Return the square of an expression that is a distance ``‖cM + B‖_F``; None for others."""
    return _squared_norm(expression, metric) if isinstance(expression, Pnorm) else None


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
    rest = jacobian - factor * csc_array(np.eye(metric.size))
    if rest.count_nonzero() or factor == 0:
        return None
    symmetric = (offset + offset.T) / 2
    return SquaredDistance(factor, symmetric, float(np.sum(offset**2)))


def _affine_parts(expression: cp.Expression, metric: cp.Variable) -> tuple[csc_array, Any]:
    """Return the transposed Jacobian of an affine expression, and its value at M = 0."""
    held = metric.value
    metric.save_value(np.zeros(metric.shape))
    try:
        offset = expression.value
        if offset is None:
            names = ", ".join(str(each) for each in expression.parameters() if each.value is None)
            raise InvalidInputError(f"the objective has the parameter(s) {names} without a value")
        shape = (metric.size, expression.size)
        if not expression.variables():
            return csc_array(shape), offset
        found = expression.grad[metric]
    finally:
        metric.save_value(held)
    return csc_array(np.atleast_2d(found) if np.isscalar(found) else found), offset
