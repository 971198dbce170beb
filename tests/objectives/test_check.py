"""The check of an objective finds what is wrong with it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.errors import InvalidInputError
from gdaopt.linalg.masked import MaskedMatrix
from gdaopt.objectives import PairPoint
from gdaopt.objectives.glr import ExponentialLine
from tests.objectives.cases import N_GLR, Opaque, glr_samples


def glr() -> gda.GLR:
    rng = np.random.default_rng(0)
    return gda.GLR(glr_samples(rng)[:, :3], rng.standard_normal(N_GLR))


def twice_on_edges(right: MaskedMatrix) -> MaskedMatrix:
    return MaskedMatrix(right.on_diagonal, 2 * right.on_edges, right.edges)


Fault = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Returns a wrong method, given the right one."""

FAULTS: dict[str, tuple[type, str, Fault, str]] = {
    "column": (
        *(PairPoint, "gradient_column"),
        lambda right: lambda point, column: right(point, 0 * column),
        "^gradient_column: error",
    ),
    "diagonal": (
        *(PairPoint, "gradient_diagonal"),
        lambda right: lambda point: 2 * right(point),
        "^gradient_diagonal: error",
    ),
    "entries": (
        *(PairPoint, "gradient_entries"),
        lambda right: lambda *given: twice_on_edges(right(*given)),
        "^gradient_entries: error",
    ),
    "curvature of a line": (
        *(ExponentialLine, "derivatives"),
        lambda right: lambda *given: tuple(np.array([1.0, 0.9]) * right(*given)),
        "^the line's curvature along a DiagonalDirection",
    ),
    "slopes": (
        *(PairPoint, "slopes"),
        lambda right: lambda *given: 2 * right(*given),
        "^slopes: error",
    ),
    "second derivatives": (
        *(PairPoint, "curvature"),
        lambda right: lambda *given: 0.9 * right(*given),
        "^curvature: error",
    ),
    "move": (
        *(PairPoint, "moved"),
        lambda right: lambda point, direction, gamma: right(point, direction, 2 * gamma),
        "^the metric moved along a DiagonalDirection",
    ),
    "stale distances": (
        *(PairPoint, "moved"),
        lambda _right: (
            lambda point, direction, gamma: PairPoint(
                point.objective, point._metric.moved(direction, gamma), point.sum.distances
            )
        ),
        "^the value moved along a DiagonalDirection",
    ),
    "gradient": (
        *(Opaque, "gradient"),
        lambda right: lambda *given: 1.001 * right(*given),
        "^the line's slope along a",
    ),
    "asymmetric gradient": (
        *(Opaque, "gradient"),
        lambda right: lambda *given: right(*given) + np.diag([0.01, 0.01], 1),
        "^the gradient is symmetric: error 0.01",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, method, fault, message = FAULTS[name]
    objective = Opaque(np.eye(3)) if kind is Opaque else glr()
    gda.check_objective(objective)
    monkeypatch.setattr(kind, method, fault(getattr(kind, method)))
    with pytest.raises(InvalidInputError, match=message):
        gda.check_objective(objective)


def test_a_concave_function_is_named() -> None:
    concave = gda.FunctionObjective(lambda M: (-float(np.sum(M**2)), -2 * M), 3)
    with pytest.raises(InvalidInputError, match=r"^the objective is not convex: its second deriv"):
        gda.check_objective(concave)
