"""Problems for the certified method over every kind of set, and what its results promise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np

import gdaopt as gda
from gdaopt.datasets import load, scale_features
from gdaopt.linalg.laplacian import n_components
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray

KINDS = ("graph", "diagonal", "definite", "signed", "sdd")
HULLS = [(kind, 0.0) for kind in KINDS] + [("graph", 0.05), ("signed", 0.05)]  # with an edge floor
ROUND_OFF = 1e-12  # of the objective: what certificates and decreases may be short of


def set_of(
    kind: str,
    size: int,
    trace_bound: float,
    min_eigenvalue: float,
    path_weight: float = 0.0,
    *,
    colors: Sequence[float] | None = None,
    edges: Any = None,
) -> FeasibleSet:
    """Return a set of one kind; colours that are not given alternate."""
    bounds = trace_bound, min_eigenvalue
    match kind:
        case "graph":
            return gda.GraphMetrics(*bounds, path_weight, edges)
        case "masked":  # a cycle: no edges along diagonals of it
            cycle = [(i, (i + 1) % size) for i in range(size) if size > 2]
            return gda.GraphMetrics(*bounds, path_weight, cycle)
        case "diagonal":
            return gda.DiagonalMetrics(*bounds)
        case "definite":
            return gda.PositiveDefiniteMetrics(*bounds)
        case "sdd":
            return gda.SDDMetrics(*bounds, edges)
    colors = alternating(size) if colors is None else colors
    return gda.SignedGraphMetrics(colors, *bounds, path_weight, edges)


def alternating(size: int) -> list[float]:
    return [(-1.0) ** i for i in range(size)]


def of_kind(problem: gda.MetricProblem, kind: str) -> gda.MetricProblem:
    """Return the problem over another set with the same bounds, and the floor where it has one."""
    feasible_set = problem.feasible_set
    assert isinstance(feasible_set, gda.GraphMetrics)
    changed = set_of(
        kind,
        problem.n_features,
        feasible_set.trace_bound,
        feasible_set.min_eigenvalue,
        feasible_set.path_weight,
    )
    return replace(problem, feasible_set=changed)


def assert_optimal(problem: gda.MetricProblem, result: gda.Result, tolerance: float) -> None:
    """Assert what a converged result promises.

    Where round-off alone is more than the tolerance, the run has stalled and says so.
    """
    assert result.relative_gap is not None
    if result.status == "stalled":
        assert "is the certificate's allowance for round-off" in result.message
        assert result.gap is not None
        assert tolerance * abs(result.objective) < result.gap
        assert result.gap <= 1.2 * gda.certify(problem, result.metric).round_off
    else:
        assert result.status == "converged", result.message
        assert -ROUND_OFF <= result.relative_gap <= tolerance
    assert result.metric in problem.feasible_set


def certified(problem: gda.MetricProblem, tolerance: float = 1e-9, **options: Any) -> gda.Result:
    """Solve to optimality."""
    result = gda.solve(problem, "certified", tolerance=tolerance, **options)
    assert_optimal(problem, result, tolerance)
    return result


def assert_same_optimum(first: gda.Result, second: gda.Result, rel: float = 0.0) -> None:
    """Neither is below what the other one proves."""
    for one, other in ((first, second), (second, first)):
        assert one.lower_bound is not None
        assert one.lower_bound <= other.objective + (rel + ROUND_OFF) * abs(other.objective)


@cache
def half(name: str, positive: str) -> tuple[FloatArray, FloatArray]:
    """Return a random half of the samples, z-scored among themselves, and the signal."""
    data = load(name)
    count = len(data.features)
    chosen = np.random.default_rng(0).permutation(count)[: count // 2]
    return scale_features(data.features[chosen]), data.signal(positive)[chosen]


@cache
def synthetic(n_features: int, n_samples: int) -> tuple[FloatArray, FloatArray]:
    """Return samples of which three features tell the sign, up to some noise."""
    rng = np.random.default_rng(n_features)
    X = rng.standard_normal((n_samples, n_features))
    told = X[:, :3].sum(axis=1) + 0.1 * rng.standard_normal(n_samples) > 0
    return X / math.sqrt(2 * n_features), np.where(told, 1.0, -1.0)


@dataclass
class Watch:
    """A callback: each state is a member, none has a larger objective or a smaller bound."""

    feasible_set: FeasibleSet
    edge_floor: float = 0.0
    may_rise: bool = False
    states: list[gda.methods.State] = field(default_factory=list)

    def __call__(self, state: gda.methods.State) -> None:
        assert not self.feasible_set.violations(state.metric)
        assert not self.edge_floor or n_components(state.metric, self.edge_floor * (1 - 1e-9)) == 1
        if self.states:
            last = self.states[-1]
            highest = last.objective + ROUND_OFF * abs(last.objective)
            assert self.may_rise or state.objective <= highest
            if last.lower_bound is not None:
                assert state.lower_bound is not None
                assert state.lower_bound >= last.lower_bound
        self.states.append(state)


class Nearest(gda.DenseObjective):
    """Half the squared distance to a target matrix, and a constant."""

    least = 0.0

    def __init__(self, target: FloatArray) -> None:
        super().__init__(n_features=len(target))
        self.target = target

    def value(self, metric: FloatArray) -> float:
        return self.least + float(((metric - self.target) ** 2).sum()) / 2

    def gradient(self, metric: FloatArray) -> FloatArray:
        return metric - self.target

    def expression(self, metric: cp.Expression) -> cp.Expression:
        expression: cp.Expression = self.least + cp.sum_squares(metric - self.target) / 2
        return expression
