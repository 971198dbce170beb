"""The regulariser as a function of the weights of atoms: second derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest

import gdaopt as gda
from gdaopt.linalg.atoms import Atoms


@pytest.mark.parametrize("log", [True, False])
def test_second_derivatives_are_differences_of_gradients(log: bool) -> None:
    rng = np.random.default_rng(4)
    glr = gda.GLR(rng.standard_normal((40, 3)), np.arange(40) % 3)
    atoms = Atoms.of_vectors(rng.standard_normal((4, 3)) / 2)
    weights = np.array([0.5, 0.1, 0.0, 0.7])
    at = glr.atom_weights(np.eye(3) / 9, log).at(atoms, weights)
    columns = [
        (at.at(weights + 1e-6 * row).gradient() - at.at(weights - 1e-6 * row).gradient()) / 2e-6
        for row in np.eye(4)
    ]
    scale = float(np.abs(at.hessian()).max())
    np.testing.assert_allclose(at.hessian(), np.array(columns), atol=1e-6 * scale)
