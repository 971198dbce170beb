"""The certified solver on many samples: nested subsamples, passes over all pairs, and the clock.

What counts as many is made small here.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.methods import context
from gdaopt.methods.certified import _with_gradient_at
from gdaopt.objectives import PairObjective, pair_objective
from gdaopt.objectives.pairs import rectangles
from gdaopt.support import deadline
from gdaopt.support.deadline import Deadline, until
from gdaopt.support.validation import FloatArray
from tests.methods.run_cases import FakeTime

SIZE, N_SAMPLES = 6, 400


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_objective, "MANY_PAIRS", 1000)
    monkeypatch.setattr(pair_objective, "_SMALLEST", 20)
    monkeypatch.setattr("gdaopt.objectives.pairs.pairs._CHUNK", 2**12)


def samples(n_samples: int = N_SAMPLES) -> tuple[FloatArray, Any]:
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, n_samples)
    X = rng.standard_normal((n_samples, SIZE))
    X[:, :2] += 1.5 * np.eye(3)[y][:, :2]
    X[:, 3] = X[:, 0] + 0.5 * rng.standard_normal(n_samples)
    return X, y


def objective(name: str) -> Any:
    X, y = samples()
    made: dict[str, Callable[[], Any]] = {
        "glr": lambda: gda.GLR(X, np.eye(3)[y]),
        "real": lambda: gda.GLR(X, X[:, 0] + X[:, 1] ** 2),
        "mcml": lambda: gda.MCML(X, y),
        "sum": lambda: 0.5 * gda.GLR(X, y) + gda.Ridge(n_features=SIZE),
    }
    return made[name]()


def problem(name: str, feasible_set: type[Any] = gda.GraphMetrics) -> gda.MetricProblem:
    return gda.MetricProblem(objective(name), feasible_set(3.0, 1e-3))


@pytest.mark.parametrize(
    ("name", "feasible_set"),
    [
        ("glr", gda.GraphMetrics),
        ("mcml", gda.GraphMetrics),
        ("real", gda.DiagonalMetrics),
        ("sum", gda.GraphMetrics),
        *(
            pytest.param(name, gda.PositiveDefiniteMetrics, marks=pytest.mark.slow)
            for name in ("glr", "mcml", "sum", "real")
        ),
    ],
)
def test_the_optimum_is_that_of_all_samples(
    name: str, feasible_set: type[Any], request: pytest.FixtureRequest
) -> None:
    expected = gda.solve(problem(name, feasible_set), "certified", tolerance=1e-6)
    request.getfixturevalue("few_are_many")
    found = gda.solve(problem(name, feasible_set), "certified", tolerance=1e-6)
    assert found.status == "converged"
    assert found.trace[1].phase == "sample"
    assert found.lower_bound is not None
    assert expected.lower_bound is not None
    slack = 1e-12 * abs(expected.objective)
    assert found.lower_bound <= expected.objective + slack
    assert expected.lower_bound <= found.objective + slack
    assert found.objective == pytest.approx(problem(name).objective.at(found.metric).value)
    assert found.metric in found.feasible_set


@pytest.mark.parametrize("name", ["glr", "mcml"])
@pytest.mark.usefixtures("few_are_many")
def test_most_evaluations_are_those_of_subsamples(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    original = PairObjective.sums

    def sums(self: Any, metric: FloatArray) -> Any:
        sizes.append(len(self.pairs.features))
        return original(self, metric)

    monkeypatch.setattr(PairObjective, "sums", sums)
    gda.solve(problem(name), "certified", tolerance=1e-4)
    assert sorted(set(sizes)) == pytest.approx([20, 80, N_SAMPLES], abs=2)
    assert sizes.count(N_SAMPLES) <= 15 < len(sizes)


def levels_of(name: str) -> list[Any]:
    levels = [objective(name)]
    while (smaller := levels[-1].subsample()) is not None:
        levels.append(smaller)
    return levels


@pytest.mark.usefixtures("few_are_many")
def test_samples_are_nested_and_always_the_same() -> None:
    signals = [set(level.pairs.log_weight.signal.ravel()) for level in levels_of("real")]
    assert list(map(len, signals)) == [N_SAMPLES, 80, 20]
    assert signals[2] < signals[1] < signals[0]
    assert [set(level.pairs.log_weight.signal.ravel()) for level in levels_of("real")] == signals


@pytest.mark.parametrize("name", ["glr", "mcml", "sum"])
@pytest.mark.usefixtures("few_are_many")
def test_a_corrected_sample_has_the_gradient_of_all(name: str) -> None:
    whole, metric = problem(name), 0.3 * np.eye(SIZE)
    fewer, point = whole.objective.subsample(), whole.objective.at(metric)
    assert fewer is not None
    corrected = _with_gradient_at(point, whole.with_objective(fewer)).objective
    np.testing.assert_allclose(corrected.gradient(metric), point.gradient(), rtol=1e-9, atol=1e-12)


@pytest.fixture
def clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """A clock that goes on by a second in a pass over all samples, a share of it at each block."""
    found = FakeTime.of(monkeypatch, deadline, context)
    n_pairs = objective(request.node.callspec.params["name"]).pairs.n_pairs
    original = rectangles.RectanglePairs.products

    def products(self: Any, *given: Any) -> Iterator[FloatArray]:
        for block in original(self, *given):
            found.advance(block.size / n_pairs)
            yield block

    monkeypatch.setattr(rectangles.RectanglePairs, "products", products)
    monkeypatch.setattr("gdaopt.support.resources._n_threads", lambda: 1)
    return found


@pytest.mark.parametrize("name", ["glr", "mcml"])
@pytest.mark.parametrize("limit", [0.5, 3.5, 5.3, 7.1, 9.9])
@pytest.mark.usefixtures("few_are_many")
def test_at_most_one_evaluation_after_the_limit(name: str, limit: float, clock: FakeTime) -> None:
    asked = problem(name)
    asked.objective.at(np.eye(SIZE)).gradient()
    evaluation, clock.now = clock.now, 0.0
    result = gda.solve(asked, "certified", tolerance=0, time_limit=limit)
    assert result.status == "time_limit"
    of_sample = 1 / 16  # of the pairs, at most: its evaluation may have begun before the limit
    assert clock.now <= max(limit, evaluation) + evaluation + of_sample
    assert result.lower_bound is not None
    assert result.lower_bound <= result.objective
    assert result.metric in result.feasible_set


@pytest.mark.parametrize("name", ["glr", "mcml"])
@pytest.mark.usefixtures("few_are_many")
def test_a_pass_asks_the_clock_in_each_tile(name: str, clock: FakeTime) -> None:
    asked = objective(name)
    n_tiles = len(asked.pairs.tiles)
    with until(Deadline.after(1e6)):
        clock.n_readings = 0
        asked.at(np.eye(SIZE)).gradient()
    assert clock.n_readings >= n_tiles
    with until(Deadline(at=clock.now + 0.5, time_limit=0.5)):
        start = clock.now
        with pytest.raises(gda.errors.TimeLimitError):
            asked.at(np.eye(SIZE)).gradient()
    assert clock.now - start <= 0.5 + 2 / n_tiles + 0.1
