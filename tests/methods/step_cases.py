"""What tests of step rules share: lines of one variable, segments between metrics."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import gdaopt as gda
from gdaopt.linalg.directions import (
    DenseDirection,
    DiagonalDirection,
    Direction,
)
from gdaopt.objectives.protocol import Line
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric


@dataclass
class Function:
    """A line from its value and two derivatives, counting evaluations."""

    phi: Callable[[float], float]
    slope: Callable[[float], float]
    curvature: Callable[[float], float] = lambda _: math.nan
    direction: Direction = field(default_factory=lambda: DiagonalDirection(np.ones(1)))
    trials: list[float] = field(default_factory=list)

    def value(self, gamma: float) -> float:
        return self.phi(gamma)

    def derivatives(self, gamma: float) -> tuple[float, float]:
        assert 0 <= gamma <= 1
        self.trials.append(gamma)
        return self.slope(gamma), self.curvature(gamma)


def parabola(minimum: float, *, curved: bool = True) -> Function:
    return Function(
        lambda g: (g - minimum) ** 2,
        lambda g: 2 * (g - minimum),
        (lambda _: 2.0) if curved else (lambda _: math.nan),
    )


@dataclass(frozen=True)
class Segment:
    """A GLR at one member of ``M ⪰ ρI``, and the way to another."""

    glr: gda.GLR
    rho: float
    metric: FloatArray
    other: FloatArray

    @property
    def line(self) -> Line:
        return self.glr.at(self.metric).line(DenseDirection(self.other - self.metric))


def segment(rng: np.random.Generator) -> Segment:
    """Return a segment; in half of the cases downhill at first."""
    size = int(rng.integers(1, 6))
    X = rng.standard_normal((12, size)) * 10 ** rng.uniform(-1.5, 0.5)
    z = rng.standard_normal(12) * 10 ** rng.uniform(-3, 3)
    rho = float(rng.choice([0.0, 0.01, 0.3]))
    low, high = (
        random_metric(rng, size) * 10 ** rng.uniform(-2, 1) + rho * np.eye(size) for _ in range(2)
    )
    return Segment(gda.GLR(X, z), rho, low, high)
