"""Every objective against its formula, and against all that the interface promises."""

import itertools
import math
import pickle
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.directions import DenseDirection, DiagonalDirection
from gdaopt.linalg.entries import all_edges, pairs_of
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric, traced_peak
from tests.objectives.cases import (
    CASES,
    EVERY,
    GLR_CASES,
    MATRIX_CASES,
    SIGNALS,
    STORAGE,
    Case,
    K,
    assert_near,
    atoms_of,
    directions,
    stored,
    within,
)

CONES = ["log det", "indefinite log det", "GMML", "sum", "dense", "cvxpy"]
"""Objectives that are infinite where a metric is not positive definite."""


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture
def metric(rng: np.random.Generator) -> FloatArray:
    return random_metric(rng, K)


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(params=EVERY)
def make(request: pytest.FixtureRequest) -> Callable[[], Any]:
    return EVERY[request.param]


@pytest.fixture(params=STORAGE)
def objective(case: Case, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    return stored(request.param, case, monkeypatch)


class TestEvery:
    @pytest.mark.parametrize("name", MATRIX_CASES)
    def test_contract(self, name: str) -> None:
        """Those of pairs are below, by each storage."""
        gda.check_objective(EVERY[name](), n_metrics=2)

    def test_points_are_snapshots(self, make: Callable[[], Any], metric: FloatArray) -> None:
        objective, given = make(), metric.copy()
        point, expected = objective.at(given), objective.value(metric)
        given[:] = 7.0
        assert point.value == expected
        np.testing.assert_array_equal(point.metric, metric)
        assert point.degenerate_reason() is None
        with pytest.raises(ValueError, match="read-only"):
            point.metric[0, 0] = 1.0

    @pytest.mark.parametrize("name", sorted(EVERY.keys() - {"function", "cvxpy"}))  # of lambdas
    def test_copies(self, name: str, metric: FloatArray) -> None:
        objective = EVERY[name]()
        copied = pickle.loads(pickle.dumps(objective))
        assert copied.value(metric) == objective.value(metric)
        np.testing.assert_array_equal(copied.gradient(metric), objective.gradient(metric))

    @pytest.mark.parametrize(
        "wrong", [np.eye(K + 1), np.full((K, K), np.nan), np.triu(np.ones((K, K)))]
    )
    def test_metrics_are_checked(self, make: Callable[[], Any], wrong: FloatArray) -> None:
        with pytest.raises(gda.errors.InvalidInputError, match="metric"):
            make().at(wrong)

    def test_gradient_is_lipschitz(self, make: Callable[[], Any], rng: np.random.Generator) -> None:
        objective, floor = make(), 0.1
        constant = objective.lipschitz(floor)
        if constant is None:
            assert isinstance(objective, gda.LSML | gda.DenseObjective)
            return
        if isinstance(objective, gda.LogDet | gda.GMML | gda.DEML):
            assert objective.lipschitz(0.0) is None
        for size in (1.0, 1e-2):
            one, other = (
                size * random_metric(rng, K) * rng.random() + floor * np.eye(K) for _ in range(2)
            )
            change = np.linalg.norm(objective.gradient(one) - objective.gradient(other))
            assert change <= constant * np.linalg.norm(one - other) * (1 + 1e-9) + 1e-12

    @pytest.mark.parametrize(
        "name", sorted(EVERY.keys() - {"dense", "nearest"})
    )  # without expressions
    def test_for_cvxpy(self, name: str, metric: FloatArray) -> None:
        objective = EVERY[name]()
        if not objective.convex:
            pytest.skip("CVXPY writes convex functions only")
        variable = cp.Variable((K, K), symmetric=True)
        for log in (False, True) if objective.log_convex else (False,):
            convert = objective.log_to_cvxpy if log else objective.to_cvxpy
            expression, constraints = convert(variable)
            assert expression.is_dcp()
            assert expression.is_convex()
            assert all(constraint.is_dcp() for constraint in constraints)
            variable.value = metric
            if constraints:  # only equations for the expression's own variables
                problem = cp.Problem(cp.Minimize(expression), [*constraints, variable == metric])
                problem.solve(solver="CLARABEL")
            found = np.exp(expression.value) if log else expression.value
            assert found == pytest.approx(objective.value(metric), rel=1e-5, abs=1e-6)
        if isinstance(objective, gda.objectives.PairObjective):
            assert objective.conic_bytes() > 0


@pytest.mark.parametrize(
    ("objective", "start", "direction"),
    [
        (gda.GLR([[0.0, 0.0], [1.0, 2.0]], [1, -1]), 0.1 * np.eye(2), np.outer([1, 2], [1, 2])),
        (gda.LogDet(np.eye(2)), np.diag([0.1, 1.0]), np.diag([1, 0])),
    ],
)
def test_lipschitz_constants_are_attained(
    objective: Any, start: FloatArray, direction: FloatArray
) -> None:
    move = 1e-6 * direction
    change = objective.gradient(start + move) - objective.gradient(start)
    ratio = np.linalg.norm(change) / np.linalg.norm(move)
    assert ratio == pytest.approx(objective.lipschitz(0.1), rel=1e-4)


@pytest.mark.parametrize("name", MATRIX_CASES)
def test_values_and_gradients_of_matrices(name: str, rng: np.random.Generator) -> None:
    make, formula = MATRIX_CASES[name]
    objective = make()
    for decades in (0.0, 2.0):
        metric = random_metric(rng, K, decades=decades)
        assert objective.value(metric) == pytest.approx(formula(metric), rel=1e-12)
        gradient = objective.gradient(metric)
        np.testing.assert_array_equal(gradient, gradient.T)
        for _ in range(3):
            step = 1e-6 * random_metric(rng, K) * float(np.linalg.eigvalsh(metric)[0])
            near, far = (formula(metric + n * step) - formula(metric - n * step) for n in (1, 2))
            scale = np.abs(gradient * step).sum() + 1e-9 * abs(formula(metric))
            assert np.vdot(gradient, step) == pytest.approx((8 * near - far) / 12, abs=1e-5 * scale)


@pytest.mark.parametrize("name", CONES)
@pytest.mark.parametrize("smallest", [0.0, -1e-9, -3.0])
def test_outside_of_the_cone(name: str, smallest: float, rng: np.random.Generator) -> None:
    basis, _ = np.linalg.qr(rng.standard_normal((K, K)))
    metric = (basis * [1, 2, 3, smallest]) @ basis.T if smallest else np.diag([1.0, 1, 1, 0])
    objective = EVERY[name]()
    point = objective.at((metric + metric.T) / 2)
    assert point.value == np.inf
    assert point.degenerate_reason() is not None
    if name == "dense":
        return
    assert not np.isfinite(point.gradient()).any()
    assert point.line(directions(rng)[0]).value(0.0) == np.inf


@pytest.mark.parametrize("name", CONES[:4])
def test_lines_leave_the_cone(name: str, rng: np.random.Generator, metric: FloatArray) -> None:
    """At the inverses of the eigenvalues of ``-M⁻¹D`` all is infinite, and before it is not."""
    point = EVERY[name]().at(metric + np.eye(K))
    for direction in directions(rng):
        matrix = direction.added_to(np.zeros((K, K)), 1.0)
        rates = np.linalg.eigvals(np.linalg.solve(point.metric, matrix)).real
        line = point.line(direction)
        assert line.direction is direction
        outer = [rates.max()] if rates.max() > 1e-9 else []  # the step to -1 / rate is negative
        outer += [rates.min()] if rates.min() < -1e-9 else []
        for end in -1 / np.array(outer):
            assert np.isfinite(line.value(0.999999 * end))
            slope, curvature = line.derivatives(0.999999 * end)
            assert np.sign(slope) == np.sign(end)
            assert curvature > 1e6
            for gamma in (1.000001 * end, 100 * end):
                assert line.value(gamma) == np.inf
                assert not np.isfinite(line.derivatives(gamma)[0])


class TestPairs:
    """Objectives of distances, whether their numbers are kept or not."""

    def test_contract(self, objective: Any) -> None:
        """Lines, moves and curvatures among the rest."""
        gda.check_objective(objective, n_metrics=2)

    def test_value_and_gradient(self, objective: Any, case: Case, metric: FloatArray) -> None:
        point = objective.at(metric)
        assert point.value == pytest.approx(case.value(metric), rel=1e-12)
        gradient = point.gradient()
        np.testing.assert_array_equal(gradient, gradient.T)
        assert_near(gradient, case.gradient(metric), 1e-8)
        every, scatter = np.arange(K), objective.at(metric).sums.scatter
        scale = objective.loss.sign * point.sums.scale
        for pairs in (every, np.full(K, 1)), (every, every), pairs_of(K, all_edges(K)):
            assert_near(scale * scatter.entries(*pairs), gradient[pairs])

    @pytest.mark.covering(1)
    def test_many_moves(self, objective: Any, metric: FloatArray, rng: np.random.Generator) -> None:
        """Round-off does not add up: every 64 moves the distances are computed anew."""
        point = objective.at(metric)
        for _, direction in zip(range(100), itertools.cycle(directions(rng)), strict=False):
            back = DenseDirection(random_metric(rng, K) - point.metric)
            point = point.line(back).at(0.2).line(direction).at(0.02)
            fresh = objective.at(point.metric.copy())
            assert point.value == pytest.approx(fresh.value, rel=1e-11)
            assert_near(point.gradient(), fresh.gradient(), 1e-11)
        point = point.line(direction).at(1e6).line(direction).at(-1e6)
        for _ in range(65):
            point = point.line(direction).at(0.0)
        assert point.value == pytest.approx(objective.value(point.metric.copy()), rel=1e-13)


@pytest.mark.parametrize("case", GLR_CASES.values(), ids=GLR_CASES)
class TestLogarithms:
    """Of the regulariser, the only objective whose logarithm is convex."""

    def test_derivatives(
        self, objective: gda.GLR, metric: FloatArray, rng: np.random.Generator
    ) -> None:
        point = objective.at(metric)
        value, gradient, logarithm = point.value, point.gradient(), point.logarithm()
        assert objective.log_value(metric) == logarithm.value
        assert logarithm.value == pytest.approx(math.log(value), rel=1e-13)
        for kind in ("dense", "two-sparse"):
            atoms = atoms_of(kind, rng)
            slopes = atoms.quadratic_forms(gradient) / value
            assert_near(logarithm.slopes(atoms), slopes)
            curvature = point.curvature(atoms) / value - np.outer(slopes, slopes)
            assert_near(logarithm.curvature(atoms), curvature, 1e-10)

    def test_balance_of_lines(self, objective: Any, metric: FloatArray) -> None:
        """``φ' = (e^h - 1) f``: h and the slope have one sign, and h' is its derivative."""
        line = objective.at(metric).line(DiagonalDirection(np.array([1.0, -0.5, 0.3, 0.0])))
        for gamma in (-0.1, 0.0, 0.2):
            h, rate = line.balance(gamma)
            assert np.sign(h) == np.sign(line.derivatives(gamma)[0])
            ends = [line.balance(gamma + step)[0] for step in (-1e-5, 1e-5)]
            assert rate == pytest.approx((ends[1] - ends[0]) / 2e-5, rel=1e-6)
        falling = objective.at(metric).line(DiagonalDirection(np.ones(K)))
        assert falling.balance(0.0)[0] == -math.inf


@pytest.mark.parametrize("make", [gda.MCML, gda.NCA, gda.LogisticPairs, gda.GLR])
def test_entries_of_masks(make: Callable[..., Any]) -> None:
    """With few edges no whole gradient is computed, and a point answers for several masks."""
    rng, size = np.random.default_rng(4), 60
    X, y = rng.standard_normal((20, size)) / size, np.resize([1.0, -1.0], 20)
    X[:, 5] = 1.0
    objective = make(X, y)
    point, gradient = objective.at(np.eye(size)), objective.gradient(np.eye(size))
    edges = pairs_of(size, (np.array([0, 3]), np.array([1, 50])))
    for pairs in edges, (np.array([2]), np.array([3])), (np.arange(size), np.full(size, 7)):
        entries = point.gradient_entries(*pairs)
        assert point._gradient is None
        assert_near(entries, gradient[pairs], 1e-10)
    assert point.degenerate_reason() is None  # though one of the features is constant


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "name",
    ["MCML", "NCA", "LMNN", "logistic", "hinge", "DEML", *(f"GLR, {signal}" for signal in SIGNALS)],
)
def test_order_place_and_units_of_the_samples_have_no_meaning(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case, metric, factor = CASES[name], random_metric(rng, K), 10 ** rng.uniform(-6, 6)
    X = rng.standard_normal(case.X.shape)
    order = rng.permutation(len(X))
    one, other = case.make(X, case.y), case.make(factor * (X[order] + 7.0), case.y[order])
    assert other.value(metric / factor**2) == pytest.approx(one.value(metric), rel=1e-10)
    assert_near(other.gradient(metric / factor**2) / factor**2, one.gradient(metric), 1e-10)


@pytest.mark.parametrize("name", ["MCML", "NCA", "logistic", "hinge", "DEML"])
def test_many_classes(name: str, metric: FloatArray) -> None:
    """More classes than there are rectangles for."""
    X, y = np.random.default_rng(5).standard_normal((40, K)), np.arange(40) % 20
    expected = CASES[name].value(metric, X=X, y=y)
    assert CASES[name].make(X, y).value(metric) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["MCML", "NCA", "LMNN", "logistic"])
def test_memory_does_not_grow_with_the_pairs(name: str) -> None:
    """Value, gradient and round-off of 2500 samples hold no number for each of the pairs."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2500, 5)), np.arange(2500) % 2

    def evaluate() -> None:
        point = within(2**20, lambda: CASES[name].make(X, y)).at(0.2 * np.eye(5))
        assert np.isfinite(point.gradient()).all()
        assert point.round_off().value < 1e-9

    assert traced_peak(evaluate) < 0.5 * 8 * 2500**2
