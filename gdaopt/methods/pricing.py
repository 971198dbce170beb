"""Where the atoms that join come from: the exact oracle, or the joint program at its alignment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from gdaopt.linalg.atoms import Atoms, decomposition, dual_alignment
from gdaopt.linalg.entries import matrix_of
from gdaopt.methods.blocks import MetricBlock, program_columns
from gdaopt.objectives.protocol import Point
from gdaopt.programs import JointPolytope, JointProgram, ProgramOptions
from gdaopt.sets import FeasibleSet, PricedAtoms
from gdaopt.support.validation import FloatArray

__all__ = ["OraclePricing", "Pricing", "ProgramPricing"]

_MOST_ATOMS = 60  # that join in a round
_LEAST_ATOMS = 8
_COUNTS = 1e-6  # of the budget: inexact solvers leave smaller weights everywhere


class Pricing(ABC):
    """Finds atoms that lower the objective.

    Attributes
    ----------
    n_priced : int
        How many of the best atoms it wants to see.
    """

    n_priced: int

    @abstractmethod
    def joining(
        self, point: Point, best: PricedAtoms, level: float, time_limit: float | None
    ) -> tuple[Atoms, dict[str, Any]]:
        """Return the atoms that join, and columns of the trace.

        Parameters
        ----------
        point : Point
            The objective at the metric.
        best : PricedAtoms
            The exact oracle's best for the gradient there.
        level : float
            The mean price of the active set, by weights: atoms below it lower the objective.
        time_limit : float or None
            Seconds left.
        """


class OraclePricing(Pricing):
    """The best atoms of the exact oracle, in closed form."""

    def __init__(self, n_features: int) -> None:
        self.n_priced = min(max(_LEAST_ATOMS, n_features), _MOST_ATOMS)

    def joining(
        self,
        point: Point,  # noqa: ARG002 (the oracle has seen its gradient)
        best: PricedAtoms,
        level: float,
        time_limit: float | None,  # noqa: ARG002 (no program is solved)
    ) -> tuple[Atoms, dict[str, Any]]:
        """Return those of the best atoms whose price is below the level."""
        return best.atoms[best.prices < level], {}


class ProgramPricing(Pricing):
    """The vertex of the joint program under dual alignment: the same optimum, by a linear program.

    Parameters
    ----------
    feasible_set : FeasibleSet
        A set of graph metrics.
    n_features : int
        K.
    options : ProgramOptions
        Who solves the program, and how.
    """

    n_priced = 1

    def __init__(self, feasible_set: FeasibleSet, n_features: int, options: ProgramOptions) -> None:
        self._feasible_set = feasible_set
        self._edges = feasible_set.edges_of(n_features)
        self._program = JointProgram(n_features, self._edges, options)
        self._budget = feasible_set.budget(n_features)
        self._floor = np.zeros(len(self._edges[0]))

    def joining(
        self,
        point: Point,
        best: PricedAtoms,  # noqa: ARG002 (the program finds its own)
        level: float,  # noqa: ARG002 (a vertex is as good as the best atom)
        time_limit: float | None,
    ) -> tuple[Atoms, dict[str, Any]]:
        """Return the atoms of the program's solution: an exact vertex has one atom."""
        v = dual_alignment(self._feasible_set.gradient_at(point), self._edges)
        # The program finds M - B: without a smallest eigenvalue, and of trace τ.
        polytope = JointPolytope(v, 0.0, self._budget, self._edges, self._floor)
        block = MetricBlock(self._program, polytope, len(v), self._edges)
        solution = block.vertex(block.cost(point), time_limit)
        atoms, weights = decomposition(matrix_of(solution.point, len(v), self._edges), v)
        columns = {"repair_distance": solution.repair_distance, "v": v}
        return atoms[_largest(weights, self._budget)], columns | program_columns(solution)


def _largest(weights: FloatArray, budget: float) -> np.ndarray:
    """Return the indices of the largest weights that count."""
    order = np.argsort(-weights, kind="stable")[:_MOST_ATOMS]
    return order[weights[order] > _COUNTS * budget]
