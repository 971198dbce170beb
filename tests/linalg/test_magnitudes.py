"""Sizes of matrices, also of more entries than a run of rows has."""

import numpy as np
import pytest

from gdaopt.linalg.magnitudes import largest_entry, magnitude_form, magnitude_inner, norm


@pytest.mark.parametrize("size", [1, 5, 600])
def test_sizes_are_those_of_numpy(size: int) -> None:
    rng = np.random.default_rng(size)
    first, second = rng.standard_normal((2, size, size))
    vector = rng.uniform(0.0, 1.0, size)
    assert norm(first) == pytest.approx(np.linalg.norm(first))
    assert largest_entry(first) == np.abs(first).max()
    assert magnitude_inner(first, second) == pytest.approx(np.vdot(abs(first), abs(second)))
    assert magnitude_form(first, vector) == pytest.approx(vector @ abs(first) @ vector)


def test_norms_neither_overflow_nor_underflow() -> None:
    for scale in (1e-200, 1e200):
        assert norm(np.full((2, 2), scale)) == pytest.approx(2 * scale)
