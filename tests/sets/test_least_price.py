"""`least_price`: below the prices of all atoms for every gradient within the errors, exactly."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.objectives.round_off import UNIT
from gdaopt.sets import FeasibleSet
from gdaopt.support.validation import FloatArray
from tests import digits
from tests.helpers import random_symmetric

SEEDS = range(30)
COLORS = [1.0, -1.0, 1.0]
SETS: dict[str, FeasibleSet] = {
    "diagonal": gda.DiagonalMetrics(3.0),
    "graph": gda.GraphMetrics(3.0),
    "signed": gda.SignedGraphMetrics(COLORS, 3.0),
    "partial": gda.SDDMetrics(3.0, colors=[1, 0, -1]),
    "sdd": gda.SDDMetrics(3.0),
    "definite": gda.PositiveDefiniteMetrics(3.0),
}


def nearly_singular(rng: np.random.Generator, size: int) -> FloatArray:
    """Return a matrix whose leading block has an eigenvalue near 0, of entries over decades."""
    a, b = 10 ** rng.uniform(-2, 0, 2)
    matrix = np.diag(np.full(size, 10 * (a + b)))
    matrix[:2, :2] = [[a, 0.0], [0.0, b]]
    matrix[0, 1] = matrix[1, 0] = np.sqrt(a * b) * (1 + rng.choice([-2, -1, 1, 2]) * UNIT)
    return matrix


GRADIENTS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "usual": random_symmetric,
    "nearly singular": nearly_singular,
    "zero": lambda _, size: np.zeros((size, size)),
}
ERRORS = {"none": 0.0, "round-off": 4e-8, "large": 1.0}


@pytest.mark.parametrize("errors", ERRORS)
@pytest.mark.parametrize("gradient", GRADIENTS)
@pytest.mark.parametrize("name", SETS)
def test_never_above_the_least_price(name: str, gradient: str, errors: str) -> None:
    """``u'Gu - (|u|'g)²`` is a quadratic form of u for each pattern of its signs.

    The certificate itself allows for a few roundings relative to the price.
    """
    family, size = SETS[name].family, 3
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        matrix = GRADIENTS[gradient](rng, size)
        if name == "signed":
            matrix = matrix * np.outer(COLORS, COLORS)
        g = ERRORS[errors] * 10 ** rng.uniform(-2, 0, size)
        price = float(family.best_atoms(matrix).prices[0])
        least = family.least_price(price, matrix, g)
        found = digits.exact([least])[0] - 4 * UNIT * digits.exact([abs(least)])[0]
        for signs in product([1.0], *[[1.0, -1.0]] * (size - 1)):
            off = digits.exact(g * signs)
            lowered = digits.exact(matrix) - np.outer(off, off)
            assert found <= digits.least_price(SETS[name], lowered), seed
