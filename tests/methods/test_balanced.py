"""The best of all colourings against the optima of all."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.methods.balanced import _Search, conflicts, rounded_colors
from gdaopt.support.validation import FloatArray
from tests.covering import chosen
from tests.helpers import PROPERTY, generators, random_symmetric

OBJECTIVES = ("GLR", "MCML", "LMNN", "DEML", "LSML", "LogDet")
SMALL = 1e-3  # LSML has optima at 0, of which no share is a tolerance


def objective(name: str, rng: np.random.Generator, size: int) -> Any:
    """Return a random objective whose optimum over all colourings is often hard to find."""
    X = rng.standard_normal((24, size)) @ rng.standard_normal((size, size)) / size
    y = rng.integers(0, 2, 24)
    y[:6] = [0, 0, 0, 1, 1, 1]
    match name:
        case "GLR":
            return gda.GLR(X, np.where(y, 1.0, -1.0))
        case "LSML":
            return gda.LSML(X, y, n_quadruplets=200, random_state=0)
        case "LogDet":
            return gda.LogDet(np.cov(X.T).reshape(size, size) + 0.05 * np.eye(size))
    return getattr(gda, name)(X, y)


def drawn(seed: int, name: str, size: int) -> gda.MetricProblem:
    """Return a random problem, some with a mask of edges, some with colours that are known."""
    rng = np.random.default_rng(seed)
    edges = None
    if rng.random() < 0.3 and size > 1:
        rows, columns = np.triu_indices(size, 1)
        kept = rng.random(len(rows)) < 0.7
        edges = np.column_stack([rows[kept], columns[kept]])
    colors = rng.choice([-1, 0, 0, 1], size).tolist() if rng.random() < 0.3 else None
    bound = size * float(rng.choice([0.5, 2.0]))
    rho = float(rng.choice([0.0 if name != "LogDet" else 1e-4, 1e-2])) * bound / size
    feasible_set = gda.SDDMetrics(bound, rho, edges=edges, colors=colors)
    return gda.MetricProblem(objective(name, rng, size), feasible_set)


def completions(problem: gda.MetricProblem) -> list[tuple[int, ...]]:
    """Return the colourings that complete those of a problem, one of each two that are the same."""
    known = problem.feasible_set.colors or (0,) * problem.n_features  # type: ignore[attr-defined]
    choices = [(1, -1) if color == 0 else (color,) for color in known]
    if not any(known):
        choices[0] = (1,)
    return list(product(*choices))


def of_colors(
    problem: gda.MetricProblem, colors: tuple[int, ...], enough: float = -np.inf
) -> float:
    """Return the optimum of one colouring; of one that is proven to be above `enough`, more."""
    hull = problem.feasible_set
    assert isinstance(hull, gda.SDDMetrics)
    bounds = hull.trace_bound, hull.min_eigenvalue
    signed = gda.SignedGraphMetrics(colors, *bounds, edges=hull.edges)
    return gda.solve(
        replace(problem, feasible_set=signed),
        tolerance=1e-8,
        absolute_tolerance=1e-8 * SMALL,
        callback=lambda state: not (state.lower_bound or -np.inf) > enough,
    ).objective


def assert_best(problem: gda.MetricProblem) -> gda.Result:
    """Assert that the answer is the best of all colourings, its bounds true and its colours its."""
    found = gda.solve(problem, "balanced", tolerance=1e-7, absolute_tolerance=1e-7 * SMALL)
    unit = max(abs(found.objective), SMALL)
    above = found.objective + 1e-5 * unit
    best = min(of_colors(problem, colors, above) for colors in completions(problem))
    assert found.status == "converged"
    assert found.objective == pytest.approx(best, abs=1e-6 * unit)
    bounds = found.trace.column("lower_bound")
    assert (bounds <= best + 1e-9 * unit).all()
    assert (np.diff(bounds) >= -1e-12 * unit).all()
    assert (np.diff(found.trace.column("objective")) <= 0).all()
    assert found.metric in problem.feasible_set
    assert_balanced(found)
    known = np.array(problem.feasible_set.colors or [0.0])  # type: ignore[attr-defined]
    assert found.colors is not None
    assert ((known == 0) | (known == found.colors)).all()
    return found


def assert_balanced(result: gda.Result) -> None:
    assert result.colors is not None
    assert set(result.colors) <= {1.0, -1.0}
    signs = np.outer(result.colors, result.colors) * result.metric
    assert np.triu(signs, 1).max() <= 0


@pytest.mark.parametrize("seed", chosen(range(100), default=range(6, 18), slow=range(40)))
def test_is_the_best_of_all_colourings(seed: int) -> None:
    assert_best(drawn(1000 + seed, OBJECTIVES[seed % 6], 2 + seed // 6 % 7))


# --- A problem whose hull is loose ---------------------------------------------------------------


def frustrated(size: int = 7) -> gda.MetricProblem:
    """Return a problem with few balanced triangles: inverse covariances of random signs."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, size))
    return gda.MetricProblem(
        gda.LogDet(np.cov(X.T) + 0.05 * np.eye(size)), gda.SDDMetrics(3.0 * size)
    )


def test_needs_many_nodes_where_the_hull_is_loose() -> None:
    found = assert_best(frustrated(5))
    assert found.trace[-1].round > 3
    hull = gda.solve(frustrated(5))
    assert hull.objective < found.objective - 1e-3


@pytest.mark.parametrize(("name", "seed"), [("GLR", 12), ("LogDet", 11), ("DEML", 23)])
def test_a_node_without_conflicts_is_solved_to_its_end(name: str, seed: int) -> None:
    """Also where the best metric known is so far away that a node with conflicts is not."""
    assert_best(drawn(seed, name, 4))


def test_tries_no_colours_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours and their negatives are the same."""
    tried: list[bytes] = []
    original = _Search._solve_coloring

    def noted(run: _Search, node: Any, number: int, hull: Any, colors: FloatArray) -> Any:
        tried.append(min(colors.tobytes(), (-colors).tobytes()))
        return original(run, node, number, hull, colors)

    monkeypatch.setattr(_Search, "_solve_coloring", noted)
    gda.solve(frustrated(), "balanced")
    assert len(tried) == len(set(tried)) > 1


def interrupt(state: gda.methods.State) -> None:
    if state.round == 3:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("limit", "status"),
    [
        ({"callback": interrupt, "on_interrupt": "return"}, "interrupted"),
        ({"node_limit": 2}, "iteration_limit"),
        ({"max_iterations": 4}, "iteration_limit"),
        ({"max_iterations": 0}, "iteration_limit"),
        ({"callback": lambda state: state.iteration < 9}, "interrupted"),
    ],
)
def test_limits_leave_a_balanced_metric_and_a_true_bound(
    limit: dict[str, Any], status: str, tmp_path: Path
) -> None:
    best = gda.solve(frustrated(), "balanced")
    found = gda.solve(frustrated(), "balanced", **limit)
    assert found.status == status
    assert found.trace[-1].round <= limit.get("node_limit", 99)
    assert_balanced(found)
    assert found.lower_bound is not None
    assert found.lower_bound <= best.objective <= found.objective * (1 + 1e-12)
    assert found.relative_gap is not None
    assert found.relative_gap > 1e-6
    assert gda.Result.load(found.save(tmp_path / "run")) == found


# --- Starts and refusals -------------------------------------------------------------------------


def test_a_start_keeps_the_colours_that_are_known() -> None:
    colors = [-1, 0, 1, 0, 0, 0, 0]
    problem = replace(frustrated(), feasible_set=gda.SDDMetrics(21.0, colors=colors))
    for initial in (None, np.eye(7)):
        found = gda.solve(problem, "balanced", initial=initial, max_iterations=0)
        assert found.colors is not None
        assert (found.colors[0], found.colors[2]) == (-1, 1)


def triangle(sign: float) -> FloatArray:
    """Return a metric whose triangle of edges has one negative one, or three."""
    metric = np.eye(7)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        metric[i, j] = metric[j, i] = sign * 0.3
    return metric


def test_refuses_a_start_that_is_not_balanced() -> None:
    match = r"initial is not balanced: no colours .* \[\d,\d\]"
    with pytest.raises(InvalidInputError, match=match):
        gda.solve(frustrated(), "balanced", initial=triangle(1.0))
    gda.solve(frustrated(), "balanced", initial=triangle(-1.0), max_iterations=0)


def test_an_objective_of_ones_own_is_judged_by_the_balanced_metrics() -> None:
    """What the hull reaches below the bound is no sign of a wrong gradient."""
    S = np.linalg.inv(np.eye(3) + 0.3)
    square = gda.FunctionObjective(
        lambda M: (float(((M - S) ** 2).sum()) - 1.0, 2 * (M - S)), n_features=3
    )
    away = gda.MetricProblem(square, gda.SDDMetrics(6.0))
    assert_balanced(gda.solve(away, "balanced"))


# --- Colours of signed graphs --------------------------------------------------------------------


def signed_graph(rng: np.random.Generator, colors: FloatArray, density: float) -> FloatArray:
    """Return a random matrix whose graph is balanced by given colours."""
    size = len(colors)
    magnitudes = np.abs(random_symmetric(rng, size)) * (rng.random((size, size)) < density)
    upper = np.triu(magnitudes, 1) * np.outer(colors, colors)
    return np.eye(size) - upper - upper.T


def weight_in_conflict(metric: FloatArray, colors: FloatArray) -> float:
    return float(np.abs(metric[conflicts(metric, colors)]).sum())


@PROPERTY
@given(generators, st.integers(1, 12), st.sampled_from([0.2, 0.6, 1.0]))
def test_a_balanced_graph_has_no_conflicts(
    rng: np.random.Generator, size: int, density: float
) -> None:
    """Also where some of its colours are known."""
    colors = rng.choice([-1.0, 1.0], size)
    metric = signed_graph(rng, colors, density)
    for known in (np.zeros(size), np.where(rng.random(size) < 0.5, colors, 0.0), colors):
        found = rounded_colors(metric, known)
        assert set(found) <= {1.0, -1.0}
        assert ((known == 0) | (known == found)).all()
        assert len(conflicts(metric, found)[0]) == 0


@pytest.mark.parametrize("seed", range(20))
def test_no_single_change_lowers_the_weight_in_conflict(seed: int) -> None:
    rng = np.random.default_rng(seed)
    metric = random_symmetric(rng, 9)
    known = rng.choice([-1.0, 0.0, 0.0, 0.0, 1.0], 9)
    found = rounded_colors(1e-14 ** (seed % 2) * metric, known)  # in any unit
    for feature in np.flatnonzero(known == 0):
        other = found.copy()
        other[feature] *= -1
        assert weight_in_conflict(metric, other) >= weight_in_conflict(metric, found) - 1e-12


def test_a_guess_that_is_better_than_all_starts_is_taken() -> None:
    """On a grid with a tenth of its edges in conflict, whole regions would have to change."""
    rng, side = np.random.default_rng(1), 15
    grid = np.arange(side**2).reshape(side, side)
    ends = np.concatenate([grid[:, :-1].ravel(), grid[:-1].ravel()])
    others = np.concatenate([grid[:, 1:].ravel(), grid[1:].ravel()])
    colors = rng.choice([-1.0, 1.0], side**2)
    kept = np.where(rng.random(len(ends)) < 0.1, 1.0, -1.0)
    metric = np.zeros((side**2, side**2))
    metric[ends, others] = kept * rng.uniform(0.5, 1.0, len(ends)) * colors[ends] * colors[others]
    metric += metric.T
    alone = rounded_colors(metric, np.zeros(side**2))
    found = rounded_colors(metric, np.zeros(side**2), [colors])
    assert weight_in_conflict(metric, found) <= weight_in_conflict(metric, colors)
    assert weight_in_conflict(metric, found) < weight_in_conflict(metric, alone)
