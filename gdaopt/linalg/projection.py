"""Nearest points of a simplex, of a cone, and of its intersection with a polyhedron."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from gdaopt.support.deadline import check_time
from gdaopt.support.validation import FloatArray

_MOST_ITERATIONS = 20_000


@dataclass(frozen=True, eq=False)
class Projection:
    """The nearest matrix of a set, and the cost of finding it.

    `apart` is the distance of the last iterates in the cone and in the polyhedron. The last
    `correction` of the cone is a good guess for the projection of a matrix nearby.
    """

    nearest: FloatArray
    eigen_decompositions: int = 0
    apart: float = 0.0
    correction: FloatArray | None = None


def project_on_simplex(point: FloatArray, total: float) -> FloatArray:
    """Return the nearest point with entries ≥ 0 that add up to `total`."""
    point = point - float(point.max())  # so that large entries do not swallow the sum
    descending = np.sort(point)[::-1]
    shifts = (np.cumsum(descending) - total) / np.arange(1, len(point) + 1)
    last = np.flatnonzero(descending > shifts)[-1]
    projected: FloatArray = np.maximum(point - shifts[last], 0.0)
    return projected * (total / float(projected.sum()))


def project_on_bounded_sum(point: FloatArray, most: float) -> FloatArray:
    """Return the nearest point with entries ≥ 0 that add up to at most `most`."""
    clipped = positive_part(point)
    return clipped if clipped.sum() <= most else project_on_simplex(point, most)


def positive_part(values: FloatArray) -> FloatArray:
    """Return the values with 0 in place of negative ones."""
    return np.asarray(np.maximum(values, 0.0))


def project_spectrum(matrix: FloatArray, project: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return a symmetric matrix with its eigenvalues projected, by one eigen-decomposition."""
    values, vectors = eigh(matrix, check_finite=False)
    half = vectors * project(values)
    projected = half @ vectors.T
    return np.asarray((projected + projected.T) / 2)


def project_on_intersection(
    matrix: FloatArray,
    project_on_polyhedron: Callable[[FloatArray], FloatArray],
    accuracy: float,
    correction: FloatArray | None = None,
) -> Projection:
    """Return the nearest matrix that is in a polyhedron, and up to the accuracy in the cone.

    Dykstra's method is a proximal gradient method of step 1 on the dual problem, so that
    extrapolation with restarts applies ("Remark: projections by Dykstra's method").
    """
    last = np.zeros_like(matrix) if correction is None else correction
    extrapolated, inertia, count = last, 1.0, 0
    for _ in range(_MOST_ITERATIONS):
        check_time()
        count += 1
        inside = project_on_polyhedron(matrix + extrapolated)
        # What the polyhedron took away is added back; the cone's own correction starts afresh.
        restored = inside - extrapolated
        in_cone = project_spectrum(restored, positive_part)
        current = in_cone - restored
        apart = math.sqrt(float(((in_cone - inside) ** 2).sum()))
        if apart <= accuracy:
            break
        if float(np.vdot(extrapolated - current, current - last)) > 0:
            inertia = 1.0
        following = (1 + math.sqrt(1 + 4 * inertia**2)) / 2
        extrapolated = current + (inertia - 1) / following * (current - last)
        last, inertia = current, following
    return Projection(inside, count, apart, current)
