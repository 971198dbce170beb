"""A proof by one vector: both bounds of a problem with exact matrix inequalities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np

from gdaopt.errors import InfeasibleProblemError, InvalidInputError, SolverFailedError
from gdaopt.lmi.model import read_model
from gdaopt.lmi.programs import DiscPrograms, first_eigenvector
from gdaopt.lmi.signs import Structure, analyse
from gdaopt.support.validation import FloatArray


@dataclass(frozen=True, eq=False)
class Proof:
    """What one vector proves of a problem.

    Attributes
    ----------
    lower, upper : float
        Bounds of the optimum of a minimisation; of a maximisation those of its negative value are
        turned around, so that always ``lower ≤ optimum ≤ upper``.
    x : ndarray
        A point that keeps all constraints, and has one of the bounds as its value: the entries of
        all variables of the problem, one after the other, each column by column.
    vector : ndarray of shape (n,)
        d > 0, for the nodes of all matrices one after the other.
    n_programs : int
        The number of linear programs that were solved.
    """

    lower: float
    upper: float
    x: FloatArray
    vector: FloatArray
    n_programs: int

    @property
    def gap(self) -> float:
        """The relative gap, ``(upper - lower) / (1 + max(|lower|, |upper|))``."""
        return (self.upper - self.lower) / (1 + max(abs(self.lower), abs(self.upper)))


def certify(
    problem: cp.Problem, *, solver: str = "HIGHS", nonpositive: Sequence[object] = ()
) -> Proof:
    """Bound the optimum of a problem from both sides, by the values that its variables have.

    The values may be from any solver, and need not keep the constraints. Two linear programs are
    solved, which one vector d aligns: the first eigenvector of the matrix there.

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
        Bounds that meet where the values are optimal, up to the accuracy of the solver.

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
    structure = analyse(model, nonpositive=nonpositive)
    check_exact(structure)
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
    proof = prove(DiscPrograms(model, structure, solver, {}), x)
    for (user, _), value in zip(model.variables, values, strict=True):
        user.save_value(value)
    return oriented(proof, model.sign)


def check_exact(structure: Structure, *, by_entries: bool = True) -> None:
    """Refuse a problem with an inequality that discs do not describe exactly, by its own entries.

    Without `by_entries` the signs may be those of the multiplier.
    """
    for inequality in structure.inequalities:
        if not inequality.is_exact:
            raise InvalidInputError(str(inequality))
        if by_entries and inequality.is_free:
            raise InvalidInputError(
                f"{inequality}; linear programs and their proofs know the signs of its own entries "
                "only, so take by='cones'"
            )


def prove(programs: DiscPrograms, x: FloatArray, d: FloatArray | None = None) -> Proof:
    """Return what the first eigenvector at x proves, or d, or the multipliers of left-ends."""
    v, _ = first_eigenvector(programs.switched(x))
    try:
        above = programs.from_above(v)
    except (InfeasibleProblemError, SolverFailedError):
        above = programs.feasible_near(x)  # where entries are constant, v must be exact
    # Multipliers are 0 where v need not be, such as in components without any influence.
    roots = [] if above.multipliers is None else [np.sqrt(above.multipliers)]
    lower, vector = -np.inf, v
    for candidate in (v, *roots, *([] if d is None else [d])):
        bound = programs.bound_below(candidate)
        if bound > lower:
            lower, vector = bound, candidate
    return Proof(lower, above.value, above.x, vector, programs.n_solved)


def oriented(proof: Proof, sign: float) -> Proof:
    """Return a proof of a minimisation for the problem as it was written."""
    if sign > 0:
        return proof
    return replace(proof, lower=-proof.upper, upper=-proof.lower)
