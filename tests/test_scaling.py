"""The scales of features and the rules for the trace bound, by their names."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.scaling import auto_trace_bound, read_trace_bound, scale_features


class TestScaleFeatures:
    def test_each_scale(self) -> None:
        X = np.random.default_rng(0).normal(3.0, [1.0, 10.0, 0.1], size=(50, 3))
        unit = scale_features(X)
        expected = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(6)
        np.testing.assert_allclose(unit, expected, rtol=1e-13, atol=1e-14)
        assert ((unit[:, None] - unit) ** 2).sum(axis=2).mean() == pytest.approx(1.0)
        zscores = scale_features(X, "zscore")
        np.testing.assert_allclose(zscores.std(axis=0), 1.0)
        np.testing.assert_array_equal(zscores / np.sqrt(6), unit)
        copy = scale_features(X, "none")
        np.testing.assert_array_equal(copy, X)
        assert not np.shares_memory(copy, X)

    @pytest.mark.parametrize("factor", [1e-250, 1e-6, 1e6, 1e250])
    def test_units_drop_out(self, factor: float) -> None:
        X = np.random.default_rng(1).normal(size=(20, 2))
        np.testing.assert_allclose(scale_features(factor * X), scale_features(X), rtol=1e-12)

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


class TestTraceBound:
    def test_by_name_or_number(self) -> None:
        X, z = np.random.default_rng(0).normal(size=(10, 3)), np.arange(10) % 2
        objective, feasible_set = gda.GLR(X, z), gda.GraphMetrics(1.0)
        assert read_trace_bound("K", objective, feasible_set) == 3.0
        assert read_trace_bound(2, objective, feasible_set) == 2.0
        found = read_trace_bound("auto", objective, feasible_set)
        assert found == auto_trace_bound(objective, feasible_set) != 3.0
        with pytest.raises(InvalidInputError, match="pass a number, or 'K'"):
            read_trace_bound("auto", gda.Ridge(2), feasible_set)
        for learner in (gda.GraphMetricLearner, gda.DiagonalMetricLearner):
            assert learner("glr", trace_bound="K").fit(X, z).trace_bound_ == 3.0

    def test_auto_bounds_the_distance_under_any_metric(self) -> None:
        """A hundred features that are the same add up."""
        X = np.outer(np.arange(4.0), np.ones(100))
        objective, feasible_set = gda.GLR(X, np.arange(4) % 2), gda.PositiveDefiniteMetrics(1.0)
        bound = auto_trace_bound(objective, feasible_set)
        start = objective.at(np.zeros((100, 100)))
        slope = start.gradient() / start.value
        assert bound == pytest.approx(200 / -np.linalg.eigvalsh(slope)[0])
        assert bound < 4 / -slope.diagonal().min()


@pytest.mark.parametrize("scale", ["unit", "zscore", "none"])
def test_sparse_samples_are_divided_and_not_centred(scale: str) -> None:
    X = np.array([[0.0, 5.0, 1.0], [2.0, 5.0, 0.0], [0.0, 5.0, 4.0]])
    found, expected = scale_features(csr_array(X), scale), scale_features(X, scale)
    assert found.nnz <= 6
    np.testing.assert_allclose(found.toarray()[1:] - found.toarray()[0], expected[1:] - expected[0])
    other = scale_features(csr_array(X[:2]), scale, reference=csr_array(X))
    np.testing.assert_array_equal(other.toarray(), found.toarray()[:2])
