"""Objectives as convex atoms of CVXPY, whose expressions are made where conic solvers ask."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms import EXP_ATOMS, NONPOS_ATOMS, PSD_ATOMS, SOC_ATOMS
from cvxpy.atoms.atom import Atom
from cvxpy.reductions.dcp2cone.canonicalizers import CANON_METHODS
from cvxpy.reductions.dcp2cone.dcp2cone import Dcp2Cone
from scipy.sparse import csc_array

from gdaopt.errors import InvalidInputError
from gdaopt.objectives.protocol import Terms
from gdaopt.support.cvxpy_loading import cvxpy_is_used
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray

cvxpy_is_used()


class ObjectiveAtom(Atom):
    """``Q(M)``, or of the symmetric part of M where CVXPY does not know M as symmetric."""

    def __init__(self, metric: cp.Expression, objective: Any) -> None:
        self.objective = objective
        super().__init__(metric)

    @cached_property
    def expression(self) -> Terms:
        """Q as CVXPY writes it, and constraints on its own variables."""
        metric = self.args[0]
        symmetric = metric if metric.is_symmetric() else (metric + metric.T) / 2
        written: Terms = self.objective.to_cvxpy(symmetric)
        return written

    def get_data(self) -> Any:
        return [self.objective]  # copies are made with it

    def name(self) -> str:
        return f"{type(self.objective).__name__}({self.args[0].name()})"

    def shape_from_args(self) -> tuple[int, ...]:
        return ()

    def sign_from_args(self) -> tuple[bool, bool]:
        return self.objective.log_convex, False  # of other objectives it is not known

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


def _canonicalised(
    atom: ObjectiveAtom, args: list[cp.Expression], solver_context: Any = None
) -> tuple[cp.Expression, list[cp.Constraint]]:
    """Return the objective for a conic solver: an affine expression, and cones."""
    canonical = atom if args[0] is atom.args[0] else ObjectiveAtom(args[0], atom.objective)
    expression, defining = canonical.expression
    reduction = Dcp2Cone(solver_context=solver_context)
    found, cones = reduction.canonicalize_tree(expression, False)
    for constraint in defining:
        cone, own = reduction.canonicalize_tree(constraint, False)
        cones += [*own, cone]
    return found, cones


_methods: Any = CANON_METHODS
_methods[ObjectiveAtom] = _canonicalised
for _atoms in (SOC_ATOMS, EXP_ATOMS, PSD_ATOMS, NONPOS_ATOMS):
    # By these lists CVXPY knows, before expressions are made, which cones a solver must have.
    _atoms.append(ObjectiveAtom)
