"""A check of an objective against the contract of its interface."""

from __future__ import annotations

import math

import numpy as np

from gdaopt.errors import InvalidInputError
from gdaopt.linalg.atoms import Atoms
from gdaopt.linalg.directions import (
    AtomsDirection,
    ColumnDirection,
    DenseDirection,
    DiagonalDirection,
    Direction,
)
from gdaopt.linalg.entries import Edges, all_edges, matrix_of
from gdaopt.linalg.laplacian import generalized_laplacian
from gdaopt.objectives.base import Objective, check_interface
from gdaopt.objectives.protocol import Point
from gdaopt.objectives.round_off import round_off_at
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, integer, number
from gdaopt.support.warning_filters import underflow_ignored

__all__ = ["check_gradient", "check_objective"]

_STEP = 1e-5
_TOLERANCE = 1e-5
_CURVATURE = 10  # curvatures may be differences of gradients, which have fewer digits
_LENGTH = 0.1  # of directions, where metrics are about 1


@underflow_ignored()
def check_objective(
    objective: Objective, *, tolerance: float = _TOLERANCE, n_metrics: int = 5, seed: int = 0
) -> None:
    """Check an objective's derivatives, lines, moves and convexity at random metrics.

    Convexity is left out where the objective says that it is not convex.

    Parameters
    ----------
    objective : Objective
        The objective to check.
    tolerance : float, optional
        Largest relative error of a derivative against central differences.
    n_metrics : int, optional
        Number of random graph metrics, each checked along one direction of each kind.
    seed : int, optional
        Seed of the generator.

    Raises
    ------
    InvalidInputError
        When a property does not hold; the message names the first one and the size of the error.

    Examples
    --------
    >>> from gdaopt.objectives import GLR
    >>> check_objective(GLR([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [1, -1, -1]))
    """
    check_interface(objective)
    tolerance = number("tolerance", tolerance, above=0)
    n_metrics = integer("n_metrics", n_metrics, at_least=1)
    rng = np.random.default_rng(integer("seed", seed, at_least=0))
    for _ in range(n_metrics):
        metric = _random_metric(objective.n_features, rng)
        point = objective.at(metric)
        gradient = point.gradient()
        _compare("the gradient is symmetric", gradient, gradient.T, 1e-10)
        _compare("gradient_diagonal", point.gradient_diagonal(), np.diagonal(gradient), 1e-8)
        for column in range(objective.n_features):
            _compare("gradient_column", point.gradient_column(column), gradient[:, column], 1e-8)
        rows, columns = (index[::2] for index in all_edges(objective.n_features))
        entries = point.gradient_entries((rows, columns))
        found = np.concatenate([entries.on_diagonal, entries.on_edges])
        expected = np.concatenate([np.diagonal(gradient), gradient[rows, columns]])
        _compare("gradient_entries", found, expected, 1e-8)
        for direction in _random_directions(objective.n_features, rng):
            _check_line(objective, point, direction, tolerance)
        support = rng.integers(objective.n_features, size=(3, 2))
        _check_atoms(point, Atoms(support, _unit_vectors(3, 2, rng)), tolerance)


def check_gradient(
    objective: Objective, point: Point, edges: Edges, rng: np.random.Generator
) -> None:
    """Check the gradient at one metric along one random direction, at the price of two values.

    The slope must be between the difference quotients on both sides of the metric, as any
    subgradient of a convex function is, whether there is a kink or not. Allowed beyond that are the
    tolerance of `check_objective` and the round-off that the point states. A value that is not
    finite is outside of the objective's domain and says nothing. Entries of the diagonal and of the
    edges change by some millionths, for which the metric needs room.
    """
    direction = _random_change(point.metric, edges, rng)
    gradient, here = point.gradient(), point.value
    slope = direction.inner(gradient)
    ahead, behind = (
        math.inf if math.isnan(side.value) else side.value
        for side in _beside(objective, point, direction)
    )
    quotients = sorted([(ahead - here) / _STEP, (here - behind) / _STEP])
    allowed = _TOLERANCE * (abs(here) + abs(slope)) + 2 * round_off_at(point).value / _STEP
    if not quotients[0] - allowed <= slope <= quotients[1] + allowed:
        raise InvalidInputError(
            f"the gradient of {shortened(objective)} is wrong: along a random direction its slope "
            f"is {slope:.10g}, and differences of values give {quotients[0]:.10g} to "
            f"{quotients[1]:.10g}; run gdaopt.check_objective on it, which says more"
        )
    skew = direction.magnitude().inner(np.abs(gradient - gradient.T))
    if not skew <= allowed:
        raise InvalidInputError(
            f"the gradient of {shortened(objective)} is not symmetric: its two triangles differ by "
            f"up to {np.abs(gradient - gradient.T).max():.3g}; every edge counts by both of its "
            "entries (run gdaopt.check_objective on it, which says more)"
        )


def _random_change(metric: FloatArray, edges: Edges, rng: np.random.Generator) -> DenseDirection:
    """Return a direction in the diagonal and the edges, small next to the metric."""
    size = len(metric)
    scales = np.sqrt(np.diagonal(metric))
    change = matrix_of(rng.standard_normal(size + len(edges[0])), size, edges)
    return DenseDirection(_LENGTH / math.sqrt(size) * change * np.outer(scales, scales))


def _beside(objective: Objective, point: Point, direction: Direction) -> tuple[Point, Point]:
    """Return the objective a step ahead and a step behind."""
    ahead, behind = (direction.added_to(point.metric, step) for step in (_STEP, -_STEP))
    return objective.at(ahead), objective.at(behind)


def _check_line(objective: Objective, point: Point, direction: Direction, tolerance: float) -> None:
    line = point.line(direction)
    kind = type(direction).__name__
    ahead, behind = _beside(objective, point, direction)
    scale = abs(point.value) + abs(point.line(direction).derivatives(0.0)[0])
    _compare(f"the line's value along a {kind}", line.value(_STEP), ahead.value, 1e-10, scale)
    slope, curvature = line.derivatives(0.0)
    difference = (ahead.value - behind.value) / (2 * _STEP)
    _compare(f"the line's slope along a {kind}", slope, difference, tolerance, scale)
    inner = direction.inner(point.gradient())
    _compare(f"the gradient along a {kind}", inner, difference, tolerance, scale)
    slopes = (line.derivatives(_STEP)[0], line.derivatives(-_STEP)[0])
    second = (slopes[0] - slopes[1]) / (2 * _STEP)
    if not np.isnan(curvature):
        _compare(f"the line's curvature along a {kind}", curvature, second, tolerance, scale)
    if second < -tolerance * scale and getattr(objective, "convex", True):
        raise InvalidInputError(
            f"the objective is not convex: its second derivative along a {kind} is {second:.3g}"
        )
    moved = point.moved(direction, _STEP)
    _compare(f"the metric moved along a {kind}", moved.metric, ahead.metric, 1e-12)
    _compare(f"the value moved along a {kind}", moved.value, ahead.value, 1e-10, scale)
    _compare(f"the gradient moved along a {kind}", moved.gradient(), ahead.gradient(), 1e-8)


def _check_atoms(point: Point, atoms: Atoms, tolerance: float) -> None:
    slopes, curvature = point.slopes(atoms), point.curvature(atoms)
    _compare("slopes", slopes, atoms.quadratic_forms(point.gradient()), 1e-8)
    ahead, behind = (
        [
            point.moved(AtomsDirection(np.array([step]), atoms[k : k + 1]), 1.0).slopes(atoms)
            for k in range(len(atoms))
        ]
        for step in (_STEP, -_STEP)
    )
    differences = (np.array(ahead) - np.array(behind)) / (2 * _STEP)
    scale = float(np.abs(slopes).max()) + float(np.abs(curvature).max())
    _compare("curvature", curvature, differences, _CURVATURE * tolerance, scale)


def _compare(
    what: str,
    found: float | FloatArray,
    expected: float | FloatArray,
    tolerance: float,
    scale: float | None = None,
) -> None:
    """Raise when the largest difference exceeds `tolerance` times the scale."""
    error = float(np.max(np.abs(np.asarray(found) - np.asarray(expected))))
    size = float(np.max(np.abs(np.asarray(expected)))) if scale is None else scale
    if not error <= tolerance * size:
        raise InvalidInputError(
            f"{what}: error {error:.3g} exceeds {tolerance:g} of the scale {size:.3g}"
        )


def _random_metric(size: int, rng: np.random.Generator) -> FloatArray:
    """Return a positive definite graph metric of trace about K."""
    weights = rng.random((size, size)) / (2 * size)
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    return generalized_laplacian(weights, rng.uniform(0.2, 0.8, size))


def _random_directions(size: int, rng: np.random.Generator) -> list[Direction]:
    """Return one direction of each kind, of norm about 0.1."""
    dense = rng.standard_normal((size, size)) * 0.1 / size
    directions: list[Direction] = [
        DiagonalDirection(rng.standard_normal(size) * 0.1),
        DenseDirection(dense + dense.T),
        AtomsDirection(np.array([0.1]), Atoms.of_vectors(_unit_vectors(1, size, rng))),
    ]
    if size > 1:
        column = int(rng.integers(size))
        change = rng.standard_normal(size) * 0.1 / np.sqrt(size)
        change[column] = 0.0
        directions.append(ColumnDirection(column, change))
        support = np.array([[0, size - 1], [size - 1, size - 2]])
        atoms = Atoms(support, _unit_vectors(2, 2, rng))
        directions.append(AtomsDirection(np.array([0.1, -0.05]), atoms))
    return directions


def _unit_vectors(n: int, size: int, rng: np.random.Generator) -> FloatArray:
    vectors = rng.standard_normal((n, size))
    unit: FloatArray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit
