"""The open-loop steps, and the bound of the agnostic one on a fixed polytope."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.directions import DenseDirection
from gdaopt.linalg.entries import all_edges, entries_of, matrix_of
from gdaopt.methods.steps import Agnostic, Exact, Full, Step
from gdaopt.programs import JointPolytope
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric
from tests.methods.steps.cases import Nearest, parabola


@pytest.mark.parametrize("iteration", [0, 1, 2, 10, 1000])
def test_the_agnostic_step(iteration: int) -> None:
    line = parabola(0.3)
    assert Agnostic().size(line, iteration) == 2 / (iteration + 2)
    assert line.trials == []


@dataclass(frozen=True, eq=False)
class Fixed:
    """A joint polytope of a fixed v, and an objective over it.

    Its vertices are those of "Proposition: joint program is a ratio test".
    """

    objective: Any
    lipschitz: float
    v: FloatArray
    rho: float = 0.01

    @property
    def polytope(self) -> JointPolytope:
        size = len(self.v)
        edges = all_edges(size)
        return JointPolytope(self.v, self.rho, float(size), edges, np.zeros(len(edges[0])))

    @property
    def diameter(self) -> float:
        size = len(self.v)
        atoms = [np.zeros(size), *np.eye(size)]
        for i in range(size):
            for j in range(i + 1, size):
                u = self.v[j] * np.eye(size)[i] - self.v[i] * np.eye(size)[j]
                atoms.append(u / np.linalg.norm(u))
        vertices = self.polytope.budget * np.array([np.outer(u, u) for u in atoms])
        return float(max(np.linalg.norm(a - b) for a in vertices for b in vertices))

    def run(self, rule: Step, steps: int) -> tuple[FloatArray, float]:
        """Return the values of Frank–Wolfe by hand from the vertex ρI, and a lower bound of Q*."""
        size, polytope = len(self.v), self.polytope
        point = self.objective.at(self.rho * np.eye(size))
        values, bound = [point.value], -math.inf
        for iteration in range(steps):
            gradient = point.gradient()
            cost = np.concatenate([np.diagonal(gradient), -2 * gradient[polytope.edges]])
            change = polytope.minimize(cost) - entries_of(point.metric, polytope.edges)
            bound = max(bound, point.value + float(cost @ change))
            direction = DenseDirection(matrix_of(change, size, polytope.edges))
            point = point.moved(direction, rule.size(point.line(direction), iteration))
            values.append(point.value)
        return np.array(values), bound


def fixed(kind: str, seed: int) -> Fixed:
    rng = np.random.default_rng(seed)
    v = 10 ** rng.uniform(-0.5, 0, 4)
    if kind == "glr":
        glr = gda.GLR(rng.standard_normal((15, 4)) / 2, np.repeat([1.0, -1.0], [7, 8]))
        return Fixed(glr, glr.lipschitz(0.01), v)
    return Fixed(Nearest(random_metric(rng, 4) / 2), 1.0, v)


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["glr", "nearest"])
@pytest.mark.parametrize("seed", range(3))
def test_agnostic_keeps_its_bound_on_a_fixed_polytope(kind: str, seed: int) -> None:
    """``Q_t - Q* ≤ 2 L diam² / (t + 2)`` for t ≥ 1 (Jaggi 2013, theorem 1)."""
    there = fixed(kind, seed)
    exact, best = there.run(Exact(), 2000)
    assert exact[-1] - best <= 0.01 * abs(exact[0] - best)  # Q* is known well enough
    values, _ = there.run(Agnostic(), 500)
    steps = np.arange(1, 501)
    bound = 2 * there.lipschitz * there.diameter**2 / (steps + 2)
    assert (values[1:] - best <= bound).all()
    assert exact[-1] >= best * (1 - 1e-12)


def test_the_bound_is_none_for_full_steps() -> None:
    """They jump from vertex to vertex: the test above can fail."""
    there = fixed("nearest", 0)
    best = there.run(Exact(), 2000)[1]
    values, _ = there.run(Full(), 500)
    assert values[-1] - best > 2 * there.diameter**2 / 502


@pytest.mark.parametrize("iteration", [0, 1, 100])
def test_the_full_step_is_1(iteration: int) -> None:
    assert Full().size(parabola(0.0), iteration) == 1.0
