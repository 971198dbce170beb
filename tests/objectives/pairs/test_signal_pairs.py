"""All pairs of samples that differ in a signal, with weights of samples."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.validation import FloatArray
from tests.objectives.pairs.cases import K, N, assert_same


@pytest.mark.usefixtures("_blocks")
def test_a_sample_of_weight_two_counts_as_two(
    data: tuple[FloatArray, FloatArray], rng: np.random.Generator
) -> None:
    X, z = data
    counts = rng.integers(1, 4, N)
    repeated = gda.GLR(X.repeat(counts, axis=0), z.repeat(counts, axis=0))
    assert_same(gda.GLR(X, z, sample_weight=counts), repeated, rng)


def test_weights_of_classes_take_no_memory_for_pairs() -> None:
    X = np.random.default_rng(0).standard_normal((N, K))
    z = np.repeat([1.0, -1.0], N // 2)
    glr = gda.GLR(X, z, sample_weight=np.where(z > 0, 3.0, 1.0))
    assert [block.shape for block in glr.log_weights] == [()]
