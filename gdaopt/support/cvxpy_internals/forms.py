"""What models are compiled to: affine expressions as matrices, and problems in cones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.atom import Atom
from cvxpy.cvxcore.python.canonInterface import get_problem_matrix
from cvxpy.lin_ops.lin_op import CONSTANT_ID
from cvxpy.reductions import Chain, Complex2Real, CvxAttr2Constr, EvalParams, FlipObjective
from cvxpy.reductions.cvx_attr2constr import lower_value
from cvxpy.reductions.dcp2cone.dcp2cone import Dcp2Cone
from cvxpy.reductions.eval_params import replace_params_with_consts
from cvxpy.reductions.matrix_stuffing import extract_mip_idx
from cvxpy.reductions.solution import Solution
from cvxpy.utilities import scopes
from scipy.sparse import csc_array, csr_array, hstack

from gdaopt.errors import InvalidInputError
from gdaopt.support.cvxpy_internals.models import differentiate
from gdaopt.support.text import reason, shortened
from gdaopt.support.validation import FloatArray
from gdaopt.support.warning_filters import ignoring

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


# --- Problems in cones ----------------------------------------------------------------------------


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
    point : cvxpy.Expression
        1, and then the entries of all variables, each column by column.
    partners : dict of int to cvxpy.Constraint
        The constraint of the form for the id of each of the user's.
    """

    def __init__(self, user: cp.Problem) -> None:
        self.sign = -1.0 if isinstance(user.objective, cp.Maximize) else 1.0
        flip = [FlipObjective()] if self.sign < 0 else []
        steps = [EvalParams(), *flip, Dcp2Cone(), CvxAttr2Constr(reduce_bounds=True)]
        self._user, self._chain = user, Chain(reductions=steps)
        reduced, self._inverse = self._chain.apply(user)
        # A variable without attributes is still the user's own, whose value a solve would change.
        own = {
            id(each): cp.Variable(each.shape, each.name(), each.id, **each.attributes)
            for each in reduced.variables()
        }
        copies = [part.tree_copy(own) for part in (reduced.objective, *reduced.constraints)]
        self.problem = cp.Problem(copies[0], copies[1:])
        parts = [cp.vec(variable, order="F") for variable in self.problem.variables()]
        self.point = cp.hstack([1.0, *parts])
        constraints = {constraint.id: constraint for constraint in self.problem.constraints}
        self.partners: dict[int, Any] = self._invert({}, constraints).dual_vars

    def _invert(self, primal_values: Mapping[int, Any], dual_values: Mapping[int, Any]) -> Any:
        """Return what a solution of the form says of the user's variables and constraints."""
        solution = Solution(cp.OPTIMAL, None, primal_values, dual_values, {})
        return self._chain.invert(solution, self._inverse)

    def read(self, expressions: Sequence[cp.Expression]) -> csr_array:
        """Return the coefficients of affine expressions at the point, one below the other."""
        if not expressions:
            return csr_array((0, self.point.size))
        matrix, offset = AffineExpressions(expressions, *self.problem.variables()).arrays()
        coefficients = csr_array(hstack([csr_array(offset[:, None]), matrix]))
        coefficients.eliminate_zeros()
        return coefficients

    def source_of(self, constraint: Any) -> Any:
        """Return the user's constraint that one of the form is from, or the variable.

        For what CVXPY has written for an atom that is the constraint itself.
        """
        for user in self._user.constraints:
            if self.partners[user.id] is constraint:
                return user
        # That of an attribute has this variable alone, those of atoms have more.
        users = {(variable.id,): variable for variable in self._user.variables()}
        return users.get(tuple(each.id for each in constraint.variables()), constraint)

    def list_whole_numbers(self) -> tuple[list[int], list[int]]:
        """Return which entries of all variables are 0 or 1, and which are other whole numbers."""
        places: Any = extract_mip_idx(self.problem.variables())
        truths, others = ([place for (place,) in kind] for kind in places)
        return truths, others

    def to_user(self, numbers: FloatArray) -> dict[int, Any]:
        """Return the values of the user's variables by their ids, from those of the form's.

        These stand one after the other, each column by column.
        """
        variables = self.problem.variables()
        values = {
            each.id: part for each, part in zip(variables, split(numbers, variables), strict=True)
        }
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
        sources = {variable.id: variable for variable in self._user.variables()}
        if self._inverse[-1]:
            reduced, users, _ = self._inverse[-1]
            sources |= {reduced[number].id: user for number, user in users.items()}
        values = [np.zeros(0)]
        for variable in self.problem.variables():
            user = sources.get(variable.id, variable)
            value: Any = user.value
            value = value.toarray() if hasattr(value, "toarray") else np.asarray(value)
            is_sparse = user.attributes["sparsity"]  # which CVXPY 1.7 does not reduce here
            part = value[user.sparse_idx] if is_sparse else lower_value(user, value)
            values.append(np.ravel(part, order="F"))
        return np.concatenate(values)


def split(numbers: FloatArray, owners: Sequence[Any]) -> list[FloatArray]:
    """Return the numbers of each variable or constraint, in its shape."""
    parts = np.split(numbers, np.cumsum([owner.size for owner in owners]))
    return [part.reshape(each.shape, order="F") for part, each in zip(parts, owners, strict=False)]
