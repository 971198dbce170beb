"""The door: problems of few and of many features are solved, iterated and certified alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from scipy.sparse import issparse

from gdaopt import wide
from gdaopt.certificate import Certificate, certify_metric
from gdaopt.errors import InvalidInputError
from gdaopt.methods.base import Method
from gdaopt.methods.certified import Certified
from gdaopt.methods.solve import make_method, run, run_stepwise
from gdaopt.problem import MetricProblem
from gdaopt.result import Result
from gdaopt.state import State
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, check_instance


def solve(
    problem: MetricProblem,
    method: str | Method | None = None,
    **options: Any,
) -> Result:
    """Solve a problem.

    Parameters
    ----------
    problem : MetricProblem
        Objective and feasible set.
    method : str or Method, optional
        A name, or an object of the class in `gdaopt.methods`, which lists the options:
        ``"certified"`` (`Certified`, the optimum with a proof), ``"balanced"`` (`Balanced`),
        ``"alternating"`` (`Alternating`, the paper's method), ``"joint"`` (`Joint`),
        ``"frank-wolfe"`` (`FrankWolfe`), ``"sdp-frank-wolfe"`` (`SemidefiniteFrankWolfe`),
        ``"sdp"`` (`Semidefinite`), ``"socp"`` (`SecondOrder`), ``"projected-gradient"``
        (`ProjectedGradient`) and ``"projected-newton"`` (`ProjectedNewton`). By default it is
        ``"certified"``, or ``"alternating"`` if the options name a ``solver``.
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
        For a bad option, for a problem whose objective carries no information at the start, for
        your own objective if its gradient is wrong, and for an answer of a callback that is not
        allowed.
    GdaoptError
        When a value is below a lower bound, so that the gradient of the objective is wrong or the
        objective is not convex.
    SolverNotFoundError
        When the solver does not work here.

    Notes
    -----
    Errors of solvers and domains, limits and interrupts end a run with a status. Any other error
    that is raised after the start, also by the objective or the callback, has an attribute
    ``result``: the result so far.

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
    chosen = make_method(method, **options)
    if _is_wide(chosen, problem):
        return wide.solve(problem, chosen)
    return run(chosen, problem)[0]


def iterate(
    problem: MetricProblem, method: str | Method | None = None, **options: Any
) -> Iterator[State]:
    """Yield the state of a run after each step, for teaching and for your own loops.

    Parameters
    ----------
    problem, method, **options
        As for `solve`; here the caller takes care of callbacks, traces and interrupts.

    Yields
    ------
    State
        The start, then the state after each step, until the run ends or reaches a limit. With many
        features its metric has only the features in `State.features`.

    Raises
    ------
    TypeError, InvalidInputError, SolverNotFoundError
        As `solve`.
    LeftDomainError, SolverFailedError, InfeasibleProblemError
        When a step leads outside of the set, the linear constraints or the objective's domain, or a
        program cannot be solved; `solve` returns the metric before it instead.

    Examples
    --------
    >>> import gdaopt as gda
    >>> glr = gda.GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1])
    >>> problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    >>> for state in gda.iterate(problem, "alternating", solver="analytic", max_iterations=2):
    ...     print(state.iteration, state.phase, round(state.objective, 3))
    0 start 1.085
    1 diagonal 0.538
    2 diagonal 0.538
    """
    check_instance("problem", problem, MetricProblem)
    chosen = make_method(method, **options)
    if _is_wide(chosen, problem):
        return wide.iterate(problem, chosen)
    return run_stepwise(chosen, problem)


def _is_wide(method: Method, problem: MetricProblem) -> TypeGuard[Certified]:
    """Say whether a run works with some of many features at a time; refuse a K×K start."""
    if not (isinstance(method, Certified) and wide.has_many_features(problem)):
        return False
    if method.initial is not None and problem.objective.is_sparse:
        raise InvalidInputError(
            "initial is a K×K array, and the samples are sparse: runs work with some of the "
            "features at a time; leave it out, or pass an earlier result as warm_start"
        )
    return method.initial is None


def certify(
    problem: MetricProblem, metric: Any, multipliers: FloatArray | None = None
) -> Certificate:
    """Certify a metric from any source.

    Parameters
    ----------
    problem : MetricProblem
        Objective, which has to be convex, and set.
    metric : array-like or sparse array of shape (K, K)
        Any symmetric matrix, in the set or not, at which Q is finite. With many features, a sparse
        one, such as `Result.sparse_metric`, needs little memory.
    multipliers : array-like of shape (m,), optional
        λ of the linear constraints, not negative for inequalities, such as `Result.multipliers`.
        Every λ gives a lower bound. When left out, column generation finds λ whose bound is nearly
        the best; the smallest λ that prove the same bound are taken.

    Returns
    -------
    Certificate
        If Q or its gradient is not finite or 0 in floating point, the bound is -inf and
        ``reason`` says why and what to rescale.

    Raises
    ------
    GdaoptError
        When a member of the set has a negative gap: the objective is not convex, or its gradient
        is wrong.

    Notes
    -----
    The bound is only right if the gradient is right. One metric cannot show that it is wrong: an
    error shows if a value is below a bound, and runs of `gdaopt.solve` compare all values and
    bounds. Run `gdaopt.check_objective` on an objective of your own before its metrics are
    certified.
    """
    check_instance("problem", problem, MetricProblem)
    if not problem.objective.convex:
        raise InvalidInputError(
            f"{shortened(problem.objective)} says that it is not convex, so that no metric can be "
            "certified; gdaopt.solve looks for stationary points of it"
        )
    if (issparse(metric) or problem.objective.is_sparse) and wide.has_many_features(problem):
        return wide.certify(problem, metric)
    return certify_metric(problem, metric, multipliers)
