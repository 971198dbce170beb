"""Starts of `certified`: the end of another run, in other units or of another method."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from gdaopt.errors import InvalidInputError, RoundOffError, TimeLimitError
from gdaopt.linalg.atoms import Atoms
from gdaopt.master.active_set import ActiveSet
from gdaopt.methods.base import Method, States
from gdaopt.methods.context import Context
from gdaopt.methods.hull import split_metric
from gdaopt.methods.projected_newton import ProjectedNewton
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.sets import FeasibleSet
from gdaopt.state import State
from gdaopt.support.validation import FloatArray

_SLACK = 1e-9  # share of the budget: with less of it left, the trace bound binds
_FURTHER = 1e-3  # share of the tolerances: the last steps of Newton's method gain digits cheaply


@dataclass(frozen=True, kw_only=True, eq=False)
class Optimum:
    """A sum of weighted atoms over a set, from which a run can begin as from a `Result`.

    The atoms are the rows of an array of shape (n, K).
    """

    atoms: Any
    weights: FloatArray
    feasible_set: FeasibleSet
    multipliers: FloatArray | None = None

    @classmethod
    def of_state(cls, state: State, problem: MetricProblem) -> Optimum | None:
        """Return the atoms of a state; None if the method does not know them."""
        if state.atoms is None or state.weights is None:
            return None
        atoms = state.atoms.dense(problem.n_features)
        return cls(atoms=atoms, weights=state.weights, feasible_set=problem.feasible_set)


def find_last_state(
    method: Method, states: States, problem: MetricProblem, context: Context
) -> State | None:
    """Return the end of a run within a run; None if there was no start, or no time for it."""
    state = None
    with suppress(TimeLimitError, RoundOffError, InvalidInputError), context.limited():
        for state in states:
            if method.is_converged(problem, state) or context.is_over:
                break
    return state


def find_newton_start(method: Method, problem: MetricProblem, context: Context) -> ActiveSet | None:
    """Return the metric at the end of `ProjectedNewton`; None if it is not for the problem.

    It is for objectives that have a barrier, over sets given by entries.
    """
    if not (problem.objective.barrier and problem.feasible_set.family.is_entrywise):
        return None
    if problem.members.names:
        return None
    newton = ProjectedNewton(
        tolerance=_FURTHER * method.tolerance,
        absolute_tolerance=_FURTHER * method.absolute_tolerance,
    )
    end = find_last_state(newton, newton.states(problem, context), problem, context)
    if end is None:
        return None
    start = split_metric(problem, end.metric)
    # A metric that is nearly singular may not survive the round-off of its atoms' sum.
    point = problem.objective.at(start.atoms.added_to(problem.members.base, start.weights))
    return start if point.degenerate_reason() is None else None


def rescale(answer: Result | Optimum, problem: MetricProblem) -> ActiveSet:
    """Return the atoms of an answer, with weights that keep a problem's budget and rows."""
    feasible_set, size = problem.feasible_set, problem.n_features
    other: Any = answer.feasible_set  # a dataclass
    trace_bound, min_eigenvalue = feasible_set.trace_bound, feasible_set.min_eigenvalue
    bounded = replace(other, trace_bound=trace_bound, min_eigenvalue=min_eigenvalue)
    is_alike = bounded == feasible_set
    assert answer.atoms is not None
    assert answer.weights is not None
    if answer.atoms.shape[1] != size or not is_alike:
        raise InvalidInputError(
            f"warm_start is a result over {other!r} of {answer.atoms.shape[1]} features, and "
            f"the problem has {feasible_set!r} of {size}; only their two bounds may differ"
        )
    budget, total = feasible_set.budget(size), float(answer.weights.sum())
    was_binding = total >= (1 - _SLACK) * other.budget(size)
    share = budget / total if was_binding else min(budget / total, 1.0) if total else 1.0
    active_set = ActiveSet(Atoms.of_few_entries(answer.atoms), share * answer.weights)
    if problem.restricted is None:
        return active_set
    base, centre = problem.members.base, ActiveSet(*problem.members.centre)
    here, there = (each.atoms.added_to(base, each.weights) for each in (active_set, centre))
    return active_set.on_the_way(centre, problem.restricted.rows.way_back(here, there))
