"""Graph metrics: membership, starts, the way back into the set."""

import math

import numpy as np
import pytest
from helpers import PROPERTY, generators, random_metric
from hypothesis import given
from hypothesis import strategies as st

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.eigen import smallest_eigenvalue
from gdaopt.sets import GraphMetrics
from gdaopt.validation import FloatArray

SET = GraphMetrics(trace_bound=4.0, min_eigenvalue=0.1)


def edge(weight: float, size: int = 4) -> FloatArray:
    """Return a member of SET: unit diagonal, one edge (1, 2) of this weight."""
    metric = np.eye(size)
    metric[1, 2] = metric[2, 1] = -weight
    return metric


class TestMembership:
    @pytest.mark.parametrize("metric", [np.eye(4), edge(0.9), 0.1 * np.eye(4)])
    def test_members(self, metric: FloatArray) -> None:
        assert SET.violations(metric) == ()
        assert SET.contains(metric)

    @pytest.mark.parametrize(
        ("metric", "sentence"),
        [
            (edge(-0.5), "off-diagonal [1,2] is positive: 0.5"),
            (np.eye(4) + 0.25 * np.eye(4), "trace 5 exceeds the bound 4"),
            (np.diag([1, 1, 1, 0.05]), "smallest eigenvalue 0.05 is below 0.1"),
        ],
    )
    def test_names_the_violated_condition(self, metric: FloatArray, sentence: str) -> None:
        assert SET.violations(metric) == (sentence,)
        assert not SET.contains(metric)

    def test_names_all_violated_conditions(self) -> None:
        assert len(SET.violations(edge(-20.0) + np.eye(4))) == 3

    def test_refuses_what_is_not_symmetric(self) -> None:
        with pytest.raises(InvalidInputError, match="metric is not symmetric"):
            SET.violations(np.triu(np.ones((3, 3))))

    # DESIGN section 1: λ_min ≥ ρ - 1e-10·C, tr M ≤ C(1 + 1e-12), M_ij ≤ 1e-12·C/K
    @pytest.mark.parametrize(("share", "inside"), [(0.99, True), (1.01, False)])
    def test_slack_of_the_smallest_eigenvalue(self, share: float, inside: bool) -> None:
        metric = np.diag([0.1 - share * 1e-10 * 4.0, 1, 1, 1])
        assert SET.contains(metric) is inside

    @pytest.mark.parametrize(("share", "inside"), [(0.99, True), (1.01, False)])
    def test_slack_of_the_trace(self, share: float, inside: bool) -> None:
        metric = np.diag([1, 1, 1, 1 + share * 1e-12 * 4.0])
        assert SET.contains(metric) is inside

    @pytest.mark.parametrize(("share", "inside"), [(0.99, True), (1.01, False)])
    def test_slack_of_off_diagonals(self, share: float, inside: bool) -> None:
        assert SET.contains(edge(-share * 1e-12 * 4.0 / 4)) is inside

    @pytest.mark.parametrize(("share", "inside"), [(0.99, True), (1.01, False)])
    def test_edge_floor(self, share: float, inside: bool) -> None:
        metrics = GraphMetrics(4.0, 0.1, edge_floor=0.25)
        weak = 0.25 * (1 - share * 1e-9)
        metric = np.eye(4)
        for i, weight in enumerate((0.3, weak, 0.25)):
            metric[i, i + 1] = metric[i + 1, i] = -weight
        expected = () if inside else ("edges of weight ≥ 0.25 leave 2 components, not 1",)
        assert metrics.violations(metric) == expected

    @pytest.mark.parametrize(("share", "components"), [(0.99, 4), (1.01, 3)])
    def test_an_edge_counts_above_round_off(self, share: float, components: int) -> None:
        assert SET.n_components(edge(share * 1e-9 * 4.0 / 4)) == components


class TestSize:
    @pytest.mark.parametrize("size", [1, 39])
    def test_fits(self, size: int) -> None:
        SET.check_size(size)

    @pytest.mark.parametrize("size", [40, 50])
    def test_trace_bound_must_exceed_the_eigenvalues(self, size: int) -> None:
        with pytest.raises(InvalidInputError, match=f"{size} · 0.1 = {size / 10:g}; raise trace"):
            SET.check_size(size)

    def test_edge_floor_must_leave_budget(self) -> None:
        # 4 · 0.125 + 2 · 0.5 · 3 = 3.5, without round-off
        GraphMetrics(3.51, 0.125, edge_floor=0.5).check_size(4)
        with pytest.raises(InvalidInputError, match=r"3 edges .* need a trace of 3.5, .* lower"):
            GraphMetrics(3.5, 0.125, edge_floor=0.5).check_size(4)

    @pytest.mark.parametrize("name", ["trace_bound", "min_eigenvalue", "edge_floor"])
    @pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, "1", None, True])
    def test_bad_numbers_are_refused(self, name: str, value: object) -> None:
        arguments: dict[str, object] = {
            "trace_bound": 4.0,
            "min_eigenvalue": 0.1,
            "edge_floor": 0.0,
        }
        with pytest.raises(InvalidInputError, match=name):
            GraphMetrics(**arguments | {name: value})  # type: ignore[arg-type]

    def test_trace_bound_zero_is_refused(self) -> None:
        with pytest.raises(InvalidInputError, match="trace_bound must be above 0"):
            GraphMetrics(0.0)


class TestStart:
    @pytest.mark.parametrize("size", [1, 2, 5, 30])
    @pytest.mark.parametrize("edge_floor", [0.0, 0.01])
    def test_auto_is_half_of_the_bound(self, size: int, edge_floor: float) -> None:
        metrics = GraphMetrics(4.0, 0.01, edge_floor)
        metric = metrics.start(size)
        assert metrics.contains(metric)
        np.testing.assert_array_equal(np.diagonal(metric), 4.0 / size)
        edges = np.diagonal(metric, 1)
        np.testing.assert_allclose(edges, -metrics.largest_edge_weight(size) / 2, rtol=1e-15)
        np.testing.assert_array_equal(metric, np.triu(np.tril(metric, 1), -1))

    def test_auto_is_at_least_the_floor(self) -> None:
        floor = 0.75 * SET.largest_edge_weight(4)
        metric = GraphMetrics(4.0, 0.1, floor).start(4)
        np.testing.assert_array_equal(np.diagonal(metric, 1), -floor)

    @pytest.mark.parametrize("weight", [0.0, 0.2])
    def test_a_number_is_absolute(self, weight: float) -> None:
        np.testing.assert_array_equal(np.diagonal(SET.start(4, weight), 1), -weight)

    @pytest.mark.parametrize("size", [2, 4, 9])
    def test_the_bound_itself_is_accepted(self, size: int) -> None:
        metric = SET.start(size, SET.largest_edge_weight(size))
        assert SET.contains(metric)
        assert smallest_eigenvalue(metric) == pytest.approx(0.1, abs=1e-14)

    def test_a_floor_that_no_constant_diagonal_can_carry(self) -> None:
        bound = SET.largest_edge_weight(4)
        floor = (bound + (4.0 - 4 * 0.1) / 6) / 2  # between that and what a path can carry
        assert floor > bound
        metrics = GraphMetrics(4.0, 0.1, floor)
        metric = metrics.start(4)
        assert metrics.contains(metric)
        assert np.trace(metric) == pytest.approx(4.0, rel=1e-15)
        with pytest.raises(InvalidInputError, match="would not be a metric"):
            metrics.start(4, floor)

    @pytest.mark.parametrize(
        ("weight", "message"),
        [
            (0.05, "0.05 is below edge_floor 0.1"),
            (10.0, "initial_edge_weight 10 is above"),
            (-0.1, "must be at least 0"),
            (math.nan, "must be finite"),
            ("half", "a number or 'auto', got 'half'"),
        ],
    )
    def test_bad_weights_are_refused(self, weight: float | str, message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            GraphMetrics(4.0, 0.1, edge_floor=0.1).start(4, weight)


def boundary_member(rng: np.random.Generator, size: int) -> tuple[GraphMetrics, FloatArray]:
    """Return a metric and a set that it is a corner of: λ_min = ρ and tr M = C."""
    metric = random_metric(rng, size, density=0.6)
    rho = smallest_eigenvalue(metric)
    metric += rng.uniform(0, 1) * np.diag(rng.random(size))
    rho = max(min(rho, smallest_eigenvalue(metric)), 0.0)
    return GraphMetrics(float(np.trace(metric)), rho), metric


class TestRepaired:
    @PROPERTY
    @given(rng=generators, size=st.integers(2, 12))
    def test_members_are_unchanged(self, rng: np.random.Generator, size: int) -> None:
        metric = random_metric(rng, size, density=0.6)
        metrics = GraphMetrics(float(np.trace(metric)), smallest_eigenvalue(metric) / 2)
        np.testing.assert_array_equal(metrics.repaired(metric), metric)

    @PROPERTY
    @given(rng=generators, size=st.integers(2, 12), scale=st.sampled_from([1e-14, 1e-10, 1e-6]))
    def test_round_off_is_mended(self, rng: np.random.Generator, size: int, scale: float) -> None:
        metrics, member = boundary_member(rng, size)
        noise = rng.standard_normal((size, size)) * scale
        repaired = metrics.repaired(member + noise + noise.T)
        off_diagonal = repaired[~np.eye(size, dtype=bool)]
        assert off_diagonal.max() <= 0
        assert np.trace(repaired) <= metrics.trace_bound * (1 + 1e-14)
        assert smallest_eigenvalue(repaired) >= metrics.min_eigenvalue - 1e-13 * size
        # The way back is of the violations' order, over the set's width.
        width = metrics.trace_bound - size * metrics.min_eigenvalue
        assert np.abs(repaired - member).max() <= 100 * size**2 * scale * (1 + size / width)

    @PROPERTY
    @given(rng=generators, size=st.integers(2, 12))
    def test_a_second_repair_changes_nothing(self, rng: np.random.Generator, size: int) -> None:
        metrics, member = boundary_member(rng, size)
        once = metrics.repaired(member * (1 + 1e-9))
        np.testing.assert_allclose(metrics.repaired(once), once, rtol=0, atol=1e-13 * size)

    def test_the_edge_floor_survives(self) -> None:
        metrics = GraphMetrics(4.0, 0.1, edge_floor=0.2)
        metric = metrics.start(4) * (1 + 1e-6)
        assert metrics.contains(metrics.repaired(metric))
