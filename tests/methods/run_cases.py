"""Problems for properties of runs, the invariants of every state, and lines for step rules."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.linalg.directions import DenseDirection, DiagonalDirection, Direction
from gdaopt.linalg.laplacian import n_components
from gdaopt.objectives.protocol import Line
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric, scaled


@dataclass(frozen=True)
class Case:
    """A problem at a feature scale: small data with duplicates and constant features."""

    n_features: int
    seed: int
    log_scale: float
    bounds_follow: bool  # C, ρ and ε divided by the square of the scale
    with_floor: bool

    @property
    def edge_floor(self) -> float:
        """ε, for the methods that have such an option."""
        return self._drawn()[1]

    def problem(self) -> gda.MetricProblem:
        """Return the problem over all graph metrics, for methods with an edge floor."""
        return self._drawn()[0]

    def hull_problem(self) -> gda.MetricProblem:
        """Return the problem over those graph metrics that contain a path of weight ε."""
        problem, floor = self._drawn()
        assert isinstance(problem.feasible_set, gda.GraphMetrics)
        return replace(problem, feasible_set=replace(problem.feasible_set, path_weight=floor))

    def _drawn(self) -> tuple[gda.MetricProblem, float]:
        rng = np.random.default_rng(self.seed)
        n_samples = int(rng.integers(2, 15))
        X = rng.standard_normal((n_samples, self.n_features)) / np.sqrt(2 * self.n_features)
        X[rng.random(n_samples) < 0.2] = X[0]  # duplicates
        X[:, rng.random(self.n_features) < 0.2] = 1.0  # constant features
        z = rng.standard_normal(n_samples) if rng.random() < 0.3 else rng.choice([-1.0, 1.0], 15)
        z = z[:n_samples]
        z[0], z[-1] = 1.0, -1.0
        X[-1, 0] = X[0, 0] + 1.0  # one pair at least is told apart
        scale = 10.0**self.log_scale
        square = scale**2 if self.bounds_follow else 1.0
        trace_bound = self.n_features * float(rng.choice([0.2, 1.0, 10.0])) / square
        rho = float(rng.choice([0.0, 1e-6, 1e-2])) * trace_bound / self.n_features
        floor = float(rng.choice([1e-4, 0.1])) * trace_bound / self.n_features
        problem = gda.MetricProblem(gda.GLR(X * scale, z), gda.GraphMetrics(trace_bound, rho))
        return problem, floor if self.with_floor else 0.0


@dataclass
class Invariants:
    """A callback that checks every state it is shown, and that the objective does not rise."""

    feasible_set: gda.GraphMetrics
    edge_floor: float = 0.0
    may_rise: bool = False
    values: list[float] = field(default_factory=list)

    def __call__(self, state: gda.methods.State) -> None:
        metric, bound = state.metric, self.feasible_set.trace_bound
        assert (metric == metric.T).all()
        assert (metric - np.diag(np.diagonal(metric))).max(initial=0.0) <= 0
        smallest = np.linalg.eigvalsh(metric)[0]
        assert smallest >= self.feasible_set.min_eigenvalue - 1e-10 * bound
        assert np.trace(metric) <= bound * (1 + 1e-12)
        if self.edge_floor > 0:
            assert n_components(metric, self.edge_floor * (1 - 1e-9)) == 1
        assert np.isfinite(state.objective)
        if self.values and not self.may_rise:
            assert state.objective <= self.values[-1] * (1 + 1e-12)
        self.values.append(state.objective)


def cases(*, bounds_follow: bool, with_floor: bool | None = None) -> st.SearchStrategy[Case]:
    return st.builds(
        Case,
        n_features=st.integers(1, 12),
        seed=st.integers(0, 2**32 - 1),
        log_scale=st.floats(-6, 6),
        bounds_follow=st.just(bounds_follow),
        with_floor=st.booleans() if with_floor is None else st.just(with_floor),
    )


def wine(positive: str = "class_1") -> gda.MetricProblem:
    """Return the regulariser of wine, over graph metrics."""
    return gda.MetricProblem(gda.GLR(*scaled("wine", positive)), gda.GraphMetrics(13.0, 1e-6))


# --- What tests of step rules share --------------------------------------------------------------


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
