"""Sets in CVXPY's language: constraints on a variable that remember the set they came from."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from gdaopt.support.cvxpy_internals import AffAtom
from gdaopt.support.validation import FloatArray


class Membership(AffAtom):
    """An expression in one of the constraints by which a metric is a member of a set.

    Its value is that of the affine expression; the rest says where it came from: the metric, the
    set, and the constraint's place among all `count` constraints of the set.
    """

    def __init__(
        self,
        expression: cp.Expression,
        metric: cp.Expression,
        feasible_set: Any,
        number: int,
        count: int,
    ) -> None:
        self.feasible_set = feasible_set
        self.number = number
        self.count = count
        super().__init__(expression, metric)

    @property
    def metric(self) -> cp.Expression:
        """M."""
        metric: cp.Expression = self.args[1]
        return metric

    def get_data(self) -> Any:
        return [self.feasible_set, self.number, self.count]  # copies are made with them

    def name(self) -> str:
        return str(self.args[0].name())

    def shape_from_args(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.args[0].shape
        return shape

    def sign_from_args(self) -> tuple[bool, bool]:
        return self.args[0].is_nonneg(), self.args[0].is_nonpos()

    def is_symmetric(self) -> bool:
        return bool(self.args[0].is_symmetric())

    def numeric(self, values: list[FloatArray]) -> FloatArray:
        """Return the value of the expression."""
        return values[0]

    def graph_implementation(
        self, arg_objs: list[Any], _shape: tuple[int, ...], _data: Any = None, /
    ) -> tuple[Any, list[Any]]:
        return arg_objs[0], []


def marked(
    feasible_set: Any, metric: cp.Expression, constraints: list[cp.Constraint]
) -> list[cp.Constraint]:
    """Return the constraints of a set on a metric, each of which remembers the set."""
    count = len(constraints)
    return [
        constraint.copy(
            [
                Membership(constraint.args[0], metric, feasible_set, number, count),
                *constraint.args[1:],
            ]
        )
        for number, constraint in enumerate(constraints)
    ]


def is_symmetric(metric: cp.Expression) -> bool:
    """Say whether an affine K×K expression is symmetric, whatever its variables' values are."""
    if metric.is_symmetric() or isinstance(metric, cp.Variable):
        return bool(metric.is_symmetric())
    # CVXPY does not know it for most expressions; random values show it.
    rng = np.random.default_rng(0)
    held = [(variable, variable.value) for variable in metric.variables()]
    for variable, _ in held:
        value = rng.standard_normal(variable.shape)
        symmetric = variable.ndim == 2 and variable.is_symmetric()
        variable.save_value(value + value.T if symmetric else value)
    matrix = metric.value
    for variable, value in held:
        variable.save_value(value)
    return matrix is None or bool(np.allclose(matrix, matrix.T))  # None: parameters without values
