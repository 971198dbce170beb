"""The certified solver: fully corrective Frank–Wolfe with the exact oracle (DESIGN section 4)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np

from gdaopt.errors import InvalidInputError, unknown_name
from gdaopt.linalg.atoms import Atoms
from gdaopt.master.active_set import ActiveSet
from gdaopt.master.burer_monteiro import refined
from gdaopt.master.weights import solve_master_problem
from gdaopt.methods.hull import HullMethod, HullRun
from gdaopt.methods.pricing import OraclePricing, ProgramPricing
from gdaopt.methods.state import Clock, RunEnded, State
from gdaopt.problem import MetricProblem
from gdaopt.programs import JointProgram
from gdaopt.sets import GraphMetrics
from gdaopt.validation import integer

__all__ = ["Certified"]

_PRICINGS = ("oracle", "program")
_FEW_ATOMS = 60  # with more, the first round does without the atoms of the start
_WEIGHTS_ACCURACY = 0.05  # of the gap: how far the weights are from their optimum after a round
_FINAL_ACCURACY = 0.2  # of the tolerance, in the last round
_SLACK = 1e-9  # of the budget: with less of it left, the trace bound binds
_ROUND_OFF = 1e-13  # of the objective
_PATIENCE = 8  # rounds without a smaller gap, after which what is left is round-off


@dataclass(frozen=True, kw_only=True, eq=False)
class Certified(HullMethod):
    """The optimum, with a proof: fully corrective Frank–Wolfe.

    In each round the best atoms join for which the set's exact oracle sees a gain; the weights of
    all atoms are optimised by Newton's method; those of weight 0 leave. Over positive definite
    metrics the atoms are turned as well. The run has *converged*
    when the certificate says that the objective is within the tolerance of the optimum, and has
    *stalled* when the certified gap no longer shrinks.

    Parameters
    ----------
    memory_limit : int, optional
        Bytes that the Hessian of the weights may take with its copies. Beyond, they are optimised
        by a first-order method, which is slower and less accurate.
    pricing : {"oracle", "program"}, optional
        Where the atoms come from: the set's closed form, or, over graph metrics, the joint linear
        program under the alignment that the gradient asks for, solved by CVXPY. Same optimum.
    solver, solver_opts : str and mapping, optional
        Who solves that program; ``"HIGHS"`` when left out.
    **limits
        See `gdaopt.Method`.

    Raises
    ------
    InvalidInputError, SolverNotFoundError
        For a bad option, such as a solver without programs to solve.

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

    memory_limit: int = 2**30
    pricing: str = "oracle"
    solver: str | None = None
    solver_opts: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        integer("memory_limit", self.memory_limit, at_least=1)
        if self.pricing not in _PRICINGS:
            raise unknown_name("pricing", self.pricing, _PRICINGS)
        if self.pricing == "oracle" and (self.solver or self.solver_opts):
            raise InvalidInputError(
                f"solver={self.solver!r} has no programs to solve: atoms come from a closed form; "
                "add pricing='program', or leave the solver out"
            )
        if self.pricing == "program":
            program = JointProgram(1, self.solver or "HIGHS", self.solver_opts)
            object.__setattr__(self, "solver", program.solver)

    @property
    def solver_name(self) -> str:
        """Who finds the atoms."""
        return self.solver or super().solver_name

    @property
    def solves_programs(self) -> bool:
        """Whether it takes a solver: where programs find the atoms."""
        return self.pricing == "program"

    def begin(self, problem: MetricProblem, clock: Clock) -> HullRun:
        """Return a run of this method."""
        if self.pricing == "program" and not isinstance(problem.feasible_set, GraphMetrics):
            raise InvalidInputError(
                f"pricing='program' needs a set of GraphMetrics, got {problem.feasible_set!r}"
            )
        return _Run(self, problem, clock)


class _Run(HullRun):
    """One run."""

    def __init__(self, method: Certified, problem: MetricProblem, clock: Clock) -> None:
        super().__init__(problem, clock)
        self._method = method
        size = problem.n_features
        self._pricing = (
            OraclePricing(size)
            if method.pricing == "oracle"
            else ProgramPricing(
                size, self.budget, solver=method.solver, solver_opts=method.solver_opts
            )
        )
        self.n_priced = self._pricing.n_priced
        self._newton_steps = 0

    def rounds(self) -> Iterator[State]:
        """Yield the state after each round; end when the gap no longer shrinks."""
        least, waited = self.gap, 0
        for round_ in count(1):
            start = time.perf_counter()
            new, columns = self._pricing.joining(self.point, self.best, self.level, self.clock.left)
            priced = time.perf_counter()
            self._improve(new, is_first=round_ == 1)
            yield self.certified_state(
                iteration=round_,
                round=round_,
                phase="weights",
                newton_steps=self._newton_steps,
                objective_seconds=time.perf_counter() - priced,
                **{"solve_seconds": priced - start, **columns},
            )
            waited = 0 if self.gap < least else waited + 1
            least = min(least, self.gap)
            if waited >= _PATIENCE:
                raise RunEnded(
                    "stalled", f"{_PATIENCE} rounds did not lower the certified gap, {least:.3g}"
                )

    def _improve(self, new: Atoms, is_first: bool) -> None:
        """Let atoms join, optimise all weights, and drop the atoms that are left without."""
        active_set, point = self.active_set, self.point
        if is_first and len(active_set) > _FEW_ATOMS and len(new):
            # Hundreds of atoms would each cost a row of the Hessian, and most leave at once.
            self._optimise(ActiveSet(new, np.full(len(new), self.budget / len(new))))
            if self.point.value <= point.value:
                return
            self.active_set, self.point = active_set, point
        self._optimise(active_set.with_new(new))

    def _optimise(self, active_set: ActiveSet) -> None:
        """Move to the optimal weights of a list."""
        allowed = self._method.allowed_gap(self.point.value)
        solution = solve_master_problem(
            self.atom_weights.at(active_set.atoms, active_set.weights),
            self.budget,
            min(max(_WEIGHTS_ACCURACY, _FINAL_ACCURACY * allowed / self.gap), 0.5),
            self._method.memory_limit,
        )
        self._newton_steps += solution.newton_steps
        self.move_to(ActiveSet(active_set.atoms, solution.point.weights).without_zeros())
        if (
            self.feasible_set.all_unit_vectors
            and self.active_set.total >= (1 - _SLACK) * self.budget
        ):
            self._turn()

    def _turn(self) -> None:
        """Turn the atoms, where that lowers the objective."""
        before = self.active_set, self.point
        base = self.feasible_set.base(self.problem.n_features)
        active_set, taken = refined(self.problem.objective, base, self.active_set, self.budget)
        self._newton_steps += taken
        self.move_to(active_set)
        if self.point.value > before[1].value * (1 + math.copysign(_ROUND_OFF, before[1].value)):
            self.active_set, self.point = before
