"""The scales of features and the rules for the trace bound, by their names."""

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.scaling import auto_trace_bound, read_trace_bound, scale_features


class TestScaleFeatures:
    def test_unit(self) -> None:
        X = np.random.default_rng(0).normal(3.0, [1.0, 10.0, 0.1], size=(50, 3))
        scaled = scale_features(X)
        expected = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(6)
        np.testing.assert_allclose(scaled, expected, rtol=1e-13, atol=1e-14)
        squares = ((scaled[:, None] - scaled) ** 2).sum(axis=2)
        assert squares.mean() == pytest.approx(1.0)

    @pytest.mark.parametrize("factor", [1e-250, 1e-6, 1e6, 1e250])
    def test_units_drop_out(self, factor: float) -> None:
        X = np.random.default_rng(1).normal(size=(20, 2))
        np.testing.assert_allclose(scale_features(factor * X), scale_features(X), rtol=1e-12)

    def test_zscore(self) -> None:
        X = np.random.default_rng(0).normal(3.0, [1.0, 10.0, 0.1], size=(50, 3))
        scaled = scale_features(X, "zscore")
        np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-14)
        np.testing.assert_allclose(scaled.std(axis=0), 1.0)
        np.testing.assert_array_equal(scaled / np.sqrt(6), scale_features(X, "unit"))

    def test_by_the_statistics_of_others(self) -> None:
        X, reference = np.array([[0.0, 5.0], [4.0, 7.0]]), [[0.0, 1.0], [2.0, 1.0]]
        scaled = scale_features(X, "zscore", reference)
        np.testing.assert_array_equal(scaled, [[-1.0, 0.0], [3.0, 0.0]])
        np.testing.assert_array_equal(scale_features(X, "unit", reference), scaled / 2)
        np.testing.assert_array_equal(scale_features(X, "none", reference), X)

    def test_constant_columns_become_zero(self) -> None:
        # The mean of three times 0.1 is not 0.1: round-off must not pass for variation.
        scaled = scale_features([[0.1, 0.0], [0.1, 1.0], [0.1, 2.0]])
        np.testing.assert_array_equal(scaled[:, 0], 0.0)
        assert np.isfinite(scaled).all()

    def test_none_returns_a_copy(self) -> None:
        X = np.array([[1.0, 2.0], [3.0, 5.0]])
        copy = scale_features(X, "none")
        np.testing.assert_array_equal(copy, X)
        assert not np.shares_memory(copy, X)


class TestTraceBound:
    def test_by_name_or_number(self) -> None:
        X = np.random.default_rng(0).normal(size=(10, 3))
        objective, feasible_set = gda.GLR(X, np.arange(10) % 2), gda.GraphMetrics(1.0)
        assert read_trace_bound("K", objective, feasible_set) == 3.0
        assert read_trace_bound(2, objective, feasible_set) == 2.0
        found = read_trace_bound("auto", objective, feasible_set)
        assert found == auto_trace_bound(objective, feasible_set) != 3.0

    def test_auto_bounds_the_distance_under_any_metric(self) -> None:
        """A hundred features that are the same add up."""
        X = np.outer(np.arange(4.0), np.ones(100))
        objective, feasible_set = gda.GLR(X, np.arange(4) % 2), gda.PositiveDefiniteMetrics(1.0)
        bound = auto_trace_bound(objective, feasible_set)
        start = objective.at(np.zeros((100, 100)))
        slope = start.gradient() / start.value
        assert bound == pytest.approx(200 / -np.linalg.eigvalsh(slope)[0])
        assert bound < 4 / -slope.diagonal().min()

    def test_auto_needs_a_convex_logarithm(self) -> None:
        with pytest.raises(InvalidInputError, match="pass a number, or 'K'"):
            read_trace_bound("auto", gda.Ridge(2), gda.GraphMetrics(1.0))

    @pytest.mark.parametrize("learner", [gda.GraphMetricLearner, gda.DiagonalMetricLearner])
    def test_learners_take_the_names(self, learner: type[gda.GraphMetricLearner]) -> None:
        X = np.random.default_rng(0).normal(size=(20, 3))
        assert learner("glr", trace_bound="K").fit(X, np.arange(20) % 2).trace_bound_ == 3.0
