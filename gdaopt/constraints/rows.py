"""Linear constraints on a metric, as rows ``⟨A_k, M⟩ ≤ b_k`` or ``⟨A_k, M⟩ = b_k``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from gdaopt.errors import InfeasibleProblemError, InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import Edges
from gdaopt.support.cvxpy_loading import cp, cvxpy_internals
from gdaopt.support.text import cut, shortened
from gdaopt.support.validation import FloatArray

ConstraintsOf: TypeAlias = "Callable[[cp.Expression], Sequence[cp.Constraint]]"
"""A function that takes a metric and returns CVXPY constraints on it."""

ROW_TOLERANCE = 5e-9
"""By how much a metric may break a row, as a share of its trace (`LinearConstraints.allowed`)."""

FORM_ROUND_OFF = 1e-14
"""How exact ``u'Au`` is, as a share of its terms: as exact as an oracle's atoms are."""

_MOST_NAMES = 8  # names of rows in a message
_ROUND_OFF = 2.0**-50  # a share of the terms of a residual
_LONGEST_LABEL = 100  # characters: a constraint with an array has all of its numbers as its text
_EXAMPLE = "lambda M: [M[0, 1] == 0, cp.trace(M) <= 3]"


@dataclass(frozen=True, eq=False)
class LinearConstraints:
    """m rows on symmetric K×K matrices of norm 1; also a function that makes the constraints."""

    matrices: csr_array  # the symmetric A_k, row by row: shape (m, K²)
    bounds: FloatArray
    is_equality: npt.NDArray[np.bool_]
    norms: FloatArray  # the norms of A_k as the user wrote the rows
    owners: npt.NDArray[np.intp]  # for each row the number of the constraint that it is from
    labels: tuple[str, ...]  # what constraints are called, or their texts; no two are the same

    def __len__(self) -> int:
        return len(self.bounds)

    def __call__(self, metric: cp.Expression) -> list[cp.Constraint]:
        """Return a CVXPY constraint on an expression for each one that was read."""
        entries = cp.vec(metric, order="C")
        return [
            cvxpy_internals.set_label(
                constraint(self.matrices[index] @ entries, self.bounds[index], equality), label
            )
            for label, index, equality in self.parts()
        ]

    def parts(self) -> list[tuple[str, npt.NDArray[np.intp], bool]]:
        """Return the label, the rows and the kind of each constraint that was read."""
        parts = []
        for owner in dict.fromkeys(self.owners.tolist()):
            index = np.flatnonzero(self.owners == owner)
            parts.append((self.labels[owner], index, bool(self.is_equality[index[0]])))
        return parts

    def select(self, index: npt.NDArray[np.intp]) -> LinearConstraints:
        """Return some of the rows."""
        return LinearConstraints(
            csr_array(self.matrices[index]),
            self.bounds[index],
            self.is_equality[index],
            self.norms[index],
            self.owners[index],
            self.labels,
        )

    @property
    def n_features(self) -> int:
        """K."""
        return math.isqrt(self.matrices.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """What messages call each row: the label, and its number if a constraint has several."""
        names = [""] * len(self)
        for label, index, _ in self.parts():
            for number, k in enumerate(index):
                names[k] = f"{label} [{number}]" if len(index) > 1 else label
        return tuple(_distinct(names))

    def list_names(self, indices: Iterable[int] | None = None) -> str:
        """Return the names of some rows for a message, all by default; of many the first ones."""
        names = self.names if indices is None else tuple(self.names[k] for k in indices)
        more = len(names) - _MOST_NAMES
        return "; ".join([*names[:_MOST_NAMES], *([f"and {more} more"] if more > 0 else [])])

    # --- at a metric --------------------------------------------------------------------------

    def excesses(self, metric: FloatArray) -> FloatArray:
        """Return how far M is beyond each row: 0 if the row holds, signed for equalities."""
        residuals = self.residuals(metric)
        return np.where(self.is_equality, residuals, np.maximum(residuals, 0.0))

    def residuals(self, metric: FloatArray) -> FloatArray:
        """Return ``⟨A_k, M⟩ - b_k`` of each row."""
        residuals: FloatArray = self.matrices @ metric.ravel() - self.bounds
        return residuals

    def round_off(self, metric: FloatArray) -> FloatArray:
        """Return the largest round-off of each residual, of the data and of the sum."""
        terms = np.abs(self.bounds) + abs(self.matrices) @ np.abs(metric).ravel()
        return np.asarray(_ROUND_OFF * terms, dtype=np.float64)

    def violation(self, metric: FloatArray) -> float:
        """Return the largest distance of M to a row that it breaks."""
        return float(np.abs(self.excesses(metric)).max(initial=0.0))

    def allowed(self, metric: FloatArray, trace_bound: float) -> float:
        """Return the distance to a row that counts as keeping it: a share of the trace."""
        largest = min(float(np.abs(self.bounds).max(initial=0.0)), trace_bound)
        return ROW_TOLERANCE * max(float(np.trace(metric)), largest)

    def violations(self, metric: FloatArray, trace_bound: float) -> list[str]:
        """Return a sentence for each row that M does not keep, in the units of the row."""
        excesses, names = self.excesses(metric), self.names
        slack = self.allowed(metric, trace_bound)
        return [
            f"{names[k]}: off by {self.norms[k] * excesses[k]:.6g}"
            for k in np.flatnonzero(np.abs(excesses) > slack)
        ]

    def correct(self, metric: FloatArray, trace_bound: float) -> FloatArray:
        """Return the nearest matrix at which broken rows, and the trace bound, are tight."""
        size = self.n_features
        unit = csr_array(np.eye(size).reshape(1, -1) / np.sqrt(size))
        over = max(float(np.trace(metric)) - trace_bound, 0.0) / np.sqrt(size)
        excesses = np.append(self.excesses(metric), over)
        broken = np.flatnonzero(excesses)
        if not len(broken):
            return metric
        normals = csr_array(vstack([self.matrices, unit]))[broken]
        step = np.linalg.lstsq((normals @ normals.T).toarray(), excesses[broken])[0]
        corrected: FloatArray = metric - (normals.T @ step).reshape(metric.shape)
        return corrected

    def way_back(self, metric: FloatArray, inner: FloatArray) -> float:
        """Return the share of the way from M to an inner metric, after which all rows hold."""
        here, there = self.residuals(metric), self.residuals(inner)
        beyond = np.where(self.is_equality, np.abs(here), here) > self.round_off(metric)
        shares = np.where(self.is_equality, 1.0, here / np.where(beyond, here - there, 1.0))
        return float(shares[beyond].max(initial=0.0))

    # --- in other coordinates -----------------------------------------------------------------

    def combine(self, multipliers: FloatArray) -> FloatArray:
        """Return ``Σ_k λ_k A_k``, shape (K, K)."""
        size = self.n_features
        combined: FloatArray = (self.matrices.T @ multipliers).reshape(size, size)
        return combined

    def magnitudes(self, multipliers: FloatArray, metric: FloatArray) -> tuple[FloatArray, float]:
        """Return ``Σ_k |λ_k| |A_k|`` and ``Σ_k |λ_k| (⟨|A_k|, |M|⟩ + |b_k|)``: round-off's scale.

        λ are those of the rows as the user wrote them.
        """
        scaled = np.abs(multipliers * self.norms)
        sizes: FloatArray = (abs(self.matrices).T @ scaled).reshape(metric.shape)
        return sizes, float(np.vdot(sizes, np.abs(metric)) + scaled @ np.abs(self.bounds))

    def forms_and_sizes(self, atoms: Atoms) -> tuple[FloatArray, FloatArray]:
        """Return ``u_j'A_k u_j`` and ``|u_j|'|A_k||u_j|`` for each row and each atom, (m, n).

        The latter is the size of the terms of the form, which is 0 if it is round-off of them.
        """
        positive = Atoms(atoms.support, np.abs(atoms.values))
        forms, sizes = _forms(self.matrices, atoms), _forms(abs(self.matrices), positive)
        forms[np.abs(forms) <= FORM_ROUND_OFF * sizes] = 0.0
        return forms, sizes

    def of_entries(self, pairs: Edges, signs: FloatArray | float = -1.0) -> FloatArray:
        """Return the coefficients of diagonal entries and of edge weights with signs, (m, n)."""
        rows, columns = pairs
        factor = np.where(rows == columns, 1.0, 2.0 * signs)  # an edge stands in the metric twice
        coefficients: FloatArray = self.matrices[:, rows * self.n_features + columns].toarray()
        return coefficients * factor


def _forms(matrices: csr_array, atoms: Atoms) -> FloatArray:
    """Return ``u_j'A_k u_j`` for matrices that are the rows of an array, shape (m, n)."""
    size, places = math.isqrt(matrices.shape[1]), atoms.support
    if places.shape[1] == size > 2:
        forms = np.zeros((matrices.shape[0], len(places)))
        for k in range(len(forms)):
            forms[k] = atoms.quadratic_forms(matrices[[k]].toarray().reshape(size, size))
        return forms
    chosen = matrices[:, (places[:, :, None] * size + places[:, None, :]).ravel()].toarray()
    entries = chosen.reshape(len(chosen), *places.shape, places.shape[1])
    few: FloatArray = np.einsum("kjfg,jf,jg->kj", entries, atoms.values, atoms.values)
    return few


def constraint(left: cp.Expression, right: Any, is_equality: bool) -> cp.Constraint:
    """Return ``left = right`` or ``left ≤ right``."""
    relation: cp.Constraint = left == right if is_equality else left <= right
    return relation


def as_list(returned: Any) -> Sequence[Any]:
    """Return the result of a user's function as a list, also if it is one constraint."""
    return returned if isinstance(returned, list | tuple) else [returned]


def read_constraints(function: ConstraintsOf, n_features: int) -> LinearConstraints:
    """Read linear constraints from CVXPY: the function's constraints on a K×K variable.

    CVXPY parameters enter with their current values. An InvalidInputError refuses what is no
    list of affine constraints, an InfeasibleProblemError a constraint that is false whatever the
    metric is.
    """
    if isinstance(function, LinearConstraints):
        return function
    if not callable(function) or isinstance(function, type):
        raise InvalidInputError(
            f"constraints must be a function of the metric, such as {_EXAMPLE}; got "
            f"{shortened(function)}"
        )
    metric = cp.Variable((n_features, n_features), symmetric=True, name="M")
    return WrittenRows(as_list(function(metric)), metric).rows()[0]


class WrittenRows:
    """Affine CVXPY constraints on a metric, read once: rows for any values of their parameters."""

    def __init__(self, constraints: Sequence[Any], metric: cp.Variable) -> None:
        labels = [_read_label(constraint, metric) for constraint in constraints]
        self._expressions = [
            -constraint.expr if isinstance(constraint, cp.NonNeg) else constraint.expr
            for constraint in constraints
        ]
        self._affine = cvxpy_internals.AffineExpressions(self._expressions, metric)
        self._labels = tuple(_distinct(labels))
        n_rows = [each.size for each in self._expressions]
        self._owners = np.repeat(np.arange(len(n_rows)), n_rows)
        equalities = cp.constraints.Equality | cp.Zero
        kinds = [isinstance(constraint, equalities) for constraint in constraints]
        self._is_equality = np.repeat(np.array(kinds, dtype=bool), n_rows)
        self._mirrored = np.arange(metric.size).reshape(metric.shape).T.ravel()
        self._coefficients: csr_array | None = None  # from which `_scaled` was made
        self._scaled: tuple[csr_array, FloatArray]

    def rows(self) -> tuple[LinearConstraints, npt.NDArray[np.intp]]:
        """Return the rows for the values that the parameters have.

        Entries of constraints that hold whatever the metric is are left out, so that the place of
        each row among the entries of all constraints, column by column, is returned, too.
        """
        for label, expression in zip(self._labels, self._expressions, strict=True):
            check_values(f"constraint {label}", expression)
        coefficients, offsets = self._affine.arrays()
        if coefficients is not self._coefficients:
            self._coefficients, self._scaled = coefficients, self._normalise(coefficients)
        matrices, norms = self._scaled
        for k in np.flatnonzero(~np.isfinite(norms) | np.isnan(offsets)):
            raise InvalidInputError(
                f"constraint {self._labels[self._owners[k]]} has a coefficient that is not finite"
            )
        scaled = LinearConstraints(
            matrices,
            -offsets / np.where(norms > 0, norms, 1.0),
            self._is_equality,
            norms,
            self._owners,
            self._labels,
        )
        is_constant = (norms == 0) | np.isinf(offsets)  # such as a bound of infinity
        always = scaled.excesses(np.zeros(len(self._mirrored)))
        for k in np.flatnonzero(is_constant & (always != 0)):
            raise InfeasibleProblemError(
                f"constraint {scaled.names[k]} is false whatever the metric is; leave it out or "
                "mend it"
            )
        index = np.flatnonzero(~is_constant)
        return (scaled if len(index) == len(norms) else scaled.select(index)), index

    def _normalise(self, coefficients: csr_array) -> tuple[csr_array, FloatArray]:
        """Return the symmetric matrices of norm 1, if they are not 0, and their norms before."""
        matrices = csr_array((coefficients + coefficients[:, self._mirrored]) / 2)
        matrices.eliminate_zeros()
        norms = np.sqrt(csr_array(matrices.multiply(matrices)) @ np.ones(matrices.shape[1]))
        scale = 1 / np.where(norms > 0, norms, 1.0)
        return csr_array(matrices.multiply(scale[:, None])), norms


def _read_label(constraint: Any, metric: cp.Variable) -> str:
    """Return the label of a CVXPY constraint; refuse what is no row."""
    if not isinstance(constraint, cp.Constraint):
        raise InvalidInputError(
            f"constraints must return a list of CVXPY constraints, such as {_EXAMPLE}; it has "
            f"{shortened(constraint)}"
        )
    label = cut(
        cvxpy_internals.get_label(constraint) or " ".join(str(constraint).split()), _LONGEST_LABEL
    )
    equalities = cp.constraints.Equality | cp.Zero
    linear = equalities | cp.constraints.Inequality | cp.NonNeg | cp.NonPos
    if not isinstance(constraint, linear) or not constraint.expr.is_affine():
        raise InvalidInputError(
            f"constraint {label} is not linear: it must be an equality or an inequality that is "
            "affine in the metric; let a conic solver of CVXPY solve a problem with any other "
            "(MetricProblem.to_cvxpy makes one)"
        )
    check_variables(f"constraint {label}", constraint, metric)
    return label


def check_variables(name: str, part: Any, metric: cp.Variable) -> None:
    """Refuse a part of a problem that depends on another variable than the metric."""
    others = [str(variable) for variable in part.variables() if variable is not metric]
    if str(metric) in others:
        raise InvalidInputError(
            f"{name} has another variable {metric} than the set, as a copy has; copy objective and "
            "constraints together"
        )
    if others:
        raise InvalidInputError(
            f"{name} has a variable beside the metric {metric}: {cut(others[0], _LONGEST_LABEL)}; "
            "write it in the entries of the metric alone, or let CVXPY solve the problem by a "
            "conic solver"
        )


def check_values(name: str, part: Any) -> None:
    """Refuse a part of a problem that has parameters without values."""
    missing = [str(parameter) for parameter in part.parameters() if parameter.value is None]
    if missing:
        raise InvalidInputError(
            f"{name} has a parameter without a value: {cut(missing[0], _LONGEST_LABEL)}; set it"
        )


def _distinct(labels: Sequence[str]) -> list[str]:
    """Return the labels, with a number if one is there twice; no two are the same."""
    counts, used = Counter(labels), Counter[str]()
    distinct = []
    for label in labels:
        name = label
        while counts[label] > 1 and name in counts:  # a label may look like one with a number
            used[label] += 1
            name = f"{label} ({used[label]})"
        distinct.append(name)
    return distinct
