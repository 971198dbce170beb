"""``problem.solve(method="discs")``: matrix inequalities by cones, or by linear programs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

import cvxpy as cp
import numpy as np

from gdaopt.backends.cvxpy import solve_program
from gdaopt.backends.registry import check_solver_options, find_solver
from gdaopt.errors import InfeasibleProblemError, InvalidInputError, SolverFailedError
from gdaopt.lmi.alignment import SEQUENCES
from gdaopt.lmi.completion import complete, minor_cones, multiplier_of
from gdaopt.lmi.cones import edge_cones
from gdaopt.lmi.programs import DiscPrograms
from gdaopt.lmi.proof import Proof, bounds_at, prove
from gdaopt.lmi.signs import Structure, structure
from gdaopt.support.cvxpy_internals import list_cones, record_status, split
from gdaopt.support.validation import check_name, flag, integer, number

NAME = "discs"
"""What CVXPY calls the solve method."""


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
    is the matrix ``Z = dd'``, and ``solver_stats.extra_stats`` is a `Proof`.

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
        `strict` or linear programs; when linear programs meet other constraints than linear ones;
        when the solver does not know an option.
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
    report = structure(problem, by_programs=by_programs, nonpositive=nonpositive)
    model = report.model
    if by is None:
        has_cones = solver is None or "SOC" in list_cones(find_solver(solver))
        by = "cones" if has_cones and not model.is_integer.any() else "tangents"
    check_name("by", by, ("cones", *SEQUENCES))
    if strict and not report.is_exact:
        raise InvalidInputError(str(report))
    name = find_solver(solver or ("CLARABEL" if by == "cones" else "highspy"))
    check_solver_options(name, options)
    start = time.perf_counter()
    try:
        if by == "cones":
            status, proof = _solve_cones(report, name, options)
        else:
            programs = DiscPrograms(report, name, options)
            proof = prove(programs, SEQUENCES[by](programs), tolerance, max_programs)
            status = cp.OPTIMAL if proof.gap <= tolerance else cp.OPTIMAL_INACCURATE
            duals = split(proof.row_duals, model.linear)
            for constraint, dual in zip(model.linear, duals, strict=True):
                constraint.save_dual_value(dual)
            _hand_back_duals(proof)
    except InfeasibleProblemError as error:
        worst = model.form.sign * np.inf
        record_status(problem, cp.INFEASIBLE, worst, f"{NAME} by {by}", extra_stats=str(error))
        return worst
    for variable in problem.variables():
        variable.save_value(proof.values[variable.id])
    value = float(problem.objective.value)
    record_status(
        problem,
        status,
        value,
        f"{NAME} by {by} with {name}",
        solve_time=time.perf_counter() - start,
        num_iters=proof.n_programs,
        extra_stats=proof,
    )
    return value


def _solve_cones(report: Structure, solver: str, options: dict[str, Any]) -> tuple[str, Proof]:
    """Solve the problem with cones in the place of its exact inequalities."""
    model = report.model
    replaced: list[list[cp.Constraint]] = []
    for each in report.inequalities:
        matrix = each.matrix
        if not each.is_exact:
            replaced.append([matrix.inequality])
        elif each.is_free:
            replaced.append(minor_cones(matrix, model.form.point))
        else:
            diagonal, entries = matrix.at(model.form.point)
            replaced.append(edge_cones(diagonal, matrix.edges, entries))
    constraints = [*model.linear, *model.cones, *chain(*replaced)]
    program = cp.Problem(model.form.problem.objective, constraints)
    solve_program(program, solver, solver_opts=options)
    point, squares = np.asarray(model.form.point.value), [np.zeros(0)]
    for matrix, each, cones in zip(model.matrices, report.inequalities, replaced, strict=True):
        if each.is_exact and each.is_free:
            point = complete(model, matrix, each, point)
            matrix.inequality.save_dual_value(multiplier_of(each.matrix, cones))
        elif each.is_exact:
            squares.append(np.maximum(np.atleast_1d(cones[-1].dual_value), 0.0))
    d = np.sqrt(np.concatenate(squares))
    proof = Proof(report, -np.inf, np.inf, point, d, np.zeros(0), 1)
    _hand_back_duals(proof)  # before other programs change those of the form
    # Without an interior, or where not all is linear and exact, there are no bounds.
    with suppress(InvalidInputError, InfeasibleProblemError, SolverFailedError):
        if not model.is_integer.any():
            programs = DiscPrograms(report, "highspy", {})
            bounds = prove(programs, bounds_at(programs, point, d))
            proof = replace(proof, lower=bounds.lower, upper=bounds.upper)
    return str(program.status), proof


def _hand_back_duals(proof: Proof) -> None:
    """Give the user's constraints their multipliers, which are (Dd)(Dd)' of exact inequalities."""
    first = 0
    for each in proof.structure.inequalities:
        if each.is_exact and not each.is_free:
            part = proof.vector[first : first + each.matrix.n_nodes]
            signed = each.switching(each.matrix.entries @ proof.point) * part
            each.matrix.inequality.save_dual_value(np.outer(signed, signed))
            first += len(part)
    proof.structure.model.form.hand_back_duals()
