"""Measure by how much runs exceed their time limits: all methods on objectives of several sizes.

Run ``OMP_NUM_THREADS=1 python experiments/time_limits.py`` from the top of a checkout; it prints
the tables and writes ``figures/time_limits.md`` (two minutes for the methods, twelve for the
learners of thousands of features).
"""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
from pages import Page, header, here

import gdaopt as gda
from gdaopt.datasets import load, scale_features
from gdaopt.linalg import spectrum
from gdaopt.linalg.directions import AtomsDirection
from gdaopt.methods import context
from gdaopt.objectives import Point
from gdaopt.support import deadline

LIMITS = (0.5, 2.0)
SHARE = 0.1  # of the limit, or one evaluation of the objective if that takes longer
REPEATS = 5  # evaluations that are timed; the slowest one counts
N_SAMPLES = 300
SIZES = (2000, 5000)
LEARNERS = {
    "diagonal": gda.DiagonalMetricLearner,
    "graph": gda.GraphMetricLearner,
    "definite": gda.PositiveDefiniteMetricLearner,
}
LEARNER_LIMITS = (20.0, 30.0, 40.0)
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "alternating": ("alternating", {}),
    "joint": ("joint", {}),
    "certified": ("certified", {}),
    "certified, first order": ("certified", {"memory_limit": 1}),
    "frank-wolfe, pairwise": ("frank-wolfe", {"variant": "pairwise"}),
    "projected-gradient": ("projected-gradient", {}),
    "sdp-frank-wolfe": ("sdp-frank-wolfe", {}),
    "sdp": ("sdp", {}),
    "socp": ("socp", {}),
}


@dataclass(frozen=True)
class Case:
    """A problem, and the time that the value and the gradient of its objective take."""

    name: str
    problem: gda.MetricProblem
    at_metric: float
    at_weights: float

    def evaluation(self, method: str) -> float:
        """Return the time of an evaluation as a method does it."""
        of_atoms = method.startswith(("certified", "frank-wolfe"))
        return self.at_weights if of_atoms else self.at_metric


@dataclass(frozen=True)
class Run:
    """How long a run took, and what became of it."""

    limit: float
    evaluation: float
    seconds: float
    status: str

    @property
    def is_in_time(self) -> bool:
        """Say whether the limit was exceeded by what is allowed at most."""
        return self.seconds - self.limit <= max(SHARE * self.limit, self.evaluation)

    def __str__(self) -> str:
        if self.status != "time_limit" and self.seconds <= self.limit:
            return self.status
        late = f"{self.seconds - self.limit:+.2f} s"
        return late if self.is_in_time else f"**{late}**"


def problems() -> Iterator[tuple[str, Callable[[], gda.MetricProblem]]]:
    """Yield problems by name: regularisers of more and more pairs, and log-determinants."""

    def glr(n_samples: int, size: int) -> gda.MetricProblem:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n_samples, size))
        z = np.where(X[:, 0] + 0.5 * rng.standard_normal(n_samples) > 0, 1.0, -1.0)
        return gda.MetricProblem(gda.GLR(scale_features(X), z), gda.GraphMetrics(float(size)))

    def log_det(n_samples: int, size: int) -> gda.MetricProblem:
        X = np.random.default_rng(0).standard_normal((n_samples, size))
        covariance = np.cov(X.T, bias=True)
        return gda.MetricProblem(gda.LogDet(covariance), gda.GraphMetrics(1e4, 0.0))

    def cancer() -> gda.MetricProblem:
        data = load("breast_cancer")
        X = scale_features(data.features)
        return gda.MetricProblem(gda.GLR(X, data.signal("benign")), gda.GraphMetrics(X.shape[1]))

    yield "GLR, breast cancer: N = 569, K = 30", cancer
    yield "GLR, N = 8000, K = 20", lambda: glr(8000, 20)
    yield "LogDet, 2 samples, K = 7", lambda: log_det(2, 7)
    yield "LogDet, 100 samples, K = 60", lambda: log_det(100, 60)


def timed(make: Callable[[], Point], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the longest time that the value and the gradient at a point took."""

    def once() -> float:
        start = clock()
        point = make()
        _ = point.value, point.gradient(), point.degenerate_reason()
        return clock() - start

    once()  # fills caches
    return max(once() for _ in range(REPEATS))


def case_of(name: str, problem: gda.MetricProblem) -> Case:
    """Return a problem with the times of its objective, in the middle of the set."""
    size, feasible_set = problem.n_features, problem.feasible_set
    base, centre = feasible_set.base(size), problem.members.centre
    metric = centre[0].added_to(base, centre[1])
    return Case(
        name,
        problem,
        timed(lambda: problem.objective.at(metric)),
        timed(
            lambda: problem.objective.at(base).line(AtomsDirection(centre[1], centre[0])).at(1.0)
        ),
    )


def run(case: Case, method: str, limit: float) -> Run | None:
    """Return a run with a limit; None where the method refuses the problem."""
    name, options = METHODS[method]
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # answers that solvers call inexact
            result = gda.solve(case.problem, name, tolerance=0, time_limit=limit, **options)
    except gda.errors.InvalidInputError:  # the program would not fit in memory
        return None
    seconds = time.perf_counter() - start
    assert result.metric in result.feasible_set
    return Run(limit, case.evaluation(method), seconds, result.status)


def report(cases: list[Case], runs: dict[tuple[str, str, float], Run | None]) -> list[str]:
    """Return the table and how often the rule holds."""
    lines = [
        "# By how much runs exceed their time limits",
        "",
        "Wall time of `gda.solve(problem, method, time_limit=...)` beyond the limit. The rule: by",
        f"at most {SHARE:.0%} of the limit, or by one evaluation of the objective, its value and",
        "its gradient, if that takes longer. Bold: by more. A word: how a run ended before its",
        "limit; a dash: the method refuses the problem, whose conic program would not fit in",
        f"memory. *evaluation*: the slowest of {REPEATS}, at a metric, and as a function of the",
        "weights of atoms, as `certified` and `frank-wolfe` evaluate it.",
        "",
        here(),
        "",
        *header("problem | evaluation | limit | " + " | ".join(METHODS)),
    ]
    for case in cases:
        for limit in LIMITS:
            cells = [str(runs[case.name, method, limit] or "–") for method in METHODS]
            lines.append(
                f"| {case.name} | {case.at_metric:.2g}, {case.at_weights:.2g} s | {limit:g} s "
                f"| {' | '.join(cells)} |"
            )
    made = [run for run in runs.values() if run is not None]
    late = sum(not run.is_in_time for run in made)
    return [*lines, "", f"* {len(made) - late} of {len(made)} runs keep the rule"]


def fits() -> Iterator[tuple[int, str, Run]]:
    """Yield how long learners of many features took, in seconds of the processor.

    So the table does not depend on what else the machine does: with one thread they are the seconds
    of an idle one. The clock that limits are measured by is replaced for that.
    """
    clock = time.process_time
    for module in (deadline, spectrum, context):
        module.time = SimpleNamespace(perf_counter=clock)  # type: ignore[attr-defined]
    for size, (name, make) in product(SIZES, LEARNERS.items()):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((N_SAMPLES, size)), rng.integers(0, 2, N_SAMPLES)
        objective, metric = gda.MCML(X, y), np.eye(size) / size
        evaluation = timed(lambda: objective.at(metric), clock)  # noqa: B023 (called at once)
        for limit in LEARNER_LIMITS:
            start = clock()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # fits that did not converge
                learner = make(time_limit=limit).fit(X, y)
            yield size, name, Run(limit, evaluation, clock() - start, learner.result_.status)


def learners_report(found: list[tuple[int, str, Run]]) -> list[str]:
    """Return the table of the learners."""
    lines = [
        "## Learners of many features",
        "",
        f"Fits of {N_SAMPLES} random samples of two classes with `time_limit`, with one thread, in",
        "seconds of the processor: the whole `fit`, from the checks of the samples to",
        "`components_`. *evaluation*: the slowest of "
        f"{REPEATS} of the objective (MCML) at an isotropic metric.",
        "",
        here(),
        "",
        "| K | learner | evaluation | " + " | ".join(f"{x:g} s" for x in LEARNER_LIMITS) + " |",
        "|--:|---|--:|" + "--:|" * len(LEARNER_LIMITS),
    ]
    for size, name in product(SIZES, LEARNERS):
        runs = [run for k, kind, run in found if (k, kind) == (size, name)]
        cells = " | ".join(map(str, runs))
        lines.append(f"| {size} | {name} | {runs[0].evaluation:.2g} s | {cells} |")
    late = sum(not run.is_in_time for _, _, run in found)
    return [*lines, "", f"* {len(found) - late} of {len(found)} fits keep the rule"]


def methods_report() -> list[str]:
    """Run all methods on all problems, and return the table."""
    warm_up = next(iter(problems()))[1]()
    gda.solve(warm_up, "sdp-frank-wolfe", max_iterations=1)  # loads CVXPY and its solvers
    cases = []
    runs = {}
    for name, make in problems():
        cases.append(case := case_of(name, make()))
        for method in METHODS:
            for limit in LIMITS:
                runs[name, method, limit] = run(case, method, limit)
                print(name, method, limit, runs[name, method, limit], flush=True)
    return report(cases, runs)


def main() -> None:
    page = Page("time_limits", *methods_report(), "")
    found = []
    for size, name, fit in fits():
        print(size, name, fit.limit, f"{fit.seconds:.2f} s", fit, flush=True)
        found.append((size, name, fit))
    page.add(*learners_report(found))
    page.write()


if __name__ == "__main__":
    main()
