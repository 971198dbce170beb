"""Random graphical models against optima in 50 digits: bounds, statuses, objectives."""

import pytest

from tests.covering import chosen
from tests.fuzz.graphical import Model, fitted

CHUNKS, CHUNK = 80, 25


@pytest.mark.parametrize("chunk", chosen(range(CHUNKS), slow=range(10), default=[0]))
def test_what_is_said_holds(chunk: int) -> None:
    seeds = range(chunk * CHUNK, (chunk + 1) * CHUNK)
    found = {seed: fitted(Model.drawn(seed)) for seed in seeds}
    faults = {seed: fit.faults for seed, fit in found.items() if fit.faults}
    assert not faults
    assert sum(fit.end == "converged" for fit in found.values()) >= CHUNK // 4
