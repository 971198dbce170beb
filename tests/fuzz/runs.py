"""Runs of a random problem: methods and options drawn from its seed, and what came of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy  # noqa: F401 (loaded here, so that its start is in no run's time)
import numpy as np

import gdaopt as gda
from gdaopt.methods.steps import STEPS
from gdaopt.support.validation import FloatArray
from tests.fuzz.problems import Ingredients

__all__ = ["TIME_LIMIT", "Outcome", "Run", "outcomes"]

TIME_LIMIT = 5.0  # seconds that most runs may take; a few of them get much less


@dataclass(frozen=True)
class Run:
    """A method with its options, and whether it starts where the certified one ended."""

    method: str
    options: dict[str, Any]
    starts_at_optimum: bool = False

    def __str__(self) -> str:
        listed = [f"{name}={value!r}" for name, value in self.options.items()]
        listed += ["initial=(metric of 'certified')"] * self.starts_at_optimum
        return f"gda.solve(problem, {self.method!r}, {', '.join(listed)})"


@dataclass(frozen=True)
class Outcome:
    """What a run returned, or what it raised instead, and the time of this process that it took."""

    run: Run
    result: gda.Result | None
    error: Exception | None
    cpu_seconds: float


def outcomes(ingredients: Ingredients, problem: gda.MetricProblem) -> list[Outcome]:
    """Run all that is drawn for a problem."""
    found: list[Outcome] = []
    for run in _drawn(ingredients, np.random.default_rng([ingredients.seed, 3])):
        optimum = found[0].result if found else None
        if optimum is not None or not run.starts_at_optimum:
            initial = optimum.metric if optimum and run.starts_at_optimum else None
            found.append(_outcome(problem, run, initial))
    return found


def _outcome(problem: gda.MetricProblem, run: Run, initial: FloatArray | None) -> Outcome:
    """Run a method; any error is part of the outcome, and warnings are errors in the tests."""
    result, error, start = None, None, time.process_time()
    try:
        result = gda.solve(problem, run.method, initial=initial, **run.options)
    except Exception as raised:
        error = raised
    return Outcome(run, result, error, time.process_time() - start)


def _drawn(ingredients: Ingredients, rng: np.random.Generator) -> Iterator[Run]:
    """Yield the certified method, some of the others, and one of these from the optimum."""

    def one_of(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    def limits(**others: Any) -> dict[str, Any]:
        drawn = {
            "tolerance": one_of(0.0, 1e-12, 1e-9, 1e-6, 1e-2),
            "max_iterations": one_of(0, 1, 10, 60, 60),
            "time_limit": one_of(*[TIME_LIMIT] * 9, float(10 ** rng.uniform(-5, -1))),
        }
        return drawn | others

    def frank_wolfe() -> dict[str, Any]:
        return limits(variant=one_of("vanilla", "away", "pairwise"), step=one_of(*STEPS))

    yield Run("certified", limits(tolerance=1e-9, max_iterations=300, time_limit=TIME_LIMIT))
    yield Run("certified", limits())
    yield Run("frank-wolfe", frank_wolfe())
    yield Run("frank-wolfe", frank_wolfe())
    yield Run("frank-wolfe", frank_wolfe(), starts_at_optimum=True)
    yield Run("projected-gradient", limits(projection=one_of("dykstra", "clip")))
    feasible_set = ingredients.feasible_set()
    if not isinstance(feasible_set, gda.GraphMetrics) or feasible_set.path_weight > 0:
        return
    size, floor = ingredients.n_features, 0.0
    if size > 1:
        floor = one_of(0.0, 0.0, 1e-4, 0.3) * feasible_set.budget(size) / (2 * (size - 1))
    align = one_of("eigenvector", "gradient")
    aligned = limits(step=one_of(*STEPS), solver=one_of(*["analytic"] * 19, "HIGHS"))
    joint = aligned | {"align": align, "realign_every": one_of(None, 1, 3)}
    yield Run("joint", joint | {"edge_floor": floor if align == "eigenvector" else 0.0})
    yield Run("joint", joint, starts_at_optimum=True)
    alternating = aligned | {"edge_floor": floor, "connectivity": one_of("tree", "zeta")}
    yield Run("alternating", alternating | {"block_iterations": one_of(1, 10)})
