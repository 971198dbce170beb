"""Rectangles of pairs in blocks: each pair once, and no block too large or too narrow."""

from __future__ import annotations

import numpy as np
import pytest

from gdaopt.objectives.pairs import blocks as module
from gdaopt.objectives.pairs.blocks import Block


def met(blocks: list[Block], shape: tuple[int, int]) -> np.ndarray:
    """Return how often each pair is in a block."""
    times = np.zeros(shape, dtype=int)
    for block in blocks:
        times[block.rows, block.columns] += 1
    return times


@pytest.mark.parametrize("shape", [(1, 1), (1, 2500), (2500, 1), (300, 1001), (1300, 999)])
def test_tiles_have_each_pair_once(shape: tuple[int, int]) -> None:
    blocks = list(module.tiles(slice(2, 2 + shape[0]), slice(5, 5 + shape[1])))
    times = met(blocks, (2 + shape[0], 5 + shape[1]))
    assert (times[2:, 5:] == 1).all()
    assert times.sum() == shape[0] * shape[1]
    sizes = [times[block.rows, block.columns].size for block in blocks]
    assert max(sizes) <= module._BLOCK_ENTRIES
    assert len(sizes) <= 2 + 4 * times.sum() / module._BLOCK_ENTRIES


@pytest.mark.parametrize("size", [1, 40, 1001, 2100])
def test_a_triangle_has_each_pair_once_beside_the_squares_on_the_diagonal(size: int) -> None:
    blocks = list(module.triangle(slice(3, 3 + size)))
    times = met(blocks, (3 + size, 3 + size))[3:, 3:]
    assert (np.triu(times) == np.triu(np.ones((size, size)))).all()
    below = np.zeros_like(times)
    for block in blocks:
        if block.columns.start == block.rows.start:  # the whole square is in the first block
            assert block.columns.stop >= block.rows.stop
            rows = slice(block.rows.start - 3, block.rows.stop - 3)
            below[rows, rows] = 1
    assert (times == np.maximum(np.triu(times), below)).all()


@pytest.mark.parametrize("shape", [(10, 10), (1000, 20_000), (5000, 3)])
def test_runs_have_whole_rows(shape: tuple[int, int]) -> None:
    blocks = list(module.runs(*shape))
    assert (met(blocks, shape) == 1).all()
    assert all(block.columns == slice(0, shape[1]) for block in blocks)
    n_rows = [block.rows.stop - block.rows.start for block in blocks]
    assert min(n_rows[:-1], default=module._FEWEST_ROWS) >= module._FEWEST_ROWS
