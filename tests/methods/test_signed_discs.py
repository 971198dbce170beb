"""The joint program over hulls of signed graph metrics; greedy colours."""

from dataclasses import replace
from itertools import islice
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.methods import Context
from gdaopt.methods.aligned import AlignedRun
from gdaopt.support.validation import FloatArray
from tests.helpers import random_symmetric

SIZE, C, RHO = 6, 9.0, 1e-2
COLORS = [1, -1, 1, 1, -1, 1]
SETS: dict[str, gda.sets.FeasibleSet] = {
    "signed": gda.SignedGraphMetrics(COLORS, C, RHO),
    "partial": gda.SDDMetrics(C, RHO, colors=[1, 0, -1, 0, 1, -1]),
    "sdd": gda.SDDMetrics(C, RHO),
    "masked": gda.SDDMetrics(C, RHO, edges=[(0, 1), (1, 2), (2, 3), (0, 3), (4, 5), (0, 5)]),
}


def glr(signs: FloatArray | float = 1.0) -> gda.GLR:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, SIZE)) @ rng.standard_normal((SIZE, SIZE)) / SIZE
    z = np.where(X[:, 0] + X[:, 1] - X[:, 3] + rng.standard_normal(30) / 4 > 0, 1.0, -1.0)
    return gda.GLR(X * signs, z)


def problem(name: str, **options: Any) -> gda.MetricProblem:
    return gda.MetricProblem(glr(), SETS[name], **options)


def member(rng: np.random.Generator) -> FloatArray:
    """Return a metric inside of the hull of all colourings, edges of both signs."""
    metric = random_symmetric(rng, SIZE) / SIZE / 3
    np.fill_diagonal(metric, rng.uniform(0.8, 1.2, SIZE))
    return metric


def expected_gap(run: AlignedRun, metric: FloatArray, rows: Any) -> tuple[float, float]:
    """Return CVXPY's gap, with the magnitudes of the entries written out, and a unit of it."""
    v, gradient = run.alignment.v, run.state.point.gradient()
    M = cp.Variable((SIZE, SIZE), symmetric=True)
    off = cp.multiply(np.outer(1 / v, v) * (1 - np.eye(SIZE)), cp.abs(M))
    discs = cp.diag(M) - cp.sum(off, axis=1) >= RHO
    gap = cp.sum(cp.multiply(gradient, metric - M))
    value = cp.Problem(cp.Maximize(gap), [discs, *rows(M)]).solve("CLARABEL")
    return float(value), float(np.abs(gradient).max()) * C


@pytest.mark.parametrize("seed", range(4))
def test_the_joint_program_is_that_of_the_left_ends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    metric = member(rng)
    method = gda.methods.Joint(solver="analytic", initial=metric)
    run = AlignedRun(method, problem("sdd"), Context(method))
    expected, unit = expected_gap(run, metric, lambda M: [cp.trace(M) <= C])
    _, following = islice(method.states(problem("sdd"), Context(method)), 2)
    assert following.block_gap == pytest.approx(expected, abs=1e-6 * unit)


# --- Greedy colours ------------------------------------------------------------------------------


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", ["sdd", "partial", "masked"])
@pytest.mark.parametrize("solver", ["analytic", "HIGHS"])
def test_greedy_colours_are_a_balanced_graph(name: str, solver: str) -> None:
    found = gda.solve(
        problem(name), "alternating", solver=solver, greedy_colors=True, max_iterations=60
    )
    assert found.colors is not None
    signs = np.outer(found.colors, found.colors) * found.metric
    assert np.triu(signs, 1).max() <= 0
    known = np.array(SETS[name].colors or [0.0])  # type: ignore[attr-defined]
    assert ((known == 0) | (known == found.colors)).all()
    best = gda.solve(problem(name), "balanced")
    assert best.lower_bound is not None
    assert found.objective >= best.lower_bound
    colored = found.trace.column("phase")[1 : 1 + np.count_nonzero(known == 0)]
    assert name == "partial" or set(colored) == {"column"}
    assert (np.diff(found.trace.column("objective")) <= 1e-9).all()


def test_greedy_colours_of_two_features_are_those_of_the_better_edge() -> None:
    """With two features the two runs look at all that there is."""
    for sign in (1.0, -1.0):
        X = np.array([[1.0, sign], [-1.0, -sign], [0.9, 1.1 * sign]])
        two = gda.MetricProblem(gda.GLR(X, [1, -1, 1]), gda.SDDMetrics(2.0))
        found = gda.solve(two, "alternating", solver="analytic", greedy_colors=True)
        best = gda.solve(two, "balanced")
        assert found.colors is not None
        assert best.colors is not None
        assert found.colors[0] * found.colors[1] == best.colors[0] * best.colors[1] == -sign


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"feasible_set": gda.GraphMetrics(C)}, {}, "greedy_colors=True needs a set of SDDMetrics"),
        ({"constraints": lambda M: [M[0, 0] <= 1.0]}, {"solver": "HIGHS"}, "cannot keep linear"),
        ({}, {"initial": np.eye(SIZE)}, "greedy_colors=True begins at a diagonal metric"),
        ({}, {"edge_floor": 0.1}, "edge_floor is for GraphMetrics"),
    ],
)
def test_what_does_not_go_with_greedy_colours(
    changes: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    options = {"solver": "analytic", "greedy_colors": True} | options
    with pytest.raises(InvalidInputError, match=message):
        gda.solve(replace(problem("sdd"), **changes), "alternating", **options)
