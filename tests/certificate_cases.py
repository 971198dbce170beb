"""Problems whose optimum is known, and random metrics in and around their sets."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import gdaopt as gda
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from tests.helpers import Rng, random_symmetric, scaled, start_of, sum_of_atoms
from tests.methods import certified_cases
from tests.methods.certified_cases import set_of

ROUND_OFF = 1e-12


class Nearest(certified_cases.Nearest):
    """Half of the squared distance to a target, and 1."""

    least = 1.0


def small_glr(n_samples: int, n_features: int, signal: str) -> gda.GLR:
    rng = np.random.default_rng(n_samples)
    X = rng.standard_normal((n_samples, n_features)) / math.sqrt(2 * n_features)
    z = {
        "labels": np.where(np.arange(n_samples) % 3 == 0, 1.0, -1.0),
        "real": rng.standard_normal(n_samples),
        "columns": rng.standard_normal((n_samples, 3)),
    }[signal]
    return gda.GLR(X, z)


def covariance(size: int) -> FloatArray:
    samples = np.random.default_rng(1).standard_normal((30, size))
    return np.asarray(samples.T @ samples / 30)


OBJECTIVES: dict[str, Callable[[], Any]] = {
    "labels": lambda: small_glr(12, 5, "labels"),
    "real": lambda: small_glr(14, 5, "real"),
    "columns": lambda: small_glr(20, 3, "columns"),
    "iris": lambda: gda.GLR(*scaled("iris", "versicolor")),
    "wine": lambda: gda.GLR(*scaled("wine", "class_1")),
    "log det": lambda: gda.LogDet(covariance(5)),
    "dense": lambda: Nearest(random_symmetric(np.random.default_rng(2), 5)),
}
SETS = ["diagonal", "graph", "positive definite", "signed", "fixed path"]


def named_set(name: str, size: int, trace_bound: float, share: float = 0.01) -> FeasibleSet:
    """Return a set whose ρ is a share of C/K, and so is its edge floor."""
    low = share * trace_bound / size
    kinds = {"positive definite": "definite", "fixed path": "graph", "signed path": "signed"}
    return set_of(kinds.get(name, name), size, trace_bound, low, low if "path" in name else 0.0)


@dataclass(frozen=True)
class Solved:
    problem: gda.MetricProblem
    result: gda.Result  # Q* is within 1e-10 below its objective
    rng: Rng

    @property
    def size(self) -> int:
        return self.problem.n_features

    def member(self) -> FloatArray:
        """Return a random convex combination of the base and some of its atoms' vertices."""
        feasible_set, rng = self.problem.feasible_set, self.rng
        atoms, _ = sum_of_atoms(feasible_set, start_of(feasible_set, self.size))
        atoms = atoms.joined(
            feasible_set.family.best_atoms(random_symmetric(rng, self.size), 3).atoms
        )
        shares = rng.dirichlet(np.full(len(atoms), 0.3)) * rng.choice([1.0, rng.random()])
        base = feasible_set.base(self.size)
        return atoms.added_to(base, feasible_set.budget(self.size) * shares)

    def any_metric(self, kind: str) -> FloatArray:
        """Return a random symmetric matrix, most of them outside of the set."""
        rng, best = self.rng, self.result.metric
        unit = self.problem.feasible_set.trace_bound / self.size
        factor = rng.standard_normal((self.size, self.size))
        kinds: dict[str, Callable[[], Any]] = {
            "indefinite": lambda: unit * 10 ** rng.uniform(-3, 1) * (factor + factor.T),
            "over the trace": lambda: best * 10 ** rng.uniform(0, 3),
            "wrong signs": lambda: np.diag(2 * np.diagonal(best)) - best,
            "another sign": lambda: -best * 10 ** rng.uniform(-3, 0),
            "large": lambda: unit * 10 ** rng.uniform(0, 3) * (factor @ factor.T),
            "near the optimum": lambda: best + 10 ** rng.uniform(-14, -1) * unit * factor.T,
        }
        metric: FloatArray = kinds[kind]()
        return (metric + metric.T) / 2


KINDS = [
    *("indefinite", "over the trace", "wrong signs", "another sign", "large"),
    "near the optimum",
]


@cache
def solved(objective: str, set_name: str, scale: float) -> Solved:
    """Return a problem whose trace bound is `scale`·K, and its optimum."""
    function = OBJECTIVES[objective]()
    size = function.n_features
    problem = gda.MetricProblem(function, named_set(set_name, size, scale * size))
    result = gda.solve(problem, "certified", tolerance=1e-10)
    assert result.status == "converged"
    return Solved(problem, result, np.random.default_rng(3))
