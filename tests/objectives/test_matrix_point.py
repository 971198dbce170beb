"""What the points of log-determinants and geometric means share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.objectives.matrix_point import FactoredPoint
from tests.certificate_cases import covariance
from tests.helpers import random_metric
from tests.objectives.cases import K, directions

KINDS: dict[str, Callable[[], Any]] = {
    "log det": lambda: gda.LogDet(covariance(K)),
    "gmml": lambda: gda.GMML(np.eye(K), np.eye(K)),
}


@pytest.fixture(params=KINDS)
def point(request: pytest.FixtureRequest) -> FactoredPoint:
    found: FactoredPoint = KINDS[request.param]().at(random_metric(np.random.default_rng(0), K))
    return found


def test_factor_and_inverse(point: FactoredPoint) -> None:
    assert point.factor is not None
    np.testing.assert_allclose(point.factor @ point.factor.T, point.metric, atol=1e-14)
    np.testing.assert_allclose(point.inverse @ point.metric, np.eye(K), atol=1e-10)
    assert (point.inverse == point.inverse.T).all()


def test_directions_in_the_coordinates_of_the_factor(point: FactoredPoint) -> None:
    """Their eigenvalues are those of ``M⁻¹D``: where they say so, the line leaves the cone."""
    for direction in directions(np.random.default_rng(1)):
        matrix = direction.added_to(np.zeros((K, K)), 1.0)
        turned = point.direction_in_factor_coordinates(direction)
        expected = np.sort(np.linalg.eigvals(np.linalg.solve(point.metric, matrix)).real)
        scale = float(np.abs(expected).max())
        np.testing.assert_allclose(np.linalg.eigvalsh(turned), expected, atol=1e-9 * scale)


def test_parts_of_the_gradient(point: FactoredPoint) -> None:
    gradient, edges = point.gradient(), (np.array([0, 1]), np.array([2, 3]))
    np.testing.assert_array_equal(point.gradient_diagonal(), np.diagonal(gradient))
    np.testing.assert_array_equal(point.gradient_column(1), gradient[:, 1])
    np.testing.assert_array_equal(point.gradient_entries(edges).on_edges, gradient[edges])


@pytest.mark.parametrize("kind", KINDS)
def test_outside_of_the_cone(kind: str) -> None:
    point = KINDS[kind]().at(np.diag([1.0, 1.0, 1.0, -1.0]))
    assert point.factor is None
    assert np.isnan(point.inverse).all()
    assert np.isnan(point.in_factor_coordinates(np.eye(K))).all()
    assert "not positive definite" in (point.vanished() or "")
