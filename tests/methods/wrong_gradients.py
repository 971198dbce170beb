"""Objectives of one's own over a grid of problems, with honest gradients and with wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

import gdaopt as gda
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import named_set
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
KINDS = ("nearest", "distances", "log det", "collapse", "hinge", "lasso")
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
        differences = rng.standard_normal((4 * size, size))
        distances = rng.random(4 * size) * 2 * size
        target = random_symmetric(rng, size) + np.eye(size)
        function = {
            "nearest": lambda: nearest(target),
            "distances": lambda: regression(differences, distances),
            "log det": lambda: log_det(differences.T @ differences / len(differences)),
            "collapse": lambda: collapse(differences / np.sqrt(size), distances > size),
            "hinge": lambda: hinge(differences, distances),
            "lasso": lambda: lasso(target),
        }[self.kind]()
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


def nearest(target: FloatArray) -> Function:
    return lambda M: (float(((M - target) ** 2).sum()), 2 * (M - target))


def of_distances(D: FloatArray, loss: Callable[[FloatArray], tuple[float, FloatArray]]) -> Function:
    def found(metric: FloatArray) -> tuple[float, FloatArray]:
        value, slopes = loss(((D @ metric) * D).sum(axis=1))
        return value, (D * slopes[:, None]).T @ D

    return found


def regression(D: FloatArray, distances: FloatArray) -> Function:
    return of_distances(D, lambda d: (float(((d - distances) ** 2).sum()) / 2, d - distances))


def collapse(D: FloatArray, similar: npt.NDArray[np.bool_]) -> Function:
    """Return a logistic loss of distances."""
    sign = np.where(similar, 1.0, -1.0)

    def loss(d: FloatArray) -> tuple[float, FloatArray]:
        margins = sign * (d - 1)
        return float(np.logaddexp(0, margins).sum()), sign * expit(margins)

    return of_distances(D, loss)


def hinge(D: FloatArray, distances: FloatArray) -> Function:
    """Return a smooth hinge: squares of what distances are short of."""

    def loss(d: FloatArray) -> tuple[float, FloatArray]:
        short = np.maximum(distances - d, 0.0)
        return float((short**2).sum() / 2 + d.sum() / 10), 0.1 - short

    return of_distances(D, loss)


def log_det(S: FloatArray) -> Function:
    def found(metric: FloatArray) -> tuple[float, FloatArray]:
        L = np.linalg.cholesky(metric)  # which is an error outside of the domain
        inverse = np.linalg.inv(metric)
        log = 2 * float(np.log(np.diagonal(L)).sum())
        return float(np.vdot(S, metric)) - log, S - (inverse + inverse.T) / 2

    return found


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
