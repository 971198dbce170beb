"""Masks of edges: edge floors, certificates, and what need not be computed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.backends import LinearArrays
from gdaopt.backends.cvxpy import CompiledProblem
from gdaopt.linalg.laplacian import n_components
from gdaopt.objectives.pairs.scatter import Scatter
from tests.methods.certified_cases import certified
from tests.methods.run_cases import WAYS, solve
from tests.sets.mask_cases import (
    MaskedSet,
    objective_of,
    random_mask,
    without_mask,
)


def set_of(problem: gda.MetricProblem) -> MaskedSet:
    feasible_set = problem.feasible_set
    assert isinstance(feasible_set, gda.GraphMetrics | gda.SignedGraphMetrics)
    return feasible_set


def graph_problem(seed: int, size: int = 6, share: float | None = None) -> gda.MetricProblem:
    rng = np.random.default_rng(seed)
    feasible_set = gda.GraphMetrics(2.0 * size, 1e-3, edges=random_mask(rng, size, share))
    return gda.MetricProblem(objective_of(rng, size, "glr"), feasible_set)


# --- Edge floors ---------------------------------------------------------------------------------


@pytest.mark.covering(1)
@pytest.mark.parametrize("method", ["alternating", "joint"])
@pytest.mark.parametrize("seed", range(4))
def test_edge_floors_connect_by_edges_of_the_mask(method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = np.array([(int(rng.integers(node)), node) for node in range(1, 6)])
    more = random_mask(rng, 6, 0.2)
    edges = [*tree.tolist(), *zip(more.rows.tolist(), more.columns.tolist(), strict=True)]
    problem = graph_problem(seed)
    problem = replace(problem, feasible_set=gda.GraphMetrics(12.0, 1e-3, edges=edges))
    options: dict[str, Any] = {"edge_floor": 0.05, "max_iterations": 40, "solver": "analytic"}
    for state in gda.iterate(problem, method, **options):
        assert state.metric in problem.feasible_set
        assert n_components(state.metric, 0.05 * (1 - 1e-9)) == 1


def test_an_edge_floor_that_the_mask_cannot_keep_is_refused() -> None:
    problem = graph_problem(0)
    problem = replace(problem, feasible_set=gda.GraphMetrics(12.0, edges=[(0, 1), (2, 3)]))
    message = r"edge_floor 0\.1 asks for edges that connect all features.* leave 4 components"
    cases: tuple[dict[str, Any], ...] = ({}, {"initial": np.eye(6)})
    for options in cases:
        with pytest.raises(gda.errors.InvalidInputError, match=message):
            gda.solve(problem, "alternating", edge_floor=0.1, **options)


def test_a_column_program_serves_all_columns_of_as_many_neighbours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[int] = []
    build: Any = CompiledProblem.__init__

    def counted(self: CompiledProblem, like: LinearArrays) -> None:
        built.append(like.pattern.size)
        build(self, like)

    monkeypatch.setattr(CompiledProblem, "__init__", counted)
    problem = graph_problem(0)
    star = gda.GraphMetrics(12.0, 1e-3, edges=[(0, node) for node in range(1, 5)])  # 5 is alone
    problem = replace(problem, feasible_set=star)
    states = list(gda.iterate(problem, "alternating", max_iterations=40))
    assert sorted(built) == [1, 4, 6]  # columns, and the diagonal
    columns = {state.block for state in states if state.phase == "column"}
    assert columns == set(range(5))


def test_no_more_of_the_gradient_is_computed_than_the_mask_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither for the oracle and the certificate, nor for the programs and the start."""
    rng = np.random.default_rng(0)
    size = 40
    feasible_set = gda.GraphMetrics(size, 1e-3, edges=random_mask(rng, size, 0.05))
    problem = gda.MetricProblem(objective_of(rng, size, "glr"), feasible_set)
    ways = ("certified", "frank-wolfe", "joint", "joint, gradient")
    most = {"max_iterations": 4}
    # The rows of a trace are certified by the gradient as a whole where a run has no certificate.
    whole = [solve(problem, way, **most, trace_every=0).objective for way in ways]
    monkeypatch.setattr(Scatter, "dense", None)
    for way, expected in zip(ways, whole, strict=True):
        method, options = WAYS[way]
        states = list(gda.iterate(problem, method, **options, **most))
        assert states[-1].objective == pytest.approx(expected, rel=1e-9)


def test_any_metric_is_certified_by_the_whole_gradient() -> None:
    """A metric outside of the mask has entries that the mask's gradient would not see."""
    problem = graph_problem(0, share=0.3)
    best = certified(problem, tolerance=1e-8)
    outside = best.metric.copy()
    rng = np.random.default_rng(0)
    for _ in range(20):
        noise = 0.1 * rng.standard_normal((6, 6))
        bound = gda.certify(problem, outside + noise + noise.T).lower_bound
        assert bound <= best.objective * (1 + 1e-9)
    other = gda.solve(replace(problem, feasible_set=without_mask(set_of(problem))), "certified")
    bound = gda.certify(problem, other.metric).lower_bound
    assert bound <= best.objective * (1 + 1e-9)
    assert other.objective < best.objective
