"""The paper's example and its four errata, as ``docs/theory`` states them."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh, eigvalsh

import gdaopt as gda
from gdaopt.datasets.builtin import load
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.gershgorin import align, left_ends
from gdaopt.linalg.laplacian import maximum_spanning_tree, n_components
from gdaopt.methods.alternating import column_floor
from gdaopt.programs import Knapsack
from gdaopt.support.validation import FloatArray
from tests.helpers import PROPERTY, Rng, generators, path_laplacian, random_metric, scaled

EXAMPLE = np.array([[2.0, -2.0, -1.0], [-2.0, 5.0, -2.0], [-1.0, -2.0, 4.0]])
PRINTED = np.array([0.7511, 0.4886, 0.4440])  # the paper calls them scalars
ROUNDED = 5e-5  # half a unit in the last place printed


class TestErratum1:
    """Scalars are reciprocals: the printed ones are v, those of the theorem are 1/v."""

    def test_printed_numbers_are_the_eigenvector(self) -> None:
        np.testing.assert_array_equal(left_ends(EXAMPLE), [-1, 1, 1])
        assert eigvalsh(EXAMPLE)[0] == pytest.approx(0.1078, abs=ROUNDED)
        v = align(EXAMPLE, min_eigenvalue=0.0).v
        np.testing.assert_allclose(v / np.linalg.norm(v), PRINTED, rtol=0, atol=ROUNDED)

    @pytest.mark.parametrize(
        ("power", "expected"), [(-1, [0.1078, 0.1078, 0.1078]), (1, [-2.77, 1.50, 1.59])]
    )
    def test_left_ends_of_the_similar_matrix(self, power: int, expected: list[float]) -> None:
        s = np.abs(eigh(EXAMPLE)[1][:, 0]) ** power
        similar = np.diag(s) @ EXAMPLE @ np.diag(1 / s)
        ends = 2 * np.diagonal(similar) - np.abs(similar).sum(axis=1)
        np.testing.assert_allclose(ends, expected, rtol=0, atol=0.005)
        np.testing.assert_allclose(ends, left_ends(EXAMPLE, 1 / s), rtol=1e-12)


class TestErratum2:
    """One kept edge, ζ at ε in each column, does not keep the graph connected."""

    feasible_set = gda.GraphMetrics(trace_bound=4.0, min_eigenvalue=1e-3)
    method = gda.methods.Alternating(edge_floor=0.01)

    def sweeps(self, rule: str, n_sweeps: int) -> list[FloatArray]:
        """Return the metric after each column of the example, full steps from the path start."""
        X = [[0, 0, 0, 0], [0.5, -0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]]
        glr = gda.GLR(X, [1, -1, -1])
        metric, after = self.feasible_set.start(4, 0.1), []
        for column in list(range(4)) * n_sweeps:
            others = np.delete(np.arange(4), column)
            rho, epsilon = self.feasible_set.min_eigenvalue, self.method.edge_floor
            aligned = align(metric, rho, edge_threshold=epsilon * (1 - 1e-9))
            floor = column_floor(metric, column, others, epsilon, rule)
            slack = np.maximum(aligned.left_ends - rho, 0)
            polytope = Knapsack.column(metric, aligned.v, slack, column, others, floor)
            edges = polytope.minimize(-2 * glr.gradient(metric)[others, column])
            metric = metric.copy()
            metric[others, column] = metric[column, others] = -edges
            assert metric in self.feasible_set
            after.append(metric)
        return after

    @pytest.mark.parametrize(("rule", "kept", "components"), [("zeta", 0.0, 2), ("tree", 0.01, 1)])
    def test_zeta_disconnects_the_example(self, rule: str, kept: float, components: int) -> None:
        first, second, *later = self.sweeps(rule, n_sweeps=4)
        assert -first[0, 1] == pytest.approx(0.617, abs=5e-4)
        assert self.method.count_components(first) == 1
        assert -second[1, 2] == kept
        for metric in (second, *later):
            assert self.method.count_components(metric) == components
            assert rule == "tree" or (metric[:2, 2:] == 0).all(), "{1, 2} and {3, 4} rejoined"

    @pytest.mark.parametrize("positive", load("iris").classes)
    def test_iris_within_one_sweep(self, positive: str) -> None:
        problem = gda.MetricProblem(
            gda.GLR(*scaled("iris", positive)),
            gda.GraphMetrics(trace_bound=4.0, min_eigenvalue=1e-3),
        )
        options: dict[str, Any] = {"solver": "analytic", "edge_floor": 0.05}
        zeta = gda.solve(problem, "alternating", connectivity="zeta", **options)
        assert zeta.status == "disconnected"
        assert "would leave 2 components" in zeta.message
        assert zeta.trace[-1].round == 1
        assert problem.feasible_set.violations(zeta.metric) == ()
        tree = gda.solve(problem, "alternating", connectivity="tree", **options)
        for end in (zeta, tree):
            assert gda.methods.Alternating(edge_floor=0.05).count_components(end.metric) == 1
        assert tree.status in ("block_minimum", "slow_progress")
        assert problem.feasible_set.violations(tree.metric) == ()
        assert tree.objective < zeta.objective

    def test_a_run_says_that_zeta_is_infeasible(self) -> None:
        """Within the slack of membership an edge may be below ε, yet count."""
        weight = 0.25 * (1 - 5e-10)
        initial = np.eye(3) + weight * np.minimum(path_laplacian(3), 0)
        bounds = gda.GraphMetrics(3.0, float(eigvalsh(initial)[0]))
        glr = gda.GLR(np.random.default_rng(0).standard_normal((9, 3)), np.arange(9) % 2)
        options: dict[str, Any] = {"solver": "analytic", "connectivity": "zeta", "edge_floor": 0.25}
        result = gda.solve(
            gda.MetricProblem(glr, bounds), "alternating", initial=initial, **options
        )
        assert result.status == "infeasible"
        assert "the floor 0.25 of entry 0 exceeds its bound 0.25" in result.message
        np.testing.assert_allclose(result.metric, initial, rtol=0, atol=1e-9)

    @PROPERTY
    @given(rng=generators, size=st.integers(2, 12), epsilon=st.floats(1e-6, 1.0))
    def test_tree_never_disconnects(self, rng: Rng, size: int, epsilon: float) -> None:
        metric = random_metric(rng, size)
        column = int(rng.integers(size))
        aligned = align(metric, 0.0)
        others = np.delete(np.arange(size), column)
        floor = column_floor(metric, column, others, epsilon, "tree")
        polytope = Knapsack.column(metric, aligned.v, np.zeros(size), column, others, floor)
        least = metric.copy()
        least[others, column] = least[column, others] = -polytope.floor
        bottleneck = min(-metric[i, j] for i, j in maximum_spanning_tree(metric))
        assert n_components(least, min(epsilon, bottleneck) * (1 - 1e-9)) == 1


class TestErratum3:
    """Bound of the path start: it is a metric only for ε₀ ≤ (C/K - ρ) / (2 cos(π/(K+1)))."""

    @pytest.mark.parametrize("size", [2, 3, 4, 13, 60])
    @pytest.mark.parametrize("rho", [0.0, 1e-3, 0.5])
    def test_bound(self, size: int, rho: float) -> None:
        feasible_set = gda.GraphMetrics(trace_bound=float(size), min_eigenvalue=rho)
        bound = (1 - rho) / (2 * math.cos(math.pi / (size + 1)))
        assert feasible_set.largest_edge_weight(size) == pytest.approx(bound, rel=1e-14)
        at = feasible_set.start(size, bound * (1 - 1e-15))
        assert eigvalsh(at)[0] == pytest.approx(rho, abs=1e-13)
        above = np.where(at < 0, at * (1 + 1e-6), at)
        assert eigvalsh(above)[0] < rho - 1e-7
        assert above not in feasible_set
        with pytest.raises(InvalidInputError, match=r"is above \(C/K - ρ\)/λ = .* 2 cos"):
            feasible_set.start(size, bound * (1 + 1e-6))


class TestErratum4:
    """The smallest eigenvalue in Lemma 2: λ_min ≥ ρ is needed, and λ_min > 0 is not enough."""

    def test_positive_left_ends_are_not_enough(self) -> None:
        """Lemma 2's proof ends at λ_min > 0, which the set of ρ = 0.2 does not accept."""
        feasible_set = gda.GraphMetrics(trace_bound=11.0, min_eigenvalue=0.2)
        assert left_ends(EXAMPLE, PRINTED).min() > 0
        (sentence,) = feasible_set.violations(EXAMPLE)
        assert sentence.startswith("smallest eigenvalue 0.1078")

    @PROPERTY
    @given(rng=generators, size=st.integers(1, 10), rho=st.floats(0, 1))
    def test_left_ends_at_rho_are(self, rng: Rng, size: int, rho: float) -> None:
        """Gershgorin: raise the diagonal until all left-ends for any v > 0 are ρ or more."""
        metric = random_metric(rng, size)
        v = 10 ** rng.uniform(-2, 2, size)
        metric += np.diag(np.maximum(rho - left_ends(metric, v), 0))
        assert left_ends(metric, v).min() >= rho - 1e-12 * np.trace(metric)
        assert eigvalsh(metric)[0] >= rho - 1e-12 * np.trace(metric)


def test_the_example_breaks_what_lemma_1_assumes() -> None:
    self_loop = EXAMPLE.sum(axis=1)[0]
    assert self_loop == -1
    assert self_loop + eigvalsh(EXAMPLE)[0] == pytest.approx(-0.892, abs=5e-4)


def test_the_double_sum_is_twice_the_quadratic_form() -> None:
    X, z = scaled("iris", "setosa")
    metric = gda.GraphMetrics(4.0, 1e-3).start(4)
    differences = X[:, None] - X
    weights = np.exp(-np.einsum("ijk,kl,ijl->ij", differences, metric, differences))
    laplacian = np.diag(weights.sum(axis=1)) - weights
    assert gda.GLR(X, z).value(metric) == pytest.approx(2 * z @ laplacian @ z, rel=1e-10)


def test_the_optimum_of_wine_is_not_connected() -> None:
    """The paper's set is not closed: connected metrics come near to this value, none has it."""
    X, z = scaled("wine", "class_1")
    problem = gda.MetricProblem(gda.GLR(X, z), gda.GraphMetrics(float(X.shape[1]), 1e-3))
    optimum = gda.solve(problem, "certified", tolerance=1e-9)
    assert optimum.components == 3
    joined = gda.GraphMetrics(float(X.shape[1]), 1e-3, path_weight=1e-7)
    connected = gda.solve(gda.MetricProblem(gda.GLR(X, z), joined), "certified", tolerance=1e-9)
    assert connected.components == 1
    assert optimum.objective < connected.objective < optimum.objective * (1 + 1e-5)


@PROPERTY
@given(generators)
def test_joint_programs_lead_on_from_where_the_alternation_stops(rng: Rng) -> None:
    """Neither the diagonal nor a column program gains anything there; the joint program does."""
    K, rho = int(rng.integers(3, 6)), 0.1
    weights = np.triu(rng.uniform(0.2, 1.0, (K, K)), 1)
    laplacian = np.diag(rng.uniform(1.0, 2.0, K)) - weights - weights.T
    excess = laplacian - eigvalsh(laplacian)[0] * np.eye(K)
    stop = rho * np.eye(K) + (K - K * rho) * excess / np.trace(excess)
    gradient = rng.uniform(0.1, 1.0, (K, K)) - np.diag(rng.uniform(2.0, 4.0, K))
    gradient += gradient.T
    problem = gda.MetricProblem(gda.Linear(gradient), gda.GraphMetrics(float(K), rho))
    block_end = gda.solve(problem, "alternating", solver="analytic", initial=stop)
    assert block_end.status == "block_minimum"
    np.testing.assert_allclose(block_end.metric, stop, atol=1e-6)
    gain = np.vdot(gradient, stop) - gda.programs.at(problem, stop).solve("CLARABEL")
    assert gain > 1e-6
