"""What all methods have in common: limits, interrupts, starts, warm starts, small and odd cases.

All but `balanced` and `projected-newton`, which are for sets and objectives of their own.
"""

import signal
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.methods.solve import make_method
from gdaopt.status import MADE_NO_PROGRESS
from tests.methods.certified_cases import assert_same_optimum, certified, set_of, synthetic
from tests.methods.run_cases import ALIGNED, CONIC, SETS, WAYS, is_for, small, solve

SIZE = 4
SLOWER = (*ALIGNED, "frank-wolfe", "sdp-frank-wolfe")  # which need not reach a tight tolerance
METHODS = sorted({method for method, _ in WAYS.values()})
EVERY = [way for way in WAYS if not way.endswith(("SCS", "ECOS", "clip", "order"))]
of_every_way = pytest.mark.parametrize("way", EVERY)
EVERYWHERE = [(way, *of) for way in EVERY for of in SETS if is_for(way, *of)]
of_every_set = pytest.mark.parametrize(("way", "kind", "floor"), EVERYWHERE)
of_every_method = pytest.mark.parametrize("way", METHODS)


def test_no_method_is_forgotten() -> None:
    assert {*METHODS, "balanced", "projected-newton"} == gda.methods.METHODS.keys()


# --- Ends ----------------------------------------------------------------------------------------


@of_every_way
def test_the_number_of_steps_is_limited(way: str) -> None:
    start = solve(small(), way, max_iterations=0, tolerance=0)
    assert (start.status, start.iterations, len(start.trace)) == ("iteration_limit", 0, 1)
    assert start.metric in small().feasible_set
    most = 1 if way in CONIC else 3
    result = solve(small(), way, max_iterations=most, tolerance=0)
    assert (result.status, result.iterations) == ("iteration_limit", most)
    assert result.message.startswith(f"max_iterations = {most} reached")
    assert len(result.trace) == most + 1
    first = next(gda.iterate(small(), WAYS[way][0], **WAYS[way][1]))
    np.testing.assert_array_equal(start.metric, first.metric)


@of_every_way
@pytest.mark.parametrize(
    ("no", "by"), [(False, "callback"), (np.False_, "callback"), (None, "user")]
)
def test_a_callback_or_an_interrupt_within_it_ends_the_run(no: Any, by: str, way: str) -> None:
    seen: list[int] = []

    def callback(state: gda.methods.State) -> Any:
        seen.append(state.iteration)
        if state.iteration == most and by == "user":
            signal.raise_signal(signal.SIGINT)
        return no if state.iteration == most else None  # only a truth value is an answer

    most = 0 if way in CONIC else 2
    if by == "user":
        with pytest.raises(KeyboardInterrupt):
            solve(small(), way, callback=callback, tolerance=0)
        seen.clear()
    result = solve(small(), way, callback=callback, tolerance=0, on_interrupt="return")
    assert (result.status, result.iterations) == ("interrupted", most)
    assert result.message.startswith(f"by the {by} after step {most}")
    assert seen == list(range(most + 1)) == [row.iteration for row in result.trace]


@of_every_method
def test_errors_of_callbacks_propagate(way: str) -> None:
    def fail(_: gda.methods.State) -> None:
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError, match="in the callback"):
        solve(small(), way, callback=fail)


# --- Starts --------------------------------------------------------------------------------------


STAR = np.diag([1.0, 0.5, 0.5, 0.5])  # connects all, but not along the path
STAR[0, 1:] = STAR[1:, 0] = -0.1


@of_every_method
@pytest.mark.parametrize(
    ("initial", "match"),
    [
        (2 * np.eye(SIZE), "initial is not in the set: trace 8 exceeds the bound 4"),
        (np.eye(2), "initial must be 4×4"),
        (np.zeros((SIZE, SIZE)), "initial is not in the set: .*smallest eigenvalue 0 is below"),
        (np.full((SIZE, SIZE), np.nan), "initial holds nan"),
        (np.eye(SIZE) + 0.1 * np.eye(SIZE)[::-1], r"initial is .*\[0,3\] is positive"),
    ],
    ids=["outside", "small", "singular", "NaN", "positive"],
)
def test_bad_starts_are_refused(way: str, initial: Any, match: str) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=match):
        solve(small(), way, initial=initial)


@pytest.mark.parametrize("way", sorted(set(METHODS) - set(ALIGNED)))
def test_a_start_without_the_path_of_the_set_is_refused(way: str) -> None:
    assert STAR in small().feasible_set
    with pytest.raises(
        gda.errors.InvalidInputError, match="initial is not in the set: without the fixed"
    ):
        solve(small("graph", 0.05), way, initial=STAR)


@of_every_method
def test_nothing_to_learn_from(way: str) -> None:
    X, z = synthetic(3, 10)
    for features, match in ((0 * X, "all samples coincide"), (1e4 * X, "multiply the features by")):
        case = gda.MetricProblem(gda.GLR(features, z), gda.GraphMetrics(3.0, 1e-2))
        with pytest.raises(gda.errors.InvalidInputError, match=f"nothing to learn from.*{match}"):
            solve(case, way)


@pytest.mark.covering(1)
@of_every_set
def test_continued_from_its_end_a_run_ends_at_once(way: str, kind: str, floor: float) -> None:
    """Where a certificate ends it, without a step; else after one more window."""
    options = {"tolerance": 1e-2 if WAYS[way][0] in SLOWER else 1e-5, "max_iterations": 1000}
    first = solve(small(kind, floor), way, **options)
    assert first.status in {"converged", *MADE_NO_PROGRESS}
    again = solve(small(kind, floor), way, initial=first.metric, **options)
    assert again.trace[0].objective == pytest.approx(first.objective, rel=1e-9)
    assert again.objective <= first.objective * (1 + 1e-12)
    assert again.status in {"converged", *MADE_NO_PROGRESS}
    if first.status == "converged":
        assert again.iterations == 0
    else:
        assert again.trace[-1].round <= 4


@pytest.mark.covering(1, 1)
@of_every_set
def test_starts_anywhere_in_the_set(way: str, kind: str, floor: float) -> None:
    if "edge_floor" in WAYS[way][1]:
        pytest.skip("a start has to have edges of the floor")
    case = small(kind, floor)
    base = case.feasible_set.base(SIZE)
    vertex = case.feasible_set.minimize_linear(-np.diag([4.0, 3.0, 2.0, 1.0])).vertex
    for initial in (base, vertex, (base + vertex) / 2):
        result = solve(case, way, initial=initial, max_iterations=10)
        assert result.trace[0].objective == pytest.approx(case.objective.at(initial).value)
        assert result.objective < result.trace[0].objective
        assert result.metric in case.feasible_set
        assert_same_optimum(certified(case), result)


def test_starts_off_by_round_off_are_made_feasible() -> None:
    """Sign, trace and smallest eigenvalue break the set by less than `contains` allows."""
    feasible_set = gda.GraphMetrics(4.0, 1e-3)
    initial = feasible_set.start(SIZE, feasible_set.largest_edge_weight(SIZE))
    initial += 5e-13 * np.eye(SIZE)
    initial[0, 1] = initial[1, 0] = initial[0, 1] - 1e-10
    initial[0, 3] = initial[3, 0] = 5e-13
    assert np.trace(initial) > 4.0
    assert np.linalg.eigvalsh(initial)[0] < 1e-3 - 1e-11
    case = gda.MetricProblem(small().objective, feasible_set)
    start = solve(case, "alternating", initial=initial, max_iterations=0).metric
    np.testing.assert_allclose(start, initial, atol=1e-8)
    assert (start == start.T).all()
    assert (start <= np.diag(np.diagonal(start))).all()
    assert np.linalg.eigvalsh(start)[0] >= 1e-3 - 1e-15
    result = solve(case, "alternating", initial=initial)
    assert result.status in ("block_minimum", "slow_progress")


# --- The optimum ---------------------------------------------------------------------------------


@pytest.mark.covering(1)
@of_every_set
def test_one_feature(way: str, kind: str, floor: float) -> None:
    """The optimum of the regulariser is M = C, and of the log-determinant M = 1 / S."""
    feasible_set = set_of(kind, 1, 9.0, 0.5, floor)
    cases: list[tuple[Any, float]] = [
        (gda.GLR([[0.0], [1.0], [1.5]], [1, -1, -1]), 9.0),
        (gda.LogDet([[0.25]]), 4.0),
    ]
    for objective, expected in cases:
        case = gda.MetricProblem(objective, feasible_set)
        result = solve(case, way, initial=[[2.0]], max_iterations=500)
        assert result.metric == pytest.approx(expected, rel=1e-2 if expected == 4 else 1e-5)


@of_every_way
def test_the_gap_of_a_block_is_the_slope_towards_its_vertex(way: str) -> None:
    """A step of length γ goes that far of the way."""
    method, options = WAYS[way]
    states = gda.iterate(small(), method, max_iterations=1 if way in CONIC else 12, **options)
    for before, after in pairwise(states):
        if after.block_gap is None or not after.step or after.phase in ("pairwise", "away"):
            continue
        slope = float(np.vdot(before.point.gradient(), after.metric - before.metric)) / after.step
        assert after.block_gap == pytest.approx(-slope, rel=1e-6, abs=1e-9)


# --- Options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "options", "match"),
    [
        ("joint", {"align": "eigen"}, "unknown align 'eigen'.*eigenvector"),
        ("joint", {"realign_every": 0}, "realign_every"),
        ("joint", {"realign_every": 1.5}, "realign_every"),
        ("joint", {"edge_floor": 0.01, "align": "gradient"}, "align='gradient' .* edge_floor is"),
        ("certified", {"solver": "HIGHS"}, "no programs to solve.*leave the solver out"),
        (
            "certified",
            {"solver_opts": {"presolve": "on"}},
            "'solver_opts'; it has no programs",
        ),
        *(("certified", {"memory_limit": limit}, "memory_limit") for limit in (0, 1.5)),
        ("frank-wolfe", {"variant": "pairwize"}, "variant 'pairwize'; did you mean 'pairwise'"),
        ("frank-wolfe", {"solver": "HIGHS"}, "unknown option of method 'frank-wolfe': 'solver'"),
        ("sdp-frank-wolfe", {"variant": "away"}, "unknown option of method 'sdp-frank-wolfe'"),
        ("sdp-frank-wolfe", {"fallback": "HIGHS"}, "HIGHS has no semidefinite cone.*CLARABEL"),
        ("sdp-frank-wolfe", {"fallback": ["SCS", "clarable"]}, "did you mean 'CLARABEL'"),
        ("sdp-frank-wolfe", {"solver": "analytic", "solver_opts": {"eps": 1}}, "make no sense"),
        ("projected-gradient", {"projection": "clipp"}, "did you mean 'clip'"),
        *((method, {"solver": "CLARABLE"}, "did you mean 'CLARABEL'") for method in CONIC),
        *((method, {"solver": "analytic"}, "solver analytic has no") for method in CONIC),
        *(
            (
                "sdp",
                {"solver": name},
                rf"{name} has no semidefinite cone\. Installed.*CLARABEL.*SCS",
            )
            for name in ("HIGHS", "highspy")
        ),
        ("socp", {"solver": "OSQP"}, "OSQP has no second-order cone.*CLARABEL.*SCS"),
        *((method, {"step": "exakt"}, "did you mean 'exact'") for method in SLOWER),
        *(
            (method, {"solver": "analytic", "fallback": given}, "did you mean 'HIGHS'")
            for method in ALIGNED
            for given in ("higsh", ["analytic", "higsh"])
        ),
        *((name, {"tolerance": -1.0}, "tolerance") for name in sorted(gda.methods.METHODS)),
        *(("joint", {"trace_every": every}, "trace_every") for every in (-1, 1.5, "all", None)),
    ],
    ids=str,
)
def test_bad_options_are_refused(method: str, options: dict[str, Any], match: str) -> None:
    with pytest.raises(gda.errors.GdaoptError, match=match) as info:
        make_method(method, **options)
    assert "mean 'analytic'" not in str(info.value)


def test_the_method_where_none_is_named() -> None:
    """Who names a solver means the paper's."""
    assert make_method(None).name == "certified"
    assert make_method(None, solver=None, tolerance=1e-3).name == "certified"
    assert make_method(None, solver="highs").name == "alternating"
    assert make_method("certified", solver=None).solver == "analytic"
    problem = small("graph", 0.0)
    found = gda.solve(problem, solver="highspy", max_iterations=1)
    assert (found.method, found.solver) == ("alternating", "highspy")
    assert next(gda.iterate(problem, solver="highspy")).iteration == 0


@pytest.mark.parametrize(
    ("way", "kind", "floor"), [(way, *of) for way in EVERY for of in SETS if not is_for(way, *of)]
)
def test_other_sets_are_refused(way: str, kind: str, floor: float) -> None:
    match = "needs a set of GraphMetrics|for GraphMetrics|moves all edges|no form in second-order"
    with pytest.raises(gda.errors.InvalidInputError, match=match):
        solve(small(kind, floor), way)


@pytest.mark.parametrize("kind", ["graph", "definite"])
def test_balanced_metrics_are_sdd(kind: str) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match="'balanced' needs a set of SDDMetrics"):
        gda.solve(small(kind), "balanced")


@of_every_way
def test_iterate_yields_what_a_callback_is_shown(way: str) -> None:
    shown: list[gda.methods.State] = []
    most = 1 if way in CONIC else 5
    solve(small(), way, max_iterations=most, callback=shown.append)
    method, options = WAYS[way]
    states = gda.iterate(small(), method, max_iterations=most, **options)
    for state, other in zip(states, shown, strict=True):
        np.testing.assert_array_equal(state.metric, other.metric)
        for name in ("iteration", "round", "phase", "block", "objective", "step", "block_gap"):
            assert getattr(state, name) == getattr(other, name), name
