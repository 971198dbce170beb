"""A proof by one vector: both bounds of a problem with exact matrix inequalities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from gdaopt.errors import InfeasibleProblemError, InvalidInputError, SolverFailedError
from gdaopt.lmi.alignment import Round
from gdaopt.lmi.model import Model, read_model
from gdaopt.lmi.programs import NO_BOUND, DiscPrograms, first_eigenvector
from gdaopt.lmi.signs import Structure, analyse
from gdaopt.support.validation import FloatArray

_WIDE = 1e6  # multipliers that are as far apart as this stand for all


@dataclass(frozen=True, eq=False)
class Proof:
    """What one vector proves of a problem.

    Attributes
    ----------
    model : Model
        The problem as it was read.
    structure : Structure
        Which of its matrix inequalities are exact, and why.
    lower, upper : float
        Bounds of the optimum, for problems that minimise and for problems that maximise: always
        ``lower ≤ optimum ≤ upper``. They are infinite if an inequality is not exact, or the problem
        is not linear.
    point : ndarray
        A point of the model that keeps all constraints, and has one of the bounds as its value.
    vector : ndarray of shape (n,)
        d ≥ 0, for the nodes of all exact matrices one after the other.
    row_duals : ndarray of shape (m,)
        The multipliers of the rows of the model that prove the other bound with d; empty after a
        solve by cones.
    n_programs : int
        The number of programs that were solved; after a solve by cones those of the bounds are not
        counted.
    """

    model: Model
    structure: Structure
    lower: float
    upper: float
    point: FloatArray
    vector: FloatArray
    row_duals: FloatArray
    n_programs: int

    @property
    def gap(self) -> float:
        """The relative gap, ``(upper - lower) / (1 + max(|lower|, |upper|))``."""
        return relative_gap(self.lower, self.upper)

    @property
    def values(self) -> dict[int, FloatArray]:
        """The values of the problem's variables at the point, by their ``id``."""
        return self.model.values(self.point)


def relative_gap(lower: float, upper: float) -> float:
    """Return how far two bounds are apart."""
    return (upper - lower) / (1 + max(abs(lower), abs(upper)))


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
    names = ", ".join(str(each) for each in problem.variables() if each.value is None)
    if names:
        raise InvalidInputError(f"{names} has no value; solve the problem first, by any solver")
    if model.is_integer.any():
        raise InvalidInputError(
            "the problem has whole numbers, which the bounds know nothing of; replace them by "
            "variables with bounds"
        )
    if len(model.form.problem.variables()) > len(problem.variables()):
        raise InvalidInputError(
            "the objective or a constraint is not linear as it is written; write it in rows with "
            "variables of your own, or take the bounds that method='discs' gives"
        )
    return prove(programs, bounds_at(programs, np.append(1.0, model.form.from_user())))


def bounds_at(
    programs: DiscPrograms, point: FloatArray, d: FloatArray | None = None
) -> Iterator[Round]:
    """Yield what the first eigenvector at a point proves, or d, or the multipliers of left-ends."""
    # A point that just keeps the inequalities is in the program that its own vector aligns.
    near, _ = programs.feasible_near(point)
    v, _ = first_eigenvector(programs.switched(near))
    try:
        step = programs.aligned(v)
    except (InfeasibleProblemError, SolverFailedError):
        step = programs.aligned(v, _WIDE)
    for vector in (v, np.sqrt(step.multipliers), d):
        if vector is not None:
            yield step.point, programs.bound_below(vector)


def prove(
    programs: DiscPrograms,
    rounds: Iterable[Round],
    tolerance: float = 0.0,
    max_programs: float = np.inf,
) -> Proof:
    """Return the best bounds of the rounds of a sequence, once these are near enough."""
    model, least, best = programs.model, np.inf, NO_BOUND
    for point, below in rounds:
        feasible, value = _feasible(programs, point)
        if value < least:
            least, nearest = value, feasible
        if below.value > best.value:
            best = below
        if relative_gap(best.value, least) <= tolerance or programs.n_solved >= max_programs:
            break
    if least == np.inf:
        raise SolverFailedError(
            f"{programs.n_solved} programs found no point that keeps all inequalities; raise "
            "max_programs"
        )
    bounds = (best.value, least) if model.form.sign > 0 else (-least, -best.value)
    vector, duals = np.sqrt(best.multipliers), best.row_duals
    return Proof(model, programs.structure, *bounds, nearest, vector, duals, programs.n_solved)


def _feasible(programs: DiscPrograms, point: FloatArray) -> tuple[FloatArray, float]:
    """Return a point nearby that keeps all inequalities, and its value: infinity if none is found.

    With whole numbers it is the optimum of a program of aligned discs where these are fixed.
    """
    if not programs.model.is_integer.any():
        return programs.feasible_near(point)
    try:
        above = programs.aligned(first_eigenvector(programs.switched(point))[0], whole=point)
    except InfeasibleProblemError:
        return point, np.inf
    return above.point, above.value
