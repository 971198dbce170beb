"""One pass over all pairs: the same sums as several passes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gdaopt.linalg.directions import DenseDirection
from gdaopt.objectives.glr import Exponentials
from gdaopt.objectives.pair_loss import loss_sums
from gdaopt.objectives.pairs import rectangles, weighted_pairs
from gdaopt.objectives.pairs.passes import PairSums, Total
from tests.objectives.pairs.cases import make_blocks_small

rng = np.random.default_rng(11)
X = rng.standard_normal((120, 4))
NEAR = np.vstack([np.full((1, 4), 1e5), 1 + 1e-3 * rng.standard_normal((119, 4))])
LABELS = rng.integers(0, 3, 120)
M = np.diag([1.0, 0.5, 2.0, 0.1])
CASES: dict[str, dict[str, Any]] = {
    "labels": {"X": X, "z": LABELS},
    "real": {"X": X, "z": X[:, 0]},
    "weights": {"X": X, "z": LABELS, "sample_weight": rng.random(120) + 0.1},
    "listed": {"X": X, "z": LABELS, "pairs": rng.integers(0, 120, (500, 2))},
    "cancelling": {"X": NEAR, "z": np.where(np.arange(120) % 2, 1.0, -1.0)},
    "large": {"X": 1e4 * X, "z": LABELS},
    "one level": {"X": X, "z": np.repeat([0.0, 1.0], [119, 1])},
}


@pytest.mark.parametrize("case", CASES)
def test_one_pass_has_the_sums_of_several(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rectangles, "_CHUNK", 1000)
    make_blocks_small(monkeypatch, 500)
    pairs = weighted_pairs(**CASES[case])
    transformed, chunks = pairs.transformed(M), pairs.chunks()
    loss = Exponentials(pairs.n_pairs)
    sums = PairSums.added([loss_sums(loss, chunk, transformed) for chunk in chunks])

    distances = pairs.products(*DenseDirection(M).factors(pairs.features))
    log_weights = pairs.log_weights()
    assert log_weights is not None
    exponents = [w - d for w, d in zip(log_weights, distances, strict=True)]
    terms = [np.exp(block - sums.total.shift) for block in exponents]
    total = sum(float(block.sum()) for block in terms)
    assert sums.total.scaled == pytest.approx(total, rel=1e-12)
    scatter = pairs.scatter(terms)
    np.testing.assert_allclose(sums.scatter, scatter, rtol=0, atol=1e-10 * np.abs(scatter).max())
    np.testing.assert_allclose(sums.sizes, pairs.squared_sizes(terms), rtol=1e-12)
    assert sum(chunk.n_pairs for chunk in chunks) == pairs.n_pairs


def test_a_first_block_far_below_the_others_is_no_shift(monkeypatch: pytest.MonkeyPatch) -> None:
    make_blocks_small(monkeypatch, 1)
    features = np.array([[0.0], [40.0], [80.0], [80.0]])
    pairs = weighted_pairs(features, [1.0, 1.0, 1.0, -1.0])
    sums = loss_sums(Exponentials(3), pairs, pairs.transformed(np.eye(1)))
    assert sums.total.log_value == pytest.approx(math.log(8))


def test_sums_of_chunks_are_added_in_common_units() -> None:
    parts = [PairSums(Total(shift, 1.0, 1.0), np.eye(2), np.ones(2)) for shift in (-1000.0, -999.0)]
    added = PairSums.added(parts)
    assert added.total.log_value == pytest.approx(-999 + math.log1p(math.exp(-1)))
    np.testing.assert_allclose(added.scatter, (1 + math.exp(-1)) * np.eye(2))
    assert added.total.value == 0.0
    assert Total(1000.0, 1.0, 1.0).value == math.inf
