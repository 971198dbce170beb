"""A CVXPY problem over metrics, read: its variable, its set, its objective and its constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from gdaopt.constraints.rows import LinearConstraints, WrittenRows
from gdaopt.errors import InfeasibleProblemError, InvalidInputError, NoInteriorError
from gdaopt.modelling.terms import ObjectiveReader, SquaredDistance
from gdaopt.objectives import Objective
from gdaopt.sets import FeasibleSet
from gdaopt.sets.membership import Membership
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_instance

_ADVICE = "add the constraints of a set, such as gdaopt.GraphMetrics(trace_bound=C).of(M)"
_ROUND_OFF = 1e-14  # of a row of norm 1 that is a multiple of the trace
_KNOWN_ATTRIBUTES = ("symmetric", "PSD")  # every member of a set has them


@dataclass(frozen=True)
class Model:
    """What a CVXPY problem over metrics says. Bounds on its trace are in the set, not in the rows.

    Where a distance alone is minimised, the objective is its square, which `distance` describes.
    """

    metric: cp.Variable
    objective: Objective
    feasible_set: FeasibleSet
    rows: LinearConstraints | None
    own: list[cp.Constraint]  # of the user: rows, and bounds on the trace
    places: npt.NDArray[np.intp]  # of the rows among the entries of these constraints
    # The place of the least bound on the trace, and by what it multiplies the trace; None where
    # the set has the least bound.
    trace_row: tuple[int, float] | None
    distance: SquaredDistance | None

    def dual_values(
        self, multipliers: FloatArray | None, of_trace: float, objective: float
    ) -> dict[int, Any]:
        """Return the dual value of each constraint of the user's own by its id, as CVXPY has them.

        They follow from the multipliers of the rows, where these are known, and of the trace bound;
        the derivative of a distance follows from that of its square by the objective's value.
        """
        if multipliers is None and self.rows is not None:
            return {}
        entries = np.zeros(sum(constraint.size for constraint in self.own))
        if multipliers is not None:
            entries[self.places] = multipliers
        if self.trace_row is not None:
            place, factor = self.trace_row
            entries[place] = of_trace / factor
        if self.distance is not None:
            entries /= 2 * np.sqrt(objective) if objective > 0 else np.inf
        found, start = {}, 0
        for constraint in self.own:
            part = entries[start : start + constraint.size]
            found[constraint.id] = part.reshape(constraint.shape, order="F")
            start += constraint.size
        return found


def read_model(problem: cp.Problem) -> Model:
    """Read a CVXPY problem over metrics: `ModelReader` has what it must be, and the errors."""
    return ModelReader(problem).model()


class ModelReader:
    """A CVXPY problem over metrics, which can be read again when its parameters change.

    Its constraints must be those of a set on a variable, and affine ones of this variable.
    """

    def __init__(self, problem: cp.Problem) -> None:
        check_instance("problem", problem, cp.Problem)
        self._feasible_set, self._metric, self._own = _set_of(problem)
        expression = problem.objective.args[0]
        if isinstance(problem.objective, cp.Maximize):
            expression = -expression
        _check_variables(self._metric, {"the objective": expression})
        _check_variables(self._metric, {f"constraint {each}": each for each in self._own})
        _check_attributes(self._metric)
        self._written = WrittenRows(self._own, self._metric)
        self._objective = ObjectiveReader(expression, self._metric)

    def model(self) -> Model:
        """Return what the problem says for the values that its parameters have.

        Where a constraint is false whatever the metric is, that is an InfeasibleProblemError.
        """
        rows, places = self._written.rows()
        feasible_set, trace_row, others = _with_least_trace_bound(self._feasible_set, rows)
        distance = self._objective.distance()
        return Model(
            self._metric,
            self._objective.objective() if distance is None else distance.quadratic(1.0),
            feasible_set,
            rows.chosen(others) if len(others) else None,
            self._own,
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
    own, marks = [], []
    for constraint in problem.constraints:
        mark = constraint.args[0]
        if isinstance(mark, Membership):
            marks.append(mark)
        else:
            own.append(constraint)
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
    return first.feasible_set, first.metric, own


def _check_variables(metric: cp.Variable, parts: dict[str, Any]) -> None:
    """Refuse parts of a problem that depend on other variables than the metric."""
    for name, part in parts.items():
        others = [str(variable) for variable in part.variables() if variable is not metric]
        if others:
            raise InvalidInputError(
                f"{shortened(name)[1:-1]} has the variable(s) {', '.join(others)} beside the "
                f"metric {metric}; write it in the entries of the metric alone, or let CVXPY "
                "solve the problem by a conic solver"
            )


def _check_attributes(metric: cp.Variable) -> None:
    """Refuse attributes of the variable that no set has."""
    for name, value in metric.attributes.items():
        if name not in _KNOWN_ATTRIBUTES and value is not None and value is not False:
            raise InvalidInputError(
                f"the variable {metric} has the attribute {name}; make it by "
                "cp.Variable((K, K), symmetric=True), and write the rest as constraints"
            )
