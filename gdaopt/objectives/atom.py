"""Objectives as convex atoms of CVXPY, whose expressions are made where conic solvers ask."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.sparse import csc_array

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.protocol import Terms
from gdaopt.support.cvxpy_internals import Atom, register_atom, symmetric_part
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray


class ObjectiveAtom(Atom):
    """``Q(M)``, or of the symmetric part of M if CVXPY does not know M as symmetric."""

    def __init__(self, metric: cp.Expression, objective: Any) -> None:
        self.objective = objective
        super().__init__(metric)

    @cached_property
    def expression(self) -> Terms:
        """Q as CVXPY writes it, and constraints on its own variables."""
        metric = self.args[0]
        written: Terms = self.objective.to_cvxpy(symmetric_part(metric, metric.is_symmetric()))
        return written

    def get_data(self) -> Any:
        return [self.objective]  # copies are made with it

    def name(self) -> str:
        return f"{self.objective.name}({self.args[0].name()})"

    def shape_from_args(self) -> tuple[int, ...]:
        return ()

    def sign_from_args(self) -> tuple[bool, bool]:
        return self.objective.log_convex, False  # otherwise it is not known

    def is_atom_convex(self) -> bool:
        return bool(self.objective.convex)

    def is_atom_concave(self) -> bool:
        return False

    def is_incr(self, _idx: int) -> bool:
        return False

    def is_decr(self, _idx: int) -> bool:
        return False

    def numeric(self, values: list[FloatArray]) -> float:
        """Return ``Q(M)``."""
        return float(self.objective.at(_symmetric_part(values[0])).value)

    def _grad(self, values: list[FloatArray]) -> list[csc_array | None]:
        gradient = self.objective.at(_symmetric_part(values[0])).gradient()
        if not np.isfinite(gradient).all():
            return [None]
        return [csc_array(gradient.reshape((-1, 1), order="F"))]


def objective_of(objective: Any, metric: cp.Expression) -> ObjectiveAtom:
    """Return an objective of an affine K×K CVXPY expression, as an expression; see `Objective`."""
    size = objective.n_features
    if not isinstance(metric, cp.Expression):
        raise InvalidInputError(
            f"an objective is called with a CVXPY variable, got {shortened(metric)}; its value at "
            "an array is objective.at(metric).value"
        )
    if metric.shape != (size, size) or not metric.is_affine():
        raise InvalidInputError(
            f"{shortened(objective)} takes an affine CVXPY expression of shape {(size, size)}, got "
            f"{shortened(str(metric))} of shape {metric.shape}; make it by "
            f"cp.Variable(({size}, {size}), symmetric=True)"
        )
    return ObjectiveAtom(metric, objective)


def _symmetric_part(matrix: FloatArray) -> FloatArray:
    symmetric: FloatArray = (matrix + matrix.T) / 2
    return symmetric


def _expand(atom: ObjectiveAtom, metric: cp.Expression) -> Terms:
    """Return the objective as CVXPY writes it, of the same metric or of another one."""
    same = atom if metric is atom.args[0] else ObjectiveAtom(metric, atom.objective)
    return same.expression


register_atom(ObjectiveAtom, _expand)
