"""What tests of the master problem share."""

import numpy as np

from gdaopt.linalg.atoms import Atoms


def random_atoms(rng: np.random.Generator, count: int, size: int) -> Atoms:
    vectors = rng.standard_normal((count, size))
    return Atoms.of_vectors(vectors / np.linalg.norm(vectors, axis=1)[:, None])
