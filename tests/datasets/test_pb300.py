"""The rows of pb300 are those of the draw that its module describes."""

from __future__ import annotations

import numpy as np

from gdaopt.datasets.pb300 import ROWS
from gdaopt.datasets.uci import PAGE_BLOCKS, digest


def test_the_rows_of_pb300_never_change() -> None:
    assert digest(np.array([ROWS])).startswith("6d11e5b72c4a0e7d")
    drawn = np.argsort(np.random.PCG64(0).random_raw(PAGE_BLOCKS.rows), kind="stable")[:300]
    assert tuple(sorted(drawn.tolist())) == ROWS
