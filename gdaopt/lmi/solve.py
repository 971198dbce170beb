"""``problem.solve(method="discs")``: matrix inequalities by cones, or by linear programs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np

from gdaopt.backends.cvxpy import solve_program
from gdaopt.backends.registry import find_solver
from gdaopt.errors import InfeasibleProblemError, InvalidInputError, SolverFailedError
from gdaopt.lmi.alignment import SEQUENCES
from gdaopt.lmi.completion import complete, minor_cones, multiplier_of
from gdaopt.lmi.cones import edge_cones
from gdaopt.lmi.model import Model, read_model
from gdaopt.lmi.programs import DiscPrograms
from gdaopt.lmi.proof import Proof, bounds_at, prove
from gdaopt.lmi.signs import Structure, analyse
from gdaopt.support.cvxpy_internals import list_cones, record_status
from gdaopt.support.validation import FloatArray, check_name, flag, integer, number

NAME = "discs"
"""What CVXPY calls the solve method."""


@dataclass(frozen=True, eq=False)
class DiscStats:
    """The content of ``solver_stats.extra_stats`` after a solve by discs.

    Attributes
    ----------
    structure : Structure
        Which matrix inequalities were replaced, and why.
    lower, upper : float
        Bounds of the optimum; infinite if an inequality stayed, or the problem is not linear.
    vector : ndarray
        The d that proves the bounds, for the nodes of all replaced matrices one after the other.
    n_programs : int
        The number of programs that were solved; those of the bounds are not counted.
    """

    structure: Structure
    lower: float
    upper: float
    vector: FloatArray
    n_programs: int


def solve_by_discs(
    problem: cp.Problem,
    *,
    by: str | None = None,
    solver: str | None = None,
    strict: bool = False,
    tolerance: float = 1e-6,
    max_programs: int = 200,
    by_programs: bool = False,
    nonpositive: Sequence[object] = (),
    **options: Any,
) -> float:
    """Solve a problem with matrix inequalities by discs: ``problem.solve(method="discs")``.

    Inequalities whose signs are balanced (`structure`) become a second-order cone for each edge of
    their graph, without loss. All others stay as they are. The dual value of a replaced inequality
    is the matrix ``Z = dd'``, and ``solver_stats.extra_stats`` is a `DiscStats`.

    Parameters
    ----------
    problem : cvxpy.Problem
        With constraints such as ``A >> B``, or variables with ``PSD=True``.
    by : {"cones", "tangents", "multipliers", "eigenvector"}, optional
        One program with cones, or a sequence of linear programs: with tangents of the cones, which
        always converge; with discs that are aligned by the multipliers of the last program, whose
        programs are smaller, but may be many more; or with discs that are aligned by the first
        eigenvector, which may stop above the optimum. By default ``"cones"`` if the solver takes
        second-order cones, else ``"tangents"``.
    solver : str, optional
        By default ``"CLARABEL"``, and ``"HIGHS"`` for linear programs.
    strict : bool, optional
        Refuse a problem with an inequality that is not exact.
    tolerance : float, optional
        The relative gap at which a sequence of programs stops. Its dual values are as accurate as
        the root of the gap.
    max_programs : int, optional
        How many programs a sequence solves at most.
    by_programs, nonpositive : optional
        See `structure`.
    **options
        Of the solver.

    Returns
    -------
    float
        The value of the problem.

    Raises
    ------
    InvalidInputError
        When there is no matrix inequality, one is complex or not affine; when one is not exact with
        `strict` or linear programs; when linear programs meet other constraints than linear ones.
    SolverFailedError
        When a solver fails.

    Examples
    --------
    >>> t = cp.Variable()
    >>> matrix = np.array([[2.0, -1.0], [-1.0, 2.0]])
    >>> problem = cp.Problem(cp.Maximize(t), [matrix >> t * np.eye(2)])
    >>> round(problem.solve(method="discs"), 6)
    1.0
    """
    flag("strict", strict)
    tolerance = number("tolerance", tolerance, at_least=0.0)
    integer("max_programs", max_programs, at_least=1)
    model = read_model(problem)
    report = analyse(model, by_programs=by_programs, nonpositive=nonpositive)
    if by is None:
        has_cones = solver is None or "SOC" in list_cones(find_solver(solver))
        by = "cones" if has_cones and not model.is_integer.any() else "tangents"
    check_name("by", by, ("cones", *SEQUENCES))
    if strict:
        for each in report.inequalities:
            if not each.is_exact:
                raise InvalidInputError(str(each))
    name = find_solver(solver or ("CLARABEL" if by == "cones" else "highspy"))
    start = time.perf_counter()
    try:
        if by == "cones":
            status, proof = _solve_cones(model, report, name, options)
        else:
            programs = DiscPrograms(model, report, name, options)
            proof = prove(programs, SEQUENCES[by](programs), tolerance, max_programs)
            _save_row_duals(model, proof.row_duals)
            status = cp.OPTIMAL if proof.gap <= tolerance else cp.OPTIMAL_INACCURATE
    except InfeasibleProblemError as error:
        worst = model.sign * np.inf
        record_status(problem, cp.INFEASIBLE, worst, f"{NAME} by {by}", extra_stats=str(error))
        return worst
    model.assign(proof.x)
    _save_multipliers(model, report, proof.vector)
    value = float(problem.objective.value)
    bounds = proof.oriented(model.sign)
    record_status(
        problem,
        status,
        value,
        f"{NAME} by {by} with {name}",
        solve_time=time.perf_counter() - start,
        num_iters=proof.n_programs,
        extra_stats=DiscStats(report, bounds.lower, bounds.upper, bounds.vector, bounds.n_programs),
    )
    return value


def _solve_cones(
    model: Model, report: Structure, solver: str, options: dict[str, Any]
) -> tuple[str, Proof]:
    """Solve the problem with cones in the place of its exact inequalities."""
    cones = []
    for each in report.inequalities:
        matrix = each.matrix
        if not each.is_exact:
            cones.append([matrix.inequality])
        elif each.is_free:
            cones.append(minor_cones(each, model.x))
        else:
            cones.append(
                edge_cones(matrix.diagonal(model.x), matrix.edges, matrix.entries(model.x))
            )
    others = [copy for _, copy in model.constraints]
    program = cp.Problem(model.objective, [*others, *(each for both in cones for each in both)])
    solve_program(program, solver, solver_opts=options)
    for user, copy in model.constraints:
        for dual, copied in zip(user.dual_variables, copy.dual_variables, strict=True):
            dual.save_value(copied.value)
    x = np.asarray(model.x.value, dtype=np.float64)
    squares = [np.zeros(0)]
    for matrix, each, rows in zip(model.matrices, report.inequalities, cones, strict=True):
        source, multiplier = matrix.source, None
        if not each.is_exact:
            multiplier = rows[0].dual_value
        elif each.is_free:
            x = complete(model, matrix, each, x)
            multiplier = multiplier_of(each, rows)
        else:
            squares.append(np.maximum(np.atleast_1d(rows[-1].dual_value), 0.0))
        if multiplier is not None and isinstance(source, cp.Constraint):
            source.save_dual_value(multiplier)
    d = np.sqrt(np.concatenate(squares))
    unproven = Proof(-np.inf, np.inf, x, d, np.zeros(0), 1)
    if model.is_integer.any():
        return program.status, unproven
    try:
        programs = DiscPrograms(model, report, "highspy", {})
        proof = prove(programs, bounds_at(programs, x, d))
    except (InvalidInputError, InfeasibleProblemError, SolverFailedError):
        return program.status, unproven  # not linear, not exact, or without an interior
    return program.status, replace(unproven, lower=proof.lower, upper=proof.upper)


def _save_row_duals(model: Model, row_duals: FloatArray) -> None:
    """Give the user's linear constraints their dual values."""
    start = 0
    for user, _ in model.constraints:
        part = row_duals[start : start + user.size]
        user.save_dual_value(part.reshape(user.shape, order="F"))
        start += user.size


def _save_multipliers(model: Model, report: Structure, d: FloatArray) -> None:
    """Give exact matrix inequalities their dual values ``(Dd)(Dd)'``."""
    start = 0
    for each in report.inequalities:
        if not each.is_exact or each.is_free:
            continue
        source, end = each.matrix.source, start + each.matrix.n_nodes
        if isinstance(source, cp.Constraint):
            entries = each.matrix.entries(np.asarray(model.x.value))
            part = each.switching(entries) * d[start:end]
            source.save_dual_value(np.outer(part, part))
        start = end
