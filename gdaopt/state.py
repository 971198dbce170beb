"""A run after a step: where it is, and what happened on the way there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.entries import IndexArray
from gdaopt.objectives.protocol import Point
from gdaopt.support.text import ShownAsTable
from gdaopt.support.validation import FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class State(ShownAsTable):
    """A run after a step, as callbacks get it and the tracer measures it.

    Attributes that do not apply to a method are None. Counts are from the start of the run.

    Attributes
    ----------
    point : Point
        The objective at the current metric, a member of the feasible set.
    iteration, round : int
        How many steps have been taken, and how many rounds have begun.
    phase, block : str and int or None
        The part that the step moved, and the index of the column if it was one.
    step, block_gap : float or None
        The step size γ, and the Frank–Wolfe gap of the block before the step.
    lower_bound, multipliers : float and ndarray of shape (m,), or None
        The largest lower bound that the method has certified so far, and the multipliers of the
        linear constraints at the current metric.
    frank_wolfe_gap, gap_round_off : float
        As in `gdaopt.certificate.Certificate`, for the current metric.
    v, aligned_spread, scaling : ndarray of shape (K,), float and str
        The scaling of the step, the distance between the smallest and the largest left-end under
        it, and how it was found.
    solver, solver_status, repair_distance : str, str and float or None
        Who solved the program of the step, how that ended, and how far the point was moved into the
        set.
    oracle_calls, eig_iterations, eigen_decompositions, newton_steps : int
        Programs solved or searches for atoms; iterations of LOBPCG; eigen-decompositions for
        projections; Newton steps, in the weights and in the directions of atoms.
    timings : mapping of str to float
        Seconds that the step spent, by stage: see `gdaopt.methods.Context.timed`.
    atoms, weights, colors
        As those of `gdaopt.Result`, if the method knows them after each step.
    features : ndarray of int, shape (n,), or None
        With many features, those that the metric and the atoms have; all others have ρ on the
        diagonal. None for all.
    """

    point: Point
    iteration: int = 0
    round: int = 0
    phase: str = "start"
    block: int | None = None
    step: float | None = None
    block_gap: float | None = None
    lower_bound: float | None = None
    multipliers: FloatArray | None = None
    frank_wolfe_gap: float = math.inf
    gap_round_off: float = 0.0
    v: FloatArray | None = None
    aligned_spread: float | None = None
    scaling: str = ""
    solver: str = ""
    solver_status: str = ""
    repair_distance: float | None = None
    oracle_calls: int = 0
    eig_iterations: int = 0
    eigen_decompositions: int = 0
    newton_steps: int = 0
    timings: Mapping[str, float] = field(default_factory=dict)
    atoms: Atoms | None = None
    weights: FloatArray | None = None
    colors: FloatArray | None = None
    features: IndexArray | None = None

    @property
    def metric(self) -> FloatArray:
        """The current metric, read-only."""
        return self.point.metric

    @property
    def objective(self) -> float:
        """Q at the current metric."""
        return self.point.value
