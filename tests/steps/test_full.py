"""The full step."""

from __future__ import annotations

import pytest

from gdaopt.steps import Full
from tests.steps.cases import parabola


@pytest.mark.parametrize("iteration", [0, 1, 100])
def test_the_full_step_is_1(iteration: int) -> None:
    assert Full().size(parabola(0.0), iteration) == 1.0
