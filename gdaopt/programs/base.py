"""The LP subproblem of a Frank–Wolfe step: a polytope that knows itself, and who solves it.

A *polytope* writes itself as arrays in the units of solvers, solves the program in closed form,
and takes solvers' points back ("Remark: inexact solvers and scaled costs"). A `Program` hands it to
backends. When a solver is named, ``"analytic"`` never takes its place.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

from gdaopt.backends import Answer, Stopwatch
from gdaopt.backends.protocol import ANALYTIC, Backend, LinearProgram, checked_point
from gdaopt.backends.registry import check_solver_options, find_solver, make_backend
from gdaopt.errors import InfeasibleProblemError, InvalidInputError, SolverFailedError
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, flag, is_finite, options_mapping, store_checked

# In units of solvers: a point farther outside is a wrong answer, not an inexact one.
_FARTHEST = 0.1
# Share of the largest entry: if no budget is left, shares of it are round-off.
_NEARLY_NOTHING = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class ProgramOptions:
    """Who solves programs, and how: the options are those of `gdaopt.methods.ProgramMethod`.

    Attributes
    ----------
    cone : str or None
        The cone that the solver has to support, if the programs are not linear.
    closed_form : bool
        Whether ``"analytic"`` solves the programs.
    """

    cone: ClassVar[str | None] = None
    closed_form: ClassVar[bool] = True

    solver: str = "HIGHS"
    solver_opts: Mapping[str, Any] | None = None
    fallback: str | Sequence[str] = ()
    isolate: bool | None = None

    def __post_init__(self) -> None:
        options = options_mapping("solver_opts", self.solver_opts)
        solver = find_solver(self.solver, self.cone, closed_form=self.closed_form)
        fallback = (self.fallback,) if isinstance(self.fallback, str) else self.fallback
        if not isinstance(fallback, Sequence):
            raise InvalidInputError(
                f"fallback must be names of solvers, got {shortened(self.fallback)}; such as "
                "['CLARABEL', 'analytic']"
            )
        names = [find_solver(name, self.cone) for name in fallback]
        store(self, solver=solver, solver_opts=options, fallback=tuple(names))
        store_checked(self, flag, "isolate")
        check_solver_options(solver, options)


def store(owner: object, **values: Any) -> None:
    """Set fields of a frozen dataclass, in its ``__post_init__``."""
    for name, value in values.items():
        object.__setattr__(owner, name, value)


class Polytope(LinearProgram, Protocol):
    """A polytope of a linear program, whose points x solvers see as numbers y of about 1."""

    current: FloatArray
    """A point known to be inside: the iterate."""

    @abstractmethod
    def point(self, y: FloatArray, /) -> FloatArray:
        """Return x of a solver's y, an affine function, also if that is outside."""

    @abstractmethod
    def coordinates(self, x: FloatArray, /) -> FloatArray:
        """Return y of a point x inside."""

    @abstractmethod
    def made_feasible(self, y: FloatArray, /) -> FloatArray:
        """Return y inside, moved in proportion to how far it is outside."""

    @abstractmethod
    def duals(self, cost: FloatArray, row_duals: FloatArray | None, /) -> dict[str, FloatArray]:
        """Return the multipliers of all constraints by name, see `Answer.duals`.

        They follow from the duals of the rows of `arrays`; without any, from the closed form.
        """


class Program:
    """Linear programs, solved by one solver, which keeps what it has compiled.

    Parameters
    ----------
    solver : str, optional
        Any solver that CVXPY knows, in capitals or not; ``"highspy"`` for HiGHS without CVXPY,
        started hot; or ``"analytic"`` for the exact solution in closed form. Or all options of
        programs.
    isolate : bool, optional
        Solve in a worker process, even if these options do not ask for it.

    Attributes
    ----------
    backends : list of Backend
        That of the solver, then those of the fall-backs.

    Examples
    --------
    >>> from gdaopt.programs import Knapsack
    >>> program = Program("HIGHS")
    >>> program.solve(np.array([-1.0, -2.0]), Knapsack(np.ones(2), budget=5.0)).point
    array([1., 4.])
    """

    def __init__(self, solver: str | ProgramOptions = "HIGHS", *, isolate: bool = False) -> None:
        self.options = (
            solver if isinstance(solver, ProgramOptions) else ProgramOptions(solver=solver)
        )
        isolate = flag("isolate", isolate) or bool(self.options.isolate)
        first = make_backend(self.options.solver, self.options.solver_opts, isolate=isolate)
        self.backends: list[Backend] = [first]
        for name in self.options.fallback:
            self.backends.append(make_backend(name, isolate=isolate))

    def solve(
        self, cost: FloatArray, polytope: Polytope, time_limit: float | None = None
    ) -> Answer:
        """Minimise ``cost · x`` over a polytope.

        Parameters
        ----------
        cost : ndarray of shape (size,)
            Costs of any magnitude; if all are 0, the answer is the current point.
        polytope : Knapsack or JointPolytope
            Where to look.
        time_limit : float, optional
            Seconds left, for solvers that have such an option.

        Returns
        -------
        Answer
            Its point is inside of the polytope.

        Raises
        ------
        InvalidInputError
            When the cost is not finite.
        InfeasibleProblemError, SolverFailedError
            When all solvers failed, or returned a point that is NaN or far outside of the polytope:
            the first one's error.
        """
        watch = Stopwatch()
        if not is_finite(cost):
            bad = cost[~np.isfinite(cost)][0]
            raise InvalidInputError(f"the cost of the {polytope.name} holds {bad}")
        if not cost.any():
            answer = Answer(solver=ANALYTIC, point=polytope.current, is_exact=True)
            return _read(answer, cost, polytope, watch)
        start = time.perf_counter()
        failures: list[InfeasibleProblemError | SolverFailedError] = []
        for backend in self.backends:
            left = None if time_limit is None else time_limit - (time.perf_counter() - start)
            if failures and left is not None and left <= 0:
                break  # the first one's error counts
            try:
                answer = backend.minimize(polytope, cost, watch, left)
                answer = _read(answer, cost, polytope, watch)
            except (InfeasibleProblemError, SolverFailedError) as error:
                failures.append(error)
                continue
            if failures:
                reasons = "; ".join(str(failure) for failure in failures)
                return replace(answer, status=f"{answer.status}, after: {reasons}")
            return answer
        raise self._add_advice(failures[0]) from failures[0].__cause__

    def _add_advice(
        self, failure: InfeasibleProblemError | SolverFailedError
    ) -> InfeasibleProblemError | SolverFailedError:
        options = self.options.solver_opts
        other = "CLARABEL" if self.options.cone else ANALYTIC
        return type(failure)(
            f"{failure}; let another solver take over, such as by fallback={other!r}, or try other "
            f"solver_opts{f' than {dict(options)}' if options else ''}"
        )


def _read(answer: Answer, cost: FloatArray, polytope: Polytope, watch: Stopwatch) -> Answer:
    """Return the answer with a point of the polytope; refuse one that is far outside."""
    whose = f"{answer.solver} called the {polytope.name} {answer.status}"
    point, repair = checked_point(answer.point, cost.shape, whose), 0.0
    if not answer.is_exact:
        inside, outside = polytope.made_feasible(point), point
        point = polytope.point(inside)
        if not np.array_equal(inside, outside):
            repair = float(np.abs(point - polytope.point(outside)).max())
            is_far = np.abs(inside - outside).max() > _FARTHEST
            if is_far and repair > _NEARLY_NOTHING * np.abs(point).max():
                raise SolverFailedError(
                    f"{whose} and returned a point outside of the polytope by {repair:.3g}, more "
                    "than inexact solvers are off by"
                )
    duals = answer.row_duals
    has_duals = duals is not None or answer.is_exact
    value = float(cost @ point)
    watch.lap("unpack")
    return replace(
        answer,
        point=point,
        value=value,
        repair_distance=repair,
        status=f"{answer.status}, asked again" if answer.restarts else answer.status,
        seconds=watch.seconds,
        _duals=partial(polytope.duals, cost, duals) if has_duals else None,
    )


def scaled_costs(costs: FloatArray) -> tuple[FloatArray, float]:
    """Return costs of at most 1, and the factor that made them so.

    Solvers' tolerances for reduced costs are absolute: at 1e-7 HiGHS answers with any vertex.
    """
    scale = 1 / (float(np.abs(costs).max(initial=0.0)) or 1.0)
    return costs * scale, scale


# --- Who looks on --------------------------------------------------------------------------------

Observer = Callable[[FloatArray, Polytope, FloatArray, FloatArray], object]
"""A function of a program that a run has solved: its costs, what it was solved over, where the run
was, and the answer."""

_observer: ContextVar[Observer | None] = ContextVar("gdaopt_observer", default=None)


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Have a function called with each program that a run solves inside."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def observe(cost: FloatArray, polytope: Polytope, at: FloatArray, answer: FloatArray) -> None:
    """Show a program that a run has solved to who looks on, if anyone does: see `Observer`."""
    observer = _observer.get()
    if observer is not None:
        observer(cost, polytope, at, answer)
