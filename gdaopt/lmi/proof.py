"""A proof by one vector: both bounds of a problem with exact matrix inequalities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np

from gdaopt.errors import InfeasibleProblemError, InvalidInputError, SolverFailedError
from gdaopt.lmi.alignment import Round
from gdaopt.lmi.model import read_model
from gdaopt.lmi.programs import DiscPrograms, first_eigenvector
from gdaopt.lmi.signs import analyse
from gdaopt.support.validation import FloatArray

_WIDE = 1e6  # multipliers that are as far apart as this stand for all


@dataclass(frozen=True, eq=False)
class Proof:
    """What one vector proves of a problem.

    Attributes
    ----------
    lower, upper : float
        Bounds of the optimum, for problems that minimise and for problems that maximise: always
        ``lower ≤ optimum ≤ upper``.
    x : ndarray
        A point that keeps all constraints, and has one of the bounds as its value: the entries of
        all variables of the problem, one after the other, each column by column.
    vector : ndarray of shape (n,)
        d ≥ 0, for the nodes of all matrices one after the other.
    row_duals : ndarray of shape (m,)
        The multipliers of the linear constraints that prove the other bound with d.
    n_programs : int
        The number of linear programs that were solved.
    """

    lower: float
    upper: float
    x: FloatArray
    vector: FloatArray
    row_duals: FloatArray
    n_programs: int

    @property
    def gap(self) -> float:
        """The relative gap, ``(upper - lower) / (1 + max(|lower|, |upper|))``."""
        return (self.upper - self.lower) / (1 + max(abs(self.lower), abs(self.upper)))

    def oriented(self, sign: float) -> Proof:
        """Return the proof for the problem as it was written; -1 stands for a maximisation."""
        return self if sign > 0 else replace(self, lower=-self.upper, upper=-self.lower)


def certify(
    problem: cp.Problem, *, solver: str = "highspy", nonpositive: Sequence[object] = ()
) -> Proof:
    """Bound the optimum of a problem from both sides, with the values of its variables.

    The values may be from any solver, and need not keep the constraints. The function solves linear
    programs that one vector d aligns: the first eigenvector of the matrix at these values.

    Parameters
    ----------
    problem : cvxpy.Problem
        With a linear objective and linear constraints beside its matrix inequalities, all of which
        are exact, see `structure`. Its variables have values.
    solver : str, optional
        Who solves the linear programs.
    nonpositive : sequence of constraints or variables, optional
        See `structure`.

    Returns
    -------
    Proof
        Bounds that meet if the values are optimal, up to the accuracy of the solver.

    Raises
    ------
    InvalidInputError
        When an inequality is not exact, a variable has no value, or one must be a whole number.
    InfeasibleProblemError
        When no point keeps the constraints.

    Examples
    --------
    >>> t = cp.Variable()
    >>> matrix = np.array([[2.0, -1.0], [-1.0, 2.0]])
    >>> problem = cp.Problem(cp.Maximize(t), [matrix >> t * np.eye(2)])
    >>> t.value = 0.9
    >>> proof = certify(problem)
    >>> round(proof.lower, 9), round(proof.upper, 9)
    (1.0, 1.0)
    """
    model = read_model(problem)
    programs = DiscPrograms(model, analyse(model, nonpositive=nonpositive), solver, {})
    values = [user.value for user, _ in model.variables]
    if any(value is None for value in values):
        names = ", ".join(str(user) for user, _ in model.variables if user.value is None)
        raise InvalidInputError(f"{names} has no value; solve the problem first, by any solver")
    if model.is_integer.any():
        raise InvalidInputError(
            "the problem has whole numbers, which the bounds know nothing of; replace them by "
            "variables with bounds"
        )
    x = np.concatenate([np.ravel(np.asarray(value), order="F") for value in values])
    return prove(programs, bounds_at(programs, x)).oriented(model.sign)


def bounds_at(
    programs: DiscPrograms, x: FloatArray, d: FloatArray | None = None
) -> Iterator[Round]:
    """Yield what the first eigenvector at x proves, or d, or the multipliers of left-ends."""
    # Where x just keeps the inequalities, it is in the program that its own vector aligns.
    near, _ = programs.feasible_near(x)
    v, _ = first_eigenvector(programs.switched(near))
    try:
        step = programs.aligned(v)
    except (InfeasibleProblemError, SolverFailedError):
        step = programs.aligned(v, _WIDE)
    for vector in (v, np.sqrt(step.multipliers), d):
        if vector is not None:
            yield step.x, programs.bound_below(vector)


def prove(
    programs: DiscPrograms,
    rounds: Iterable[Round],
    tolerance: float = 0.0,
    max_programs: float = np.inf,
) -> Proof:
    """Return the best bounds of the rounds of a sequence, once these are near enough."""
    n_x, n_rows = programs.model.x.size, len(programs.model.is_equality)
    nowhere, no_vector, no_rows = np.full(n_x, np.nan), np.zeros(programs.n_nodes), np.zeros(n_rows)
    proof = Proof(-np.inf, np.inf, nowhere, no_vector, no_rows, 0)
    for point, below in rounds:
        x, value = _feasible(programs, point)
        if value < proof.upper:
            proof = replace(proof, upper=value, x=x)
        if below.value > proof.lower:
            vector = np.sqrt(below.multipliers)
            proof = replace(proof, lower=below.value, vector=vector, row_duals=below.row_duals)
        proof = replace(proof, n_programs=programs.n_solved)
        if proof.gap <= tolerance or programs.n_solved >= max_programs:
            break
    if proof.upper == np.inf:
        raise SolverFailedError(
            f"{programs.n_solved} programs found no point that keeps all inequalities; raise "
            "max_programs"
        )
    return proof


def _feasible(programs: DiscPrograms, x: FloatArray) -> tuple[FloatArray, float]:
    """Return a point near x that keeps all inequalities, and its value: infinity if none is found.

    With whole numbers it is the optimum of a program of aligned discs where these are fixed.
    """
    if not programs.model.is_integer.any():
        return programs.feasible_near(x)
    try:
        above = programs.aligned(first_eigenvector(programs.switched(x))[0], whole=x)
    except InfeasibleProblemError:
        return x, np.inf
    return above.x, above.value
