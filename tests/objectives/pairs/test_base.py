"""Objectives of other kinds, written on the interface of weighted pairs alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest
from scipy.special import expit, logsumexp, softmax

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import DenseDirection
from gdaopt.objectives.pairs import ListedPairs, Pairs, SignalPairs, weighted_pairs
from gdaopt.objectives.pairs.expressions import distinct_differences
from gdaopt.support.validation import FloatArray
from tests.objectives.pairs.cases import K, N, make_blocks_small

LABELS = np.arange(N) % 3


def features() -> FloatArray:
    return np.random.default_rng(0).standard_normal((N, K))


def labelled_pairs() -> Pairs:
    return weighted_pairs(features(), np.eye(3)[LABELS])


def real_pairs() -> Pairs:
    return weighted_pairs(features(), np.random.default_rng(1).standard_normal(N))


def listed_pairs() -> Pairs:
    some = [(i, (i + step) % N) for i in range(N) for step in (1, 4)]
    return weighted_pairs(features(), np.eye(3)[LABELS], np.linspace(0.5, 2, N), some)


def ordered_pairs() -> ListedPairs:
    """Return all ordered pairs of samples with weight 1, sample by sample."""
    left, right = np.nonzero(~np.eye(N, dtype=bool))
    return ListedPairs(features(), left, right, np.ones(len(left)))


PAIRS: dict[str, Callable[[], Pairs]] = {
    "labels": labelled_pairs,
    "real": real_pairs,
    "listed": listed_pairs,
}

pytestmark = pytest.mark.usefixtures("_small_blocks")


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    make_blocks_small(monkeypatch, 40)


def log_weights(pairs: Pairs) -> Iterator[FloatArray]:
    """Return the logarithms of the weights, which there are."""
    found = pairs.log_weights()
    assert found is not None
    return found


def distances(pairs: Pairs, metric: FloatArray) -> list[FloatArray]:
    return list(pairs.products(*DenseDirection(metric).factors(pairs.features)))


def like(blocks: list[FloatArray], numbers: FloatArray) -> Iterator[FloatArray]:
    """Yield numbers of pairs block by block, in the shapes of other blocks."""
    bounds = np.cumsum([block.size for block in blocks])[:-1]
    for block, part in zip(blocks, np.split(numbers, bounds), strict=True):
        yield part.reshape(block.shape)


class Logistic(gda.DenseObjective):
    """``Σ_p w_p log(1 + exp(1 - δ_p))``: pairs of different signal are to be far apart."""

    def __init__(self, pairs: Pairs) -> None:
        super().__init__(pairs.features.shape[1])
        self.pairs = pairs
        self.weights = [np.exp(block) for block in log_weights(pairs)]

    def value(self, metric: FloatArray) -> float:
        blocks = zip(self.weights, distances(self.pairs, metric), strict=True)
        return sum(float((w * np.logaddexp(0, 1 - d)).sum()) for w, d in blocks)

    def gradient(self, metric: FloatArray) -> FloatArray:
        blocks = zip(self.weights, distances(self.pairs, metric), strict=True)
        return self.pairs.scatter(-w * expit(1 - d) for w, d in blocks)


class Collapsing(gda.DenseObjective):
    """Maximally collapsing metric learning (Globerson, Roweis 2005).

    ``Σ_i (mean of δ_ij over the j of i's label + log Σ_j exp(-δ_ij))``: a softmax over the pairs of
    each sample.
    """

    def __init__(self) -> None:
        super().__init__(K)
        self.pairs = ordered_pairs()
        left, right, _ = self.pairs.listed()
        same = (LABELS[left] == LABELS[right]).reshape(N, N - 1)
        self.targets = same / same.sum(axis=1, keepdims=True)

    def value(self, metric: FloatArray) -> float:
        rows = np.concatenate(distances(self.pairs, metric)).reshape(N, N - 1)
        return float((self.targets * rows).sum() + logsumexp(-rows, axis=1).sum())

    def gradient(self, metric: FloatArray) -> FloatArray:
        blocks = distances(self.pairs, metric)
        rows = np.concatenate(blocks).reshape(N, N - 1)
        coefficients = self.targets - softmax(-rows, axis=1)
        return self.pairs.scatter(like(blocks, coefficients.ravel()))


OBJECTIVES: dict[str, Callable[[], gda.DenseObjective]] = {
    "softmax": Collapsing,
    **{f"logistic, {name}": partial(lambda make: Logistic(make()), PAIRS[name]) for name in PAIRS},
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_objectives_of_other_kinds(name: str) -> None:
    gda.check_objective(OBJECTIVES[name]())


@pytest.mark.parametrize("name", OBJECTIVES)
def test_their_optima_are_certified(name: str) -> None:
    problem = gda.MetricProblem(OBJECTIVES[name](), gda.GraphMetrics(trace_bound=2.0 * K))
    assert gda.solve(problem, "certified", tolerance=1e-6).status == "converged"


@pytest.mark.parametrize("name", PAIRS)
class TestSums:
    """Every sum of the interface, pair by pair."""

    def test_pairs_are_listed_in_the_order_of_the_blocks(self, name: str) -> None:
        pairs, metric = PAIRS[name](), np.diag(np.arange(1.0, K + 1))
        left, right, weights = pairs.listed()
        blocks = distances(pairs, metric)
        shaped = [
            np.broadcast_to(np.exp(logarithms), block.shape).ravel()
            for logarithms, block in zip(log_weights(pairs), blocks, strict=True)
        ]
        numbers = np.concatenate([block.ravel() for block in blocks])
        written_out = np.concatenate(shaped)
        assert pairs.n_pairs == len(numbers)
        differences = pairs.features[left] - pairs.features[right]
        expected = np.einsum("pk,kl,pl->p", differences, metric, differences)
        np.testing.assert_allclose(numbers[written_out > 0], expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(written_out[written_out > 0], weights, rtol=1e-14)

    def test_sums(self, name: str) -> None:
        pairs, rng = PAIRS[name](), np.random.default_rng(2)
        left, right, weights = pairs.listed()
        chosen = rng.random(len(weights))
        blocks = [np.zeros_like(block) for block in distances(pairs, np.eye(K))]
        counts = np.concatenate(
            [
                np.broadcast_to(np.isfinite(logarithms), block.shape).ravel()
                for logarithms, block in zip(log_weights(pairs), blocks, strict=True)
            ]
        )
        numbers = np.zeros(pairs.n_pairs)
        numbers[counts] = chosen
        coefficients = list(like(blocks, numbers))
        d = pairs.features[left] - pairs.features[right]
        scatter = (d.T * chosen) @ d
        near = {"rtol": 0, "atol": 1e-12 * np.abs(scatter).max()}
        found = pairs.scatter(coefficients)
        np.testing.assert_array_equal(found, found.T)
        np.testing.assert_allclose(found, scatter, **near)
        np.testing.assert_allclose(
            pairs.scatter_diagonal(coefficients), np.diagonal(scatter), **near
        )
        np.testing.assert_allclose(pairs.scatter_column(coefficients, 1), scatter[:, 1], **near)
        x = pairs.features
        sizes = chosen @ (x[left] ** 2 + x[right] ** 2)
        assert (pairs.squared_sizes(coefficients) >= sizes * (1 - 1e-12)).all()
        assert (pairs.squared_sizes(coefficients) <= 20 * sizes).all()

        vectors = rng.standard_normal((5, K))
        coordinates = Atoms.of_vectors(vectors).projected(pairs.features)
        squares = (d @ vectors.T) ** 2
        moments = pairs.scatter_diagonal(coefficients, coordinates)
        np.testing.assert_allclose(moments, chosen @ squares, rtol=1e-11)


def test_merged_pairs_add_up_their_weights() -> None:
    X = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0], [1.0, 2.0]])
    z = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    for pairs in (
        SignalPairs(X, z),
        weighted_pairs(X, z, pairs=[[0, 1], [1, 2], [2, 3], [0, 3]]),
    ):
        left, right, weights = distinct_differences(pairs)
        np.testing.assert_allclose(weights, [4 * 8])
        differences = np.abs(pairs.features[left] - pairs.features[right])
        np.testing.assert_allclose(differences, [[1.0, 2.0]])
