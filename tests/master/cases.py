"""What tests of the master problem share."""

import numpy as np

from gdaopt.linalg.atoms import Atoms
from gdaopt.master.master_point import MasterFunction, MasterPoint
from gdaopt.objectives.protocol import Point
from gdaopt.support.validation import FloatArray


def random_atoms(rng: np.random.Generator, count: int, size: int) -> Atoms:
    vectors = rng.standard_normal((count, size))
    return Atoms.of_vectors(vectors / np.linalg.norm(vectors, axis=1)[:, None])


def evaluate(
    base: Point, atoms: Atoms, weights: FloatArray, total: float | None = None, *, log: bool = False
) -> MasterPoint:
    """Return F at weights, with what they leave of a total."""
    slack = 0.0 if total is None else max(total - float(weights.sum()), 0.0)
    return MasterFunction(base, atoms, log).at(np.append(weights, slack))
