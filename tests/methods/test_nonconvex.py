"""Objectives that are not convex: methods look for stationary points, nothing is certified."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine

import gdaopt as gda
from gdaopt.certificate import Certificate
from gdaopt.methods import METHODS
from gdaopt.methods.hull import HullRun
from gdaopt.status import MADE_NO_PROGRESS
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import named_set
from tests.methods.run_cases import ALIGNED, solve

K = 4
D = np.random.default_rng(0).standard_normal((30, K))
STALLED = {*MADE_NO_PROGRESS, "iteration_limit"}
REFUSING = ("balanced", "projected-newton", "sdp", "socp")


def saturated(metric: FloatArray) -> tuple[float, FloatArray]:
    """Return ``Σ (2δ/(1+δ) - 4/(1+(δ-1)²))`` of squared distances δ, and its gradient."""
    d = ((D @ metric) * D).sum(axis=1)
    value = np.sum(2 * d / (1 + d) - 4 / (1 + (d - 1) ** 2))
    slopes = 2 / (1 + d) ** 2 + 8 * (d - 1) / (1 + (d - 1) ** 2) ** 2
    return float(value), D.T @ (slopes[:, None] * D)


def problem(set_name: str = "graph", constraints: Any = None) -> gda.MetricProblem:
    objective = gda.FunctionObjective(saturated, n_features=K, convex=False)
    return gda.MetricProblem(objective, named_set(set_name, K, float(K), 0.1), constraints)


def frank_wolfe_gap(result: gda.Result) -> float:
    """Return the gap at the metric of a result, by the set's oracle alone."""
    gradient = saturated(result.metric)[1]
    vertex = result.feasible_set.minimize_linear(gradient).vertex
    return float(np.vdot(gradient, result.metric - vertex))


@pytest.mark.parametrize("method", sorted(METHODS.keys() - REFUSING))
@pytest.mark.parametrize("set_name", ["graph", "positive definite", "diagonal"])
def test_methods_run(set_name: str, method: str) -> None:
    if method in ALIGNED and set_name != "graph":
        pytest.skip("over graph metrics only")
    gets_there = method in ("certified", "projected-gradient")
    tolerance, most = (1e-7, None) if gets_there else (1e-2, 150)
    result = solve(problem(set_name), method, tolerance=tolerance, max_iterations=most)
    if gets_there:
        assert "a stationary point: its Frank–Wolfe gap is" in result.message
        assert "the objective is not convex, and has no lower bound" in result.message
    assert result.status in (["stationary"] if gets_there else ["stationary", *STALLED])
    assert result.lower_bound is result.gap is result.relative_gap is None
    assert result.frank_wolfe_gap == pytest.approx(frank_wolfe_gap(result), rel=1e-6, abs=1e-8)
    assert result.frank_wolfe_gap is not None
    is_stationary = result.frank_wolfe_gap <= tolerance * abs(result.objective)
    assert is_stationary == (result.status == "stationary")
    assert all(row.lower_bound is None and row.relative_gap is None for row in result.trace)
    objectives = [row.objective for row in result.trace]
    assert all(np.diff(objectives) <= 1e-9)
    assert objectives[-1] < objectives[0]


@pytest.mark.parametrize("method", REFUSING)
def test_methods_that_need_convexity_refuse(method: str) -> None:
    with pytest.raises(
        gda.errors.InvalidInputError,
        match=rf"method '{method}' needs a convex objective, and FunctionObjective\(saturated\) "
        "says that it is not convex; methods .*: alternating, certified, frank-wolfe, joint, proj",
    ):
        gda.solve(problem(), method)


def test_there_is_no_certificate_of_it_or_a_sum_with_it() -> None:
    total = problem().objective + 0.5 * gda.Ridge(K)
    assert not total.convex
    assert (gda.Ridge(K) + gda.Ridge(K)).convex
    whole = problem().with_objective(total)
    assert gda.solve(whole, "projected-gradient").status == "stationary"
    for refused, match in (
        (problem(), r"FunctionObjective\(saturated\) says that it"),
        (whole, r"FunctionObjective \+ 0.5 \* Ridge says"),
    ):
        with pytest.raises(gda.errors.InvalidInputError, match=match):
            gda.certify(refused, np.eye(K))


def test_results_are_printed_saved_and_read(tmp_path: Path) -> None:
    result = gda.solve(problem(), "projected-gradient")
    text = repr(result)
    assert "status              stationary" in text
    assert "not certified, since the objective is not convex" in text
    assert f"Frank–Wolfe gap     {result.frank_wolfe_gap:.3g}" in text
    assert gda.Result.load(result.save(tmp_path / "run.npz")) == result


def digits(**options: Any) -> Any:
    """Return 500 digits, without the pixels that are the same in all of them."""
    X, y = (part[:500] for part in load_digits(**options))
    return X[:, X.std(axis=0) > 0], y


def components(set_name: str, data: Any = load_wine, trace_bound: float = 4.0) -> gda.MetricProblem:
    """Return neighbourhood components of standardised features."""
    X, y = data(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    size = X.shape[1]
    feasible_set = named_set(set_name, size, trace_bound, 1e-8 if trace_bound > size else 0.01)
    return gda.MetricProblem(gda.NCA(X, y), feasible_set)


@pytest.mark.covering(1)
@pytest.mark.parametrize("data", [load_iris, load_wine])
@pytest.mark.parametrize("set_name", ["graph", "positive definite", "diagonal"])
def test_the_better_of_two_starts_is_kept(set_name: str, data: Any) -> None:
    problem = components(set_name, data)
    found = gda.solve(problem, "certified", tolerance=1e-5)
    assert isinstance(problem.objective, gda.NCA)
    surrogate = gda.solve(problem.with_objective(problem.objective.surrogate()), tolerance=1e-2)
    starts = [problem.central_metric(), surrogate.metric]
    ends = [gda.solve(problem, "certified", tolerance=1e-5, initial=start) for start in starts]
    assert all(end.status == found.status == "stationary" for end in ends)
    assert found.objective == pytest.approx(min(end.objective for end in ends), abs=1e-4)
    assert found.objective <= ends[0].objective + 1e-9
    gradient = problem.objective.gradient(found.metric)
    vertex = problem.feasible_set.minimize_linear(gradient).vertex
    assert np.vdot(gradient, found.metric - vertex) <= 1.01e-5 * abs(found.objective)
    again = gda.solve(problem, "certified", tolerance=1e-5)
    np.testing.assert_array_equal(again.metric, found.metric)


@pytest.mark.parametrize("set_name", ["graph", "diagonal"])
def test_the_second_start_is_better_where_the_first_is_on_a_plateau(set_name: str) -> None:
    problem = components(set_name, load_wine, 1000.0)
    found = gda.solve(problem, "certified")
    first = gda.solve(problem, "certified", initial=problem.central_metric())
    assert found.objective < first.objective - 0.01
    assert found.trace[-1].phase == "surrogate"
    assert found.status == "stationary"


def test_limits_with_two_starts() -> None:
    """The first run counts its steps, and the second one is not begun beyond a limit."""
    problem = components("graph")
    found = gda.solve(problem, "certified", max_iterations=1, tolerance=1e-8)
    assert (found.status, found.trace[-1].phase) == ("iteration_limit", "quasi-newton")
    timed = gda.solve(problem, "certified", time_limit=1e-3)
    assert timed.status in ("time_limit", "stationary")
    assert timed.objective <= timed.trace[0].objective


def test_the_sum_of_weights_grows_by_a_quarter_in_a_round_at_most() -> None:
    """A longer step may end where each sample has a single neighbour."""
    problem = components("graph", trace_bound=1000.0)
    run = gda.iterate(problem, "certified", initial=0.1 * np.eye(13), max_iterations=6)
    totals = [float(state.weights.sum()) for state in run if state.weights is not None]
    growth = np.divide(totals[1:], totals[:-1])
    assert growth.max() == pytest.approx(1.25)


def test_a_master_problem_of_many_pairs_takes_few_newton_steps() -> None:
    """By the second derivatives of a subsample it takes dozens: these have another sign."""
    problem = components("graph", digits, trace_bound=60.0)
    states = list(gda.iterate(problem, "certified", initial=np.eye(problem.n_features) / 2))
    assert states[-1].frank_wolfe_gap <= 1e-3
    assert np.median(np.diff([state.newton_steps for state in states])) <= 5


@pytest.mark.parametrize("method", ["certified", "frank-wolfe"])
def test_a_state_without_prices_has_no_gap_of_another_one(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There was no time to look for the best atoms at its metric."""
    priced, n_priced = HullRun._best_certificate, 0

    def late(run: HullRun) -> Certificate:
        nonlocal n_priced
        n_priced += 1
        if n_priced == 3:
            raise gda.errors.TimeLimitError("the time is up")
        return priced(run)

    monkeypatch.setattr(HullRun, "_best_certificate", late)
    states = list(gda.iterate(problem("graph"), method, tolerance=0.0))
    assert len(states) == n_priced == 3
    assert [math.isinf(state.frank_wolfe_gap) for state in states] == [False, False, True]
