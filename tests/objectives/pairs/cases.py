"""What tests of weighted pairs share: signals, and all that two objectives can evaluate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import DenseDirection, DiagonalDirection
from gdaopt.master import MasterPoint
from gdaopt.objectives.pairs import blocks, listed_pairs
from gdaopt.support.validation import FloatArray
from tests.helpers import random_metric, random_symmetric

N, K = 24, 3


SIGNALS: dict[str, Callable[[np.random.Generator], FloatArray]] = {
    "labels": lambda rng: np.where(rng.random(N) < 0.4, 1.0, -1.0),
    "one-hot": lambda rng: np.eye(3)[rng.integers(3, size=N)],
    "real": lambda rng: rng.standard_normal((N, 2)),
}


def make_blocks_small(monkeypatch: pytest.MonkeyPatch, entries: int) -> None:
    """Split pairs into blocks of about so many numbers."""
    monkeypatch.setattr(blocks, "_BLOCK_ENTRIES", entries)
    monkeypatch.setattr(blocks, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(listed_pairs, "_BLOCK_ENTRIES", entries)


def assert_same(found: gda.GLR, expected: gda.GLR, rng: np.random.Generator) -> None:
    """Compare all that two objectives can evaluate."""
    metric = random_metric(rng, K)
    one, other = found.at(metric), expected.at(metric)
    near: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-11 * np.abs(other.gradient()).max()}
    assert one.logarithm().value == pytest.approx(other.logarithm().value, rel=1e-12)
    np.testing.assert_allclose(one.gradient(), other.gradient(), **near)
    np.testing.assert_array_equal(one.gradient(), one.gradient().T)
    np.testing.assert_allclose(one.gradient_diagonal(), other.gradient_diagonal(), **near)
    np.testing.assert_allclose(one.gradient_column(1), other.gradient_column(1), **near)
    edges = (np.array([0, 1]), np.array([2, 2]))
    found_entries = found.pairs.scatter_entries(one.sum.coefficients, edges)
    found_entries = found_entries.scaled(-one.sum.scale)
    np.testing.assert_allclose(found_entries.on_diagonal, other.gradient_diagonal(), **near)
    np.testing.assert_allclose(found_entries.on_edges, other.gradient()[edges], **near)
    dense = DenseDirection(random_symmetric(rng, K))
    for direction in (dense, DiagonalDirection(np.array([0.3, 0.0, -0.1]))):
        derivatives = [point.line(direction).derivatives(0.1) for point in (one, other)]
        np.testing.assert_allclose(derivatives[0], derivatives[1], rtol=1e-9)
        assert one.moved(direction, 0.1).value == pytest.approx(other.moved(direction, 0.1).value)
    assert found.lipschitz(0.1) == pytest.approx(expected.lipschitz(0.1))
    atoms, weights = Atoms.of_vectors(rng.standard_normal((4, K))), rng.random(4)
    one_point, other_point = (
        MasterPoint(q.at(0.1 * np.eye(K)), atoms, weights) for q in (found, expected)
    )
    assert one_point.value == pytest.approx(other_point.value)
    np.testing.assert_allclose(one_point.gradient(), other_point.gradient(), rtol=1e-10)
    np.testing.assert_allclose(one_point.hessian(), other_point.hessian(), rtol=1e-9, atol=1e-12)
