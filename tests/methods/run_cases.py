"""Methods with options, problems for properties of runs, and lines for step rules."""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pytest
from hypothesis import strategies as st

import gdaopt as gda
from tests.helpers import scaled
from tests.methods.certified_cases import HULLS, set_of, synthetic

WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "alternating": ("alternating", {"solver": "analytic"}),
    "alternating, HiGHS": ("alternating", {"solver": "HIGHS"}),
    "alternating, adaptive": ("alternating", {"solver": "analytic", "step": "adaptive"}),
    "alternating, floor": ("alternating", {"solver": "analytic", "edge_floor": 0.05}),
    "joint": ("joint", {"solver": "analytic"}),
    "joint, HiGHS": ("joint", {"solver": "HIGHS"}),
    "joint, gradient": ("joint", {"solver": "analytic", "align": "gradient"}),
    "joint, floor": ("joint", {"solver": "analytic", "edge_floor": 0.05}),
    "certified": ("certified", {}),
    "certified, first order": ("certified", {"memory_limit": 1}),
    "frank-wolfe": ("frank-wolfe", {}),
    "frank-wolfe, adaptive": ("frank-wolfe", {"step": "adaptive"}),
    "frank-wolfe, away": ("frank-wolfe", {"variant": "away"}),
    "frank-wolfe, pairwise": ("frank-wolfe", {"variant": "pairwise"}),
    "projected-gradient": ("projected-gradient", {}),
    "projected-gradient, clip": ("projected-gradient", {"projection": "clip"}),
    "sdp-frank-wolfe": ("sdp-frank-wolfe", {"solver": "analytic"}),
    "sdp-frank-wolfe, CLARABEL": ("sdp-frank-wolfe", {"solver": "CLARABEL"}),
    "sdp-frank-wolfe, SCS": ("sdp-frank-wolfe", {"solver": "SCS"}),
    "sdp": ("sdp", {"solver": "CLARABEL"}),
    "sdp, SCS": ("sdp", {"solver": "SCS"}),
    "socp": ("socp", {"solver": "CLARABEL"}),
    "socp, ECOS": ("socp", {"solver": "ECOS"}),
}
"""All methods that are for many sets, with the options that change what they do."""

SETS = [*HULLS, ("masked", 0.0)]  # kinds with an edge floor of the set
ALIGNED = ("alternating", "joint")
CONIC = ("sdp", "socp")


def solve(problem: gda.MetricProblem, way: str, **options: Any) -> gda.Result:
    method, own = WAYS[way]
    return gda.solve(problem, method, **(own | options))


def is_for(way: str, kind: str, floor: float = 0.0) -> bool:
    """Whether a method with its options takes a set of some kind."""
    method, options = WAYS[way]
    if "edge_floor" in options:
        return kind in ("graph", "masked") and floor == 0
    if method in ALIGNED:
        return kind not in ("diagonal", "definite") and floor == 0
    return method != "socp" or kind != "definite"


def small(
    kind: str = "graph", floor: float = 0.0, size: int = 4, n_samples: int = 12
) -> gda.MetricProblem:
    """Return a problem that each method solves soon."""
    X, z = synthetic(size, n_samples)
    return gda.MetricProblem(gda.GLR(2 * X, z), set_of(kind, size, float(size), 1e-2, floor))


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


# --- What tests of limits share ------------------------------------------------------------------


@dataclass
class FakeTime:
    """A clock that stands still, or goes on by a tick whenever it is read."""

    now: float = 0.0
    tick: float = 0.0
    n_readings: int = 0

    @classmethod
    def of(cls, monkeypatch: pytest.MonkeyPatch, *modules: Any, tick: float = 0.0) -> Self:
        """Return a new clock that some modules read from now on."""
        clock = cls(tick=tick)
        for module in modules:
            monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=clock.perf_counter))
        return clock

    def perf_counter(self) -> float:
        self.n_readings += 1
        self.advance(self.tick)
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def before_each(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, act: Callable[..., None]
) -> None:
    """Do something with the arguments of a method before each call."""
    original = getattr(owner, name)

    def acting(*arguments: Any) -> Any:
        act(*arguments)
        return original(*arguments)

    monkeypatch.setattr(owner, name, acting)
