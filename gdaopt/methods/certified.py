"""The certified solver: fully corrective Frank–Wolfe with the exact oracle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from gdaopt.backends.protocol import ANALYTIC
from gdaopt.constraints.restricted import Restricted
from gdaopt.errors import InvalidInputError, RoundOffError, SolverFailedError, TimeLimitError
from gdaopt.linalg.atoms import Atoms
from gdaopt.master.burer_monteiro import refined
from gdaopt.master.constrained import Rows, solve_constrained_master_problem
from gdaopt.master.master_point import ActiveSet, MasterPoint, UpdatedHessian
from gdaopt.master.weights import solve_master_problem
from gdaopt.methods.base import Demand, Method, States, check_start
from gdaopt.methods.blocks import PricingProgram
from gdaopt.methods.context import Context
from gdaopt.methods.hull import HullRun
from gdaopt.methods.projected_newton import newton_answer
from gdaopt.methods.stopping import Patience, StallRule
from gdaopt.objectives import Linear
from gdaopt.objectives.base import Objective, SumObjective
from gdaopt.objectives.protocol import Point, minimised
from gdaopt.problem import MetricProblem
from gdaopt.programs.base import ProgramOptions
from gdaopt.result import Result
from gdaopt.sets import FeasibleSet, GraphMetrics
from gdaopt.state import State
from gdaopt.support.deadline import unlimited
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_instance, check_name, integer, store_checked

_PRICINGS = ("oracle", "program")
_MOST_ATOMS = 60  # that join in a round
_LEAST_ATOMS = 8  # that the oracle is asked for
_FEW_ATOMS = 60  # with more of them in the start, the first round tries to do without them
_WEIGHTS_ACCURACY = 0.05  # of the gap: how accurate a round solves the master problem
_MANY_ACCURACY = 0.4
_FINAL_ACCURACY = 0.2  # of the tolerance, in the last round
_SAMPLE_ACCURACY = 0.2  # of the gap: how accurate a round solves a problem of fewer samples
_SAMPLE_GAIN = 0.5  # of the gap is left at most after a round that is worth another one
_GROWTH = 1.25  # of the weights in a round, where a longer step may end at a worse point
_SURROGATE_TOLERANCE = 1e-2  # its optimum is a start alone
_SLACK = 1e-9  # of the budget: with less of it left, the trace bound binds
_ROUND_OFF = 1e-13  # of the objective
_PATIENCE = 8  # rounds without a smaller gap: the remaining gap is then round-off


@dataclass(frozen=True, kw_only=True, eq=False)
class Optimum:
    """A sum of weighted atoms over a set, from which a run can begin as from a `Result`.

    The atoms are the rows of an array of shape (n, K).
    """

    atoms: Any
    weights: FloatArray
    feasible_set: FeasibleSet
    multipliers: FloatArray | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Certified(Method):
    """The optimum, with a proof: fully corrective Frank–Wolfe.

    In each round the best atoms of the set's exact oracle join the active set, Newton's method
    solves the master problem, which is to find the best weights of all these atoms, and atoms of
    weight 0 leave ("Algorithm: fully corrective Frank–Wolfe"). Over positive definite metrics the
    atoms themselves are then refined ("Algorithm: Burer–Monteiro refinement"). Where the objective
    has a barrier, the run starts where `ProjectedNewton` ends. It has *stalled* when 8 rounds did
    not lower the certified gap: the remaining gap is round-off.

    For an objective that is not convex there is no lower bound, and the run ends at a stationary
    point, as its Frank–Wolfe gap proves. An objective with a convex surrogate, such as
    `gdaopt.NCA`, is minimised from two starts, the middle of the set and the optimum of the
    surrogate, and the better end is kept; with `initial` or `warm_start` from that start alone.

    Parameters
    ----------
    memory_limit : int, optional
        Bytes that the Hessian of the master problem and its copies may take. Where they need more,
        a first-order method solves the master problem, which is slower and less accurate.
    warm_start : Result, optional
        Of a problem nearby over the same set, but for its trace bound: the run begins with the best
        weights of its atoms.
    pricing : {"oracle", "program"}, optional
        Where the atoms come from: the set's closed form, or, over graph metrics, the joint linear
        program under the alignment that the gradient asks for, solved by CVXPY. Same optimum.
    solver, solver_opts : str and mapping, optional
        Who solves that program; ``"HIGHS"`` when left out.
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
    pricing: str = "oracle"
    solver: str | None = None
    solver_opts: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        store_checked(self, integer, "memory_limit", at_least=1)
        if self.warm_start is not None:
            given = "atoms"
            if not isinstance(self.warm_start, Optimum):
                check_instance("warm_start", self.warm_start, Result)
                given = f"one of {self.warm_start.method!r}"
            if self.warm_start.atoms is None or self.initial is not None:
                raise InvalidInputError(
                    "warm_start takes a result with atoms, as of 'certified', and no initial; got "
                    f"{given}, initial={shortened(self.initial)}"
                )
        check_name("pricing", self.pricing, _PRICINGS)
        if self.solver is not None:
            check_instance("solver", self.solver, str)
        if self.pricing == "oracle" and (self.solver or self.solver_opts):
            given = f"solver={self.solver!r}" if self.solver else "a solver with solver_opts"
            raise InvalidInputError(
                f"{given} has no programs to solve: atoms come from a closed form; leave the "
                "solver out, add pricing='program', or choose a method that solves a program in "
                "each step, such as 'alternating'"
            )
        if self.pricing == "program":
            object.__setattr__(self, "solver", self.program_options.solver)

    @property
    def program_options(self) -> ProgramOptions:
        """Who solves the programs that find atoms, and how."""
        return ProgramOptions(solver=self.solver or "HIGHS", solver_opts=self.solver_opts)

    @property
    def solver_name(self) -> str:
        return self.solver or ANALYTIC

    def states(self, problem: MetricProblem, context: Context) -> States:
        if self.pricing == "program" and type(problem.feasible_set) is not GraphMetrics:
            raise InvalidInputError(
                f"pricing='program' needs a set of GraphMetrics, got {problem.feasible_set!r}"
            )
        if self.pricing == "program" and problem.rows is not None:
            raise InvalidInputError(
                f"pricing='program' cannot keep linear constraints ({problem.rows.names[0]}, …); "
                "leave it out: the exact oracle prices by their multipliers"
            )
        known = None if self.warm_start is None else _rescaled(self.warm_start, problem)
        is_warm = known is not None
        start = newton_answer(self, problem, context) if self.initial is None else None
        if start is not None:
            base = problem.feasible_set.base(problem.n_features)
            found = ActiveSet(*problem.feasible_set.family.decomposed(start - base))
            # A metric that is nearly singular may not survive the round-off of its atoms' sum.
            sum_of_atoms = found.atoms.added_to(base, found.weights)
            if problem.objective.at(sum_of_atoms).degenerate_reason() is None:
                known, is_warm = found, False
        run = CertifiedRun(self, problem, context, known, is_warm=is_warm)
        has_start = known is not None or self.initial is not None
        surrogate = None if has_start else problem.objective.surrogate()
        if surrogate is not None:
            return (yield from self._from_two_starts(run, surrogate))
        return (yield from run.states())

    def _from_two_starts(self, run: CertifiedRun, surrogate: Objective) -> States:
        """Yield the states of a run, and at its end that of a run from another start, if lower."""
        states, ending = run.states(), None
        try:
            while not self.is_converged(run.problem, state := next(states)):
                yield state
        except StopIteration as end:
            ending = end.value
        except RoundOffError as error:
            ending = "stalled", str(error)
        rough = replace(self, tolerance=_SURROGATE_TOLERANCE, absolute_tolerance=0.0)
        other = _finished(rough, run.problem.with_objective(surrogate), run.context)
        if other is not None:
            other = _finished(self, run.problem, run.context, other.active_set)
        if other is not None and other.point.value < state.objective:
            yield run.taken_over(other, state)
        elif ending is None:
            yield state
        return ending or ("slow_progress", "stopped: both starts have been tried")


class CertifiedRun(HullRun):
    """One run; a warm one begins with the best weights of the atoms of its start."""

    def __init__(
        self,
        method: Certified,
        problem: MetricProblem,
        context: Context,
        start: ActiveSet | None = None,
        *,
        is_warm: bool = False,
    ) -> None:
        super().__init__(method, problem, context, start)
        self._method = method
        self._is_warm = is_warm
        size = problem.n_features
        self._program: PricingProgram | None = None
        self.n_priced = min(max(_LEAST_ATOMS, size), _MOST_ATOMS)
        if method.pricing == "program":
            self._program = PricingProgram(
                self.feasible_set, size, method.program_options, _MOST_ATOMS
            )
            self.n_priced = 1
        self._log = problem.objective.log_convex
        self._newton_steps = 0
        self._sample = problem.subsample()

    def taken_over(self, other: CertifiedRun, last: State) -> State:
        """Move to the end of another run, and return the state there."""
        self.multipliers = other.multipliers
        self.move_to(other.active_set, other.point)
        self._newton_steps += other._newton_steps
        return self._round_state(last.round + 1, "surrogate")

    def _round_state(self, round_: int, phase: str, **columns: Any) -> State:
        return self.certified_state(
            iteration=round_,
            round=round_,
            phase=phase,
            newton_steps=self._newton_steps,
            **columns,
        )

    def begin_at(self, start: ActiveSet) -> None:
        if not self._is_warm:
            super().begin_at(start)
            return
        self.move_to(start)
        rows, result = self.problem.rows, self._method.warm_start
        if rows is not None and result is not None:
            known = result.multipliers
            fits = known is not None and len(known) == len(rows)
            self.multipliers = known if fits else np.zeros(len(rows))
        with suppress(TimeLimitError, SolverFailedError), self.context.limiting():
            self._optimise(start, self.point)
        check_start(self.problem, self.point)

    def rounds(self) -> States:
        rule: Patience | StallRule
        if self.problem.objective.convex:
            rule = Patience(self.lower_bound, self.point.value, _PATIENCE, "rounds")
        else:  # the gap may grow on the way
            rule = StallRule(
                self.problem, self.point, _ROUND_OFF, rounds=_PATIENCE, status="stalled"
            )
        sample = self._sample
        gained = True  # by the last round with the sample
        round_, ending = 0, None
        while ending is None:
            round_ += 1
            self.check_priced()
            before = self.gap
            if sample is None or not gained:
                yield self._weights_round(round_)
                gained = True
            elif round_ == 1 and self._start is None:
                yield self._sample_round(round_, sample)
            else:
                yield self._sample_round(round_, self._corrected(sample))
                gained = self.gap <= _SAMPLE_GAIN * before
            ending = rule.check(self.point)
        return ending

    def _weights_round(self, round_: int) -> State:
        """Let the best atoms join, and solve the master problem."""
        new, columns = self._joining()
        with suppress(TimeLimitError), self.context.timed("objective"):
            # The round ends with the weights that are found when the time is up.
            self._improve(new, is_first=round_ == 1 and not self._is_warm)
        return self._round_state(round_, "weights", **columns)

    def _joining(self) -> tuple[Atoms, dict[str, Any]]:
        """Return the atoms that join, which lower the objective, and columns of the trace."""
        if self._program is not None:
            return self._program.atoms(self.point, self.context)
        atoms = self.best.atoms[self.best.prices < self.level]
        return (atoms if self.offered is None else atoms.joined(self.offered)), {}

    def _sample_round(self, round_: int, sample: MetricProblem) -> State:
        """Move to the optimum of a problem of fewer samples, where that is better."""
        before = self.active_set, self.point, self.multipliers
        enough = _SAMPLE_ACCURACY * self.gap
        method = replace(self._method, tolerance=0.0, absolute_tolerance=enough, time_limit=None)
        # What is found has to be evaluated with all samples before the time is up.
        left = self.context.left
        inner = Context(None, None if left is None else left - self.evaluation_seconds)
        known = self.active_set if self._start or round_ > 1 else None
        with self.context.timed("objective"):
            run = _finished(method, sample, inner, known)
            if run is not None:
                self._newton_steps += run._newton_steps
                with unlimited():
                    self.move_to(run.active_set)
                    self.multipliers = run.multipliers
                    if not self.point.value <= before[1].value:
                        self.active_set, self.point, self.multipliers = before
        return self._round_state(round_, "sample")

    def _corrected(self, sample: MetricProblem) -> MetricProblem:
        """Return the problem of a subsample, of which the objective has the gradient of all here.

        Around the current metric it has the curvature of the sample ("Algorithm: nested samples").
        """
        at = sample.objective.at(self.point.metric)
        here, there = minimised(self.point, self._log), minimised(at, self._log)
        factor = math.exp(here.value - there.value) if self._log else 1.0
        missing = self.point.gradient() - factor * at.gradient()
        return sample.with_objective(
            SumObjective([(factor, sample.objective), (1.0, Linear(missing))])
        )

    def _improve(self, new: Atoms, is_first: bool) -> None:
        active_set, point = self.active_set, self.point
        if is_first and len(active_set) > _FEW_ATOMS and len(new) and self.problem.rows is None:
            # Hundreds of atoms would each cost a row of the Hessian, and most leave at once.
            # Where the objective is not convex, a jump to the full budget may end on a plateau.
            total = self.budget if self.problem.objective.convex else active_set.total
            self._optimise(ActiveSet(new, np.full(len(new), total / len(new))))
            with unlimited():
                is_better = self.point.value <= point.value
            if is_better:
                return
            self.active_set, self.point = active_set, point
        # With rows the metric is added up anew: next to no room may be left, within round-off.
        known = self.point if self.problem.restricted is None else None
        self._optimise(active_set.with_new(new), known)

    def _optimise(self, active_set: ActiveSet, point: Point | None = None) -> None:
        """Move to the optimal weights of an active set, from its point where that is known."""
        allowed = self._method.allowed_gap(self.problem.size_of(self.point.value))
        # An evaluation of many samples costs so much that each should see new atoms, too.
        accuracy = _WEIGHTS_ACCURACY if self._sample is None else _MANY_ACCURACY
        share = _FINAL_ACCURACY * allowed / self.gap if self.gap > 0 else 1.0
        reduction = min(max(accuracy, share), 0.5)
        start = MasterPoint(
            self.base,
            active_set.atoms,
            active_set.weights,
            self._log,
            model=UpdatedHessian() if self.problem.objective.estimates_curvature else None,
            point=point,
            convex=self.problem.objective.convex,
        )
        # The weights of a warm start may be good enough, and round-off must not be minimised.
        is_start = self.lower_bound.value == -math.inf
        of_f = 1 / self.point.value if self._log and self.point.value else 1.0
        enough = _FINAL_ACCURACY * allowed * of_f if is_start else 0.0
        if self.problem.restricted is not None:
            self._optimise_with_rows(active_set, start, self.problem.restricted, reduction, enough)
            return
        budget = self.budget
        if not self.problem.objective.convex and active_set.total > 0:
            budget = min(budget, _GROWTH * active_set.total)
        enough *= budget / self.budget  # gaps are in proportion to it
        solution = solve_master_problem(start, budget, reduction, self._method.memory_limit, enough)
        self._newton_steps += solution.newton_steps
        found = ActiveSet(active_set.atoms, solution.point.weights)
        self.move_to(found.without_zeros(), solution.point.point)
        # Refining takes hundreds of gradients; rounds with the sample do it there.
        if (
            self._sample is None
            and self.feasible_set.family.all_unit_vectors
            and self.active_set.total >= (1 - _SLACK) * self.budget
        ):
            self._refine()

    def _optimise_with_rows(
        self,
        active_set: ActiveSet,
        start: MasterPoint,
        restricted: Restricted,
        reduction: float,
        enough: float,
    ) -> None:
        """Move to the optimal weights that keep the linear constraints, and take multipliers."""
        constraints = restricted.rows
        rows = Rows(
            *constraints.forms_and_sizes(active_set.atoms),
            -constraints.residuals(self.feasible_set.base(self.problem.n_features)),
            constraints.is_equality,
        )
        assert self.multipliers is not None
        # The master problem minimises F, which is Q or log Q.
        guess = restricted.from_written(self.multipliers) / _derivative(
            self.point, active_set.atoms, start
        )
        solution = solve_constrained_master_problem(
            start, self.budget, rows, guess, reduction, enough
        )
        assert solution.multipliers is not None
        self._newton_steps += solution.newton_steps
        before = self.active_set, self.point
        self.move_to(ActiveSet(active_set.atoms, solution.point.weights), solution.point.point)
        derivative = _derivative(self.point, active_set.atoms, solution.point)
        self.multipliers = restricted.as_written(derivative * solution.multipliers)
        self.active_set = self.active_set.without_zeros()
        self._go_back_if_worse(*before)

    def _refine(self) -> None:
        """Refine the atoms by Burer–Monteiro, where that lowers the objective."""
        before = self.active_set, self.point
        base = self.feasible_set.base(self.problem.n_features)
        active_set, taken = refined(self.problem.objective, base, self.active_set, self.budget)
        self._newton_steps += taken
        self.move_to(active_set)
        self._go_back_if_worse(*before)

    def _go_back_if_worse(self, active_set: ActiveSet, point: Point) -> None:
        """Go back where the objective rose by more than round-off, or a condition was broken."""
        most = point.value + _ROUND_OFF * abs(point.value)
        with unlimited():
            is_worse = not self.point.value <= most
        if is_worse or self.problem.violations(self.point.metric):
            self.active_set, self.point = active_set, point


def _finished(
    method: Certified, problem: MetricProblem, context: Context, start: ActiveSet | None = None
) -> CertifiedRun | None:
    """Return a run within a run at its end; None where the time was up before its start."""
    run = CertifiedRun(method, problem, context, start)
    with suppress(TimeLimitError, RoundOffError, InvalidInputError), context.limiting():
        for state in run.states():
            if method.is_converged(problem, state):
                break
            context.check()
    return run if hasattr(run, "point") else None


def _rescaled(result: Result | Optimum, problem: MetricProblem) -> ActiveSet:
    """Return the atoms of a result, with weights that keep the budget and the rows of a problem."""
    feasible_set, size = problem.feasible_set, problem.n_features
    other: Any = result.feasible_set  # a dataclass
    alike = replace(other, trace_bound=feasible_set.trace_bound) == feasible_set
    assert result.atoms is not None
    assert result.weights is not None
    if result.atoms.shape[1] != size or not alike:
        raise InvalidInputError(
            f"warm_start is a result over {other!r} of {result.atoms.shape[1]} features, and "
            f"the problem has {feasible_set!r} of {size}; only their trace bounds may differ"
        )
    budget, total = feasible_set.budget(size), float(result.weights.sum())
    was_binding = total >= (1 - _SLACK) * other.budget(size)
    share = budget / total if was_binding else min(budget / total, 1.0) if total else 1.0
    active_set = ActiveSet(Atoms.of_few_entries(result.atoms), share * result.weights)
    if problem.restricted is None:
        return active_set
    base, centre = feasible_set.base(size), ActiveSet(*problem.members.centre)
    here, there = (each.atoms.added_to(base, each.weights) for each in (active_set, centre))
    return active_set.on_the_way(centre, problem.restricted.rows.way_back(here, there))


def _derivative(point: Point, atoms: Atoms, master_point: MasterPoint) -> float:
    """Return dQ/dF at a metric: F is Q or log Q as a function of the atoms' weights."""
    of_q, of_f = atoms.quadratic_forms(point.gradient()), master_point.gradient()
    unit = float(np.abs(of_f).max(initial=0.0)) or 1.0  # squares of steep slopes overflow
    of_f = of_f / unit
    return float(of_q @ of_f) / (float(of_f @ of_f) or 1.0) / unit or 1.0
