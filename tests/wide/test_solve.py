"""Many features: the same optimum and certificate without any K×K array."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import DiagonalDirection
from gdaopt.linalg.entries import no_edges
from gdaopt.objectives import pair_objective
from gdaopt.objectives.round_off import RoundOff
from gdaopt.sets import FeasibleSet
from gdaopt.sets.mask import EdgeMask
from gdaopt.support.validation import FloatArray
from gdaopt.wide import has_many_features, search
from gdaopt.wide.certificate import member_at
from gdaopt.wide.features import ManyFeatures
from gdaopt.wide.pricing import Prices
from tests.helpers import n_parts, traced_peak

SIZE = 40
ATOMS = Atoms.of_features(np.arange(2))
LABELS = np.repeat([0, 1, 2], 6)

OBJECTIVES: dict[str, Callable[[Any], Any]] = {
    "GLR": lambda X: gda.GLR(X, LABELS),
    "GLR real": lambda X: gda.GLR(X, np.linspace(-1, 1, len(LABELS))),
    "GLR listed": lambda X: gda.GLR(X, LABELS, pairs=[[i, (i + 7) % 18] for i in range(18)]),
    "MCML": lambda X: gda.MCML(X, LABELS),
    "LMNN": lambda X: gda.LMNN(X, LABELS, n_neighbors=2),
    "hinge": lambda X: gda.PairHinge(X, LABELS),
    "logistic": lambda X: gda.LogisticPairs(X, LABELS),
    "NCA": lambda X: gda.NCA(X, LABELS),
}
RNG = np.random.default_rng(5)
COLORS = RNG.choice([-1, 1], SIZE).tolist()
PAIRS = np.sort(RNG.integers(0, SIZE, (60, 2)), axis=1)
EDGES = EdgeMask.of(np.unique(PAIRS[PAIRS[:, 0] < PAIRS[:, 1]], axis=0))
SETS: dict[str, FeasibleSet] = {
    "graph": gda.GraphMetrics(8.0, 1e-3),
    "diagonal": gda.DiagonalMetrics(8.0, 1e-3),
    "signed": gda.SignedGraphMetrics(COLORS, 8.0, 1e-3),
    "sdd": gda.SDDMetrics(8.0, 1e-3),
    "masked": gda.GraphMetrics(8.0, 1e-3, edges=EDGES),
}


def samples(seed: int = 0, size: int = SIZE) -> FloatArray:
    """Return samples whose classes differ in some of the features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((len(LABELS), size))
    X[:, :4] += np.multiply.outer(LABELS, rng.uniform(0.5, 1.5, 4))
    X[:, 5] = X[:, 6]  # a duplicate
    X[:, 7] = 3.0  # a constant
    scaled: FloatArray = X / np.sqrt(size)
    return scaled


def problem(name: str, set_name: str = "graph") -> gda.MetricProblem:
    return gda.MetricProblem(OBJECTIVES[name](samples()), SETS[set_name])


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function after whose call all samples have many features."""
    return lambda: monkeypatch.setattr(pair_objective, "MOST_DENSE", 1)


@pytest.mark.covering(1)
@pytest.mark.parametrize("set_name", SETS)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_optimum_and_its_bound_are_the_same(
    name: str, set_name: str, wide: Callable[[], None]
) -> None:
    feasible_set = SETS[set_name]
    options: dict[str, Any] = {"tolerance": 1e-7, "max_iterations": 60}
    dense = gda.solve(problem(name, set_name), **options)
    wide()
    assert has_many_features(problem(name, set_name))
    found = gda.solve(problem(name, set_name), **options)
    assert found.status == dense.status
    slack = 0.0 if name == "NCA" else 2e-7 * abs(dense.objective)
    assert found.objective <= dense.objective + slack + (1e-2 if name == "NCA" else 0.0)
    if dense.lower_bound is not None:
        assert found.lower_bound is not None
        assert found.lower_bound <= dense.objective + 1e-13 * abs(dense.objective)
        assert dense.lower_bound <= found.objective + 1e-13 * abs(dense.objective)
    np.testing.assert_array_equal(found.sparse_metric.toarray(), found.metric)
    total = feasible_set.base(SIZE) + (found.atoms.T * found.weights) @ found.atoms
    np.testing.assert_allclose(found.metric, total, atol=1e-12)
    assert found.metric in feasible_set
    assert found.components == n_parts(feasible_set, found.metric)
    row = found.trace[-1]
    assert row.lambda_min == pytest.approx(np.linalg.eigvalsh(found.metric)[0], abs=1e-12)
    assert row.matrix_trace == pytest.approx(np.trace(found.metric), rel=1e-12)


@pytest.mark.parametrize("set_name", SETS)
@pytest.mark.parametrize("name", sorted(OBJECTIVES.keys() - {"NCA"}))  # which has none
def test_a_metric_has_the_same_certificate(
    name: str, set_name: str, wide: Callable[[], None]
) -> None:
    """Also the allowance for round-off, but for the form that bounds the largest entry."""
    metric = gda.solve(problem(name, set_name), tolerance=1e-3).sparse_metric
    dense = gda.certify(problem(name, set_name), metric.toarray())
    wide()
    found = gda.certify(problem(name, set_name), metric)
    assert found.bound == dense.bound
    assert found.objective == pytest.approx(dense.objective, rel=1e-12)
    assert found.lower_bound == pytest.approx(
        dense.lower_bound, rel=1e-12, abs=1e-12 * abs(dense.objective)
    )
    assert 0.7 * dense.round_off <= found.round_off <= 2 * dense.round_off


def test_prices_are_rounded_as_the_largest_entry(
    wide: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone: the metric is ρI, the gradient is exact, and the least price is next to 0."""
    given, floor = problem("GLR"), SETS["graph"].min_eigenvalue
    largest = np.abs(given.objective.gradient(floor * np.eye(SIZE))).max()
    wide()
    whole = ManyFeatures(given)
    member = member_at(whole, floor * eye_array(SIZE, format="csr"))
    exact = RoundOff(0.0, np.zeros(SIZE))
    monkeypatch.setattr(whole.objective, "round_off", lambda *_: exact)
    vars(member)["prices"] = Prices(no_edges(), np.array([-1e-300]))
    assert member.tangent().gap_round_off >= 16 * 2.0**-53 * whole.budget * largest


@pytest.mark.parametrize("name", OBJECTIVES)
def test_sparse_samples_have_the_same_values(name: str) -> None:
    """They need not be many features, and no centring makes them dense."""
    X = samples()
    X[np.random.default_rng(1).random(X.shape) < 0.6] = 0.0
    dense, sparse = OBJECTIVES[name](X), OBJECTIVES[name](csr_array(X))
    rng = np.random.default_rng(2)
    metric = np.diag(rng.uniform(1, 2, SIZE))
    metric[3, 8] = metric[8, 3] = -0.5
    there, here = dense.at(metric), sparse.at(csr_array(metric))
    assert here.value == pytest.approx(there.value, rel=1e-12)
    scale = np.abs(there.gradient()).max()
    np.testing.assert_allclose(here.gradient(), there.gradient(), atol=1e-12 * scale)
    np.testing.assert_allclose(sparse.gradient(metric), there.gradient(), atol=1e-12 * scale)
    assert sparse.value(metric) == pytest.approx(there.value, rel=1e-12)
    exact, stated = there.round_off(), here.round_off()
    assert abs(here.value - there.value) <= exact.value + stated.value
    both = np.multiply.outer(exact.gradient, exact.gradient)
    both += np.multiply.outer(stated.gradient, stated.gradient)
    assert (np.abs(here.gradient() - there.gradient()) <= both).all()
    options: dict[str, Any] = {"tolerance": 1e-9, "max_iterations": 60}
    optima = [
        gda.solve(gda.MetricProblem(objective, SETS["sdd"]), **options)
        for objective in (dense, sparse)
    ]
    assert optima[1].status == optima[0].status
    if name != "NCA":
        assert optima[1].objective == pytest.approx(optima[0].objective, rel=1e-8)


def test_a_limit_ends_a_run_with_its_bound(wide: Callable[[], None]) -> None:
    """Of steps, by the callback or of time; and a loop over states ends there."""
    optimum = gda.solve(problem("MCML"), tolerance=1e-9).objective
    wide()
    whole = problem("MCML")
    found = gda.solve(whole, max_iterations=2)
    assert (found.status, found.iterations) == ("iteration_limit", 2)
    assert found.lower_bound is not None
    assert found.lower_bound <= optimum <= found.objective
    assert len(list(gda.iterate(whole, max_iterations=2))) == 3
    seen: list[gda.methods.State] = []

    def note(state: gda.methods.State) -> bool:
        seen.append(state)
        return len(seen) < 2

    found = gda.solve(whole, callback=note)
    assert (found.status, len(seen)) == ("interrupted", 2)
    assert found.lower_bound is not None
    assert found.lower_bound <= optimum
    assert seen[-1].features is not None
    assert len(seen[-1].metric) == len(seen[-1].features)
    found = gda.solve(whole, time_limit=1e-9)
    assert (found.status, found.iterations) == ("time_limit", 0)


def test_an_interrupt_between_runs_ends_with_what_there_is(
    wide: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide()

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(search.Search, "look", stop)
    with pytest.raises(KeyboardInterrupt):
        gda.solve(problem("MCML"))
    found = gda.solve(
        problem("MCML"),
        on_interrupt="return",
        keep_iterates=True,
        trace_columns={
            "steps": lambda state: state.iteration,
            "n": lambda state: state.features[-1],
        },
    )
    assert found.status == "interrupted"
    assert found.objective < found.trace[0].objective
    assert found.trace.iterates is not None
    np.testing.assert_allclose(found.trace.iterates[-1], found.metric, atol=1e-12)
    # Functions of the user see the features that a state is of, and count on from earlier runs.
    assert found.trace.column("steps").tolist() == found.trace.column("iteration").tolist()
    assert found.features is not None
    assert found.trace.column("n")[-1] >= found.features[-1]


def test_many_features_of_an_optimum_are_refused_in_the_end(
    wide: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide()
    for name, number in (("_FEW", 3), ("_MOST", 4)):
        monkeypatch.setattr(search, name, number)
    found = gda.solve(problem("MCML"), tolerance=1e-7)
    assert found.status == "slow_progress"
    assert "over 4 features at a time" in found.message
    assert found.lower_bound is not None


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_sparse_metric_has_the_same_values(name: str) -> None:
    objective, metric = OBJECTIVES[name](samples()), np.diag(np.linspace(1, 2, SIZE))
    metric[3, 8] = metric[8, 3] = -0.5
    there, here = objective.at(metric), objective.at(csr_array(metric))
    assert here.value == pytest.approx(there.value, rel=1e-12)
    np.testing.assert_array_equal(here.metric, metric)
    exact, stated = there.round_off(), here.round_off()
    assert stated.value == pytest.approx(exact.value, rel=1e-9)
    np.testing.assert_allclose(stated.gradient, exact.gradient, rtol=1e-9)
    with pytest.raises(InvalidInputError, match="as arrays"):
        here.line(DiagonalDirection(np.ones(SIZE)))
    with pytest.raises(InvalidInputError, match="as arrays"):
        here.curvature(ATOMS)
    metric[3, 8] = 0.0
    with pytest.raises(InvalidInputError, match="metric must be symmetric"):
        objective.at(csr_array(metric))


def test_a_wide_run_makes_no_square_array() -> None:
    """Of 8,000 features one such array would have 512 MB."""
    X = samples(size=8000)

    def solved() -> None:
        whole = gda.MetricProblem(gda.GLR(X, LABELS), gda.GraphMetrics(8000.0))
        found = gda.solve(whole, tolerance=1e-6)
        assert found.status == "converged"
        assert found.atoms.shape[1] == 8000
        certificate = gda.certify(whole, found.sparse_metric)
        assert certificate.lower_bound == pytest.approx(found.lower_bound, rel=1e-9)

    assert traced_peak(solved) < 8000**2 * 8 / 4


@pytest.mark.parametrize("set_name", SETS)
@pytest.mark.parametrize("name", ["GLR", "MCML", "hinge"])
def test_missing_features_join(
    name: str, set_name: str, wide: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that begins with two features ends with the optimum of all."""
    dense = gda.solve(problem(name, set_name), tolerance=1e-7)
    wide()
    monkeypatch.setattr(search, "_FEW", 2)
    states = list(gda.iterate(problem(name, set_name), tolerance=1e-7))
    first, last = states[0].features, states[-1].features
    assert first is not None
    assert last is not None
    assert len(first) == 2
    assert set(last.tolist()) - set(first.tolist())
    found = gda.solve(problem(name, set_name), tolerance=1e-7)
    assert found.status == "converged"
    assert found.objective == pytest.approx(dense.objective, rel=2e-7)
    assert found.iterations == states[-1].iteration
    assert [state.iteration for state in states] == list(range(len(states)))
    calls = found.trace.column("oracle_calls")  # of all runs so far
    assert (np.diff(calls) >= 0).all()
    assert calls[-1] <= found.oracle_calls
    assert states[-1].objective == pytest.approx(found.objective, rel=1e-9)


def test_some_of_the_features_keep_the_model_of_second_derivatives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pair_objective, "MANY_PAIRS", 10)
    X = samples()
    gram = X[:, 5:] @ X[:, 5:].T
    few = gda.GLR(X, LABELS).of_features(np.arange(5), gram)
    sample = few.curvature_sample
    assert sample is not None
    metric = np.eye(5)
    whole = gda.GLR(X, LABELS).value(np.eye(SIZE))
    assert few.value(metric) == pytest.approx(whole, rel=1e-12)
    assert sample.value(metric) == pytest.approx(whole, rel=0.2)


def test_a_result_file_has_no_square_array(tmp_path: Path, wide: Callable[[], None]) -> None:
    wide()
    found = gda.solve(problem("GLR"))
    loaded = gda.Result.load(found.save(tmp_path / "wide"))
    assert loaded == found
    np.testing.assert_array_equal(loaded.metric, found.metric)
    with np.load(tmp_path / "wide.npz") as archive:
        assert max(archive[name].size for name in archive.files) < SIZE**2 / 2
    warm = gda.solve(problem("GLR"), "certified", warm_start=loaded)
    assert warm.status == "converged"
    assert warm.iterations == 0


@pytest.mark.parametrize("name", ["edges", "atom_features", "atom_starts", "edge_entries"])
def test_a_damaged_file_is_refused(name: str, tmp_path: Path, wide: Callable[[], None]) -> None:
    wide()
    found = gda.solve(problem("GLR"))
    path = found.save(tmp_path / "wide")
    with np.load(path) as archive:
        arrays = {each: archive[each] for each in archive.files}
    damages = [arrays[name][1:], arrays[name] + 1000, arrays[name][::-1]]
    # Other entries of edges may be true, and features in another order are those of other atoms.
    for damaged in damages[: {"edge_entries": 1, "atom_features": 2}.get(name, 3)]:
        np.savez(path, **arrays | {name: damaged})
        with pytest.raises(InvalidInputError, match="not a saved gdaopt result"):
            gda.Result.load(path)
