"""Weights of samples and lists of pairs, as users pass them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gdaopt as gda


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_weight": [1.0, 1.0]}, "sample_weight has 2 entries for 3 samples"),
        ({"sample_weight": [1.0, 0.0, 1.0]}, "sample_weight holds 0 at index 1"),
        ({"sample_weight": [1.0, -2.0, 1.0]}, "sample_weight holds -2 at index 1"),
        ({"sample_weight": [1.0, np.nan, 1.0]}, "sample_weight holds nan"),
        ({"pairs": [[0, 3]]}, "pairs refers to samples 0 to 3"),
        ({"pairs": [[-1, 1]]}, "pairs refers to samples -1 to 1"),
        ({"pairs": [[0.0, 1.0]]}, "pairs must be whole numbers"),
        ({"pairs": [0, 1]}, "pairs must be whole numbers of shape (n, 2)"),
        ({"pairs": [[1, 2]]}, "pairs holds no two samples with different signals"),
        ({"pairs": np.zeros((0, 2), int)}, "pairs holds no two samples"),
    ],
)
def test_bad_weights_and_pairs(options: dict[str, Any], message: str) -> None:
    with pytest.raises(gda.errors.InvalidInputError, match=re.escape(message)):
        gda.GLR([[0.0], [1.0], [2.0]], [1, -1, -1], **options)
