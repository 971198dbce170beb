"""Two identical commands in one directory at once: one works, the other says who does."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from gdaopt.cli.output import IN_USE
from tests.attacks.cases import COMMANDS, SEEDS, names, start, tables, undisturbed

CASES = [
    pytest.param(name, seed, marks=[] if (name, seed) == ("learn", 0) else pytest.mark.slow)
    for seed in range(3)
    for name in COMMANDS
    if seed < SEEDS.get(name, seed + 1)
]


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_one_works_and_the_other_stops(name: str, seed: int, tmp_path: Path) -> None:
    """The second may also come when the first has ended: it then finds all done."""
    out = tmp_path / "out"
    rng = random.Random(f"{name} {seed}")
    with start(name, out) as first:
        time.sleep(rng.choice([0.0, 0.0, rng.uniform(0, 1) * undisturbed(name).seconds]))
        with start(name, out) as second:
            told = [process.communicate(timeout=300) for process in (first, second)]
    ends = sorted(process.returncode for process in (first, second))
    print(f"{name}, seed {seed}: exit codes {ends}")
    assert ends in ([0, 0], [0, IN_USE]), told
    for process, (_, error) in zip((first, second), told, strict=True):
        if process.returncode == IN_USE:
            assert error.count("\n") == 1, error
            assert error.startswith("error: ")
            assert f" is writing to {out}; wait until it has ended" in error
        else:
            assert error == ""
    assert names(out) == undisturbed(name).names
    assert tables(name, out) == undisturbed(name).tables
