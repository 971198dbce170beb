"""A CVXPY problem over metrics, read: its variable, its set, its objective and its constraints.

The objective is taken apart if it is a sum. Its terms are multiples of this package's
objectives, linear functions, squared distances to a matrix, and the rest, which becomes one
`CvxpyObjective`. Importing the module loads CVXPY.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy.sparse import eye_array

from gdaopt.constraints.rows import (
    LinearConstraints,
    WrittenRows,
    check_values,
    check_variables,
)
from gdaopt.errors import InfeasibleProblemError, InvalidInputError, NoInteriorError
from gdaopt.objectives import CvxpyObjective, Objective
from gdaopt.objectives.atom import ObjectiveAtom
from gdaopt.objectives.base import SumObjective
from gdaopt.objectives.quadratic import Quadratic
from gdaopt.sets import FeasibleSet
from gdaopt.sets.membership import Membership
from gdaopt.support.cvxpy_internals import (
    AffineExpressions,
    list_terms,
    norm_argument,
    replace_params_with_consts,
    squared_argument,
)
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_instance

_ADVICE = "add the constraints of a set, such as gdaopt.GraphMetrics(trace_bound=C).of(M)"
_ROUND_OFF = 1e-14  # round-off of a row of norm 1 that is a multiple of the trace
_KNOWN_ATTRIBUTES = ("symmetric", "PSD")  # every member of a set has them


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
    """A scalar expression of the metric to minimise; terms without parameters are read once."""

    def __init__(self, expression: cp.Expression, metric: cp.Variable) -> None:
        self._expression, self._metric = expression, metric
        self._quadratics: dict[int, Quadratic | None] = {}  # by id of terms without parameters
        self._sum: Objective | None = None

    def distance(self) -> SquaredDistance | None:
        """Return the square, if the expression is a distance ``‖cM + B‖_F``; else None."""
        check_values("the objective", self._expression)
        return _distance(norm_argument(self._expression), self._metric)

    def objective(self) -> Objective:
        """Return the expression as an objective, for the values that its parameters have."""
        if self._sum is not None and not self._expression.parameters():
            return self._sum
        check_values("the objective", self._expression)
        terms: list[tuple[float, Objective]] = []
        rest: list[cp.Expression] = []
        matrix, bend, constant = np.zeros(self._metric.shape), 0.0, 0.0
        for multiple, term in list_terms(self._expression):
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
        is_one = len(terms) == 1 and terms[0][0] == 1
        self._sum = terms[0][1] if is_one else SumObjective(terms)
        return self._sum

    def _quadratic(self, term: cp.Expression) -> Quadratic | None:
        """Return a term that is linear, or the square of a distance to a matrix; else None."""
        if id(term) in self._quadratics:
            return self._quadratics[id(term)]
        quadratic = None
        if term.is_affine():
            jacobian, offset = AffineExpressions([term], self._metric).arrays()
            matrix = jacobian.toarray().reshape(self._metric.shape, order="F")
            quadratic = Quadratic((matrix + matrix.T) / 2, 0.0, float(offset.item()))
        elif distance := _distance(squared_argument(term), self._metric):
            quadratic = distance.quadratic(1.0)
        if not term.parameters():
            self._quadratics[id(term)] = quadratic
        return quadratic


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


def _distance(inner: cp.Expression | None, metric: cp.Variable) -> SquaredDistance | None:
    """Return ``‖X‖²`` for an affine X that is ``cM + B``; None for others."""
    if inner is None or not inner.is_affine():
        return None
    if inner.shape != metric.shape or not inner.variables():
        return None
    jacobian, offset = AffineExpressions([inner], metric).arrays()
    factor = float(jacobian.diagonal()[0])
    rest = jacobian - factor * eye_array(metric.size)
    if rest.count_nonzero() or factor == 0:
        return None
    offset = offset.reshape(metric.shape, order="F")
    return SquaredDistance(factor, (offset + offset.T) / 2, float(np.sum(offset**2)))


@dataclass(frozen=True)
class Model:
    """What a problem says: trace bounds in the set, the square of a distance alone as objective."""

    metric: cp.Variable
    objective: Objective
    feasible_set: FeasibleSet
    rows: LinearConstraints | None
    user_constraints: list[cp.Constraint]  # the user's: rows, and bounds on the trace
    places: npt.NDArray[np.intp]  # where rows are among the entries of these constraints
    # The place of the least bound on the trace, and by what it multiplies the trace; None if
    # the set has the least bound.
    trace_row: tuple[int, float] | None
    distance: SquaredDistance | None

    def dual_values(
        self, multipliers: FloatArray | None, of_trace: float, objective: float
    ) -> dict[int, Any]:
        """Return the dual value of each constraint of the user's own by its id, as CVXPY has them.

        They follow from the multipliers of the rows, if these are known, and of the trace bound;
        the derivative of a distance follows from that of its square by the objective's value.
        """
        if multipliers is None and self.rows is not None:
            return {}
        entries = np.zeros(sum(constraint.size for constraint in self.user_constraints))
        if multipliers is not None:
            entries[self.places] = multipliers
        if self.trace_row is not None:
            place, factor = self.trace_row
            entries[place] = of_trace / factor
        if self.distance is not None:
            entries /= 2 * np.sqrt(objective) if objective > 0 else np.inf
        values, start = {}, 0
        for constraint in self.user_constraints:
            part = entries[start : start + constraint.size]
            values[constraint.id] = part.reshape(constraint.shape, order="F")
            start += constraint.size
        return values


class ModelReader:
    """A CVXPY problem over metrics, which can be read again when its parameters change."""

    def __init__(self, problem: cp.Problem) -> None:
        check_instance("problem", problem, cp.Problem)
        self._feasible_set, self._metric, self._user_constraints = _set_of(problem)
        expression = problem.objective.args[0]
        if isinstance(problem.objective, cp.Maximize):
            expression = -expression
        check_variables("the objective", expression, self._metric)
        _check_attributes(self._metric)
        self._written = WrittenRows(self._user_constraints, self._metric)
        self._objective = ObjectiveReader(expression, self._metric)

    def model(self) -> Model:
        """Return what the problem says for the values that its parameters have."""
        rows, places = self._written.rows()
        feasible_set, trace_row, others = _with_least_trace_bound(self._feasible_set, rows)
        distance = self._objective.distance()
        return Model(
            self._metric,
            self._objective.objective() if distance is None else distance.quadratic(1.0),
            feasible_set,
            rows.select(others) if len(others) else None,
            self._user_constraints,
            places[others],
            None if trace_row is None else (int(places[trace_row[0]]), trace_row[1]),
            distance,
        )


def _with_least_trace_bound(
    feasible_set: FeasibleSet, rows: LinearConstraints
) -> tuple[FeasibleSet, tuple[int, float] | None, npt.NDArray[np.intp]]:
    """Return the set with the least of its own and the rows' bounds on the trace.

    Then come the row of that bound with its multiple of the trace, None for the set's own, and the
    rows that are no bounds on the trace.
    """
    size = rows.n_features
    unit = np.eye(size).ravel() / np.sqrt(size)  # rows have norm 1
    bounds_trace = ~rows.is_equality & (abs(rows.matrices @ unit - 1) < _ROUND_OFF)
    others = np.flatnonzero(~bounds_trace)
    if len(others) == len(rows):
        return feasible_set, None, others
    k = min(np.flatnonzero(bounds_trace), key=lambda row: float(rows.bounds[row]))
    bound = float(rows.bounds[k]) * np.sqrt(size)
    if bound >= feasible_set.trace_bound:
        return feasible_set, None, others
    least = feasible_set.trace_bound - feasible_set.budget(size)
    round_off = 1e-12 * feasible_set.trace_bound
    if bound <= least + round_off:
        kind = InfeasibleProblemError if bound < least - round_off else NoInteriorError
        raise kind(
            f"{rows.names[k]} bounds the trace by {bound:g}, and each member of {feasible_set!r} "
            f"has a trace of at least {least:g}; raise the bound, or lower min_eigenvalue"
        )
    tightened: Any = feasible_set  # a dataclass
    return replace(tightened, trace_bound=bound), (int(k), rows.norms[k] / np.sqrt(size)), others


def _set_of(problem: cp.Problem) -> tuple[FeasibleSet, cp.Variable, list[cp.Constraint]]:
    """Return the set of a problem, its variable, and the constraints that are not the set's."""
    others, marks = [], []
    for constraint in problem.constraints:
        mark = constraint.args[0]
        if isinstance(mark, Membership):
            marks.append(mark)
        else:
            others.append(constraint)
    if not marks:
        raise InvalidInputError(f"the problem has no set of metrics; {_ADVICE}")
    first = marks[0]
    for mark in marks:
        if mark.feasible_set != first.feasible_set or mark.metric is not first.metric:
            raise InvalidInputError(
                f"the problem has two sets, {first.feasible_set} of {first.metric} and "
                f"{mark.feasible_set} of {mark.metric}; write the second one as constraints, or "
                "leave it out"
            )
    missing = first.count - len({mark.number for mark in marks})
    if missing:
        raise InvalidInputError(
            f"the problem has not all constraints of {first.feasible_set}: {missing} of "
            f"{first.count} are missing; pass all that `of` returns"
        )
    if not isinstance(first.metric, cp.Variable):
        raise InvalidInputError(
            f"the set is one of {shortened(str(first.metric))[1:-1]}, and must be one of a "
            "variable; scale the bounds of the set instead"
        )
    return first.feasible_set, first.metric, others


def _check_attributes(metric: cp.Variable) -> None:
    """Refuse attributes of the variable that no set has."""
    for name, value in metric.attributes.items():
        if name not in _KNOWN_ATTRIBUTES and value is not None and value is not False:
            raise InvalidInputError(
                f"the variable {metric} has the attribute {name}; make it by "
                "cp.Variable((K, K), symmetric=True), and write the rest as constraints"
            )
