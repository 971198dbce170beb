"""Commands that are killed at random moments, and run again until they end: nothing is lost.

The end is that of a run that nothing disturbed: the same tables but for times, the same files."""

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from gdaopt.cli.output import IN_USE
from tests.attacks.cases import COMMANDS, LONGEST, finish, names, start, tables, undisturbed
from tests.covering import chosen
from tests.process_cases import posix_only

KILLS = 3  # in a row: each run goes on with what the one before has left


def kill(name: str, out: Path, rng: random.Random) -> str:
    """Run a command, kill it at a moment, or at one of its operations on files; say at which."""
    alone = undisturbed(name)
    number = rng.randrange(1, alone.operations + 1) if rng.random() < 0.6 else 0
    seconds = None if number else rng.uniform(0.2, 1.0) * alone.seconds
    with start(name, out, number) as process:
        try:
            _, error = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            _, error = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), error
    assert "Traceback" not in error
    ended = "killed" if process.returncode else "ended before"
    return f"{ended} at operation {number}" if number else f"{ended} after {seconds:.2f} s"


@posix_only
@pytest.mark.parametrize("name", chosen(COMMANDS, slow=COMMANDS.keys() - {LONGEST}))
def test_killed_commands_go_on_to_the_same_end(name: str, tmp_path: Path) -> None:
    rng = random.Random(f"{name} 1")
    told = [kill(name, tmp_path / "out", rng) for _ in range(KILLS)]
    print(f"{name}: {KILLS} kills tried:", *told, sep="\n  ")
    finish(name, tmp_path / "out")
    assert names(tmp_path / "out") == undisturbed(name).names, told
    assert tables(name, tmp_path / "out") == undisturbed(name).tables, told


@pytest.mark.parametrize("seed", chosen(range(3), slow=range(1)))
@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {LONGEST}))
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
