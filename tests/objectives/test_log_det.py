"""The log-determinant objective against NumPy, and its optima against what is known of them."""

import math

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import (
    AtomsDirection,
    ColumnDirection,
    DenseDirection,
    DiagonalDirection,
    Direction,
)
from gdaopt.linalg.laplacian import generalized_laplacian
from gdaopt.objectives.log_det import LogDetPoint
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from tests.certificate_cases import SETS, named_set
from tests.helpers import PROPERTY, generators, random_metric, random_symmetric

K = 5
DIRECTIONS = ["diagonal", "column", "two-sparse atoms", "dense atoms", "dense"]


def random_covariance(rng: np.random.Generator, size: int, n_samples: int = 0) -> FloatArray:
    samples = rng.standard_normal((n_samples or 3 * size, size))
    return np.asarray(samples.T @ samples / len(samples))


def expected_value(S: FloatArray, metric: FloatArray) -> float:
    sign, log_det = np.linalg.slogdet(metric)
    return float(np.trace(S @ metric) - log_det) if sign > 0 else math.inf


def unit_vectors(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    vectors = rng.standard_normal(shape)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def direction_of(kind: str, rng: np.random.Generator) -> Direction:
    """Return a direction of indefinite sign, of norm about 0.1."""
    change = 0.05 * rng.standard_normal(K)
    support = np.array([[0, 2], [3, 3], [4, 1]])
    directions: dict[str, Direction] = {
        "diagonal": DiagonalDirection(change),
        "column": ColumnDirection(1, np.where(np.arange(K) == 1, 0.0, change)),
        "two-sparse atoms": AtomsDirection(
            np.array([0.1, -0.07, 0.05]),
            Atoms(support, np.array([[0.6, -0.8], [1.0, 0.0], [0.8, 0.6]])),
        ),
        "dense atoms": AtomsDirection(
            np.array([0.1, -0.05]), Atoms.of_vectors(unit_vectors(rng, (2, K)))
        ),
        "dense": DenseDirection(0.05 * random_symmetric(rng, K)),
    }
    return directions[kind]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def point(rng: np.random.Generator) -> LogDetPoint:
    return gda.LogDet(random_covariance(rng, K)).at(random_metric(rng, K) + 0.5 * np.eye(K))


class TestPoint:
    @pytest.mark.parametrize("size", [1, 2, 6])
    def test_keeps_the_contract(self, size: int, rng: np.random.Generator) -> None:
        gda.check_objective(gda.LogDet(random_covariance(rng, size)))

    @PROPERTY
    @given(rng=generators, size=st.integers(1, 12), decades=st.floats(0, 6))
    def test_value_and_gradient(self, rng: np.random.Generator, size: int, decades: float) -> None:
        S = random_covariance(rng, size) * 10**decades
        metric = random_metric(rng, size, decades=decades)
        log_det = gda.LogDet(S)
        inverse = np.linalg.inv(metric)
        condition = float(np.linalg.cond(metric))
        scale = abs(np.trace(S @ metric)) + condition
        assert log_det.value(metric) == pytest.approx(expected_value(S, metric), abs=1e-13 * scale)
        gradient = log_det.gradient(metric)
        assert (gradient == gradient.T).all()
        tolerance = 1e-14 * condition * np.abs(inverse).max() + 1e-14 * np.abs(S).max()
        np.testing.assert_allclose(gradient, S - inverse, rtol=0, atol=tolerance)
        assert log_det.at(metric).value == log_det.value(metric)

    def test_parts_of_the_gradient(self, point: LogDetPoint) -> None:
        gradient = point.objective.covariance - np.linalg.inv(point.metric)
        np.testing.assert_allclose(point.gradient_diagonal(), np.diagonal(gradient), rtol=1e-12)
        for column in range(K):
            np.testing.assert_allclose(point.gradient_column(column), gradient[:, column], 1e-12)

    def test_gradient_by_differences(self, point: LogDetPoint) -> None:
        log_det, step = point.objective, 1e-5
        for i in range(K):
            for j in range(i + 1):
                entry = np.zeros((K, K))
                entry[i, j] = entry[j, i] = step
                rise = log_det.value(point.metric + entry) - log_det.value(point.metric - entry)
                slope = np.vdot(point.gradient(), entry / step)
                assert rise / (2 * step) == pytest.approx(slope, abs=1e-7)

    @pytest.mark.parametrize("is_dense", [False, True])
    def test_curvature(self, is_dense: bool, point: LogDetPoint, rng: np.random.Generator) -> None:
        support = rng.integers(K, size=(6, 2))
        atoms = Atoms(support, unit_vectors(rng, (6, 2)))
        if is_dense:
            atoms = Atoms.of_vectors(unit_vectors(rng, (6, K)))
        vectors = atoms.dense(K)
        curvature = point.curvature(atoms)
        expected = (vectors @ np.linalg.inv(point.metric) @ vectors.T) ** 2
        np.testing.assert_allclose(curvature, expected, rtol=1e-10, atol=1e-13)
        step = 1e-5
        for k, u in enumerate(vectors):
            change = step * np.outer(u, u)
            ahead = point.objective.gradient(point.metric + change)
            behind = point.objective.gradient(point.metric - change)
            difference = atoms.quadratic_forms((ahead - behind) / (2 * step))
            np.testing.assert_allclose(curvature[k], difference, rtol=1e-6, atol=1e-8)

    @pytest.mark.parametrize("factor", [1e-3, 1.0, 1 + 1e-12, 20.0])
    def test_multiples(self, factor: float, point: LogDetPoint) -> None:
        scaled, expected = point.scaled(factor), point.objective.at(factor * point.metric)
        np.testing.assert_array_equal(scaled.metric, expected.metric)
        assert scaled.value == pytest.approx(expected.value, rel=1e-13)
        np.testing.assert_allclose(scaled.gradient(), expected.gradient(), rtol=1e-12, atol=1e-12)
        assert scaled.factor is not None
        assert expected.factor is not None
        np.testing.assert_allclose(scaled.factor, expected.factor, rtol=1e-13)

    def test_there_is_no_logarithm(self, point: LogDetPoint) -> None:
        assert point.objective.log_convex is False

    @pytest.mark.parametrize("smallest", [0.0, -1e-9, -3.0])
    def test_outside_of_the_cone(self, smallest: float, rng: np.random.Generator) -> None:
        basis, _ = np.linalg.qr(rng.standard_normal((K, K)))
        metric = (
            (basis * [1, 2, 3, 4, smallest]) @ basis.T if smallest else np.diag([1.0] * 4 + [0])
        )
        point = gda.LogDet(np.eye(K)).at(metric)
        assert point.value == math.inf
        assert np.isnan(point.gradient()).all()
        message = point.vanished()
        assert message is not None
        assert "not positive definite" in message
        line = point.line(DiagonalDirection(np.ones(K)))
        assert line.value(0.5) == math.inf

    def test_a_usable_point(self, point: LogDetPoint) -> None:
        assert point.vanished() is None

    def test_is_a_snapshot(self, rng: np.random.Generator) -> None:
        S, metric = random_covariance(rng, K), np.eye(K)
        log_det = gda.LogDet(S)
        point = log_det.at(metric)
        S[:] = metric[:] = 7.0
        assert point.value == pytest.approx(np.trace(log_det.covariance))
        with pytest.raises(ValueError, match="read-only"):
            log_det.covariance[0, 0] = 1.0


@pytest.mark.parametrize("kind", DIRECTIONS)
class TestLine:
    @pytest.mark.parametrize("gamma", [0.0, 0.3, -0.8, 1.0])
    def test_values_and_derivatives(
        self, kind: str, gamma: float, point: LogDetPoint, rng: np.random.Generator
    ) -> None:
        direction = direction_of(kind, rng)
        matrix = direction.added_to(np.zeros((K, K)), 1.0)
        there = point.metric + gamma * matrix
        line = point.line(direction)
        assert line.direction is direction
        S, inverse = point.objective.covariance, np.linalg.inv(there)
        assert line.value(gamma) == pytest.approx(expected_value(S, there), rel=1e-12)
        slope, curvature = line.derivatives(gamma)
        assert slope == pytest.approx(np.vdot(S - inverse, matrix), rel=1e-10, abs=1e-13)
        expected = np.trace(inverse @ matrix @ inverse @ matrix)
        assert curvature == pytest.approx(expected, rel=1e-10)
        moved = point.moved(direction, gamma)
        np.testing.assert_allclose(moved.metric, there, rtol=0, atol=1e-15)
        assert moved.value == pytest.approx(line.value(gamma), rel=1e-12)

    def test_outside_of_the_cone(
        self, kind: str, point: LogDetPoint, rng: np.random.Generator
    ) -> None:
        direction = direction_of(kind, rng)
        matrix = direction.added_to(np.zeros((K, K)), 1.0)
        rates = np.linalg.eigvals(np.linalg.solve(point.metric, matrix)).real
        least, most = -1 / rates.max(), -1 / rates.min()
        assert least < 0 < most
        line = point.line(direction)
        for end in (least, most):
            assert math.isfinite(line.value(0.999999 * end))
            slope, curvature = line.derivatives(0.999999 * end)
            assert math.copysign(1, slope) == math.copysign(1, end)
            assert curvature > 1e6
            for gamma in (1.000001 * end, 100 * end):
                assert line.value(gamma) == math.inf
                assert line.derivatives(gamma) == (math.inf, math.inf)


class TestLipschitz:
    @PROPERTY
    @given(rng=generators, size=st.integers(1, 6), rho=st.floats(1e-3, 10))
    def test_bounds_the_gradient(self, rng: np.random.Generator, size: int, rho: float) -> None:
        log_det = gda.LogDet(random_covariance(rng, size))
        constant = log_det.lipschitz(rho)
        assert constant is not None
        assert constant == pytest.approx(rho**-2)
        one, two = (
            rho * (np.eye(size) + 10 ** rng.uniform(-4, 0) * random_metric(rng, size))
            for _ in range(2)
        )
        change = float(np.linalg.norm(log_det.gradient(one) - log_det.gradient(two)))
        assert change <= constant * float(np.linalg.norm(one - two)) * (1 + 1e-6) + 1e-11

    def test_is_attained(self) -> None:
        log_det, rho = gda.LogDet(np.eye(2)), 0.1
        constant = log_det.lipschitz(rho)
        assert constant is not None
        ahead = log_det.gradient(np.diag([rho + 1e-6, 1.0])) - log_det.gradient(np.diag([rho, 1.0]))
        assert np.linalg.norm(ahead) == pytest.approx(1e-6 * constant, rel=1e-4)

    @pytest.mark.parametrize("rho", [0.0, -1.0])
    def test_none_is_known_without_a_smallest_eigenvalue(self, rho: float) -> None:
        assert gda.LogDet(np.eye(2)).lipschitz(rho) is None


class TestExpression:
    def test_value(self, rng: np.random.Generator) -> None:
        log_det = gda.LogDet(random_covariance(rng, K))
        for decades in (0.0, 2.0):
            metric = random_metric(rng, K, decades=decades)
            expression, _ = log_det.to_cvxpy(cp.Constant(metric))
            assert expression.value == pytest.approx(log_det.value(metric), rel=1e-10)

    def test_is_convex_for_cvxpy(self) -> None:
        expression, _ = gda.LogDet(np.eye(K)).to_cvxpy(cp.Variable((K, K), symmetric=True))
        assert expression.is_dcp()
        assert expression.is_convex()


class TestBadInput:
    @pytest.mark.parametrize(
        ("S", "message"),
        [
            (np.diag([1.0, math.nan]), r"S holds nan at index \(1, 1\)"),
            (np.diag([1.0, math.inf]), r"S holds inf at index \(1, 1\)"),
            ([[1.0, 0.5], [0.4, 1.0]], r"S is not symmetric: \[0,1\] is 0.5, \[1,0\] is 0.4"),
            (np.ones((2, 3)), r"S must be square, got shape \(2, 3\)"),
            (np.ones(3), "S must have 2 dimension"),
            (np.zeros((0, 0)), "S is empty"),
            ("S", "S cannot be read as an array of numbers"),
        ],
    )
    def test_is_refused(self, S: object, message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            gda.LogDet(S)

    @pytest.mark.parametrize("metric", [np.eye(3), np.diag([1.0, math.nan]), [[1, 0], [1, 1]]])
    def test_metrics_are_checked(self, metric: FloatArray) -> None:
        with pytest.raises(InvalidInputError, match="metric"):
            gda.LogDet(np.eye(2)).at(metric)


def optimum(S: FloatArray, feasible_set: FeasibleSet) -> gda.Result:
    problem = gda.MetricProblem(gda.LogDet(S), feasible_set)
    return gda.solve(problem, "certified", tolerance=1e-11, absolute_tolerance=1e-12)


def assert_near(found: FloatArray, expected: FloatArray) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


class TestOptima:
    @pytest.mark.parametrize(
        ("size", "condition"),
        [
            *((1, 1.0), (2, 10.0), (2, 1e5), (5, 10.0), (5, 1e5), (10, 1e3), (20, 10.0)),
            pytest.param(20, 1e5, marks=pytest.mark.slow),
            pytest.param(30, 1e3, marks=pytest.mark.slow),
        ],
    )
    def test_the_precision_matrix(
        self, size: int, condition: float, rng: np.random.Generator
    ) -> None:
        basis, _ = np.linalg.qr(rng.standard_normal((size, size)))
        precision = (basis * np.geomspace(1, 1 / condition, size)) @ basis.T
        S = np.linalg.inv(precision)
        S = (S + S.T) / 2
        result = optimum(S, gda.PositiveDefiniteMetrics(3.0 * size, 1e-9))
        assert result.lower_bound is not None
        assert result.objective - result.lower_bound <= 1e-8 * abs(result.objective)
        assert_near(result.metric, precision)
        expected = size + np.linalg.slogdet(S)[1]
        assert result.objective == pytest.approx(expected, abs=1e-12 * condition + 1e-10)

    @pytest.mark.parametrize("size", [1, 3, 10, 40])
    def test_of_diagonal_metrics(self, size: int, rng: np.random.Generator) -> None:
        S = random_covariance(rng, size) * np.outer(*2 * [10 ** rng.uniform(-1, 1, size)])
        result = optimum(S, gda.DiagonalMetrics(3 * float((1 / np.diagonal(S)).sum()), 1e-9))
        assert result.status == "converged"
        assert_near(result.metric, np.diag(1 / np.diagonal(S)))

    @pytest.mark.parametrize(
        "share", [3.0, 0.5]
    )  # of tr S⁻¹: the trace bound does not or does bind
    @pytest.mark.parametrize("size", [2, 4, 8])
    def test_of_graph_metrics(self, size: int, share: float, rng: np.random.Generator) -> None:
        S = random_covariance(rng, size)
        log_det = gda.LogDet(S)
        feasible_set = gda.GraphMetrics(share * float(np.trace(np.linalg.inv(S))), 1e-6)
        result = optimum(S, feasible_set)
        variable = cp.Variable((size, size), symmetric=True)
        program = gda.MetricProblem(log_det, feasible_set).to_cvxpy(variable)
        program.solve("SCS", eps=1e-9, max_iters=100_000)
        assert program.status == "optimal"
        assert result.status == "converged"
        assert result.objective == pytest.approx(program.value, abs=1e-8)
        assert_near(result.metric, np.asarray(variable.value))
        binds = np.trace(result.metric) > feasible_set.trace_bound * (1 - 1e-9)
        assert binds == (share < 1)

    @pytest.mark.parametrize("set_name", SETS[:4])
    def test_without_samples_only_the_trace_counts(self, set_name: str) -> None:
        result = optimum(np.zeros((4, 4)), named_set(set_name, 4, 10.0))
        assert_near(result.metric, 2.5 * np.eye(4))

    def test_of_signed_graph_metrics(self, rng: np.random.Generator) -> None:
        """They are graph metrics after features change their sign."""
        S, colors = random_covariance(rng, 6), np.array([1.0, -1, -1, 1, -1, 1])
        signed = optimum(S, gda.SignedGraphMetrics(colors.tolist(), 100.0))
        flip = np.outer(colors, colors)
        assert_near(signed.metric, optimum(S * flip, gda.GraphMetrics(100.0)).metric * flip)


class TestIndefinite:
    """S may be any symmetric matrix: the trace bound keeps the objective above a number."""

    @pytest.mark.parametrize("set_name", SETS[:4])
    @pytest.mark.parametrize("shift", [-0.5, -5.0])
    def test_optima(self, set_name: str, shift: float, rng: np.random.Generator) -> None:
        size = 4
        S = random_covariance(rng, size) + shift * np.eye(size) + random_symmetric(rng, size)
        assert np.linalg.eigvalsh(S)[0] < 0
        gda.check_objective(gda.LogDet(S))
        problem = gda.MetricProblem(gda.LogDet(S), named_set(set_name, size, 6.0))
        result = optimum(S, problem.feasible_set)
        assert result.status == "converged"
        best = problem.to_cvxpy(cp.Variable((size, size), symmetric=True)).solve("CLARABEL")
        assert result.objective == pytest.approx(best, abs=1e-6)

    @pytest.mark.parametrize("size", [8, pytest.param(40, marks=pytest.mark.slow)])
    def test_weights_of_edges_are_an_l1_penalty(self, size: int, rng: np.random.Generator) -> None:
        S, penalty = random_covariance(rng, size, 2 * size), 0.2 * rng.random((size, size))
        penalty = (penalty + penalty.T) * (1 - np.eye(size))
        feasible_set = gda.GraphMetrics(4.0 * size)
        result = optimum(S - penalty, feasible_set)
        assert result.status == "converged"
        metric = cp.Variable((size, size), symmetric=True)
        l1 = cp.sum(cp.multiply(penalty, cp.abs(metric)))
        program = cp.Problem(
            cp.Minimize(cp.trace(S @ metric) - cp.log_det(metric) + l1),
            feasible_set.of(metric),
        )
        program.solve("SCS", eps=1e-8, max_iters=100_000)
        assert program.status == "optimal"
        assert result.objective == pytest.approx(program.value, rel=1e-6)
        found, expected = (-np.asarray(m) > 1e-4 for m in (result.metric, metric.value))
        np.testing.assert_array_equal(found, expected)
        assert 0 < found.sum() < size * (size - 1)
        unpenalised = optimum(S, feasible_set).metric
        assert found.sum() < (-unpenalised > 1e-4).sum()


class TestMarkovField:
    """An attractive Gauss–Markov random field from samples."""

    size, n_samples, counts = 20, 20_000, 0.05

    @pytest.mark.parametrize("seed", range(3))
    def test_finds_the_edges(self, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
        rng = np.random.default_rng(seed)
        upper = np.triu(rng.random((self.size, self.size)) < 0.15, 1)
        weights = upper * rng.uniform(0.2, 1.5, upper.shape)
        precision = generalized_laplacian(weights + weights.T, rng.uniform(0.3, 1, self.size))
        deviates = rng.standard_normal((self.n_samples, self.size))
        samples = np.linalg.solve(np.linalg.cholesky(precision).T, deviates.T).T
        S = samples.T @ samples / self.n_samples
        feasible_set = gda.GraphMetrics(5 * float(np.trace(precision)))
        result = gda.solve(
            gda.MetricProblem(gda.LogDet(S), feasible_set), "certified", tolerance=1e-8
        )
        assert result.status == "converged"

        is_pair = np.triu(np.ones_like(upper), 1)
        found = (-result.metric > self.counts) & is_pair
        precise = (found & upper).sum() / found.sum()
        recalled = (found & upper).sum() / upper.sum()
        unconstrained = (-np.linalg.inv(S) > self.counts) & is_pair
        with capsys.disabled():
            print(
                f"\nMarkov field {seed}: {upper.sum()} edges, precision {precise:.3f}, "
                f"recall {recalled:.3f}; without the set's signs precision "
                f"{(unconstrained & upper).sum() / unconstrained.sum():.3f}"
            )
        assert precise >= 0.95
        assert recalled == 1.0
        assert (((-result.metric > 0.1) & is_pair) == upper).all()  # half of the least weight
        # The estimate's errors have a standard deviation of about √(P_ii P_jj / N).
        deviations = np.sqrt(np.outer(*2 * [np.diagonal(precision)]) / self.n_samples)
        assert (np.abs(result.metric - precision) / deviations).max() < 6
