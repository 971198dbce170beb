"""The certified method: from every side, from results of problems nearby, and parts of a round."""

import math
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.certificate import certify_point
from gdaopt.linalg.atoms import Atoms
from gdaopt.master.active_set import ActiveSet
from gdaopt.master.weights import find_best_weights
from gdaopt.methods import Context
from gdaopt.methods import certified as certified_module
from gdaopt.methods.hull import HullRun
from gdaopt.objectives.pair_point import PairLine, PairPoint
from gdaopt.objectives.pairs.signal_pairs import SignalWeights
from gdaopt.sets.members import Support
from tests.helpers import generators, properties, random_metric, scaled
from tests.methods.certified_cases import (
    HULLS,
    KINDS,
    ROUND_OFF,
    Nearest,
    Watch,
    assert_same_optimum,
    certified,
    half,
    of_kind,
    set_of,
    synthetic,
)
from tests.methods.run_cases import Case, cases


def test_a_refinement_that_raises_the_objective_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    objective = gda.GLR(*scaled("iris", "versicolor"))
    problem, size, n_refined = gda.MetricProblem(objective, set_of("definite", 4, 4.0, 0.0)), 4, 0

    def worse(objective: Any, base: Any, active_set: ActiveSet, total: float) -> Any:
        nonlocal n_refined
        n_refined += 1
        even = ActiveSet(Atoms.of_features(np.arange(size)), np.full(size, total / size))
        assert objective.value(even.atoms.added_to(base, even.weights)) > 1.1 * least
        return even, 1

    least = certified(problem).objective
    monkeypatch.setattr("gdaopt.methods.certified.refine_atoms", worse)
    result = gda.solve(problem, "certified", max_iterations=20)
    assert n_refined > 1
    assert (np.diff(result.trace.column("objective")) <= 0).all()
    assert result.objective < 1.05 * least


def test_evaluates_the_objective_at_no_metric_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    # A round starts where the one before has ended: the objective is known there.
    at, seen = PairLine.at, list[bytes]()

    def watched(line: PairLine, gamma: float) -> PairPoint:
        there = at(line, gamma)
        seen.append(there.metric.tobytes())
        return there

    monkeypatch.setattr(PairLine, "at", watched)
    glr = gda.GLR(*scaled("iris", "versicolor"))
    problem = gda.MetricProblem(glr, gda.GraphMetrics(trace_bound=4.0))
    assert gda.solve(problem, "certified").iterations > 3
    assert len(seen) == len(set(seen))


# --- From every side -----------------------------------------------------------------------------


kinds = st.sampled_from(KINDS)


@properties(40)
@given(
    cases(bounds_follow=True, with_floor=False),
    kinds,
    generators,
    st.sampled_from([-50.0, -3.3, 2.7, 50.0]),
)
def test_units_and_the_order_of_features_and_samples_do_not_matter(
    case: Case, kind: str, rng: np.random.Generator, log_scale: float
) -> None:
    first = certified(of_kind(replace(case, log_scale=0.0).problem(), kind), 1e-10)
    problem = of_kind(replace(case, log_scale=log_scale).problem(), kind)
    assert isinstance(problem.objective, gda.GLR)
    pairs = problem.objective.pairs
    assert isinstance(pairs.log_weight, SignalWeights)
    features = rng.permutation(problem.n_features)
    order = rng.permutation(len(pairs.features))
    feasible_set = problem.feasible_set
    if isinstance(feasible_set, gda.SignedGraphMetrics):
        feasible_set = replace(feasible_set, colors=[feasible_set.colors[i] for i in features])
    shuffled = gda.GLR(pairs.features[np.ix_(order, features)], pairs.log_weight.signal[order])
    watch = Watch(feasible_set)
    second = certified(gda.MetricProblem(shuffled, feasible_set), 1e-10, callback=watch)
    assert second.lower_bound == watch.states[-1].lower_bound
    assert second.objective == pytest.approx(first.objective, rel=1e-8)
    assert_same_optimum(first, second, 1e-12)


# --- From the result of a problem nearby ---------------------------------------------------------


def nearby(kind: str, path_weight: float, factor: float, rows: str) -> gda.MetricProblem:
    """Return a problem whose trace bound and rows depend on a factor."""
    X, z = half("wine", "class_0")
    own = {
        "none": None,
        "inequality": lambda M: [M[0, 0] <= 0.2 * factor, cp.trace(M[:4, :4]) <= 2.0],
        "equality": lambda M: [M[0, 0] == 0.3 * factor, M[1, 1] <= 0.5],
    }
    feasible_set = set_of(kind, 13, 6.0 * factor, 1e-3, path_weight)
    return gda.MetricProblem(gda.GLR(X, z), feasible_set, own[rows])


@pytest.mark.covering(1, 2)
@pytest.mark.parametrize(("kind", "path_weight"), HULLS)
@pytest.mark.parametrize("factor", [0.7, 1.0, 1.1])
@pytest.mark.parametrize("rows", ["none", "inequality", "equality"])
def test_a_warm_start_finds_the_same_optimum(
    kind: str, path_weight: float, factor: float, rows: str
) -> None:
    before = certified(nearby(kind, path_weight, 1.0, rows), 1e-7)
    problem = nearby(kind, path_weight, factor, rows)
    cold = certified(problem, 1e-7)
    watch = Watch(problem.feasible_set)
    warm = certified(problem, 1e-7, warm_start=before, callback=watch)
    assert_same_optimum(warm, cold)
    assert warm.iterations <= cold.iterations
    assert warm.iterations == 0 or factor != 1 or rows != "none"
    assert not problem.violations(watch.states[0].metric)
    # The weights of the old atoms are good before the first pricing.
    assert watch.states[0].objective <= 1.2 * cold.trace[0].objective
    if factor != 0.7 and rows != "equality":
        assert watch.states[0].objective - cold.objective < 0.05 * cold.objective


def test_a_warm_start_of_a_bound_that_does_not_bind_is_the_answer() -> None:
    target = random_metric(np.random.default_rng(0), 6)
    results = [
        gda.solve(gda.MetricProblem(Nearest(target + np.eye(6)), gda.GraphMetrics(bound, 0.1)))
        for bound in (40.0, 60.0)
    ]
    problem = gda.MetricProblem(Nearest(target + np.eye(6)), gda.GraphMetrics(60.0, 0.1))
    warm = gda.solve(problem, warm_start=results[0], absolute_tolerance=1e-8)
    assert np.trace(results[0].metric) < 39
    np.testing.assert_allclose(warm.metric, results[1].metric, atol=1e-4)
    assert warm.trace[0].objective <= results[0].objective * (1 + ROUND_OFF)


def test_a_warm_start_of_a_larger_trace_keeps_the_budget() -> None:
    objective = Nearest(random_metric(np.random.default_rng(0), 6) + np.eye(6))
    loose = gda.solve(gda.MetricProblem(objective, gda.GraphMetrics(40.0, 0.1)))
    assert np.trace(loose.metric) < 39
    tight = gda.MetricProblem(objective, gda.GraphMetrics(float(np.trace(loose.metric)) / 2, 0.1))
    states = list(gda.iterate(tight, warm_start=loose))
    assert states[0].metric in tight.feasible_set
    assert states[-1].objective == pytest.approx(gda.solve(tight).objective, rel=1e-5)


@pytest.mark.parametrize(
    "feasible_set",
    [gda.DiagonalMetrics(4.0), gda.GraphMetrics(4.0, edges=[(0, 1), (2, 3)])],
    ids=["diagonal", "masked"],
)
def test_a_warm_start_under_a_mask_goes_on(feasible_set: Any) -> None:
    """Entries outside of the mask have no prices, and single features are priced without them."""
    problem = gda.MetricProblem(gda.GLR(*scaled("iris", "versicolor")), feasible_set)
    optimum = gda.solve(problem, tolerance=1e-9)
    start = replace(optimum, atoms=np.eye(4)[:2], weights=np.full(2, feasible_set.budget(4) / 2))
    found = gda.solve(problem, tolerance=1e-9, warm_start=start)
    assert found.status == "converged"
    assert found.objective == pytest.approx(optimum.objective, rel=1e-9)


def test_a_warm_start_that_does_not_fit_is_refused() -> None:
    result = gda.solve(nearby("graph", 0.0, 1.0, "none"), max_iterations=1)
    for other in (nearby("diagonal", 0.0, 1.0, "none"), nearby("graph", 0.05, 1.0, "none")):
        with pytest.raises(gda.errors.InvalidInputError, match="only their two bounds may dif"):
            gda.solve(other, warm_start=result)
    iris = gda.MetricProblem(gda.GLR(*scaled("iris", "setosa")), gda.GraphMetrics(4.0, 1e-3))
    with pytest.raises(gda.errors.InvalidInputError, match="of 13 features"):
        gda.solve(iris, warm_start=result)
    with pytest.raises(gda.errors.InvalidInputError, match="no initial"):
        gda.solve(iris, warm_start=result, initial=np.eye(4))
    without = gda.solve(iris, "alternating", solver="analytic")
    with pytest.raises(gda.errors.InvalidInputError, match=r"a result with atoms.* 'alternating'"):
        gda.solve(iris, warm_start=without)


# --- Parts of a round ----------------------------------------------------------------------------


def test_atoms_that_do_not_lower_the_objective_stay_out() -> None:
    """Below the mean price of the active set, and not just below 0, they do."""
    problem = gda.MetricProblem(gda.LogDet(np.eye(3)), gda.GraphMetrics(3.0))
    run = HullRun(problem, Context())
    atoms, prices = Atoms.of_features(np.arange(3)), np.array([-3.0, -2.0, -1.0])
    run.best = Support(np.eye(3), np.eye(3), atoms, prices, least=-9.0)
    run.active_set = ActiveSet(Atoms.of_features(np.array([0])), np.array([run.budget]))
    for level, count in ((-2.0, 1), (-1.5, 2), (0.5, 3)):
        run.prices = np.array([level])
        assert len(run.list_joining()) == count


@pytest.mark.parametrize(
    "objective",
    [Nearest(np.eye(2)), gda.NCA(np.diag([1.0, 2.0, 3.0, 1.0])[:, :2], [0, 1, 0, 1])],
    ids=["convex", "not convex"],
)
def test_of_multipliers_that_raise_no_bound_those_that_prove_more_are_kept(
    objective: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A larger bound, or a smaller Frank–Wolfe gap where the objective is not convex."""
    problem = gda.MetricProblem(
        objective, gda.GraphMetrics(2.0), constraints=lambda M: [M[0, 0] <= 0.5]
    )
    run = HullRun(problem, Context())
    run.lower_bound.value = math.inf
    tight = run.multipliers
    assert tight is not None
    expected = certify_point(problem, run.point, multipliers=tight)
    for own, other in ((tight, tight + 10), (tight + 10, tight)):
        run.multipliers = own
        monkeypatch.setattr(run._search, "tight", lambda _, by=other: by)
        found = run._best_certificate()
        assert run.multipliers is tight
        assert found.lower_bound == expected.lower_bound
        assert found.frank_wolfe_gap == expected.frank_wolfe_gap
        gradient = problem.members.support(run.point.gradient(), tight).priced
        np.testing.assert_allclose(run.prices, run.active_set.atoms.quadratic_forms(gradient))


def test_a_jump_to_new_atoms_that_raises_the_objective_is_taken_back() -> None:
    X, z = synthetic(100, 100)
    feasible_set = gda.DiagonalMetrics(4000.0, 1e-6)
    certified(gda.MetricProblem(gda.GLR(X, z), feasible_set), callback=Watch(feasible_set))


def test_hundreds_of_atoms_of_the_start_are_no_part_of_the_first_master_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes, whole = list[int](), find_best_weights

    def noted(start: Any, *arguments: Any) -> Any:
        sizes.append(len(start.weights))
        return whole(start, *arguments)

    monkeypatch.setattr(certified_module, "find_best_weights", noted)
    X = np.random.default_rng(0).standard_normal((30, 100)) / 20
    problem = gda.MetricProblem(gda.GLR(X, np.sign(X[:, 0])), gda.GraphMetrics(100.0, 1e-3))
    assert gda.solve(problem, "certified").status == "converged"
    assert max(sizes) <= 2 * 60 < 100 + 60
    assert sizes[0] <= 60
