"""Problems for the certified method over every kind of set, and what its results promise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.datasets import load, scale_features
from gdaopt.linalg.laplacian import n_components
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray

KINDS = ("graph", "diagonal", "definite", "signed", "sdd")
HULLS = [(kind, 0.0) for kind in KINDS] + [("graph", 0.05), ("signed", 0.05)]  # with an edge floor
ROUND_OFF = 1e-12  # of the objective: what certificates and decreases may be short of
ADVICE = "multiply the features by about"  # where an objective underflows

_DATA = ("iris", "wine", "breast_cancer")
_SYNTHETIC = ((20, 60), (50, 80), (100, 100))
_MULTIPLES = (0.2, 1, 10, 40)
_RHOS = (1e-6, 1e-3)
_LOUD = 1e140  # a signal so loud makes the objective larger by the square of it


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
def samples(name: str, positive: str, share: str, scale: str) -> tuple[FloatArray, FloatArray]:
    """Return all or a random half of the samples, z-scored among themselves, and the signal."""
    data = load(name)
    count = len(data.features)
    order = np.random.default_rng(0).permutation(count) if share == "half" else np.arange(count)
    chosen = order[: count // 2] if share == "half" else order
    X = scale_features(data.features[chosen])
    unit = math.sqrt(2 * X.shape[1]) if scale == "plain" else 1.0
    return X * unit, data.signal(positive)[chosen]


@cache
def synthetic(n_features: int, n_samples: int) -> tuple[FloatArray, FloatArray]:
    """Return samples of which three features tell the sign, up to some noise."""
    rng = np.random.default_rng(n_features)
    X = rng.standard_normal((n_samples, n_features))
    told = X[:, :3].sum(axis=1) + 0.1 * rng.standard_normal(n_samples) > 0
    return X / math.sqrt(2 * n_features), np.where(told, 1.0, -1.0)


@dataclass(frozen=True)
class Cell:
    """A cell of the grid: data, C = multiple · K, ρ, set."""

    kind: str
    data: tuple[Any, ...]
    multiple: float
    min_eigenvalue: float

    def __str__(self) -> str:
        data = "-".join(str(part) for part in self.data)
        return f"{self.kind}-{data}-C{self.multiple:g}K-rho{self.min_eigenvalue:g}"

    def problem(self, loudness: float = 1.0) -> gda.MetricProblem:
        X, z = synthetic(*self.data) if len(self.data) == 2 else samples(*self.data)
        size = X.shape[1]
        feasible_set = set_of(self.kind, size, self.multiple * size, self.min_eigenvalue)
        return gda.MetricProblem(gda.GLR(X, loudness * z), feasible_set)

    @property
    def is_large(self) -> bool:
        """Whether there are 75 684 pairs: one ρ has to do, and no case of minutes is tried."""
        data_is_large = self.data[0] == "breast_cancer" and self.data[2] == "all"
        takes_minutes = self.kind == "definite" and self.multiple == 10
        return data_is_large and (self.min_eigenvalue == _RHOS[0] or takes_minutes)

    def underflows(self) -> bool:
        """Whether the gradient at the optimum, found with a louder signal, is below 1e-290."""
        problem = self.problem(_LOUD)
        glr = problem.objective
        assert isinstance(glr, gda.GLR)
        metric = certified(problem, 1e-6).metric
        slopes = glr.at(metric).logarithm().slopes(problem.feasible_set.family.basis(len(metric)))
        steepest = -float(slopes.min())  # the gradient is semidefinite
        log_gradient = glr.log_value(metric) - 2 * math.log(_LOUD) + math.log(steepest)
        return log_gradient < math.log(1e-290)


def grid() -> list[Any]:
    """Return the cells to try: three data sets, wide synthetic data, all sets and bounds.

    That is half of the product: of any set, data and C there is one of the two ρ, and of any set, C
    and ρ there is half of the data. Of each data cells of two or three kinds are not slow, in turns
    over C, where that is fast. Of the others a third is slow, where none takes long; the rest is
    thorough.
    """
    built_in = [
        (name, positive, share, scale)
        for name in _DATA
        for positive in load(name).classes
        for share in ("half", "all")
        for scale in ("unit", "plain")
    ]
    factors: list[Any] = [KINDS, [*built_in, *_SYNTHETIC], _MULTIPLES, _RHOS]
    cells = []
    for place in product(*(range(len(values)) for values in factors)):
        cell = Cell(*(values[n] for n, values in zip(place, factors, strict=True)))
        if sum(place) % 2 == 1 or cell.is_large:
            continue
        kind, data, multiple, _ = place
        is_long = cell.data[0] == "breast_cancer" and cell.data[2:] != ("half", "unit")
        is_quick = (data + kind) % 4 == multiple and (data // 2 + kind) % 2 == 0 and not is_long
        is_slow = sum(place) % 3 == 0 and not is_long
        marks = pytest.mark.slow if is_slow else pytest.mark.thorough
        cells.append(pytest.param(cell, marks=[] if is_quick else marks, id=str(cell)))
    return cells


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
