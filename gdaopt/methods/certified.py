"""The certified solver: fully corrective Frank–Wolfe with the exact oracle."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gdaopt.errors import InvalidInputError, RoundOffError, TimeLimitError
from gdaopt.master.active_set import ActiveSet
from gdaopt.master.burer_monteiro import refine_atoms
from gdaopt.master.constrained import Rows, find_best_weights_with_rows
from gdaopt.master.master_point import MasterFunction
from gdaopt.master.quasi_newton import quasi_newton
from gdaopt.master.weights import find_best_weights
from gdaopt.methods.base import Demand, Method, States
from gdaopt.methods.context import Context
from gdaopt.methods.hull import HullRun, active_set_of, split_initial
from gdaopt.methods.starts import Optimum, find_last_state, find_newton_start, rescale
from gdaopt.methods.stopping import Patience, StallRule
from gdaopt.objectives import Linear
from gdaopt.objectives.base import Objective, SumObjective
from gdaopt.objectives.protocol import Point
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.state import State
from gdaopt.support.text import shortened
from gdaopt.support.validation import check_instance, integer, store_checked

_MOST_ATOMS = 60  # that join in a round
_LEAST_ATOMS = 8  # that the oracle is asked for
_FEW_ATOMS = 60  # with more of them in the start, the first round tries to do without them
_WEIGHTS_ACCURACY = 0.05  # share of the gap: how accurate a round solves the master problem
_MANY_ACCURACY = 0.4
_FINAL_ACCURACY = 0.2  # share of the tolerance, in the last round
_SAMPLE_ACCURACY = 0.2  # share of the gap: how accurate a round solves a problem of fewer samples
_SAMPLE_GAIN = 0.5  # share of the gap is left at most after a round that is worth another one
_GROWTH = 1.25  # growth of the weights in a round, if a longer step may end at a worse point
_QUASI_NEWTON_ACCURACY = 1e-3  # share of the tolerance: what the last of its steps gains
_SURROGATE_TOLERANCE = 1e-2  # its optimum is a start alone
_SLACK = 1e-9  # share of the budget: with less of it left, the trace bound binds
_ROUND_OFF = 1e-13  # share of the objective
_PATIENCE = 8  # rounds without a smaller gap: the remaining gap is then round-off


@dataclass(frozen=True, kw_only=True, eq=False)
class Certified(Method):
    """The optimum, with a proof: fully corrective Frank–Wolfe.

    In each round the best atoms of the set's exact oracle join the active set, Newton's method
    solves the master problem, which is to find the best weights of all these atoms, and atoms of
    weight 0 leave ("Algorithm: fully corrective Frank–Wolfe"). Over positive definite metrics the
    atoms themselves are then refined ("Algorithm: Burer–Monteiro refinement"). If the objective
    has a barrier, the run starts at the end of `ProjectedNewton`. It ends when 8 rounds did not
    lower the certified gap (`Patience`).

    For an objective that is not convex there is no lower bound, and the run ends at a stationary
    point, as its Frank–Wolfe gap proves. An objective with a convex surrogate, such as
    `gdaopt.NCA`, is minimised from two starts, the middle of the set and the optimum of the
    surrogate, and the better end is kept. With `initial` or `warm_start` it is minimised from that
    start alone.

    Parameters
    ----------
    memory_limit : int, optional
        Bytes that the Hessian of the master problem and its copies may take. If they need more, a
        first-order method solves the master problem, which is slower and less accurate.
    warm_start : Result, optional
        The result of a similar problem over the same set; the bounds may differ. The run begins
        with the best weights of its atoms.
    **limits
        See `Method`.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> result = gda.solve(problem, "certified", tolerance=1e-9)
    >>> result.status, result.relative_gap <= 1e-9
    ('converged', True)
    """

    name: ClassVar[str] = "certified"
    takes: ClassVar[tuple[Demand, ...]] = ("not convex", "linear constraints")

    memory_limit: int = 2**30
    warm_start: Result | Optimum | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        store_checked(self, integer, "memory_limit", at_least=1)
        if self.warm_start is None:
            return
        name = "atoms"
        if not isinstance(self.warm_start, Optimum):
            check_instance("warm_start", self.warm_start, Result)
            name = f"one of {self.warm_start.method!r}"
        if self.warm_start.atoms is None or self.initial is not None:
            raise InvalidInputError(
                "warm_start takes a result with atoms, as of 'certified', and no initial; got "
                f"{name}, initial={shortened(self.initial)}"
            )

    def states(self, problem: MetricProblem, context: Context) -> States:
        start = split_initial(self, problem)
        if start is None:
            start = find_newton_start(self, problem, context)
        if start is None and self.warm_start is None:
            surrogate = problem.objective.surrogate()
            if surrogate is not None:
                return (yield from self._states_from_two_starts(problem, surrogate, context))
        return (yield from self.rounds(problem, context, start, self.warm_start))

    def _states_from_two_starts(
        self, problem: MetricProblem, surrogate: Objective, context: Context
    ) -> States:
        """Yield the states of a run, and at its end that of a run from another start, if lower."""
        states, ending = self.rounds(problem, context), None
        try:
            while not self.is_converged(problem, state := next(states)):
                yield state
        except StopIteration as end:
            ending = end.value
        except RoundOffError as error:
            ending = "stalled", str(error)
        rough = replace(self, tolerance=_SURROGATE_TOLERANCE, absolute_tolerance=0.0)
        other = rough._find_optimum(None, problem.with_objective(surrogate), context)
        if other is not None:
            other = self._find_optimum(active_set_of(other), problem, context)
        if other is not None and other.objective < state.objective:
            yield replace(
                other,
                iteration=state.iteration + 1,
                round=state.round + 1,
                phase="surrogate",
                oracle_calls=state.oracle_calls + other.oracle_calls,
                newton_steps=state.newton_steps + other.newton_steps,
            )
        elif ending is None:
            yield state
        return ending or ("slow_progress", "stopped: both starts have been tried")

    def _find_optimum(
        self, start: ActiveSet | None, problem: MetricProblem, context: Context
    ) -> State | None:
        """Return the end of a run within a run; None if the time was up before its start."""
        return find_last_state(self, self.rounds(problem, context, start), problem, context)

    def rounds(
        self,
        problem: MetricProblem,
        context: Context,
        start: ActiveSet | None = None,
        warm_start: Result | Optimum | None = None,
    ) -> States:
        """Let the best atoms join, find the best weights of all, and drop those without any.

        A run without a start begins in the middle of the set, or at the best weights of the atoms
        of another answer.
        """
        fewer, is_warm = problem.objective.subsample(), start is None and warm_start is not None
        sample = None if fewer is None else problem.with_objective(fewer)
        if start is None and warm_start is not None:
            multipliers = warm_start.multipliers
            if multipliers is not None and len(multipliers) != len(problem.members.names):
                multipliers = None
            run = HullRun(problem, context, rescale(warm_start, problem), multipliers)
            if problem.objective.convex:  # else quasi-Newton steps follow
                with suppress(TimeLimitError), context.limited():
                    self._improve(run, run.active_set, run.point)
        else:
            run = HullRun(problem, context, start)
        run.n_priced = min(max(_LEAST_ATOMS, problem.n_features), _MOST_ATOMS)
        yield from run.certify()
        rule: Patience | StallRule
        if problem.objective.convex:
            rule = Patience(run.lower_bound, _PATIENCE, "rounds")
        else:  # the gap may grow on the way
            rule = StallRule(problem, run.point, _ROUND_OFF, rounds=_PATIENCE, status="stalled")
        phase = "weights" if sample is None else "sample"
        round_, ending = 0, None
        if not problem.objective.convex and self._follow_quasi_newton(run):
            round_ = 1
            yield from run.certify(iteration=1, round=1, phase="quasi-newton")
        while ending is None:
            round_, gap = round_ + 1, run.lower_bound.left
            is_first = round_ == 1 and not is_warm
            has_many = is_first and len(run.active_set) > _FEW_ATOMS
            with suppress(TimeLimitError), run.context.timed("objective"):
                # When the time is up, the round ends with the weights found by then.
                if sample is not None and phase == "sample":
                    self._follow(sample, run, is_first=is_first and run.is_central)
                elif not (has_many and self._begin_with_new_atoms(run, sample)):
                    # With rows the metric is added up anew: the room left may be round-off.
                    point = run.point if problem.restricted is None else None
                    active_set = run.active_set.with_new(run.list_joining())
                    self._improve(run, active_set, point, sample)
            yield from run.certify(iteration=round_, round=round_, phase=phase)
            ending = rule.check(run.point)
            if sample is not None:  # after one that gained little comes a round of all samples
                gains = phase == "weights" or run.lower_bound.left <= _SAMPLE_GAIN * gap
                phase = "sample" if gains else "weights"
        return ending

    def _follow_quasi_newton(self, run: HullRun) -> bool:
        """Move near a stationary point by L-BFGS, where the set has it; say whether.

        There is none under linear constraints.
        """
        others = run.members.feasible_set.family.all_supports(run.problem.n_features)
        if others is None or run.members.names or not run.active_set.total:
            return False
        accuracy = _QUASI_NEWTON_ACCURACY * self.allowed_gap(1.0)
        active_set = quasi_newton(
            run.problem.objective, run.members.base, run.active_set, others, accuracy
        )
        return run.move_down(active_set)

    def _begin_with_new_atoms(self, run: HullRun, sample: MetricProblem | None) -> bool:
        """Move to the best weights of new atoms alone, if that is lower; say whether.

        Hundreds of atoms would each cost a row of the Hessian, and most leave at once.
        """
        joining, before = run.list_joining(), (run.active_set, run.point)
        if not len(joining) or run.members.names:
            return False
        # If the objective is not convex, a jump to the full budget may end on a plateau.
        total = run.budget if run.problem.objective.convex else run.active_set.total
        weights = np.full(len(joining), total / len(joining))
        self._improve(run, ActiveSet(joining, weights), sample=sample)
        if run.point.value <= before[1].value:
            return True
        run.move_to(*before)
        return False

    def _improve(
        self,
        run: HullRun,
        active_set: ActiveSet,
        point: Point | None = None,
        sample: MetricProblem | None = None,
    ) -> None:
        """Move to the best weights of an active set, from its point if that is known."""
        problem, objective, budget = run.problem, run.problem.objective, run.budget
        allowed = self.allowed_gap(problem.size_of(run.point.value))
        # An evaluation of many samples costs so much that each should see new atoms, too.
        accuracy = _WEIGHTS_ACCURACY if sample is None else _MANY_ACCURACY
        share = (
            _FINAL_ACCURACY * allowed / run.lower_bound.left if run.lower_bound.left > 0 else 1.0
        )
        reduction = min(max(accuracy, share), 0.5)
        if not objective.convex and active_set.total > 0 and problem.restricted is None:
            budget = min(budget, _GROWTH * active_set.total)
        slack = max(budget - active_set.total, 0.0)
        function = MasterFunction(
            run.base_point,
            active_set.atoms,
            objective.log_convex,
            objective.convex,
            objective.estimates_curvature,
        )
        start = function.at(np.append(active_set.weights, slack), point)
        # The weights of a warm start may be good enough, and round-off must not be minimised.
        is_start = run.lower_bound.value == -math.inf
        enough = _FINAL_ACCURACY * allowed / start.rate if is_start else 0.0
        if problem.restricted is not None:
            assert run.multipliers is not None
            rows = Rows.on_weights(problem.restricted, active_set.atoms)
            multipliers = problem.restricted.from_written(run.multipliers) / start.rate
            best, multipliers, n_steps = find_best_weights_with_rows(
                start, rows, multipliers, reduction, enough
            )
            run.newton_steps += n_steps
            run.multipliers = problem.restricted.as_written(best.rate * multipliers)
            run.move_down(ActiveSet(active_set.atoms, best.weights).without_zeros(), best.point)
            return
        enough *= budget / run.budget  # gaps are in proportion to it
        best, n_steps = find_best_weights(start, reduction, self.memory_limit, enough)
        run.newton_steps += n_steps
        run.move_to(ActiveSet(active_set.atoms, best.weights).without_zeros(), best.point)
        # Refining takes hundreds of gradients; rounds with a sample do it there.
        is_binding = run.active_set.total >= (1 - _SLACK) * run.budget
        if sample is None and is_binding and problem.feasible_set.family.all_unit_vectors:
            other, n_steps = refine_atoms(objective, run.members.base, run.active_set, run.budget)
            run.newton_steps += n_steps
            run.move_down(other)

    def _follow(self, sample: MetricProblem, run: HullRun, *, is_first: bool) -> None:
        """Move to the optimum of a problem of fewer samples, if it is lower.

        Beside the first one, that is the problem with the gradient of all samples at the current
        metric, and the curvature of the sample ("Algorithm: nested samples").
        """
        rough = replace(
            self,
            tolerance=0.0,
            absolute_tolerance=_SAMPLE_ACCURACY * run.lower_bound.left,
            time_limit=None,
        )
        start, problem = None, sample
        if not is_first:
            start, problem = run.active_set, _with_gradient_at(run.point, sample)
        end = rough._find_optimum(start, problem, Context(time_limit=run.context.left))
        if end is not None:
            run.newton_steps += end.newton_steps
            if run.move_down(active_set_of(end)):
                run.multipliers = end.multipliers


def _with_gradient_at(point: Point, sample: MetricProblem) -> MetricProblem:
    """Return a sample's problem, whose objective has the gradient of a point at its metric."""
    at = sample.objective.at(point.metric)
    factor = 1.0
    if sample.objective.log_convex:
        factor = math.exp(point.logarithm().value - at.logarithm().value)
    missing = point.gradient() - factor * at.gradient()
    return sample.with_objective(SumObjective([(factor, sample.objective), (1.0, Linear(missing))]))
