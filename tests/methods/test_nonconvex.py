"""Objectives that are not convex: methods look for stationary points, nothing is certified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt import plotting
from gdaopt.methods import METHODS
from gdaopt.studies.comparison_table import completed
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import named_set

K = 4
D = np.random.default_rng(0).standard_normal((30, K))
REFUSING = ("balanced", "certified", "projected-newton", "sdp", "socp")


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


def test_the_objective_is_not_convex() -> None:
    gda.check_objective(problem().objective)
    with pytest.raises(gda.errors.InvalidInputError, match="the objective is not convex"):
        gda.check_objective(gda.FunctionObjective(saturated, n_features=K), n_metrics=30)


@pytest.mark.parametrize("method", sorted(METHODS.keys() - REFUSING))
@pytest.mark.parametrize("set_name", ["graph", "positive definite", "diagonal"])
def test_methods_run(set_name: str, method: str) -> None:
    if method in ("alternating", "joint") and set_name != "graph":
        pytest.skip("over graph metrics only")
    options: dict[str, Any] = {"tolerance": 1e-2, "max_iterations": 150}
    if method in ("alternating", "joint", "sdp-frank-wolfe"):
        options["solver"] = "analytic"
    result = gda.solve(problem(set_name), method, **options)
    assert result.status in ("stationary", "stalled", "iteration_limit")
    assert result.lower_bound is None
    assert result.gap is None
    assert result.relative_gap is None
    assert result.frank_wolfe_gap == pytest.approx(frank_wolfe_gap(result), rel=1e-6, abs=1e-8)
    assert result.frank_wolfe_gap is not None
    is_stationary = result.frank_wolfe_gap <= 1e-2 * abs(result.objective)
    assert is_stationary == (result.status == "stationary")
    assert all(row.lower_bound is None and row.relative_gap is None for row in result.trace)
    objectives = [row.objective for row in result.trace]
    assert all(np.diff(objectives) <= 1e-9)
    assert objectives[-1] < objectives[0]


@pytest.mark.parametrize("set_name", ["graph", "positive definite", "diagonal"])
def test_projected_gradients_get_there(set_name: str) -> None:
    result = gda.solve(problem(set_name), "projected-gradient", tolerance=1e-7)
    assert result.status == "stationary"
    assert frank_wolfe_gap(result) <= 1.01e-7 * abs(result.objective)


@pytest.mark.parametrize("method", REFUSING)
def test_methods_that_need_convexity_refuse(method: str) -> None:
    with pytest.raises(
        gda.errors.InvalidInputError,
        match=rf"method '{method}' needs a convex objective, and FunctionObjective\(saturated\) "
        "says that it is not convex; methods .*: alternating, frank-wolfe, joint, proj",
    ):
        gda.solve(problem(), method)


def test_there_is_no_certificate() -> None:
    with pytest.raises(
        gda.errors.InvalidInputError, match=r"FunctionObjective\(saturated\) says that it"
    ):
        gda.certify(problem(), np.eye(K))


def test_a_sum_with_it_is_not_convex() -> None:
    total = problem().objective + 0.5 * gda.Ridge(K)
    assert not total.convex
    assert (gda.Ridge(K) + gda.Ridge(K)).convex
    whole = gda.MetricProblem(total, gda.GraphMetrics(4.0))
    result = gda.solve(whole, "projected-gradient")
    assert result.status == "stationary"
    with pytest.raises(
        gda.errors.InvalidInputError, match=r"FunctionObjective \+ 0.5 \* Ridge says"
    ):
        gda.certify(whole, np.eye(K))


@pytest.mark.parametrize("method", ["joint", "sdp-frank-wolfe"])
def test_linear_constraints_are_kept(method: str) -> None:
    constrained = problem(constraints=lambda M: [M[0, 1] == 0, M[0, 0] <= 0.8])
    result = gda.solve(constrained, method, max_iterations=20)
    assert not constrained.violations(result.metric)
    assert result.lower_bound is None
    assert result.frank_wolfe_gap is not None
    assert result.frank_wolfe_gap >= 0


def test_results_are_printed_saved_and_read(tmp_path: Path) -> None:
    result = gda.solve(problem(), "projected-gradient")
    text = repr(result)
    assert "status              stationary" in text
    assert "not certified, since the objective is not convex" in text
    assert f"Frank–Wolfe gap     {result.frank_wolfe_gap:.3g}" in text
    assert gda.Result.load(result.save(tmp_path / "run.npz")) == result


def test_tables_and_pictures() -> None:
    results = {
        name: gda.solve(problem(), name, max_iterations=5)
        for name in ("frank-wolfe", "projected-gradient")
    }
    rows = completed({name: {"class": "all"} for name in results}, results)
    assert [row["excess"] for row in rows] == [None, None]
    plotting.convergence(list(results.values()))


def test_states_tell_the_gap() -> None:
    gaps = [
        state.frank_wolfe_gap for state in gda.iterate(problem(), "frank-wolfe", max_iterations=5)
    ]
    assert all(gap is not None and gap >= 0 for gap in gaps)
    convex = gda.MetricProblem(gda.Ridge(K), gda.GraphMetrics(4.0))
    assert next(gda.iterate(convex, "frank-wolfe")).frank_wolfe_gap is None
