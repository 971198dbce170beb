"""Fixtures of weighted pairs: data of each kind of signal, in one block and in many."""

from __future__ import annotations

import numpy as np
import pytest

from gdaopt.support.validation import FloatArray
from tests.objectives.pairs.cases import SIGNALS, K, N, make_blocks_small


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.fixture(params=SIGNALS)
def data(request: pytest.FixtureRequest, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    return rng.standard_normal((N, K)) + 5.0, SIGNALS[request.param](rng)


@pytest.fixture(params=["one block", "many blocks"])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "many blocks":
        make_blocks_small(monkeypatch, 40)
