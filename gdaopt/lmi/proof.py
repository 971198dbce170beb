"""A proof by one vector: both bounds of a problem with exact matrix inequalities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import cvxpy as cp
import numpy as np

from gdaopt.errors import InfeasibleProblemError, InvalidInputError, SolverFailedError
from gdaopt.linalg.balance import first_eigenvector
from gdaopt.lmi.alignment import Round
from gdaopt.lmi.programs import NO_BOUND, DiscPrograms
from gdaopt.lmi.signs import Structure, structure
from gdaopt.support.validation import FloatArray

_WIDE = 1e6  # multipliers that are as far apart as this stand for all


@dataclass(frozen=True, eq=False)
class Proof:
    """What one vector proves of a problem.

    Attributes
    ----------
    structure : Structure
        The problem as it was read, which of its matrix inequalities are exact, and why.
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

    structure: Structure = field(repr=False)
    lower: float
    upper: float
    point: FloatArray = field(repr=False)
    vector: FloatArray = field(repr=False)
    row_duals: FloatArray = field(repr=False)
    n_programs: int

    @property
    def gap(self) -> float:
        """The relative gap, ``(upper - lower) / (1 + max(|lower|, |upper|))``."""
        return gap_between(self.lower, self.upper)

    @property
    def values(self) -> dict[int, FloatArray]:
        """The values of the problem's variables at the point, by their ``id``."""
        return self.structure.model.form.to_user(self.point[1:])


def gap_between(lower: float, upper: float) -> float:
    """Return how far two bounds are apart, relative to 1 and the larger of them."""
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
        When an inequality is not exact, or a variable has no value.
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
    programs = DiscPrograms(structure(problem, nonpositive=nonpositive), solver, {})
    names = ", ".join(str(each) for each in problem.variables() if each.value is None)
    if names:
        raise InvalidInputError(f"{names} has no value; solve the problem first, by any solver")
    return prove(programs, bounds_at(programs, np.append(1.0, programs.model.form.from_user())))


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
    least, best = np.inf, NO_BOUND
    for point, below in rounds:
        feasible, value = programs.feasible_near(point)
        if value < least:
            least, nearest = value, feasible
        if below.value > best.value:
            best = below
        if gap_between(best.value, least) <= tolerance or programs.n_solved >= max_programs:
            break
    if least == np.inf:
        raise SolverFailedError(
            f"{programs.n_solved} programs found no point that keeps all inequalities; raise "
            "max_programs"
        )
    bounds = (best.value, least) if programs.model.form.sign > 0 else (-least, -best.value)
    vector, duals = np.sqrt(best.multipliers), best.row_duals
    return Proof(programs.structure, *bounds, nearest, vector, duals, programs.n_solved)
