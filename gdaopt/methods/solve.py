"""One `solve` over all methods."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from gdaopt.errors import InvalidInputError
from gdaopt.methods import driver
from gdaopt.methods.alternating import Alternating
from gdaopt.methods.base import CLOSED_FORM, Method, ProgramMethod
from gdaopt.methods.certified import Certified
from gdaopt.methods.conic import SecondOrder, Semidefinite
from gdaopt.methods.frank_wolfe import FrankWolfe
from gdaopt.methods.joint import Joint
from gdaopt.methods.projected_gradient import ProjectedGradient
from gdaopt.methods.sdp_frank_wolfe import SemidefiniteFrankWolfe
from gdaopt.methods.state import State
from gdaopt.problem import MetricProblem
from gdaopt.programs.recorded import recording
from gdaopt.result import Result
from gdaopt.support.text import shortened
from gdaopt.support.validation import check_instance, check_name

__all__ = ["METHODS", "iterate", "make_method", "solve"]

_ALL: tuple[type[Method], ...] = (
    Alternating,
    Joint,
    Certified,
    FrankWolfe,
    Semidefinite,
    SecondOrder,
    SemidefiniteFrankWolfe,
    ProjectedGradient,
)
METHODS: dict[str, type[Method]] = {method.name: method for method in _ALL}


def make_method(name: str, **options: Any) -> Method:
    """Return a method by its name.

    Raises
    ------
    InvalidInputError
        For an unknown method or option, naming the nearest.

    Examples
    --------
    >>> make_method("alternating", solver="analytic").solver_name
    'analytic'
    """
    check_name("method", name, METHODS)
    known = {field.name for field in fields(METHODS[name])}
    for option in options:
        check_name(f"option of method {name!r}:", option, known)
    return METHODS[name](**options)


def solve(
    problem: MetricProblem,
    method: str | Method = "alternating",
    *,
    record: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Result:
    """Solve a problem.

    Parameters
    ----------
    problem : MetricProblem
        Objective and feasible set.
    method : str or Method, optional
        A name, such as ``"alternating"``, or a method object, such as `gdaopt.Alternating`.
    record : path-like, optional
        An npz file for the linear programs that the run solves (see `gdaopt.load_programs`), which
        is written at its end.
    **options
        Options of the named method; with an object they belong in its constructor.

    Returns
    -------
    Result

    Raises
    ------
    TypeError
        For options beside a method object.
    InvalidInputError
        For a bad option, or a problem with nothing to learn from at the start; for an objective of
        one's own whose gradient is wrong; for `record` with a method that solves no linear
        programs.
    GdaoptError
        When a value is below a lower bound, so that the gradient of the objective is wrong or the
        objective is not convex.
    SolverNotFoundError
        When the solver does not work here.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> result = gda.solve(problem, "alternating", solver="HIGHS")
    >>> result.objective < result.trace[0].objective
    True
    """
    check_instance("problem", problem, MetricProblem)
    chosen = _method(method, options)
    if record is None:
        return driver.run(chosen, problem)
    if not isinstance(chosen, ProgramMethod) or chosen.solver_name == CLOSED_FORM or chosen.cone:
        raise InvalidInputError(
            f"record = {shortened(record)}: method {chosen.name!r} solves no linear programs; "
            "'alternating' and 'joint' do"
        )
    with recording(record):
        return driver.run(chosen, problem)


def iterate(
    problem: MetricProblem, method: str | Method = "alternating", **options: Any
) -> Iterator[State]:
    """Yield the state of a run after each step, for teaching and for loops of one's own.

    Parameters
    ----------
    problem, method, **options
        As for `solve`; callbacks, traces and interrupts are the caller's own business here.

    Yields
    ------
    State
        The start, then the state after each step, until the run ends or reaches a limit.

    Raises
    ------
    TypeError, InvalidInputError, SolverNotFoundError
        As `solve`.
    LeftDomainError
        When a step leads outside of the set, the linear constraints or the objective's domain;
        `solve` returns the metric before it instead.
    SolverFailedError, InfeasibleProblemError
        When a program cannot be solved; `solve` returns its last metric instead.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> for state in gda.iterate(problem, solver="analytic", max_iterations=2):
    ...     print(state.iteration, state.phase, round(state.objective, 3))
    0 start 1.085
    1 diagonal 0.538
    2 diagonal 0.538
    """
    check_instance("problem", problem, MetricProblem)
    return driver.iterate(_method(method, options), problem)


def _method(method: str | Method, options: dict[str, Any]) -> Method:
    """Return the method that a call of `solve` or `iterate` asks for."""
    if isinstance(method, str):
        return make_method(method, **options)
    if not isinstance(method, Method):
        raise InvalidInputError(
            f"method must be a name or a method object, got {shortened(method)}"
        )
    if options:
        raise TypeError(
            f"options {sorted(options)} go to the constructor of {type(method).__name__}, "
            "not to solve, when the method is an object"
        )
    return method
