"""How runs end, and what the user and the callback can do about it."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gdaopt as gda
from gdaopt.backends.registry import find_solver
from gdaopt.methods import RunEnded, StallRule
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric
from tests.result_cases import COLUMNS, problem, solve


def test_time_limit_within_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solvers get the time that is left, and fail when it is not enough."""

    def out_of_time(*_: Any, time_limit: float, **__: Any) -> None:
        assert 0 < time_limit <= 0.05
        time.sleep(0.06)
        raise gda.errors.SolverFailedError("ended with status 'user_limit'")

    find_solver("HIGHS")  # probed before
    monkeypatch.setattr("gdaopt.backends.cvxpy.solve_program", out_of_time)
    assert solve(solver="HIGHS", time_limit=0.05).status == "time_limit"


def test_keyboard_interrupt_while_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result and its trace end with the same step."""
    count = 0

    def interrupted(metric: np.ndarray) -> float:
        nonlocal count
        count += 1
        if count == 6:
            raise KeyboardInterrupt
        return float(np.linalg.eigvalsh(metric)[0])

    monkeypatch.setattr("gdaopt.methods.tracer.smallest_eigenvalue", interrupted)
    result = solve(on_interrupt="return")
    assert (result.status, result.iterations, len(result.trace)) == ("interrupted", 4, 5)
    assert result.objective == result.trace[-1].objective


def test_without_a_method_the_optimum_is_found_and_certified() -> None:
    result = gda.solve(problem())
    assert (result.method, result.status) == ("certified", "converged")
    *_, end = gda.iterate(problem())
    assert end.objective == result.objective


class Residuals(gda.DenseObjective):
    """Half of the sum of squared residuals of given squared distances: 0 at the target."""

    def __init__(self, differences: FloatArray, target: FloatArray) -> None:
        super().__init__(len(target))
        self._differences = differences
        self._distances = self._of(target)

    def _of(self, metric: FloatArray) -> FloatArray:
        return np.asarray(((self._differences @ metric) * self._differences).sum(axis=1))

    def value(self, metric: FloatArray) -> float:
        return float(((self._of(metric) - self._distances) ** 2).sum()) / 2

    def gradient(self, metric: FloatArray) -> FloatArray:
        residuals = (self._of(metric) - self._distances)[:, None]
        return np.asarray((residuals * self._differences).T @ self._differences)


@dataclass
class Fading:
    """A point of an objective of two features that tends to 0, as the t-th round of a run."""

    value: float
    known_metric: FloatArray
    slope: float

    def gradient(self) -> FloatArray:
        return np.full((2, 2), self.slope)

    def vanished(self) -> str | None:
        return None


@pytest.mark.parametrize(("log_convex", "longest"), [(False, 300), (True, 2100)])
def test_an_objective_stalls_by_its_size(log_convex: bool, longest: int) -> None:
    """Q = 1/t and a gradient of √Q: a round gains Q/t, which is small next to √Q much earlier."""
    points: list[Any] = [Fading(1 / t, np.eye(2), t**-0.5) for t in range(1, longest + 1)]
    problem: Any = SimpleNamespace(objective=SimpleNamespace(log_convex=log_convex))
    stall = StallRule(problem, points[0], 1e-3, rounds=2)
    rounds = iter(points[1:])
    with pytest.raises(RunEnded, match=r"at most the tolerance of 0\.001 of its size") as end:
        deque(map(stall.check, rounds))
    assert end.value.status == "stalled"
    assert next(rounds).value < 4 / longest


@pytest.mark.covering(1)
@pytest.mark.parametrize("room", [1.0, 1.5])
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("certified", {}),
        *(("frank-wolfe", {"variant": name}) for name in ("vanilla", "away", "pairwise")),
        *(("frank-wolfe", {"step": name}) for name in ("agnostic", "adaptive")),
        ("joint", {"solver": "analytic"}),
        ("joint", {"solver": "analytic", "align": "gradient"}),
        ("alternating", {"solver": "analytic"}),
        ("projected-gradient", {}),
        ("sdp-frank-wolfe", {"solver": "analytic"}),
    ],
)
def test_a_run_to_an_optimum_of_0_ends(method: str, options: dict[str, Any], room: float) -> None:
    """No gap is small next to Q then, and the share that a step gains may shrink for ever."""
    target = random_metric(np.random.default_rng(0), 3)
    differences = np.random.default_rng(1).standard_normal((4, 3))
    metrics = gda.GraphMetrics(room * float(np.trace(target)), 0.0)
    problem = gda.MetricProblem(Residuals(differences, target), metrics)
    result = gda.solve(
        problem, method, tolerance=1e-3, trace_every=0, max_iterations=10_000, **options
    )
    assert result.status in ("converged", "stalled"), result.message
    assert result.relative_gap is not None
    assert (result.relative_gap <= 1e-3) is (result.status == "converged")
    start = result.trace[0].objective
    if method != "alternating":  # which stops anywhere
        assert result.objective <= 0.1 * start


@pytest.mark.parametrize("method", ["certified", "frank-wolfe", "joint", "alternating"])
def test_a_run_to_an_optimum_that_underflows_ends(method: str) -> None:
    samples = np.random.default_rng(0).standard_normal((12, 3))
    samples[6:, 0] += 8
    glr = gda.GLR(samples, np.repeat([1.0, -1.0], 6))
    options: dict[str, Any] = {"solver": "analytic"} if method in ("joint", "alternating") else {}
    problem = gda.MetricProblem(glr, gda.GraphMetrics(30.0, 0.0))
    result = gda.solve(problem, method, max_iterations=10_000, **options)
    assert result.status == "stalled"
    assert "multiply the features by" in result.message
    assert result.objective < 1e-250


def test_tolerance_0_ends() -> None:
    result = solve(tolerance=0, max_iterations=20_000)
    assert result.status == "stalled"
    assert result.objective == pytest.approx(solve().objective, rel=1e-5)
    rounds = result.trace.column("round")
    before = result.trace.column("objective")[rounds < rounds[-1]]
    assert before[-1] == result.objective  # a round that changed nothing


def test_verbose_prints_a_line_a_round(capsys: pytest.CaptureFixture[str]) -> None:
    result = solve(verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert [int(line.split()[1]) for line in lines] == list(range(result.trace[-1].round + 1))
    assert f"objective {result.trace[0].objective:.8g}" in lines[0]
    solve()
    assert capsys.readouterr().out == ""


def test_by_name_and_by_object_are_equal() -> None:
    by_name = solve(step="full", max_iterations=30)
    by_object = gda.solve(
        problem(), gda.methods.Alternating(solver="analytic", step="full", max_iterations=30)
    )
    np.testing.assert_array_equal(by_name.metric, by_object.metric)
    untimed = [name for name in COLUMNS if not name.endswith("seconds")]
    pd.testing.assert_frame_equal(
        by_name.trace.to_pandas()[untimed], by_object.trace.to_pandas()[untimed]
    )
