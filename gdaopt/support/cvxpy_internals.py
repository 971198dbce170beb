"""What this package needs of CVXPY beyond its public names; no other module imports such.

It works with CVXPY 1.7 to 1.9, and says where these differ. Importing it loads CVXPY: modules that
must not do so take it from `gdaopt.support.cvxpy_loading`. tests/support/test_cvxpy_internals.py
has a test for each thing that is relied on. Its name says what another version has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms import EXP_ATOMS, NONPOS_ATOMS, PSD_ATOMS, SOC_ATOMS
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.atom import Atom
from cvxpy.cvxcore.python.canonInterface import get_problem_matrix
from cvxpy.lin_ops.lin_op import CONSTANT_ID
from cvxpy.lin_ops.lin_utils import ID_COUNTER
from cvxpy.problems.problem import SolverStats
from cvxpy.reductions import Chain, Complex2Real, CvxAttr2Constr, EvalParams, FlipObjective
from cvxpy.reductions.cvx_attr2constr import lower_value
from cvxpy.reductions.dcp2cone.canonicalizers import CANON_METHODS
from cvxpy.reductions.dcp2cone.dcp2cone import Dcp2Cone
from cvxpy.reductions.eval_params import replace_params_with_consts
from cvxpy.reductions.matrix_stuffing import extract_mip_idx
from cvxpy.reductions.solution import Solution
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP
from cvxpy.utilities import scopes
from scipy.sparse import csc_array, csr_array

from gdaopt.errors import InvalidInputError
from gdaopt.support.text import reason, shortened
from gdaopt.support.validation import FloatArray
from gdaopt.support.warning_filters import ignoring

__all__ = [
    "ID_COUNTER",
    "AffAtom",
    "AffineExpressions",
    "Atom",
    "ConeForm",
    "differentiate",
    "get_label",
    "list_cones",
    "list_solvers",
    "list_terms",
    "norm_argument",
    "record_solution",
    "record_status",
    "register_atom",
    "replace_params_with_consts",
    "set_label",
    "solver_interface",
    "squared_argument",
    "symmetric_part",
    "write_in_affine_atoms",
]

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


class ConeForm:
    """A convex problem in affine expressions and cones, as CVXPY writes it before it has matrices.

    It is a minimisation without parameters. Its variables have no attributes but whole numbers: a
    symmetric one is a vector of the entries of one half, and the bounds of others are constraints.

    Attributes
    ----------
    problem : cvxpy.Problem
        The form.
    sign : float
        What the user's objective is multiplied by to be minimised: 1 or -1.
    partners : dict of int to cvxpy.Constraint
        The constraint of the form for the id of each of the user's.
    """

    def __init__(self, user: cp.Problem) -> None:
        self.sign = -1.0 if isinstance(user.objective, cp.Maximize) else 1.0
        flip = [FlipObjective()] if self.sign < 0 else []
        steps = [EvalParams(), *flip, Dcp2Cone(), CvxAttr2Constr(reduce_bounds=True)]
        self._user, self._chain = user, Chain(reductions=steps)
        self.problem, self._inverse = self._chain.apply(user)
        constraints = {constraint.id: constraint for constraint in self.problem.constraints}
        self.partners: dict[int, Any] = self._invert({}, constraints).dual_vars

    def _invert(self, primal_values: Mapping[int, Any], dual_values: Mapping[int, Any]) -> Any:
        """Return what a solution of the form says of the user's variables and constraints."""
        solution = Solution(cp.OPTIMAL, None, primal_values, dual_values, {})
        return self._chain.invert(solution, self._inverse)

    def list_whole_numbers(self) -> tuple[list[int], list[int]]:
        """Return which entries of all variables are 0 or 1, and which are other whole numbers."""
        places: Any = extract_mip_idx(self.problem.variables())
        truths, others = ([place for (place,) in kind] for kind in places)
        return truths, others

    def to_user(self, values: Mapping[int, Any]) -> dict[int, Any]:
        """Return the values of the user's variables from those of the form's, by their ids."""
        of_user: dict[int, Any] = self._invert(values, {}).primal_vars
        return of_user

    def hand_back_duals(self) -> None:
        """Give the user's constraints the dual values of the form's."""
        for constraint in self._user.constraints:
            partner = self.partners[constraint.id]
            for dual, other in zip(constraint.dual_variables, partner.dual_variables, strict=True):
                dual.save_value(other.value)

    def from_user(self) -> FloatArray:
        """Return the values of the form's variables, one after the other, from the user's.

        There must be no variables but the user's, and all must have values.
        """
        sources = {}
        if self._inverse[-1]:
            reduced, users, _ = self._inverse[-1]
            sources = {reduced[number].id: user for number, user in users.items()}
        values = [np.zeros(0)]
        for variable in self.problem.variables():
            user = sources.get(variable.id, variable)
            value: Any = user.value
            value = value.toarray() if hasattr(value, "toarray") else np.asarray(value)
            is_sparse = user.attributes["sparsity"]  # which CVXPY 1.7 does not reduce here
            part = value[user.sparse_idx] if is_sparse else lower_value(user, value)
            values.append(np.ravel(part, order="F"))
        return np.concatenate(values)


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


# --- Affine expressions ---------------------------------------------------------------------------


def write_in_affine_atoms(expression: Any, leaves: Mapping[int, Any] | None = None) -> Any:
    """Write an affine expression anew, in affine atoms that CVXPY compiles, and in other leaves.

    Nothing of the expression itself is compiled, because CVXPY keeps what it compiles, under the
    identities of variables that a deep copy changes.
    """
    with _compiling(expression), ignoring(category=Warning):  # which came when the user wrote it
        return _write_affine(expression, leaves or {})


@contextmanager
def _compiling(*expressions: Any) -> Iterator[None]:
    """Say of what CVXPY does not compile what it is."""
    try:
        yield
    except Exception as error:
        text = shortened(", ".join(map(str, expressions)))[1:-1]
        raise InvalidInputError(
            f"CVXPY does not compile {text} ({type(error).__name__}: {reason(error)}); write it in "
            "other atoms"
        ) from error


def _write_affine(expression: Any, leaves: Mapping[int, Any]) -> Any:
    """Write an affine expression anew: terms such as ``0 * log_det(M)`` are left out."""
    if not expression.args:
        return leaves.get(id(expression), expression)
    if expression.is_zero():
        return cp.Constant(np.zeros(expression.shape))
    if _is_known(expression):
        return cp.Constant(expression.value)
    if isinstance(expression, cp.real | cp.imag):
        part, _ = Complex2Real().canonicalize_tree(expression, {}, {})
        return _write_affine(part, leaves)
    atom = expression.copy([_write_affine(each, leaves) for each in expression.args])
    has_a_form = type(atom).graph_implementation is not Atom.graph_implementation
    if not has_a_form or isinstance(atom, cp.cumsum):  # whose form fails in CVXPY 1.7
        return _linearise(atom)
    # CVXPY compiles some atoms to another shape than they have, which broadcasts another way.
    has_its_shape = atom.canonical_form[0].shape == atom.shape
    return atom if has_its_shape else cp.reshape(atom, atom.shape, order="F")


def _is_known(expression: Any) -> bool:
    """Say whether an expression has neither variables nor parameters."""
    return bool(expression.is_constant() and not expression.parameters())


def _linearise(atom: Any) -> Any:
    """Write an atom, affine for its arguments, as its derivatives times these and an offset.

    Such are ``power(x, 1)``, and ``cumsum(x)``, which CVXPY solves by way of more variables.
    """
    here = [part.value if _is_known(part) else np.ones(part.shape) for part in atom.args]
    written = cp.Constant(atom.numeric(here))
    # Some atoms leave out the derivatives by constants at the end.
    for part, value, jacobian in zip(atom.args, here, differentiate(atom, here), strict=False):
        if not _is_known(part):
            change = jacobian.T @ cp.vec(part - value, order="F")
            written += cp.reshape(change, atom.shape, order="F")
    return written


class AffineExpressions:
    """Affine expressions ``A x + b``, which CVXPY compiles once.

    If A and b are affine in the parameters of the expressions, they follow from the parameters'
    values by one product; elsewhere the expressions are compiled for the values that they have.
    x has the entries of the variables one after the other, each column by column.
    """

    def __init__(self, expressions: Sequence[cp.Expression], *variables: cp.Variable) -> None:
        self._expressions, self._variables = expressions, variables
        with scopes.dpp_scope():  # where parameters count as variables
            is_compiled_once = all(each.is_affine() for each in expressions)
        self._compiled = self._compile(expressions) if is_compiled_once else None

    def arrays(self) -> tuple[csr_array, FloatArray]:
        """Return A and b for the values of the parameters; the same A if it depends on none."""
        compiled = self._compiled or self._compile(
            [replace_params_with_consts(each) for each in self._expressions]
        )
        values = [np.asarray(each.value).ravel(order="F") for each in compiled.parameters]
        vector = np.concatenate([*values, [1.0]])
        coefficients = compiled.fixed
        if coefficients is None:
            coefficients = self._rearrange(compiled.coefficients @ csc_array(vector[:, None]))
        return coefficients, compiled.offsets @ vector

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of A."""
        variables = self._variables
        return sum(each.size for each in self._expressions), sum(each.size for each in variables)

    def _compile(self, expressions: Sequence[cp.Expression]) -> _Compiled:
        """Return the entries of A, then of b, by the parameters and 1."""
        parameters = list({id(p): p for each in expressions for p in each.parameters()}.values())
        variables = [cp.Variable(variable.shape) for variable in self._variables]
        columns = np.cumsum([0, *(variable.size for variable in variables)]).tolist()
        stand_ins = [cp.Parameter(parameter.shape) for parameter in parameters]
        sizes = {**{parameter.id: parameter.size for parameter in stand_ins}, CONSTANT_ID: 1}
        starts = np.cumsum([0, *sizes.values()]).tolist()
        leaves = dict(
            zip(map(id, [*self._variables, *parameters]), [*variables, *stand_ins], strict=True)
        )
        written = [write_in_affine_atoms(each, leaves) for each in expressions]
        # CVXPY's fast backend knows neither three dimensions nor all atoms.
        is_plain = all(each._max_ndim() <= 2 and each._all_support_cpp() for each in written)
        with _compiling(*expressions):
            tensor = get_problem_matrix(
                [each.canonical_form[0] for each in written],
                self.shape[1],
                {each.id: start for each, start in zip(variables, columns, strict=False)},
                sizes,
                dict(zip(sizes, starts, strict=False)),
                self.shape[0],
                None if is_plain else cp.settings.SCIPY_CANON_BACKEND,
            )
        last = self.shape[0] * self.shape[1]
        coefficients, offsets = csc_array(tensor[:last]), csr_array(tensor[last:])
        is_fixed = coefficients.indptr[-2] == 0  # all entries belong to the column of 1
        fixed = self._rearrange(coefficients[:, [-1]]) if is_fixed else None
        return _Compiled(parameters, coefficients, offsets, fixed)

    def _rearrange(self, entries: csc_array) -> csr_array:
        """Return A from its entries, column by column."""
        columns, rows = np.divmod(entries.indices, max(self.shape[0], 1))
        return csr_array((entries.data, (rows, columns)), shape=self.shape)


@dataclass(frozen=True, eq=False)
class _Compiled:
    """The entries of A and b by the parameters and 1; A itself if no parameter is in it."""

    parameters: list[cp.Parameter]
    coefficients: csc_array
    offsets: csr_array
    fixed: csr_array | None
