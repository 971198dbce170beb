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
from gdaopt.linalg.entries import Edges, all_edges, matrix_of, pairs_of
from gdaopt.linalg.laplacian import generalized_laplacian
from gdaopt.objectives.base import Objective, check_interface
from gdaopt.objectives.protocol import Point
from gdaopt.support.text import shortened
from gdaopt.support.validation import FloatArray, integer, number

_STEP = 1e-5
_TOLERANCE = 1e-5
_CURVATURE = 10  # curvatures may be differences of gradients, which have fewer digits
_SAME = 1e-8  # between two ways to compute a number
_LENGTH = 0.1  # a direction's norm; metrics are about 1


@np.errstate(under="ignore")
def check_objective(
    objective: Objective, *, tolerance: float = _TOLERANCE, n_metrics: int = 5, seed: int = 0
) -> None:
    """Check an objective's derivatives, lines, moves and convexity at random metrics.

    Convexity is left out if the objective says that it is not convex.

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
    size = objective.n_features
    for _ in range(n_metrics):
        weights = np.triu(rng.random((size, size)) / (2 * size), 1)
        metric = generalized_laplacian(weights + weights.T, rng.uniform(0.2, 0.8, size))
        point = objective.at(metric)
        _check_gradients(point)
        for direction in _random_directions(size, rng):
            _check_line(objective, point, direction, tolerance)
        atoms = Atoms(rng.integers(size, size=(3, 2)), _unit_vectors(3, 2, rng))
        _check_atoms(point, atoms, tolerance)


def check_gradient(
    objective: Objective, point: Point, edges: Edges, rng: np.random.Generator
) -> None:
    """Check the gradient along one random direction by difference quotients on both sides."""
    size = len(point.metric)
    scales = np.sqrt(np.diagonal(point.metric))
    change = matrix_of(rng.standard_normal(size + len(edges[0])), size, edges)
    direction = DenseDirection(_LENGTH / math.sqrt(size) * change * np.outer(scales, scales))
    gradient, here = point.gradient(), point.value
    slope = direction.inner(gradient)
    ahead, behind = (
        math.inf if math.isnan(side.value) else side.value
        for side in _beside(objective, point, direction)
    )
    quotients = sorted([(ahead - here) / _STEP, (here - behind) / _STEP])
    allowed = _TOLERANCE * (abs(here) + abs(slope)) + 2 * point.round_off().value / _STEP
    if not quotients[0] - allowed <= slope <= quotients[1] + allowed:
        raise InvalidInputError(
            f"the gradient of {shortened(objective)} is wrong: along a random direction its slope "
            f"is {slope:.10g}, and differences of values give {quotients[0]:.10g} to "
            f"{quotients[1]:.10g}; run gdaopt.check_objective on it, which says more"
        )
    skew = float(np.vdot(np.abs(direction.matrix), np.abs(gradient - gradient.T)))
    if not skew <= allowed:
        raise InvalidInputError(
            f"the gradient of {shortened(objective)} is not symmetric: its two triangles differ by "
            f"up to {np.abs(gradient - gradient.T).max():.3g}; every edge counts by both of its "
            "entries (run gdaopt.check_objective on it, which says more)"
        )


def _beside(objective: Objective, point: Point, direction: Direction) -> list[Point]:
    """Return the objective a step ahead and a step behind."""
    return [objective.at(direction.added_to(point.metric, step)) for step in (_STEP, -_STEP)]


def _check_gradients(point: Point) -> None:
    gradient = point.gradient()
    _compare("the gradient is symmetric", gradient, gradient.T, 1e-10)
    size = len(gradient)
    every, (rows, columns) = np.arange(size), all_edges(size)
    edges = pairs_of(size, (rows[::2], columns[::2]))
    for pairs in (every, every), (every, np.zeros_like(every)), edges:
        _compare("gradient_entries", point.gradient_entries(*pairs), gradient[pairs])


def _check_line(objective: Objective, point: Point, direction: Direction, tolerance: float) -> None:
    line, along = point.line(direction), f"along a {type(direction).__name__}"
    ahead, behind = _beside(objective, point, direction)
    slope, curvature = line.derivatives(0.0)
    scale = abs(point.value) + abs(slope)
    _compare(f"the line's value {along}", line.value(_STEP), ahead.value, 1e-10, scale)
    difference = (ahead.value - behind.value) / (2 * _STEP)
    _compare(f"the line's slope {along}", slope, difference, tolerance, scale)
    inner = direction.inner(point.gradient())
    _compare(f"the gradient {along}", inner, difference, tolerance, scale)
    second = (line.derivatives(_STEP)[0] - line.derivatives(-_STEP)[0]) / (2 * _STEP)
    if not np.isnan(curvature):
        _compare(f"the line's curvature {along}", curvature, second, tolerance, scale)
    if second < -tolerance * scale and objective.convex:
        raise InvalidInputError(
            f"the objective is not convex: its second derivative {along} is {second:.3g}"
        )
    moved = line.at(_STEP)
    _compare(f"the metric moved {along}", moved.metric, ahead.metric, 1e-12)
    _compare(f"the value moved {along}", moved.value, ahead.value, 1e-10, scale)
    _compare(f"the gradient moved {along}", moved.gradient(), ahead.gradient())


def _check_atoms(point: Point, atoms: Atoms, tolerance: float) -> None:
    slopes, curvature = point.slopes(atoms), point.curvature(atoms)
    _compare("slopes", slopes, atoms.quadratic_forms(point.gradient()))
    scale = float(np.abs(slopes).max()) + float(np.abs(curvature).max())
    for k in range(len(atoms)):
        direction = AtomsDirection(np.ones(1), atoms[k : k + 1])
        ahead, behind = (point.line(direction).at(step).slopes(atoms) for step in (_STEP, -_STEP))
        difference = (ahead - behind) / (2 * _STEP)
        _compare("curvature", curvature[k], difference, _CURVATURE * tolerance, scale)


def _compare(
    what: str,
    value: float | FloatArray,
    expected: float | FloatArray,
    tolerance: float = _SAME,
    scale: float | None = None,
) -> None:
    """Raise when the largest difference exceeds `tolerance` times the scale."""
    error = float(np.abs(np.subtract(value, expected)).max())
    size = float(np.abs(expected).max()) if scale is None else scale
    if not error <= tolerance * size:
        raise InvalidInputError(
            f"{what}: error {error:.3g} exceeds {tolerance:g} of the scale {size:.3g}"
        )


def _random_directions(size: int, rng: np.random.Generator) -> list[Direction]:
    """Return one direction of each kind, of norm about `_LENGTH`."""
    dense = rng.standard_normal((size, size)) * _LENGTH / size
    directions: list[Direction] = [
        DiagonalDirection(rng.standard_normal(size) * _LENGTH),
        DenseDirection(dense + dense.T),
        AtomsDirection(np.array([_LENGTH]), Atoms.of_vectors(_unit_vectors(1, size, rng))),
    ]
    if size > 1:
        column = int(rng.integers(size))
        change = rng.standard_normal(size) * _LENGTH / np.sqrt(size)
        change[column] = 0.0
        support = np.array([[0, size - 1], [size - 1, size - 2]])
        atoms = Atoms(support, _unit_vectors(2, 2, rng))
        directions += [
            ColumnDirection(column, change),
            AtomsDirection(np.array([_LENGTH, -_LENGTH / 2]), atoms),
        ]
    return directions


def _unit_vectors(n: int, size: int, rng: np.random.Generator) -> FloatArray:
    vectors = rng.standard_normal((n, size))
    unit: FloatArray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit
