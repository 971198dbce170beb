"""What models are made of: labels, terms, atoms with their derivatives, statuses, and solvers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms import EXP_ATOMS, NONPOS_ATOMS, PSD_ATOMS, SOC_ATOMS
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.atom import Atom
from cvxpy.problems.problem import SolverStats
from cvxpy.reductions.dcp2cone.canonicalizers import CANON_METHODS
from cvxpy.reductions.dcp2cone.dcp2cone import Dcp2Cone
from cvxpy.reductions.solution import Solution
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP
from scipy.sparse import csc_array

try:
    from cvxpy.atoms.elementwise.power import Power
except ImportError:  # before CVXPY 1.8, where it is the class that is called power
    Power = cp.power  # type: ignore[misc, assignment]  # which knows the newest alone


VERSION = tuple(int(part) for part in cp.__version__.split(".")[:2])


# --- Models ---------------------------------------------------------------------------------------


def set_label(constraint: cp.Constraint, label: str) -> cp.Constraint:
    """Label a constraint, and return it."""
    constraint.label = label  # before CVXPY 1.8 an attribute as any other
    return constraint


def get_label(constraint: cp.Constraint) -> str | None:
    """Return the label of a constraint, None if it has none."""
    return getattr(constraint, "label", None)


def symmetric_part(metric: cp.Expression, is_symmetric: bool) -> cp.Expression:
    """Return the symmetric part of a K×K expression, as what is no variable itself.

    Before CVXPY 1.9.3 a quadratic objective lacks the squares of a variable that is symmetric.
    """
    return cp.symmetric_wrap(metric) if is_symmetric else (metric + metric.T) / 2


def record_solution(
    problem: cp.Problem,
    status: str,
    value: float,
    primal_values: Mapping[int, Any],
    dual_values: Mapping[int, Any],
    solver_name: str,
    **statistics: Any,
) -> None:
    """Set what a problem says of its last solve, as ``Problem.unpack`` does.

    The values are those of variables and constraints by their id; all others have none afterwards.
    CVXPY would evaluate the objective once more.
    """
    for variable in problem.variables():
        variable.save_value(primal_values.get(variable.id))
    for constraint in problem.constraints:
        for variable in constraint.dual_variables:
            variable.save_value(None)
        if constraint.id in dual_values:
            constraint.save_dual_value(dual_values[constraint.id])
    record_status(problem, status, value, solver_name, **statistics)


def record_status(
    problem: cp.Problem, status: str, value: float, solver_name: str, **statistics: Any
) -> None:
    """Set how the last solve of a problem ended, where variables and constraints have values."""
    solved: Any = problem
    solved._value, solved._status = value, status
    solved._solution = Solution(status, value, {}, {}, {})
    solved._solver_stats = SolverStats(solver_name, **statistics)


def list_terms(expression: cp.Expression, factor: float = 1.0) -> list[tuple[float, cp.Expression]]:
    """Return the terms of a sum, and what each is multiplied by; parameters have values."""
    if expression.is_affine():
        return [(factor, expression)]
    if isinstance(expression, AddExpression):
        return [term for part in expression.args for term in list_terms(part, factor)]
    if isinstance(expression, NegExpression):
        return list_terms(expression.args[0], -factor)
    if isinstance(expression, cp.multiply | MulExpression):
        first, second = expression.args
        if first.is_constant() and first.is_scalar():
            return list_terms(second, factor * _number(first))
        if second.is_constant() and second.is_scalar():
            return list_terms(first, factor * _number(second))
    if isinstance(expression, DivExpression) and expression.args[1].is_constant():
        return list_terms(expression.args[0], factor / _number(expression.args[1]))
    return [(factor, expression)]


def squared_argument(term: Any) -> Any:
    """Return X if a term is ``‖X‖²``, the sum of the squares of all entries; else None."""
    if isinstance(term, cp.quad_over_lin):
        axis, divisor = (term.get_data() or [None])[0], term.args[1]  # CVXPY 1.7 has no axis
        is_one = divisor.is_constant() and divisor.is_scalar() and _number(divisor) == 1
        return term.args[0] if axis is None and is_one else None
    if isinstance(term, Sum) and term.get_data()[0] is None and _is_square(term.args[0]):
        return term.args[0].args[0]
    return norm_argument(term.args[0]) if _is_square(term) else None


def norm_argument(expression: Any) -> Any:
    """Return X if an expression is ``‖X‖``, the Euclidean norm of all entries; else None."""
    if not isinstance(expression, cp.Pnorm) or expression.p != 2 or expression.axis is not None:
        return None
    entries = expression.args[0]
    return entries.args[0] if isinstance(entries, cp.reshape) else entries


def _is_square(expression: Any) -> bool:
    """Say whether an expression is the square of its argument, entry by entry."""
    return isinstance(expression, Power) and expression.p.value == 2


def _number(constant: cp.Expression) -> float:
    return float(np.asarray(constant.value).item())


# --- Atoms of our own -----------------------------------------------------------------------------


def register_atom(
    atom: type[Atom],
    expand: Callable[[Any, cp.Expression], tuple[cp.Expression, list[cp.Constraint]]],
) -> None:
    """Let conic solvers take atoms of a type.

    `expand` gets an atom and its argument in affine form, and returns a convex expression for it,
    with constraints on the variables that only this has.
    """

    def canonicalize(
        atom: Any, args: list[cp.Expression], solver_context: Any = None
    ) -> tuple[cp.Expression, list[cp.Constraint]]:
        context = {} if solver_context is None else {"solver_context": solver_context}
        reduction = Dcp2Cone(**context)  # CVXPY 1.7 has no context
        expression, defining = expand(atom, args[0])
        canonical, cones = reduction.canonicalize_tree(expression, False)
        for constraint in defining:
            cone, further = reduction.canonicalize_tree(constraint, False)
            cones += [*further, cone]
        return canonical, cones

    methods: Any = CANON_METHODS
    methods[atom] = canonicalize
    # By these lists CVXPY knows, before expressions are made, which cones a solver must have.
    for atoms in (SOC_ATOMS, EXP_ATOMS, PSD_ATOMS, NONPOS_ATOMS):
        atoms.append(atom)


# --- Derivatives ----------------------------------------------------------------------------------


def differentiate(atom: Any, values: list[Any]) -> list[Any]:
    """Return an atom's derivatives by its arguments, each of shape (size, size of the atom).

    A derivative is None outside of the domain. At a kink it is a subgradient.
    """
    for version, kind, derivatives in _MENDED:
        if version > VERSION and isinstance(atom, kind):
            return derivatives(atom, values)
    differentiated: list[Any] = atom._grad(values)
    return differentiated


def _of_quad_over_lin(atom: Any, values: list[Any]) -> list[Any]:
    dividend, divisor = values
    if atom.args[0].is_complex() or divisor <= 0:
        return [None, None]
    by_dividend = 2 * np.ravel(dividend, order="F") / divisor
    by_divisor = -np.sum(dividend**2) / divisor**2
    return [csc_array(by_dividend[:, None]), csc_array(np.reshape(by_divisor, (1, 1)))]


def _of_sum_largest(atom: Any, values: list[Any]) -> list[Any]:
    entries = np.ravel(values[0], order="F")
    shares = np.zeros((len(entries), 1))
    shares[np.argsort(-entries), 0] = np.clip(atom.k - np.arange(len(entries)), 0.0, 1.0)
    return [csc_array(shares)]


def _of_trace_of_inverse(_atom: Any, values: list[Any]) -> list[Any]:
    if np.linalg.eigvalsh(values[0]).min() <= 0:
        return [None]
    inverse = np.linalg.inv(values[0]).T
    return [csc_array(-(inverse @ inverse).reshape((-1, 1), order="F"))]


# What CVXPY has before these versions is wrong for matrices that are not symmetric, or fails: for
# vectors, and with SciPy from 1.15 on.
_MENDED: list[tuple[tuple[int, ...], type, Callable[[Any, list[Any]], list[Any]]]] = [
    ((1, 8), cp.quad_over_lin, _of_quad_over_lin),
    ((1, 9), cp.sum_largest, _of_sum_largest),
    ((1, 8), cp.tr_inv, _of_trace_of_inverse),
]


# --- Solvers --------------------------------------------------------------------------------------


def list_solvers() -> tuple[str, ...]:
    """Return the names of the conic and quadratic solvers that CVXPY has an interface for."""
    return tuple(sorted({*SOLVER_MAP_CONIC, *SOLVER_MAP_QP}))


def solver_interface(name: str) -> Any:
    """Return CVXPY's interface to a solver, None if it has none."""
    return SOLVER_MAP_CONIC.get(name) or SOLVER_MAP_QP.get(name)


def list_cones(name: str) -> set[str]:
    """Return the names of the kinds of constraints that a conic solver takes; empty for others."""
    if name not in SOLVER_MAP_CONIC:
        return set()
    return {constraint.__name__ for constraint in SOLVER_MAP_CONIC[name].SUPPORTED_CONSTRAINTS}
