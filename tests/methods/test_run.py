"""The driver: what callbacks can change, what errors leave, and the words for how runs end."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.certificate import certify_point
from gdaopt.errors import GdaoptError, InvalidInputError
from gdaopt.support.validation import FloatArray
from tests.methods.run_cases import small, wine

Callback = Callable[[gda.methods.State], Any]


def at_step(number: int, answer: Any) -> Callback:
    return lambda state: answer if state.iteration == number else None


@pytest.mark.parametrize("method", ["alternating", "joint", "sdp-frank-wolfe"])
def test_a_callback_changes_who_solves_the_next_program(method: str) -> None:
    callback = at_step(2, gda.Change(solver="clarabel"))
    before = "CLARABEL" if method == "sdp-frank-wolfe" else "HIGHS"
    if method == "sdp-frank-wolfe":
        callback = at_step(2, gda.Change(solver="SCS"))
    result = gda.solve(small(), method, callback=callback, max_iterations=5, tolerance=0)
    after = "SCS" if method == "sdp-frank-wolfe" else "CLARABEL"
    solvers = result.trace.column("solver")[1:]
    assert set(solvers[:2]) <= {before, "analytic"}
    assert set(solvers[2:]) <= {after, "analytic"}
    assert after in solvers


def test_a_callback_changes_who_solves_the_whole_problem() -> None:
    result = gda.solve(small(), "sdp", callback=at_step(0, gda.Change(solver="SCS")))
    assert result.solved_by == {"SCS": 1}
    assert result.solver == "SCS"


def test_options_of_a_solver_go_with_it() -> None:
    """CLARABEL would refuse those of HiGHS."""
    change = gda.Change(solver="CLARABEL")
    options: dict[str, Any] = {"solver_opts": {"presolve": "on"}, "max_iterations": 4}
    result = gda.solve(small(), "joint", callback=at_step(1, change), tolerance=0, **options)
    assert result.status == "iteration_limit"
    other = gda.Change(solver_opts={"presolve": "off"})
    result = gda.solve(small(), "joint", callback=at_step(1, other), tolerance=0, **options)
    assert set(result.solved_by) == {"HIGHS"}


def test_a_solver_that_is_not_found_ends_the_run_with_what_it_has() -> None:
    callback = at_step(5, gda.Change(solver="CLARABELL"))
    result = gda.solve(small(), "joint", callback=callback, tolerance=0)
    assert (result.status, result.iterations, len(result.trace)) == ("solver_failed", 5, 6)
    assert result.message.startswith("after step 5: unknown solver 'CLARABELL'")
    assert result.objective < result.trace[0].objective


@pytest.mark.parametrize(
    ("method", "answer", "match"),
    [
        ("frank-wolfe", gda.Change(solver="HIGHS"), "option of method 'frank-wolfe': 'solver'"),
        ("joint", "stop", "callback returned 'stop'"),
        ("joint", 0, "callback returned 0"),
        ("certified", {"solver": "HIGHS"}, "callback returned"),
    ],
)
def test_other_answers_are_refused_by_name(method: str, answer: Any, match: str) -> None:
    with pytest.raises(InvalidInputError, match=match) as error:
        gda.solve(small(), method, callback=at_step(1, answer), tolerance=0)
    assert error.value.result.iterations == 1


def test_a_change_checks_what_it_is_given() -> None:
    with pytest.raises(InvalidInputError, match="solver"):
        gda.Change(solver=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="solver_opts"):
        gda.Change(solver_opts=[1])  # type: ignore[arg-type]


class Failing(gda.DenseObjective):
    """The square of a metric, whose value is an error after some evaluations."""

    def __init__(self, most: int, error: Exception) -> None:
        super().__init__(n_features=3)
        self.left, self.error = most, error
        self.tested = True

    def value(self, metric: FloatArray) -> float:
        self.left -= 1
        if self.left < 0:
            raise self.error
        return float(np.sum((metric - np.eye(3) - 0.3) ** 2))

    def gradient(self, metric: FloatArray) -> FloatArray:
        return 2 * (metric - np.eye(3) - 0.3)


@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), GdaoptError("of a kind of mine")])
def test_an_error_of_an_objective_carries_what_was_reached(error: Exception) -> None:
    problem = gda.MetricProblem(Failing(60, error), gda.GraphMetrics(3.0, 0.01))
    with pytest.raises(type(error), match=r"mine") as caught:
        gda.solve(problem, "projected-gradient", tolerance=0)
    result = vars(caught.value)["result"]
    assert isinstance(result, gda.Result)
    assert (result.status, result.lower_bound) == ("failed", None)
    assert result.iterations > 0
    assert type(error).__name__ in result.message
    assert result.objective <= result.trace[0].objective
    assert result.metric in problem.feasible_set
    with pytest.raises(type(error), match=r"mine"):  # at the start there is nothing to carry
        gda.solve(gda.MetricProblem(Failing(0, error), gda.GraphMetrics(3.0)), "certified")


@pytest.mark.parametrize("every", [0, 1])
def test_listeners_share_one_certificate(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics: list[FloatArray] = []

    def counted(problem: Any, point: Any, *arguments: Any, **options: Any) -> Any:
        metrics.append(point.metric)
        return certify_point(problem, point, *arguments, **options)

    monkeypatch.setattr(sys.modules["gdaopt.methods.run"], "certify_point", counted)
    result = gda.solve(small(), "joint", trace_every=every, max_iterations=6, tolerance=0)
    assert len(metrics) == len(result.trace) == (7 if every else 2)
    assert len({metric.tobytes() for metric in metrics}) == len(metrics)


def test_the_lower_bound_of_a_run_never_falls() -> None:
    options = {"solver": "analytic", "max_iterations": 60, "tolerance": 0}
    trace = gda.solve(wine("class_0"), "alternating", **options).trace
    bounds = trace.column("lower_bound")
    assert (np.diff(bounds) >= 0).all()
    assert (np.diff(bounds) == 0).any()  # not each metric proves a better one


class Stay(gda.methods.steps.Step):
    """No step, so that the gaps of all blocks are those of one metric."""

    def size(self, line: Any, iteration: int) -> float:
        return 0.0


@pytest.mark.parametrize(
    ("positive", "tolerance", "block_iterations"),
    [
        *(("class_0", tolerance, 10) for tolerance in (1e-1, 1e-3, 1e-5)),
        *(("class_1", tolerance, 10) for tolerance in (1e-1, 1e-3, 1e-5)),
        ("class_2", 0.3, 1),  # whose last round began with a gap of 0.42
    ],
)
def test_a_block_minimum_is_one(positive: str, tolerance: float, block_iterations: int) -> None:
    """And a run that only makes slow progress has a block with a larger gap, at its end."""
    problem = wine(positive)
    result = gda.solve(
        problem,
        "alternating",
        solver="analytic",
        tolerance=tolerance,
        block_iterations=block_iterations,
    )
    size = problem.n_features
    *_, last = states = list(
        gda.iterate(
            problem,
            "alternating",
            solver="analytic",
            initial=result.metric,
            step=Stay(),
            block_iterations=1,
            tolerance=0,
            max_iterations=size + 1,
        )
    )
    np.testing.assert_array_equal(last.metric, states[0].metric)
    gaps = [state.block_gap for state in states[1:] if state.block_gap is not None]
    assert len(gaps) == size + 1
    is_small = max(gaps) <= tolerance * result.objective * (1 + 1e-9)
    assert result.status == ("block_minimum" if is_small else "slow_progress")
