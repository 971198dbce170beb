"""Objectives of one's own over a grid of problems, with honest gradients and with wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import gdaopt as gda
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import named_set
from tests.fuzz.objectives import objective_of
from tests.helpers import random_symmetric

__all__ = ["FAULTS", "METHODS", "SETS", "Case", "run"]

SETS = ["diagonal", "graph", "positive definite", "signed", "fixed path"]
METHODS: dict[str, dict[str, Any]] = {
    "certified": {},
    "frank-wolfe": {"variant": "pairwise", "max_iterations": 300},
    "projected-gradient": {"max_iterations": 300},
    "sdp-frank-wolfe": {"solver": "analytic", "max_iterations": 100},
    "alternating": {"solver": "analytic", "max_iterations": 100},
    "joint": {"solver": "analytic", "align": "gradient", "max_iterations": 100},
}
TOLERANCE = 1e-5
KINDS = ("Quadratic", "PairHinge", "LogDet", "LogisticPairs", "LMNN", "lasso")
Function = Callable[[FloatArray], tuple[float, FloatArray]]


@dataclass(frozen=True)
class Case:
    """A problem of a seed: a convex function of one of six kinds, at some scale, over a set."""

    seed: int
    set_name: str
    decades: float = 0.0

    @property
    def kind(self) -> str:
        return KINDS[self.seed % len(KINDS)]

    @cached_property
    def _made(self) -> tuple[int, Function, gda.sets.FeasibleSet]:
        rng = np.random.default_rng(self.seed)
        size = int(rng.integers(2, 7))
        unit = 10.0 ** rng.uniform(-self.decades, self.decades)
        loud = 10.0 ** rng.uniform(-self.decades, self.decades)
        feasible_set = named_set(self.set_name, size, unit * size * 10 ** rng.uniform(-0.5, 0.5))
        if self.kind == "lasso":
            function = lasso(random_symmetric(rng, size) + np.eye(size))
        else:
            function = of_the_package(self.kind, size, rng)
        return size, scaled(function, unit, loud), feasible_set

    def problem(self, fault: str = "honest") -> gda.MetricProblem:
        size, function, feasible_set = self._made
        if fault == "unsymmetric":
            return gda.MetricProblem(Triangular(function, size), feasible_set)
        wrong = FAULTS[fault](function, np.random.default_rng(self.seed))
        return gda.MetricProblem(gda.FunctionObjective(wrong, size), feasible_set)


def run(case: Case, method: str, fault: str = "honest") -> gda.Result | gda.errors.GdaoptError:
    """Return what a run returns or raises."""
    try:
        return gda.solve(case.problem(fault), method, tolerance=TOLERANCE, **METHODS[method])
    except gda.errors.GdaoptError as error:
        return error


# --- functions -----------------------------------------------------------------------------------


def scaled(function: Function, unit: float, loud: float) -> Function:
    """Return the function of metrics in another unit, times a number."""

    def found(metric: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(metric / unit)
        return loud * value, loud / unit * gradient

    return found


def of_the_package(kind: str, size: int, rng: np.random.Generator) -> Function:
    """Return a function that the package knows, as one of a user's own."""
    objective = objective_of(kind, size, 1.0, rng)
    return lambda metric: (objective.value(metric), objective.gradient(metric))


def lasso(target: FloatArray) -> Function:
    """Return a distance with a kink where edges are 0."""

    def found(metric: FloatArray) -> tuple[float, FloatArray]:
        off = metric - np.diag(np.diagonal(metric))
        value = ((metric - target) ** 2).sum() + 0.1 * np.abs(off).sum()
        return float(value), 2 * (metric - target) + 0.1 * np.sign(off)

    return found


# --- what students do to gradients ---------------------------------------------------------------


class Triangular(gda.DenseObjective):
    """The derivatives by the free entries: those of edges are doubled, in the upper triangle."""

    def __init__(self, function: Function, size: int) -> None:
        super().__init__(size)
        self.function = function

    def value(self, metric: FloatArray) -> float:
        return self.function(metric)[0]

    def gradient(self, metric: FloatArray) -> FloatArray:
        gradient = self.function(metric)[1]
        upper: FloatArray = 2 * np.triu(gradient, 1) + np.diag(np.diagonal(gradient))
        return upper


def times(factor: float) -> Callable[[Function, np.random.Generator], Function]:
    def of(function: Function, rng: np.random.Generator) -> Function:
        def found(metric: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = function(metric)
            return value, factor * gradient

        return found

    return of


def edges_times(factor: float) -> Callable[[Function, np.random.Generator], Function]:
    def of(function: Function, rng: np.random.Generator) -> Function:
        def found(metric: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = function(metric)
            return value, factor * gradient + (1 - factor) * np.diag(np.diagonal(gradient))

        return found

    return of


def one_entry(function: Function, rng: np.random.Generator) -> Function:
    """Return the function with one entry of its gradient (and its mirror image) off by a tenth."""
    draw = rng.random(2)

    def found(metric: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(metric)
        i, j = (draw * len(metric)).astype(int)
        wrong = gradient.copy()
        wrong[i, j] += 0.1 * np.abs(gradient).max()
        wrong[j, i] = wrong[i, j]
        return value, wrong

    return found


def stale(function: Function, rng: np.random.Generator) -> Function:
    """Return the function with the gradient of the call before, once it has been called twice."""
    seen: list[FloatArray] = []

    def found(metric: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(metric)
        seen.append(gradient)
        return value, seen[-2] if len(seen) > 1 else gradient

    return found


def of_the_start(function: Function, rng: np.random.Generator) -> Function:
    """Return the function with the gradient that it has at the start, for ever."""
    seen: list[FloatArray] = []

    def found(metric: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(metric)
        seen.append(gradient)  # the first is that at the identity matrix
        return value, seen[min(len(seen) - 1, 1)]

    return found


def honest(function: Function, rng: np.random.Generator) -> Function:
    return function


FAULTS: dict[str, Callable[[Function, np.random.Generator], Function]] = {
    "honest": honest,
    "sign": times(-1.0),
    "factor": times(2.0),
    "edges halved": edges_times(0.5),
    "edges doubled": edges_times(2.0),
    "edges forgotten": edges_times(0.0),
    "one entry": one_entry,
    "stale": stale,
    "of the start": of_the_start,
    "unsymmetric": honest,
}
