"""The check of an objective finds what is wrong with it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.objectives import PairPoint
from gdaopt.objectives.pair_point import PairLine
from tests.objectives.cases import N_GLR, Opaque, glr_samples


def glr() -> gda.GLR:
    rng = np.random.default_rng(0)
    return gda.GLR(glr_samples(rng)[:, :3], rng.standard_normal(N_GLR))


def _with_distances_of(start: PairPoint, point: PairPoint) -> PairPoint:
    point.distances = start.distances
    return point


FAULTS: list[tuple[type, str, Callable[..., Any], str]] = [
    (PairPoint, "gradient_entries", lambda right, *given: 2 * right(*given), "error"),
    (
        *(PairPoint, "gradient_entries"),
        lambda right, point, rows, columns: right(point, rows, 0 * columns),
        "^gradient_entries",
    ),
    (
        *(PairLine, "derivatives"),
        lambda right, *given: tuple(np.array([1.0, 0.9]) * right(*given)),
        "^the line's curvature along a DiagonalDirection",
    ),
    (PairPoint, "slopes", lambda right, *given: 2 * right(*given), "error"),
    (PairPoint, "curvature", lambda right, *given: 0.9 * right(*given), "error"),
    (
        *(PairLine, "at"),
        lambda right, line, gamma: right(line, 2 * gamma),
        "^the metric moved along a DiagonalDirection",
    ),
    (
        *(PairLine, "at"),
        lambda right, line, gamma: _with_distances_of(line.point, right(line, gamma)),
        "^the value moved along a DiagonalDirection",
    ),
    (
        *(Opaque, "gradient"),
        lambda right, *given: 1.001 * right(*given),
        "^the line's slope along a",
    ),
    (
        *(Opaque, "gradient"),
        lambda right, *given: right(*given) + np.diag([0.01, 0.01], 1),
        "^the gradient is symmetric: error 0.01",
    ),
]
"""A class, its method, what takes the place of that, and what is said; "error" is the usual."""


@pytest.mark.parametrize(("kind", "method", "fault", "message"), FAULTS)
def test_what_is_wrong_is_named(
    kind: type,
    method: str,
    fault: Callable[..., Any],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    objective, right = Opaque(np.eye(3)) if kind is Opaque else glr(), getattr(kind, method)
    gda.check_objective(objective)
    monkeypatch.setattr(kind, method, lambda *given: fault(right, *given))
    said = f"^{method}: error" if message == "error" else message
    with pytest.raises(InvalidInputError, match=said):
        gda.check_objective(objective)


def test_a_concave_function_is_named() -> None:
    concave = gda.FunctionObjective(lambda M: (-float(np.sum(M**2)), -2 * M), 3)
    with pytest.raises(InvalidInputError, match=r"^the objective is not convex: its second deriv"):
        gda.check_objective(concave)
