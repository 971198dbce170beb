"""How runs end, and what the user and the callback can do about it."""

import gc
import re
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends.registry import find_solver
from gdaopt.errors import InvalidInputError
from gdaopt.linalg import gershgorin
from gdaopt.linalg.gershgorin import comparison_matrix, left_ends
from gdaopt.linalg.spectrum import component_eigenvalues
from gdaopt.status import MADE_NO_PROGRESS
from gdaopt.support.validation import FloatArray
from tests.covering import chosen
from tests.helpers import random_metric
from tests.methods.run_cases import WAYS
from tests.methods.run_cases import solve as run
from tests.result_cases import problem, solve, solved


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
    assert (result.status, result.iterations, len(result.trace)) == ("interrupted", 5, 6)
    assert result.objective == min(row.objective for row in result.trace)


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


@pytest.mark.covering(1)
@pytest.mark.parametrize("room", [1.0, 1.5])
@pytest.mark.parametrize(
    ("way", "step"),
    [
        *((way, "exact") for way in WAYS if way.startswith("frank") and "adaptive" not in way),
        *(("frank-wolfe", name) for name in ("agnostic", "adaptive")),
        *((way, "exact") for way in ("joint", "joint, gradient", "alternating")),
        *((way, None) for way in ("certified", "projected-gradient", "sdp-frank-wolfe")),
    ],
)
def test_a_run_to_an_optimum_of_0_ends(way: str, step: str | None, room: float) -> None:
    """No gap is small next to Q then, and the share that a step gains may shrink for ever."""
    target = random_metric(np.random.default_rng(0), 3)
    differences = np.random.default_rng(1).standard_normal((4, 3))
    metrics = gda.GraphMetrics(room * float(np.trace(target)), 0.0)
    problem = gda.MetricProblem(Residuals(differences, target), metrics)
    options: dict[str, Any] = {} if step is None else {"step": step}
    result = run(problem, way, tolerance=1e-3, trace_every=0, max_iterations=10_000, **options)
    assert result.status in {"converged", *MADE_NO_PROGRESS}, result.message
    assert result.relative_gap is not None
    assert (result.relative_gap <= 1e-3) is (result.status == "converged")
    start = result.trace[0].objective
    if way != "alternating":  # which stops anywhere
        assert result.objective <= 0.1 * start


def test_tolerance_0_ends() -> None:
    result = solve(tolerance=0, max_iterations=20_000)
    assert result.status in ("block_minimum", "slow_progress")
    assert result.objective == pytest.approx(solve().objective, rel=1e-5)
    rounds = result.trace.column("round")
    before = result.trace.column("objective")[rounds < rounds[-1]]
    # A round that changed nothing but the last digit.
    assert before[-1] == pytest.approx(result.objective, rel=4e-16)


def test_verbose_prints_a_line_a_round(capsys: pytest.CaptureFixture[str]) -> None:
    result = solve(verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert [int(line.split()[1]) for line in lines] == list(range(result.trace[-1].round + 1))
    assert f"objective {result.trace[0].objective:.8g}" in lines[0]
    solve()
    assert capsys.readouterr().out == ""


# --- What the tracer measures --------------------------------------------------------------------


@pytest.fixture(params=["analytic", "HIGHS"])
def result(request: pytest.FixtureRequest) -> gda.Result:
    return solved(request.param)


def test_iterations_of_lobpcg_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gershgorin, "LARGEST_DENSE", 4)
    assert solve().trace.column("eig_iterations")[-1] > 0


def test_the_start_and_the_phases(result: gda.Result) -> None:
    start, *steps = result.trace
    assert (start.phase, start.iteration, start.round, start.solver) == ("start", 0, 0, "")
    assert {row.phase for row in steps} == {"diagonal", "column"}
    for row in steps:
        assert (row.block is None) == (row.phase == "diagonal")
        assert row.solver in (result.solver, "analytic")
        assert row.solver_status == "optimal"
        assert re.fullmatch(r"(lobpcg|eigh)(\+polish)?|resolvent", row.scaling)
    assert any(row.solver == result.solver for row in steps)


def test_parts_of_the_time_add_up_to_at_most_all_of_it(result: gda.Result) -> None:
    parts = ("build_seconds", "solve_seconds", "eig_seconds", "objective_seconds")
    of_row = np.nansum([result.trace.column(part) for part in parts], axis=0)
    seconds = result.trace.column("seconds")
    assert (np.cumsum(of_row) <= seconds).all()
    assert of_row.sum() > 0


def test_left_ends(result: gda.Result) -> None:
    """The left-ends of a row are those of the metric after the step, under its scalars."""
    metrics: list[np.ndarray] = []
    scalings: list[np.ndarray] = []

    def keep(state: gda.methods.State) -> None:
        assert state.v is not None
        metrics.append(state.metric)
        scalings.append(state.v)

    trace = solve(solver=result.solver, callback=keep).trace
    assert trace.left_ends.shape == (len(trace), 6)
    for row, ends, metric, v in zip(trace, trace.left_ends, metrics, scalings, strict=True):
        np.testing.assert_array_equal(ends, left_ends(metric, v))
        assert (row.left_end_min, row.left_end_max) == (ends.min(), ends.max())
        assert row.lambda_min == pytest.approx(np.linalg.eigvalsh(metric)[0], abs=1e-13)
        assert row.matrix_trace == np.trace(metric)
        assert row.objective == pytest.approx(problem().objective.at(metric).value, rel=1e-9)


@pytest.mark.parametrize("method", ["certified", "projected-gradient"])
@pytest.mark.parametrize("feasible_set", [gda.GraphMetrics, gda.PositiveDefiniteMetrics])
def test_left_ends_of_steps_without_scalars(
    method: str, feasible_set: type[gda.GraphMetrics | gda.PositiveDefiniteMetrics]
) -> None:
    """They are those of `align`, for the matrix of the same discs with non-positive entries."""
    glr = problem().objective
    found = gda.solve(
        gda.MetricProblem(glr, feasible_set(6.0, 1e-3)),
        method,
        max_iterations=4,
        keep_iterates=True,
    )
    assert found.trace.iterates is not None
    for row, ends, metric in zip(
        found.trace, found.trace.left_ends, found.trace.iterates, strict=True
    ):
        comparison = comparison_matrix(metric)
        np.testing.assert_array_equal(ends, component_eigenvalues(comparison))
        assert row.lambda_min == pytest.approx(np.linalg.eigvalsh(metric)[0], abs=1e-13)
        assert row.left_end_min == ends.min() <= np.linalg.eigvalsh(metric)[0] + 1e-13
        assert row.scaling == "components"


def test_metrics_are_held_only_where_they_are_kept() -> None:
    """A trace of 2,000 steps held 1.4 GB of metrics of 300 features."""
    gc.freeze()  # what there was before need not be looked at in each collection
    metrics: list[weakref.ref[np.ndarray]] = []
    alive: list[int] = []

    def count(state: gda.methods.State) -> None:
        metrics.append(weakref.ref(state.metric))
        if state.iteration >= 10:
            gc.collect()
            alive.append(sum(metric() is not None for metric in metrics))

    solve(callback=count, max_iterations=12)
    gc.unfreeze()
    assert max(alive) <= 5  # those that the method needs


# --- Numbers that leave floating point ------------------------------------------------------------

SAMPLES, CLASSES = np.random.default_rng(0).standard_normal((12, 3)), [0, 1] * 6
FLAT = SAMPLES * [1.0, 0.0, 0.0]
SIMILAR, DISSIMILAR = (np.cov(each.T) + np.eye(3) for each in (SAMPLES[:6], SAMPLES[6:]))


def equal_entries(metric: Any) -> list[Any]:
    return [metric[0, 0] == metric[1, 1]]


ExtremeCase = tuple[Callable[[], Any], gda.sets.FeasibleSet, Any, str]

EXTREMES: dict[str, ExtremeCase] = {
    "values by weights": (
        lambda: gda.MCML(1e100 * SAMPLES, CLASSES),
        gda.GraphMetrics(1e-200, 1e-203),
        equal_entries,
        "certified",
    ),
    "multipliers": (
        lambda: gda.DEML(np.random.default_rng(0).standard_normal((10, 3)), CLASSES[:10]),
        gda.SDDMetrics(1e100, 0.0),
        equal_entries,
        "certified",
    ),
    "steps along factors": (
        lambda: gda.GLR(1e100 * FLAT, np.resize([-1.0, 1.0], 12)),
        gda.PositiveDefiniteMetrics(1e-200, 0.0),
        None,
        "certified",
    ),
    "curvature": (
        lambda: gda.NCA(1e100 * FLAT, CLASSES),
        gda.DiagonalMetrics(1e-200, 1e-203),
        None,
        "certified",
    ),
    "Newton's equation": (
        lambda: gda.LogDet(SIMILAR),
        gda.DiagonalMetrics(1e300, 1e297),
        None,
        "projected-newton",
    ),
    "start": (
        lambda: gda.GMML(SIMILAR / 1e200, DISSIMILAR * 1e200),
        gda.PositiveDefiniteMetrics(1e200, 1e197),
        None,
        "certified",
    ),
    "projections": (
        lambda: gda.PairHinge(SAMPLES, CLASSES),
        gda.DiagonalMetrics(1e200),
        None,
        "projected-gradient",
    ),
}


@pytest.mark.parametrize(
    "name", chosen(EXTREMES, default={*EXTREMES} - {"values by weights"}, slow=EXTREMES)
)
def test_what_leaves_floating_point_ends_a_run_at_the_best_metric_before(name: str) -> None:
    make, feasible_set, rows, method = EXTREMES[name]
    problem = gda.MetricProblem(make(), feasible_set, rows)
    found = gda.solve(problem, method)
    assert not problem.violations(found.metric)
    assert found.objective == min(found.trace.column("objective"))
    assert found.lower_bound is None or found.lower_bound <= found.objective


@pytest.mark.parametrize("method", ["certified", "projected-newton", "sdp-frank-wolfe"])
def test_a_gradient_that_overflows_at_the_start(method: str) -> None:
    members = gda.PositiveDefiniteMetrics(1e-200, 0.0)
    problem = gda.MetricProblem(gda.GMML(SIMILAR, DISSIMILAR), members)
    with pytest.raises(InvalidInputError, match=r"at the start: the gradient .* not finite"):
        gda.solve(problem, method)
