"""Instances of the programs: polytopes from random metrics and random ones, with their costs."""

import zlib
from dataclasses import dataclass
from functools import cache

import cvxpy as cp
import numpy as np
import pytest

from gdaopt.backends import Answer, LinearArrays
from gdaopt.backends.cvxpy import CvxpyBackend
from gdaopt.backends.protocol import ANALYTIC
from gdaopt.backends.registry import find_solver
from gdaopt.errors import SolverNotFoundError
from gdaopt.linalg.entries import all_edges, entries_of
from gdaopt.linalg.gershgorin import left_ends
from gdaopt.methods.aligned import tree_floors
from gdaopt.methods.alternating import column_floor
from gdaopt.programs import JointPolytope, Knapsack, Program
from gdaopt.programs.base import Polytope
from gdaopt.support.validation import FloatArray
from tests.helpers import Rng

SOLVERS = ("HIGHS", "ECOS", "CLARABEL")
KINDS = ("no slack", "positive costs", "ties", "zero bounds", "floors", "five decades")

BLOCKS = ("diagonal", "column", "joint")

AnyPolytope = Knapsack | JointPolytope


@dataclass(frozen=True, eq=False)
class Situation:
    """A metric with a scaling v that leaves it the slack that programs can use."""

    metric: FloatArray
    v: FloatArray
    min_eigenvalue: float
    trace_bound: float
    column: int
    edge_floor: float

    @property
    def slack(self) -> FloatArray:
        return np.maximum(left_ends(self.metric, self.v) - self.min_eigenvalue, 0.0)

    def diagonal(self) -> Knapsack:
        return Knapsack.diagonal(self.metric, self.slack, self.trace_bound)

    def edges(self) -> Knapsack:
        others = np.delete(np.arange(len(self.metric)), self.column)
        floor = column_floor(self.metric, self.column, others, self.edge_floor, "tree")
        return Knapsack.column(self.metric, self.v, self.slack, self.column, others, floor)

    def joint(self, share: float = 1.0) -> JointPolytope:
        """Return the polytope around the metric, which may have a share of all edges."""
        edges = all_edges(len(self.metric))
        kept = np.random.default_rng(0).random(len(edges[0])) < share
        edges = edges[0][kept], edges[1][kept]
        given = (self.v, self.min_eigenvalue, self.trace_bound, edges)
        if share < 1:  # the metric is not inside
            return JointPolytope(*given, np.zeros(len(edges[0])))
        floors = tree_floors(self.metric, self.edge_floor)[edges]
        return JointPolytope(*given, floors, entries_of(self.metric, edges))


def situation(rng: Rng, size: int, kind: str = "") -> Situation:
    """Return a random situation: v aligns the metric, or (as after a step) leaves uneven slack."""
    decades = 5.0 if kind == "five decades" else rng.choice([0.0, 1.0, 2.0])
    v = 10 ** rng.uniform(-decades, 0, size)
    v[rng.integers(size)] = 1.0
    if kind == "five decades":
        v[v.argmin()] = 1e-5
    weights = rng.random((size, size)) * (rng.random((size, size)) < rng.choice([0.3, 1.0]))
    weights *= np.minimum.outer(v, v) / np.maximum.outer(v, v)  # no diagonal entry is huge
    slack = rng.uniform(0, 2, size) if rng.random() < 0.5 else np.full(size, rng.uniform(0, 2))
    min_eigenvalue = float(rng.choice([0.0, 1e-6, 1e-2]))
    if kind == "zero bounds":
        weights[rng.random((size, size)) < 0.5] = 0.0
        isolated = rng.random(size) < 0.5
        weights[isolated] = weights[:, isolated] = 0.0
        slack[rng.random(size) < 0.5] = 0.0
        min_eigenvalue = 0.0
    metric = -np.triu(weights, 1)
    metric += metric.T
    metric[np.diag_indices(size)] = -(metric @ v) / v + min_eigenvalue
    if kind != "no slack":
        metric[np.diag_indices(size)] += slack
    trace = float(np.trace(metric)) or 1.0
    return Situation(
        metric,
        v,
        min_eigenvalue,
        trace if kind == "no slack" else trace * rng.uniform(1, 2),
        int(rng.integers(size)),
        float(rng.uniform(0, 0.5)) if kind == "floors" else 0.0,
    )


def random_diagonal(rng: Rng, size: int, kind: str = "") -> Knapsack:
    """Return bounds that need not belong to a metric."""
    lower = rng.random(size) * 10 ** rng.uniform(-5 if kind == "five decades" else -1, 0, size)
    if kind == "zero bounds":
        lower[rng.random(size) < 0.5] = 0.0
    needed = float(lower.sum()) or 1.0
    return Knapsack(lower, needed if kind == "no slack" else needed * rng.uniform(1, 3))


def random_column(rng: Rng, size: int, kind: str = "") -> Knapsack:
    """Return bounds, weights and floors that need not belong to a metric."""
    edges = size - 1
    decades = 2.5 if kind == "five decades" else 1.0
    weights = 10 ** rng.uniform(-decades, decades, edges)
    if kind == "five decades":
        weights[rng.integers(edges)] = 10 ** rng.choice([-5.0, 5.0])
    upper = rng.random(edges)
    if kind == "zero bounds":
        upper[rng.random(edges) < 0.5] = 0.0
    floor = np.zeros(edges)
    if kind == "floors":
        floor = upper * rng.random(edges) * (rng.random(edges) < 0.5)
    share = 1.0 if kind == "no slack" else rng.random()
    budget = float(weights @ (floor + share * (upper - floor)))
    return Knapsack(floor, budget, weights, upper)


def random_cost(rng: Rng, polytope: AnyPolytope, kind: str = "") -> FloatArray:
    """Return costs of one magnitude from 1e-12 to 1e12."""
    cost = rng.standard_normal(len(polytope.current))
    if kind == "positive costs":
        cost = np.abs(cost)
    elif kind == "ties":
        cost = np.round(2 * cost) / 2
        if isinstance(polytope, Knapsack):
            cost *= polytope.weights  # what ties there is the cost per weight
        else:  # and there, with the diagonal's share
            (rows, columns), (forward, backward) = (
                polytope.edges,
                (polytope.forward, polytope.backward),
            )
            own = cost[len(polytope.v) :]
            own *= polytope.weights
            own -= cost[rows] * forward + cost[columns] * backward
        if not cost.any():
            cost[:] = -1.0
    result: FloatArray = cost * 10 ** rng.uniform(-12, 12)
    return result


@cache
def cases(block: str, size: int, kind: str, count: int) -> list[tuple[FloatArray, AnyPolytope]]:
    """Return costs and polytopes of a program, always the same ones."""
    rng = np.random.default_rng(zlib.crc32(f"{block} {size} {kind}".encode()))
    found: list[tuple[FloatArray, AnyPolytope]] = []
    while len(found) < count:
        polytope: AnyPolytope
        there = situation(rng, size, kind)
        if block == "joint":
            polytope = there.joint()
        elif len(found) % 2:
            polytope = (random_diagonal if block == "diagonal" else random_column)(rng, size, kind)
        else:
            polytope = there.diagonal() if block == "diagonal" else there.edges()
        cost = random_cost(rng, polytope, kind)
        if (cost * largest(polytope)).any():  # else there is nothing to solve
            found.append((cost, polytope))
    return found


def largest(polytope: AnyPolytope) -> FloatArray:
    """Return the largest value that each entry can take."""
    if isinstance(polytope, Knapsack):
        return polytope.floor + polytope.largest
    (rows, columns), (forward, backward) = polytope.edges, (polytope.forward, polytope.backward)
    edges = polytope.floor + polytope.spare / polytope.weights
    diagonal = np.full(len(polytope.v), polytope.min_eigenvalue + polytope.spare)
    np.maximum.at(diagonal, rows, forward * edges)
    np.maximum.at(diagonal, columns, backward * edges)
    return np.concatenate([diagonal, edges])


def assert_inside(point: FloatArray, polytope: AnyPolytope) -> None:
    """Assert that a point keeps all bounds, and all rows up to the round-off of their terms."""
    if isinstance(polytope, Knapsack):
        least, most = polytope.floor, polytope.upper
        used, budget = polytope.weights @ point, polytope.budget
        rows, needed = np.zeros(0), np.zeros(0)
    else:
        size, v = len(polytope.v), polytope.v
        least, most = np.append(np.zeros(size), polytope.floor), np.full(len(point), np.inf)
        used, budget = point[:size].sum(), polytope.trace_bound
        i, j = polytope.edges
        taken = np.zeros(size)
        np.add.at(taken, i, v[j] * point[size:])
        np.add.at(taken, j, v[i] * point[size:])
        rows, needed = point[:size] * v, taken + polytope.min_eigenvalue * v
    assert (point >= least).all()
    assert (point <= most * (1 + 1e-15)).all()
    assert used <= budget * (1 + 1e-14)
    assert (rows >= needed - 1e-14 * (rows + needed) - 1e-300).all()


def assert_optimal(solution: Answer, cost: FloatArray, polytope: AnyPolytope) -> None:
    """Assert that a solver's answer is feasible and of optimal value.

    ``|value - reference| ≤ tol · |g|'|x|``, tol = 1e-9 for HiGHS, where x is the larger of the two
    points in each entry. Others have 1e-6, and x is the largest value that each entry can take: an
    interior point ends at about 1e-9 of that, and not at 0 where the optimum is x = 0.
    """
    assert_inside(solution.point, polytope)
    reference = polytope.minimize(cost)
    difference = abs(solution.value - float(cost @ reference))
    if solution.solver in ("HIGHS", "analytic"):
        size = np.maximum(np.abs(reference), np.abs(solution.point))
        assert difference <= 1e-9 * float(np.abs(cost) @ size)
    else:  # also when v spans decades, thanks to a unit for each entry (`Knapsack.largest`)
        assert difference <= 1e-6 * float(np.abs(cost) @ largest(polytope))


def need(solver: str) -> None:
    """Skip a test whose solver has not installed, as ECOS has no wheel for some machines."""
    if solver != ANALYTIC:
        try:
            find_solver(solver)
        except SolverNotFoundError as error:
            pytest.skip(str(error))


def compiled_problem(program: Program, arrays: LinearArrays) -> cp.Problem:
    """Return the CVXPY problem that a program keeps for arrays of a pattern."""
    (backend,) = program.backends
    assert isinstance(backend, CvxpyBackend)
    return backend.compiled(arrays).problem


def mended(polytope: Polytope, point: FloatArray) -> FloatArray:
    """Return a point inside that is made of one outside."""
    return polytope.point(polytope.made_feasible(polytope.coordinates(point)))
