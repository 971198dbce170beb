"""Affine CVXPY expressions of a metric as arrays; parameters may change their values afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array

from gdaopt.support.cvxpy_loading import cp
from gdaopt.support.validation import FloatArray


class AffineExpressions:
    """Affine expressions ``A vec(M) + b``, which CVXPY compiles once.

    Where A and b are affine in the parameters of the expressions, they follow from the parameters'
    values by one product; elsewhere the expressions are compiled for the values that they have.
    vec(M) has the entries of the only variable, a K×K one, column by column.

    Examples
    --------
    >>> import cvxpy as cp
    >>> M, c = cp.Variable((2, 2), symmetric=True), cp.Parameter(value=3.0)
    >>> trace = AffineExpressions([cp.trace(M) - c], M)
    >>> coefficients, offsets = trace.arrays()
    >>> coefficients.toarray(), offsets
    (array([[1., 0., 0., 1.]]), array([-3.]))
    """

    def __init__(self, expressions: Sequence[cp.Expression], metric: cp.Variable) -> None:
        from cvxpy.utilities import scopes

        self._expressions, self._metric = expressions, metric
        with scopes.dpp_scope():  # where parameters count as variables
            is_compiled_once = all(each.is_affine() for each in expressions)
        self._compiled = self._compile(expressions) if is_compiled_once else None

    def arrays(self) -> tuple[csr_array, FloatArray]:
        """Return A and b for the values that the parameters have, which must have some.

        The entries of an expression are in A and b column by column. A is the same object as long
        as no parameter is in it.
        """
        from cvxpy.reductions.eval_params import replace_params_with_consts

        compiled = self._compiled or self._compile(
            [replace_params_with_consts(each) for each in self._expressions]
        )
        values = [np.asarray(each.value).ravel(order="F") for each in compiled.parameters]
        vector = np.concatenate([*values, [1.0]])
        coefficients = compiled.fixed
        if coefficients is None:
            coefficients = _rearranged(compiled.coefficients @ csc_array(vector[:, None]), self)
        return coefficients, compiled.offsets @ vector

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of A."""
        return sum(each.size for each in self._expressions), self._metric.size

    def _compile(self, expressions: Sequence[cp.Expression]) -> _Compiled:
        """Return the entries of A, then of b, by the parameters and 1."""
        from cvxpy import settings
        from cvxpy.cvxcore.python.canonInterface import get_problem_matrix
        from cvxpy.lin_ops.lin_op import CONSTANT_ID

        parameters = list({p.id: p for each in expressions for p in each.parameters()}.values())
        sizes = {**{parameter.id: parameter.size for parameter in parameters}, CONSTANT_ID: 1}
        starts = np.cumsum([0, *sizes.values()]).tolist()
        # CVXPY's fast backend knows neither three dimensions nor all atoms.
        is_plain = all(each._max_ndim() <= 2 and each._all_support_cpp() for each in expressions)
        tensor = get_problem_matrix(
            [each.canonical_form[0] for each in expressions],
            self._metric.size,
            {self._metric.id: 0},
            sizes,
            dict(zip(sizes, starts, strict=False)),
            self.shape[0],
            None if is_plain else settings.SCIPY_CANON_BACKEND,
        )
        last = self.shape[0] * self._metric.size
        coefficients, offsets = csc_array(tensor[:last]), csr_array(tensor[last:])
        is_fixed = coefficients.indptr[-2] == 0  # all entries belong to the column of 1
        fixed = _rearranged(coefficients[:, [-1]], self) if is_fixed else None
        return _Compiled(parameters, coefficients, offsets, fixed)


def _rearranged(entries: csc_array, of: AffineExpressions) -> csr_array:
    """Return A from its entries, column by column."""
    columns, rows = np.divmod(entries.indices, max(of.shape[0], 1))
    found = csr_array((entries.data, (rows, columns)), shape=of.shape)
    return found


@dataclass(frozen=True, eq=False)
class _Compiled:
    """The entries of A and b by the parameters and 1; A itself where no parameter is in it."""

    parameters: list[cp.Parameter]
    coefficients: csc_array
    offsets: csr_array
    fixed: csr_array | None
