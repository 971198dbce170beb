"""Blocks and bridges against the whole problem in one piece."""

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.estimators.likelihood import most_likely_metric
from gdaopt.sets import EdgeMask
from gdaopt.support.validation import FloatArray


def penalised(seed: int, size: int, alpha: float) -> FloatArray:
    """Return the covariance of a few samples, less a penalty."""
    rng = np.random.default_rng(seed)
    mixed = np.eye(size) + 0.6 * np.eye(size, k=1) + 0.3 * (rng.random((size, size)) < 0.05)
    samples = rng.standard_normal((3 * size, size)) @ mixed
    covariance: FloatArray = np.cov(samples.T, bias=True)
    covariance[~np.eye(size, dtype=bool)] -= alpha
    return covariance


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", [0.0, 0.15, 0.3, 0.6, 10.0])
@pytest.mark.parametrize("is_masked", [False, True])
def test_pieces_make_the_whole(seed: int, alpha: float, is_masked: bool) -> None:
    size = 12
    S = penalised(seed, size, alpha)
    allowed = np.random.default_rng(seed).random((size, size)) < 0.6
    mask = EdgeMask.of(allowed | allowed.T) if is_masked else None
    found = most_likely_metric(S, mask, tolerance=1e-13)
    log_det = gda.LogDet(S)
    whole = gda.solve(
        gda.MetricProblem(log_det, gda.GraphMetrics(1e5, 0.0, edges=mask)),
        "projected-newton",
        tolerance=1e-13,
    )
    np.testing.assert_allclose(found.result.metric, whole.metric, atol=1e-6)
    assert log_det.value(found.result.metric) == pytest.approx(whole.objective, abs=1e-9)
    assert found.result.objective == pytest.approx(whole.objective, abs=1e-9)
    assert found.result.gap is not None
    assert 0 <= found.result.gap < 1e-9
    np.testing.assert_allclose(found.covariance, np.linalg.inv(found.result.metric), atol=1e-7)
    np.testing.assert_allclose(np.diagonal(found.covariance), np.diagonal(S), rtol=1e-7)


def test_the_pieces_are_small() -> None:
    counts = [most_likely_metric(penalised(0, 30, alpha)) for alpha in (0.0, 0.6, 10.0)]
    assert [found.n_blocks for found in counts] == sorted(found.n_blocks for found in counts)
    assert counts[0].largest_block > counts[1].largest_block > counts[2].largest_block == 1
    masked = most_likely_metric(penalised(0, 30, 1.2), EdgeMask.of(np.ones((30, 30), dtype=bool)))
    assert masked.n_blocks == 30
    assert counts[2].result.components == counts[2].n_blocks == 30


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6])
def test_values_are_those_of_the_metric(tolerance: float) -> None:
    """Also where blocks are not exact, so that their inverse has not the diagonal of S."""
    S = penalised(1, 40, 0.3)
    found = most_likely_metric(S, tolerance=tolerance)
    value = gda.LogDet(S).value(found.result.metric)
    assert found.result.objective == pytest.approx(value, abs=1e-11)
    best = most_likely_metric(S, tolerance=1e-12).result.objective
    assert found.result.lower_bound is not None
    assert found.result.lower_bound <= best <= value
    assert value - found.result.lower_bound <= 40 * tolerance
    np.testing.assert_allclose(found.covariance @ found.result.metric, np.eye(40), atol=1e-10)


def test_a_forest_needs_no_steps() -> None:
    S = penalised(2, 10, 0.0)
    forest = EdgeMask.of([(k, k + 1) for k in range(9)])
    found = most_likely_metric(S, forest)
    assert (found.n_blocks, found.result.iterations) == (10, 0)
    assert found.result.gap is not None
    assert found.result.gap < 1e-12


def test_starts_from_a_metric() -> None:
    S = penalised(3, 20, 0.05)
    first = most_likely_metric(S, tolerance=1e-10)
    again = most_likely_metric(S, tolerance=1e-8, initial=first.result.metric)
    assert again.result.iterations == 0
    np.testing.assert_allclose(again.result.metric, first.result.metric)


def test_limits() -> None:
    found = most_likely_metric(penalised(3, 20, 0.0), max_iterations=2)
    assert found.result.status == "iteration_limit"
    assert found.result.iterations == 2


def test_there_is_no_optimum() -> None:
    S = penalised(0, 5, 0.0)
    S[1] = S[0]
    S[:, 1] = S[:, 0]
    with pytest.raises(InvalidInputError, match="features 0 and 1 are perfectly correlated"):
        most_likely_metric(S)


def test_values_across_a_bridge_between_blocks_that_are_not_solved() -> None:
    half = np.corrcoef(
        np.random.default_rng(6).standard_normal((9, 5)) + np.arange(9)[:, None] / 2, rowvar=False
    )
    S = np.full((10, 10), -0.01)
    S[:5, :5] = S[5:, 5:] = half
    S[2, 7] = S[7, 2] = 0.4
    found = most_likely_metric(S, tolerance=1e-12, max_iterations=1)
    assert found.n_blocks == 2
    assert np.abs(np.diagonal(found.covariance) - 1)[[2, 7]].min() > 1e-4
    value = gda.LogDet(S).value(found.result.metric)
    assert found.result.objective == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(found.covariance @ found.result.metric, np.eye(10), atol=1e-10)
    best = most_likely_metric(S, tolerance=1e-12).result.objective
    assert found.result.lower_bound is not None
    assert found.result.lower_bound <= best < value - 1e-6
