"""The master problem: the best weights of given atoms."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.master.master_point import MasterFunction, MasterPoint
from gdaopt.master.weights import descend, find_best_weights
from gdaopt.support.validation import FloatArray
from tests.helpers import generators, properties
from tests.master.cases import evaluate, random_atoms

ROOMY, NONE = 2**30, 1  # memory for the Hessian: Newton's method, or the first-order one
both_ways = pytest.mark.parametrize("memory_limit", [ROOMY, NONE], ids=["newton", "first order"])


@dataclass(frozen=True, eq=False)
class Master:
    """A master problem, at its start."""

    objective: gda.GLR | gda.LogDet
    atoms: Atoms
    start: MasterPoint
    total_weight: float

    @classmethod
    def random(cls, rng: np.random.Generator, size: int, kind: str, share: float = 1.0) -> Master:
        """With 2K atoms, whose weights have a share of the total weight."""
        objective: gda.GLR | gda.LogDet
        if kind == "glr":
            X = rng.standard_normal((30, size)) / np.sqrt(2 * size)
            z = np.where(X[:, 0] + 0.1 * rng.standard_normal(30) > 0, 1.0, -1.0)
            z[0], z[1] = 1.0, -1.0
            objective = gda.GLR(X, z)
        else:
            X = rng.standard_normal((3 * size, size))
            objective = gda.LogDet(X.T @ X / len(X))
        total_weight = size * float(rng.choice([0.2, 1.0, 10.0, 40.0]))
        atoms = random_atoms(rng, 2 * size, size)
        base, weights = objective.at(1e-3 * np.eye(size)), np.full(2 * size, share * total_weight)
        log = objective.log_convex
        start = evaluate(base, atoms, weights / (2 * size), total_weight, log=log)
        return cls(objective, atoms, start, total_weight)

    def gap(self, point: MasterPoint) -> float:
        """An upper bound of how far the value is above its minimum."""
        gradient = point.gradient
        least = min(0.0, float(gradient.min()))
        return float(point.weights @ gradient) - self.total_weight * least

    def solved(self, reduction: float, memory_limit: int = ROOMY) -> tuple[MasterPoint, int]:
        return find_best_weights(self.start, reduction, memory_limit)


class TestFindBestWeights:
    @properties(25)
    @given(generators, st.sampled_from([1, 3, 8]), st.sampled_from([0.0, 0.4, 1.0]))
    @both_ways
    @pytest.mark.parametrize("kind", ["glr", "log det"])
    def test_reduces_the_gap_as_asked(
        self, kind: str, memory_limit: int, rng: np.random.Generator, size: int, share: float
    ) -> None:
        master = Master.random(rng, size, kind, share)
        for reduction in (0.1, 1e-5):
            point, n_steps = master.solved(reduction, memory_limit)
            assert point.weights.min() >= 0
            assert point.weights.sum() <= master.total_weight * (1 + 1e-12)
            assert point.value <= master.start.value
            allowed = reduction * master.gap(master.start)
            assert master.gap(point) <= allowed + 1e-12 * abs(point.value)
            assert memory_limit == ROOMY or n_steps == 0

    @both_ways
    @pytest.mark.parametrize("seed", [49, 77, 80, 84, 183])
    def test_the_value_does_not_rise_where_the_slope_at_the_start_dwarfs_all_others(
        self, seed: int, memory_limit: int
    ) -> None:
        """Next to a singular metric: secants then hardly shrink the bracket of the line search."""
        master = Master.random(np.random.default_rng(seed), 3, "log det", 0.0)
        for reduction in (0.5, 0.1):
            assert master.solved(reduction, memory_limit)[0].value <= master.start.value

    def test_the_memory_limit_counts_the_hessian_and_its_copies(self) -> None:
        master = Master.random(np.random.default_rng(0), 3, "glr")
        needed = 8 * 4 * (len(master.start.weights) + 1) ** 2
        assert master.solved(1e-3, needed)[1] > 0
        assert master.solved(1e-3, needed - 1)[1] == 0


@both_ways
@pytest.mark.parametrize("size", [1e-80, 1e-160, 1e-250])
def test_weights_whose_squares_underflow_are_0(size: float, memory_limit: int) -> None:
    """The slope along a step is 0 then, and no step would be taken; any share of 0 is 0."""
    objective, atoms = gda.Ridge(2), Atoms.of_features(np.arange(2))
    start = evaluate(objective.at(np.zeros((2, 2))), atoms, size * np.array([1.0, 0.5]), 1.0)
    best, _ = find_best_weights(start, 0.0, memory_limit)
    assert best.weights.tolist() == [0, 0]


@both_ways
def test_weights_are_not_0_where_that_is_worse(memory_limit: int) -> None:
    """However small they are: the optimum is 1e-90, and 0 is outside of the domain."""
    objective, atoms = gda.LogDet(1e90 * np.eye(2)), Atoms.of_features(np.arange(2))
    start = evaluate(objective.at(np.zeros((2, 2))), atoms, 1e-90 * np.array([3.0, 0.5]), 1.0)
    best, _ = find_best_weights(start, 1e-9, memory_limit)
    assert best.value <= start.value


@pytest.mark.parametrize("waves", np.linspace(1.05, 1.2, 4))
def test_a_line_search_does_not_end_beyond_a_hump(waves: float) -> None:
    """There the objective falls again at the end of the step, but is higher than at the start."""

    def wave(metric: FloatArray) -> tuple[float, FloatArray]:
        t, angle = metric[0, 0], 2 * np.pi * waves
        value = 0.3 * t - 0.2 * np.sin(angle * t)
        return value, np.array([[0.3 - 0.2 * angle * np.cos(angle * t)]])

    objective = gda.FunctionObjective(wave, n_features=1, convex=False)
    base, atoms = objective.at(np.zeros((1, 1))), Atoms.of_features(np.arange(1))
    start = MasterFunction(base, atoms, convex=False).at(np.array([0.0, 1.0]))
    end = start.function.at(np.array([1.0, 0.0]))
    assert float(end.slope @ np.array([1.0, -1.0])) < 0 < end.value - start.value
    found = descend(start, end.x)
    assert found.value < start.value - 0.01


@pytest.mark.parametrize(
    ("promised", "rise", "is_whole"),
    [(0.4, 0.9, True), (0.4, 1.1, False), (1.5, 0.9, False), (2.5, 0.9, False)],
)
def test_a_step_that_promises_less_than_round_off_is_taken_whole(
    promised: float, rise: float, is_whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slopes along it are noise, but for one at the end that is larger than that at the start."""
    objective, atoms = gda.LogDet(np.diag([2.0, 0.5])), Atoms.of_features(np.arange(2))
    start = evaluate(objective.at(np.zeros((2, 2))), atoms, np.array([0.5, 2.0]), 3.5)
    start = replace(start, slope=np.array([-promised * start.round_off, 0.0, 0.0]))
    end = start.x + np.array([1.0, 0.0, -1.0])
    n_tried = 0

    def at(_function: MasterFunction, x: FloatArray) -> MasterPoint:
        nonlocal n_tried
        n_tried += 1
        return replace(start, x=x, slope=-rise * start.slope)

    monkeypatch.setattr(MasterFunction, "at", at)
    found = descend(start, end)
    assert (n_tried == 1) == is_whole
    assert np.array_equal(found.x, end) == is_whole
